"""``shard_map_p``: the primitive that runs a jaxpr on every device of a mesh, on its own shards.

It is lowered to ``sdy.manual_computation``. ``shard_map`` and ``pmap`` are built on it.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import compress
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_batching import Axis, batch_flat
from ricci_ir import Array, ArrayLike, AxisNames, Jaxpr, Primitive, ShapedArray
from ricci_lax import create_token_p, reshape
from ricci_stablehlo import Lowering, Value, of_function, string, thread_tokens
from ricci_xla import Mesh, PartitionSpec

from ._derivatives import Shards, jvp_rule, linearize_rule, transpose_rule
from ._specs import (
    AnyMesh,
    Specs,
    in_scope,
    shard_aval,
    sharding_text,
    spec_axes,
    whole_aval,
    with_dim,
)
from ._steps import as_batch, run_in_steps


def check_shards(
    log: Any, primitive: Primitive, operands: Sequence[ArrayLike], params: dict[str, Any]
) -> list[Array]:
    """The checkify rule of ``shard_map``: each device reports its own errors.

    Args:
      log: collects the errors.
      primitive, operands, params: the operation.
    """
    jaxpr, mesh = params["jaxpr"], params["mesh"]
    with ir.extend_axes(mesh.shape.items()):
        checked = log.checked(jaxpr)
        count = checked.leaf_count
        batched_errors = checked.jaxpr.derived(
            ("errors of shards", count), lambda: _with_axis(checked.jaxpr, count)
        )
    spec = PartitionSpec(tuple(mesh.axis_names))
    changed = {
        **params,
        "jaxpr": batched_errors if count else checked.jaxpr,
        "out_specs": (*(spec,) * count, *params["out_specs"]),
    }
    return log.absorb(checked, primitive.bind(*operands, **changed))


def _with_axis(jaxpr: Jaxpr, count: int) -> Jaxpr:
    """Add a leading axis, sharded over the devices, to the first results of a jaxpr."""

    def fun(*args: Array) -> list[Array]:
        outs = ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
        errors = [reshape(x, (1, *ir.get_aval(x).shape)) for x in outs[:count]]  # pyright: ignore
        return [*errors, *outs[count:]]

    return ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info)


def trace_on_shards(
    fun: Callable[..., Sequence[ArrayLike]],
    mesh: AnyMesh,
    manual: AxisNames,
    in_specs: Sequence[PartitionSpec],
    args: Sequence[ArrayLike],
    debug_info: ir.DebugInfo,
) -> Jaxpr:
    """Trace a flat function on shards, whose types do not record along which axes they vary.

    Args:
      fun: takes the shards of one device, and returns a flat sequence of arrays.
      mesh: the devices, or their axes within another ``shard_map``.
      manual: the axes of the mesh that become manual.
      in_specs: the partition spec of each argument.
      args: the whole arrays.
      debug_info: the description of the function.
    """
    avals = [
        shard_aval(ir.get_aval(x), mesh, s, manual, False)  # pyright: ignore[reportArgumentType]
        for x, s in zip(args, in_specs, strict=True)
    ]
    return in_scope(mesh, manual, lambda: ir.trace_to_jaxpr(fun, avals, debug_info))


def bind_on_shards(
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    manual: AxisNames,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    args: Sequence[ArrayLike],
) -> list[Array]:
    """Apply ``shard_map`` to a jaxpr of ``trace_on_shards``."""
    consts = tuple(jaxpr.consts)
    return shard_map_p.bind(
        *consts,
        *args,
        check_vma=False,
        in_specs=(*(PartitionSpec(),) * len(consts), *in_specs),
        jaxpr=ir.convert_constvars(jaxpr),
        mesh=mesh,
        newly_manual_axes=manual,
        out_specs=tuple(out_specs),
    )


def shard_map_call(
    fun: Callable[..., Sequence[ArrayLike]],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Callable[[], Sequence[PartitionSpec]],
    args: Sequence[ArrayLike],
    debug_info: ir.DebugInfo,
) -> list[Array]:
    """Run a flat function on shards over all axes of a mesh; see ``trace_on_shards``.

    ``out_specs`` returns the partition specs of the results; it is called after ``fun`` was traced.
    """
    manual = frozenset(mesh.axis_names)
    jaxpr = trace_on_shards(fun, mesh, manual, in_specs, args, debug_info)
    return bind_on_shards(jaxpr, mesh, manual, in_specs, out_specs(), args)


def _abstract_eval(
    *avals: ir.AbstractValue,
    check_vma: bool,
    in_specs: Specs,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    newly_manual_axes: AxisNames,
    out_specs: Specs,
) -> list[ShapedArray]:
    return [
        whole_aval(aval, mesh, spec, newly_manual_axes)  # pyright: ignore[reportArgumentType]
        for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)
    ]


def _batch_rule(primitive: Primitive) -> Callable[..., tuple[list[Array], list[int | None]]]:
    """Return the batching rule. With ``spmd_axis_name`` the batch is sharded over that axis."""

    def batch(
        axis: Axis, args: Sequence[ArrayLike], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Array], list[int | None]]:
        shards, in_specs, out_specs = Shards.of(params), params["in_specs"], params["out_specs"]
        # The batch becomes one more dimension of the shards. If it is sharded over manual axes,
        # each device maps over its part of the batch, and the specs name these axes for it.
        names = axis.spmd_name if axis.sharding is None else axis.sharding.parts[0]
        sharded = names is not None and shards.manual.issuperset(spec_axes(names))
        names = names if sharded else None
        size = axis.size // prod(shards.mesh.shape[n] for n in spec_axes(names))
        inner = axis._replace(size=size, sharding=None)
        out_dims: list[int | None] = []
        batched = shards.inside(
            lambda: _batched(params["jaxpr"], inner, dims, names, shards, out_dims)
        )
        outs = shards.bind(
            primitive,
            args,
            batched,
            [with_dim(s, d, names) for s, d in zip(in_specs, dims, strict=True)],
            [with_dim(s, d, names) for s, d in zip(out_specs, out_dims, strict=True)],
        )
        return outs, out_dims

    return batch


def _batched(
    jaxpr: Jaxpr,
    axis: Axis,
    dims: Sequence[int | None],
    names: Hashable,
    shards: Shards,
    out_dims: list[int | None],
) -> Jaxpr:
    """Batch the jaxpr of shards; ``out_dims`` is set to the batch dimensions of its results."""

    def make() -> tuple[Jaxpr, tuple[int | None, ...]]:
        dims_out: Sequence[int | None] = ()

        def fun(*xs: Array) -> Sequence[ArrayLike]:
            nonlocal dims_out
            run = lambda *examples: ir.eval_jaxpr(jaxpr, jaxpr.consts, *examples)
            values, dims_out = batch_flat(run, axis, xs, dims)
            return values

        avals = [
            aval if d is None else _batched_aval(aval, axis.size, d, names, shards.check_vma)
            for aval, d in zip(jaxpr.in_avals, dims, strict=True)
        ]
        return ir.trace_to_jaxpr(fun, avals, jaxpr.debug_info), tuple(dims_out)

    batched, dims_out = jaxpr.derived(("batch on shards", axis, tuple(dims), names, shards), make)
    out_dims[:] = dims_out
    return batched


def _batched_aval(aval: Any, size: int, dim: int, names: Hashable, check_vma: bool) -> ShapedArray:
    shape = (*aval.shape[:dim], size, *aval.shape[dim:])
    added = frozenset(spec_axes(names)) if check_vma else frozenset()
    outer = aval.type_sharding
    if outer is None:
        sharding = ir.make_type_sharding(None, ((),) * len(shape), added)
    else:
        parts = (*outer.parts[:dim], (), *outer.parts[dim:])
        sharding = outer.update(parts=parts, varying=outer.varying | added)
    return ShapedArray(shape, aval.dtype, aval.weak_type, sharding=sharding)


def _lower(
    ctx: Lowering,
    *operands: Value,
    check_vma: bool,
    in_specs: Specs,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    newly_manual_axes: AxisNames,
    out_specs: Specs,
) -> list[Value]:
    outs = list(ctx.outs)
    module = ctx.module
    symbol = module.mesh(tuple(mesh.shape.items()))
    inner_avals = [v.aval for v in jaxpr.invars]
    outer, was_manual = module.axis_sizes, module.manual
    module.axis_sizes = {**outer, **mesh.shape}
    module.manual = set(mesh.axis_names) <= newly_manual_axes | set(mesh.abstract_mesh.manual_axes)
    try:
        # XLA does not partition a module for one device, so the jaxpr itself is written.
        written = lambda c, *shards: in_scope(
            mesh, newly_manual_axes, lambda: c.inline(jaxpr, shards), check_vma
        )
        if module.num_partitions == 1 or not newly_manual_axes:
            return written(ctx, *operands)
        region = ctx.region(inner_avals, written, "sdy.return")
        closed = module.manual
    finally:
        module.axis_sizes, module.manual = outer, was_manual

    def shardings(specs: Specs, avals: Sequence[ShapedArray]) -> str:
        ranks = [ir.physical_aval(aval).ndim for aval in avals]
        texts = [sharding_text(symbol, s, n, closed) for s, n in zip(specs, ranks, strict=True)]
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    def unreduced(x: Value, spec: PartitionSpec) -> Value:
        # Shardy lets an unreduced value enter a manual computation only after a constraint.
        if not spec.unreduced:
            return x
        return ctx.constrained(
            x, sharding_text(symbol, spec, ir.physical_aval(x.aval).ndim, closed)
        )

    axes = ", ".join(string(str(n)) for n in mesh.axis_names if n in newly_manual_axes)
    return ctx.generic(
        "sdy.manual_computation",
        [unreduced(x, spec) for x, spec in zip(operands, in_specs, strict=True)],
        outs,
        f"in_shardings = {shardings(in_specs, [x.aval for x in operands])}, "
        f"out_shardings = {shardings(out_specs, outs)}, "
        f"manual_axes = #sdy<manual_axes{{{axes}}}>",
        [region],
    )


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> ir.LiveCall | None:
    call = ir.live_call(params, needed, final)
    if call is None or not any(call.operands):  # the specs of operands decide how work is sharded
        return None
    specs = {
        "in_specs": tuple(compress(params["in_specs"], call.operands)),
        "out_specs": tuple(compress(params["out_specs"], needed)),
    }
    return call._replace(params={**call.params, **specs})


def _order(
    eqn: ir.JaxprEqn, effects: tuple[ir.Effect, ...], tokens: list[ir.Var]
) -> tuple[list[ir.JaxprEqn], list[ir.Var]]:
    """The order rule: each device orders its own effects, with tokens that it creates.

    There is no order between the effects of several devices.
    """
    jaxpr = thread_tokens(eqn.params["jaxpr"], effects)
    create_tokens = [ir.JaxprEqn([], [v], create_token_p, {}) for v in jaxpr.invars[: len(effects)]]
    inner = jaxpr.replace(
        invars=jaxpr.invars[len(effects) :],
        outvars=jaxpr.outvars[len(effects) :],
        eqns=[*create_tokens, *jaxpr.eqns],
    )
    return [eqn.replace(params={**eqn.params, "jaxpr": inner})], tokens


def _steps_rule(primitive: Primitive) -> Callable[..., list[Array]]:
    def steps(log: Any, *operands: ArrayLike, **params: Any) -> list[Array]:
        avals = _abstract_eval(*map(ir.get_aval, operands), **params)
        return run_in_steps(log, operands, avals, shard_map_call, params)

    return steps


def _discharge_rule(primitive: Primitive) -> Callable[..., list[Any]]:
    def rule(*args: Any, jaxpr: Jaxpr, mesh: Any, in_specs: Specs, out_specs: Specs, **params: Any):
        """Run the jaxpr on the references' arrays, and write their new values back."""
        manual, check_vma = params["newly_manual_axes"], params["check_vma"]
        pure = in_scope(mesh, manual, lambda: ir.discharged(jaxpr), check_vma)
        # A reference's array is sharded as the reference was, so its new value, an additional
        # result, has the spec of the argument.
        outs = primitive.bind(
            *ir.as_values(args, ir.reference_arguments(jaxpr)),
            jaxpr=pure.jaxpr,
            mesh=mesh,
            in_specs=in_specs,
            out_specs=(*out_specs, *(in_specs[i] for i in pure.written)),
            **params,
        )
        count = len(jaxpr.outvars)
        ir.write_back([args[i] for i in pure.written], outs[count:], outs[:count])
        ir.free_references(args, pure.freed)
        return outs[:count]

    return rule


# Runs ``jaxpr`` on each device of ``mesh``, manual over ``newly_manual_axes``; the compiler, or an
# enclosing ``shard_map``, partitions over the other axes. ``in_specs`` split the operands into
# shards, ``out_specs`` join the results from shards. With ``check_vma`` the types inside record
# along which axes values vary.
shard_map_p: Primitive = ir.define(
    "shard_map",
    abstract_eval=_abstract_eval,
    multiple_results=True,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    sharding=ir.by_program,
    jvp=ir.derived(jvp_rule),
    linearize=ir.derived(linearize_rule),
    transpose=ir.derived(transpose_rule),
    batch=ir.derived(_batch_rule),
    lower=of_function(as_batch, _lower),
    dead_code=_dead_code,
    mesh=lambda *, mesh, **_: mesh if isinstance(mesh, Mesh) else None,
    order=_order,
    scope=lambda params, build: Shards.of(params).inside(build),
    steps=ir.derived(_steps_rule),
    discharge=ir.derived(_discharge_rule),
    checkify=check_shards,
)
