"""The primitive that runs a program on every device of a mesh, on its own shards of the operands.

It is lowered to ``sdy.manual_computation``. ``pmap`` is built on it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ricci_autodiff import (
    Linearized,
    Tape,
    Zero,
    join_tangents,
    jvp_jaxpr,
    linearize_jaxpr,
    tangent_aval,
    transpose_jaxpr,
)
from ricci_autodiff import is_undefined_primal as is_linear
from ricci_batching import Axis, batch_jaxpr, named_axes
from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    Atom,
    DebugInfo,
    Effect,
    Jaxpr,
    JaxprEqn,
    Literal,
    LiveCall,
    Primitive,
    Shape,
    ShapedArray,
    Steps,
    Var,
    as_array,
    convert_constvars,
    define,
    eval_jaxpr,
    extend_axes,
    get_aval,
    live_call,
    physical_aval,
    program_rules,
    trace_to_jaxpr,
)
from ricci_lax import create_token_p, div, reshape
from ricci_stablehlo import Lowering, Value, string, thread_tokens
from ricci_xla import Mesh, PartitionSpec

from ._checkify_rules import check_shards
from ._collectives import psum_p

type _Specs = tuple[PartitionSpec, ...]


def spec_axes(part: Any) -> tuple[Hashable, ...]:
    """The mesh axes that one entry of a partition spec names."""
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _named(spec: PartitionSpec) -> set[Hashable]:
    return {name for part in spec for name in spec_axes(part)}


def _scaled(aval: ShapedArray, mesh: Mesh, spec: PartitionSpec, grow: bool) -> ShapedArray:
    """The type of a shard of an array; if ``grow``, the type of the array that has such shards."""
    shape = list(aval.shape)
    for i, part in enumerate(spec):
        for name in spec_axes(part):
            shape[i] = shape[i] * mesh.shape[name] if grow else shape[i] // mesh.shape[name]
    return aval.update(shape=tuple(shape))


def shard_aval(aval: ShapedArray, mesh: Mesh, spec: PartitionSpec) -> ShapedArray:
    """The type of a shard of an array that is divided by ``spec``."""
    return _scaled(aval, mesh, spec, grow=False)


def shard_map_call(
    fun: Callable[..., Sequence[ArrayLike]],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Callable[[], Sequence[PartitionSpec]],
    args: Sequence[ArrayLike],
    debug_info: DebugInfo,
) -> list[Array]:
    """Run a flat function on shards.

    Args:
      fun: takes the shards of one device, and returns a flat sequence of arrays.
      mesh: the devices.
      in_specs: the partition spec of each argument.
      out_specs: returns the partition specs of the results; called after ``fun`` was traced.
      args: the whole arrays.
      debug_info: the description of the function.
    """
    avals = [
        shard_aval(get_aval(x), mesh, s)  # pyright: ignore[reportArgumentType]
        for x, s in zip(args, in_specs, strict=True)
    ]
    with extend_axes(mesh.shape.items()):
        jaxpr = trace_to_jaxpr(fun, avals, debug_info)
    consts = tuple(jaxpr.consts)
    replicated = (PartitionSpec(),) * len(consts)
    return shard_map_p.bind(
        *consts,
        *args,
        in_specs=(*replicated, *in_specs),
        jaxpr=convert_constvars(jaxpr),
        mesh=mesh,
        out_specs=tuple(out_specs()),
    )


def _abstract_eval(
    *avals: AbstractValue, in_specs: _Specs, jaxpr: Jaxpr, mesh: Mesh, out_specs: _Specs
) -> list[ShapedArray]:
    return [
        _scaled(atom.aval, mesh, spec, grow=True)
        for atom, spec in zip(jaxpr.outvars, out_specs, strict=True)
    ]


def _in_axes[T](mesh: Mesh, build: Callable[[], T]) -> T:
    """The result of ``build``, called with the axes of the mesh in scope."""
    with extend_axes(mesh.shape.items()):
        return build()


def _jvp(
    primals: Sequence[ArrayLike],
    tangents: Sequence[Any],
    *,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> tuple[list[Array], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    program, out_nonzeros = _in_axes(mesh, lambda: jvp_jaxpr(jaxpr, nonzeros))
    given = [t for t in tangents if type(t) is not Zero]
    outs = shard_map_p.bind(
        *primals,
        *given,
        in_specs=(*in_specs, *_where(in_specs, nonzeros)),
        jaxpr=program,
        mesh=mesh,
        out_specs=(*out_specs, *_where(out_specs, out_nonzeros)),
    )
    results, found = outs[: len(out_specs)], outs[len(out_specs) :]
    return results, join_tangents(out_nonzeros, found, results)


def _where[T](items: Sequence[T], flags: Sequence[bool]) -> tuple[T, ...]:
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


def _linearize(
    tape: Tape,
    primals: Sequence[ArrayLike],
    tangents: Sequence[Any],
    *,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> tuple[list[Array], list[Any]]:
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    split, residual_specs = _in_axes(mesh, lambda: _linearized(jaxpr, nonzeros, mesh, in_specs))
    outputs = shard_map_p.bind(
        *primals,
        in_specs=in_specs,
        jaxpr=split.forward,
        mesh=mesh,
        out_specs=(*out_specs, *residual_specs[len(in_specs) :]),
    )
    results = outputs[: len(out_specs)]
    # Residuals may be arguments or results, too; these keep their specs.
    specs = (*in_specs, *out_specs, *residual_specs[len(in_specs) :])
    values = (*primals, *outputs)
    given = [t for t in tangents if type(t) is not Zero]
    if split.tangent.outvars:
        recorded = tape.record(
            shard_map_p,
            (*(values[i] for i in split.residuals), *given),
            {
                "in_specs": (
                    *(specs[i] for i in split.residuals),
                    *_where(in_specs, nonzeros),
                ),
                "jaxpr": split.tangent,
                "mesh": mesh,
                "out_specs": _where(out_specs, split.nonzeros),
            },
        )
    else:
        recorded = ()
    return results, join_tangents(split.nonzeros, recorded, results)


def _linearized(
    jaxpr: Jaxpr, nonzeros: tuple[bool, ...], mesh: Mesh, in_specs: _Specs
) -> tuple[Linearized, _Specs]:
    """The linearization of a program on shards.

    Each device has residuals of its own, which may be scalars. A new leading axis, divided over
    the whole mesh, makes the residuals of all devices one array.

    Returns:
      The linearization, and the partition specs of the arguments followed by those of the new
      residuals.
    """
    key = ("linearize on shards", nonzeros, mesh)
    return jaxpr.derived(key, lambda: _make_linearized(jaxpr, nonzeros, mesh, in_specs))


def _make_linearized(
    jaxpr: Jaxpr, nonzeros: tuple[bool, ...], mesh: Mesh, in_specs: _Specs
) -> tuple[Linearized, _Specs]:
    split = linearize_jaxpr(jaxpr, nonzeros)
    results = len(jaxpr.outvars)
    first_new = len(jaxpr.invars) + results

    def forward(*args: Array) -> list[Array]:
        outs = eval_jaxpr(split.forward, split.forward.consts, *args)
        residuals = [reshape(x, (1, *aval.shape)) for x, aval in _typed(outs[results:])]
        return [*outs[:results], *residuals]

    def tangent(*args: Array) -> list[Array]:
        count = len(split.residuals)
        residuals = [
            reshape(x, aval.shape[1:]) if i >= first_new else x
            for (x, aval), i in zip(_typed(args[:count]), split.residuals, strict=True)
        ]
        return eval_jaxpr(split.tangent, split.tangent.consts, *residuals, *args[count:])

    forward_jaxpr = trace_to_jaxpr(forward, jaxpr.in_avals, jaxpr.debug_info)
    avals = [*jaxpr.in_avals, *forward_jaxpr.out_avals]
    tangent_avals = [
        *(avals[i] for i in split.residuals),
        *(tangent_aval(a) for a, nz in zip(jaxpr.in_avals, nonzeros, strict=True) if nz),
    ]
    tangent_jaxpr = trace_to_jaxpr(tangent, tangent_avals, jaxpr.debug_info)
    spec = PartitionSpec(tuple(mesh.axis_names))
    new = len(split.forward.outvars) - results
    specs = (*in_specs, *(spec,) * new)
    return split._replace(forward=forward_jaxpr, tangent=tangent_jaxpr), specs


def _transpose(
    cts: Sequence[Any],
    *args: Any,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> list[Array | None]:
    linear = [is_linear(a) for a in args]
    nonzeros = [type(c) is not Zero for c in cts]
    program, out_nonzeros = _in_axes(
        mesh, lambda: _transposed(jaxpr, linear, nonzeros, mesh, in_specs, out_specs)
    )
    linear_specs = _where(in_specs, linear)
    outs = iter(
        shard_map_p.bind(
            *(a for a in args if not is_linear(a)),
            *(c for c in cts if type(c) is not Zero),
            in_specs=(
                *_where(in_specs, [not flag for flag in linear]),
                *_where(out_specs, nonzeros),
            ),
            jaxpr=program,
            mesh=mesh,
            out_specs=_where(linear_specs, out_nonzeros),
        )
    )
    found = iter(out_nonzeros)
    return [next(outs) if flag and next(found) else None for flag in linear]


def _transposed(
    jaxpr: Jaxpr,
    linear: Sequence[bool],
    nonzeros: Sequence[bool],
    mesh: Mesh,
    in_specs: _Specs,
    out_specs: _Specs,
) -> tuple[Jaxpr, list[bool]]:
    """The transposed program on shards.

    The cotangent of a result that is replicated over mesh axes is divided by their size, so that
    each device has an equal part of it. The cotangent of a replicated argument is the sum of those
    of the devices.
    """
    program, out_nonzeros = transpose_jaxpr(jaxpr, linear, nonzeros)
    known = len(linear) - sum(linear)
    ct_specs = _where(out_specs, nonzeros)
    result_specs = _where(_where(in_specs, linear), out_nonzeros)

    def fun(*args: Array) -> list[Array]:
        cts = [
            _shared(ct, _replicated_axes(mesh, spec), mesh)
            for ct, spec in zip(args[known:], ct_specs, strict=True)
        ]
        outs = eval_jaxpr(program, program.consts, *args[:known], *cts)
        return [
            _collected(x, _replicated_axes(mesh, spec))
            for x, spec in zip(outs, result_specs, strict=True)
        ]

    key = ("transpose on shards", tuple(linear), tuple(nonzeros), mesh, in_specs, out_specs)
    return (
        jaxpr.derived(key, lambda: trace_to_jaxpr(fun, program.in_avals, jaxpr.debug_info)),
        out_nonzeros,
    )


def _replicated_axes(mesh: Mesh, spec: PartitionSpec) -> tuple[Hashable, ...]:
    """The mesh axes that a partition spec does not name: an array is the same along them."""
    named = _named(spec)
    return tuple(name for name in mesh.axis_names if name not in named)


def _shared(ct: Array, axes: tuple[Hashable, ...], mesh: Mesh) -> Array:
    size = int(np.prod([mesh.shape[name] for name in axes], dtype=np.int64))
    return div(ct, get_aval(ct).dtype.type(size)) if size > 1 else ct  # pyright: ignore


def _collected(x: Array, axes: tuple[Hashable, ...]) -> Array:
    return psum_p.bind(x, axes=axes, axis_index_groups=None)[0] if axes else x


def _batch(
    axis: Axis,
    args: Sequence[ArrayLike],
    dims: Sequence[int | None],
    *,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> tuple[list[Array], list[int | None]]:
    batched, out_dims = _in_axes(mesh, lambda: batch_jaxpr(jaxpr, axis, dims))
    outs = shard_map_p.bind(
        *args,
        in_specs=tuple(_with_dim(s, d) for s, d in zip(in_specs, dims, strict=True)),
        jaxpr=batched,
        mesh=mesh,
        out_specs=tuple(_with_dim(s, d) for s, d in zip(out_specs, out_dims, strict=True)),
    )
    return outs, out_dims


def _with_dim(spec: PartitionSpec, dim: int | None) -> PartitionSpec:
    if dim is None:
        return spec
    parts = [*spec, *(None,) * max(0, dim - len(spec))]
    parts.insert(dim, None)
    return PartitionSpec(*parts)


def _lower(
    ctx: Lowering,
    *operands: Value,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> list[Value]:
    outs = list(ctx.outs)
    module = ctx.module
    symbol = module.mesh(tuple(mesh.shape.items()))
    outer, manual = module.axis_sizes, module.manual
    module.axis_sizes, module.manual = dict(mesh.shape), True
    inner_avals = [v.aval for v in jaxpr.invars]
    if module.num_partitions == 1:  # XLA does not partition the module, so write the program itself
        try:
            return ctx.inline(jaxpr, operands)
        finally:
            module.axis_sizes, module.manual = outer, manual
    try:
        region = ctx.region(inner_avals, lambda c, *shards: c.inline(jaxpr, shards))
    finally:
        module.axis_sizes, module.manual = outer, manual
    region[-1] = region[-1].replace("stablehlo.return", "sdy.return")

    def shardings(specs: _Specs, avals: Sequence[ShapedArray]) -> str:
        ranks = [physical_aval(aval).ndim for aval in avals]
        texts = [_sharding_text(symbol, s, n) for s, n in zip(specs, ranks, strict=True)]
        return f"#sdy.sharding_per_value<[{', '.join(texts)}]>"

    axes = ", ".join(string(str(name)) for name in mesh.axis_names)
    return ctx.generic(
        "sdy.manual_computation",
        operands,
        outs,
        f"in_shardings = {shardings(in_specs, [x.aval for x in operands])}, "
        f"out_shardings = {shardings(out_specs, outs)}, "
        f"manual_axes = #sdy<manual_axes{{{axes}}}>",
        [region],
    )


def _dead_code(params: dict[str, Any], needed: tuple[bool, ...], final: bool) -> LiveCall | None:
    call = live_call(params, needed, final)
    if call is None or not any(call.operands):  # the specs of operands say how to divide the work
        return None
    specs = {
        "in_specs": _where(params["in_specs"], call.operands),
        "out_specs": _where(params["out_specs"], needed),
    }
    return call._replace(params={**call.params, **specs})


def _order(
    eqn: JaxprEqn, effects: tuple[Effect, ...], tokens: list[Var]
) -> tuple[list[JaxprEqn], list[Var]]:
    """The order rule: each device orders its own effects, with tokens that it creates.

    There is no order between the effects of several devices.
    """
    jaxpr = thread_tokens(eqn.params["jaxpr"], effects)
    made = [JaxprEqn([], [v], create_token_p, {}) for v in jaxpr.invars[: len(effects)]]
    inner = jaxpr.replace(
        invars=jaxpr.invars[len(effects) :],
        outvars=jaxpr.outvars[len(effects) :],
        eqns=[*made, *jaxpr.eqns],
    )
    return [eqn.replace(params={**eqn.params, "jaxpr": inner})], tokens


def _sharding_text(symbol: str, spec: PartitionSpec, ndim: int) -> str:
    parts = [*spec, *(None,) * (ndim - len(spec))]
    dims = ", ".join(
        f"{{{', '.join(string(str(name)) for name in spec_axes(part))}}}" for part in parts
    )
    return f"<@{symbol}, [{dims}]>"


# The rules for running a program step by step: every operation is run on one device after the
# other, but a collective is run at once, for all devices.


def _steps(
    steps: Steps,
    *operands: ArrayLike,
    in_specs: _Specs,
    jaxpr: Jaxpr,
    mesh: Mesh,
    out_specs: _Specs,
) -> list[Array]:
    shards = [_divided(steps, x, mesh, spec) for x, spec in zip(operands, in_specs, strict=True)]
    results = _lockstep(steps, jaxpr, shards, mesh)
    avals = _abstract_eval(
        *map(get_aval, operands), in_specs=in_specs, jaxpr=jaxpr, mesh=mesh, out_specs=out_specs
    )
    return [
        _joined(steps, xs, aval, mesh, spec)
        for xs, aval, spec in zip(results, avals, out_specs, strict=True)
    ]


# A value on each device, in the order of the mesh.
type _PerDevice = list[Any]


def _lockstep(
    steps: Steps, jaxpr: Jaxpr, args: Sequence[_PerDevice], mesh: Mesh
) -> list[_PerDevice]:
    """The results of a program on all devices."""
    count = mesh.devices.size
    env = {id(v): [c] * count for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update((id(v), xs) for v, xs in zip(jaxpr.invars, args, strict=True))

    def read(atom: Atom) -> _PerDevice:
        return [atom.operand()] * count if isinstance(atom, Literal) else env[id(atom)]

    for eqn in jaxpr.eqns:
        operands = list(map(read, eqn.invars))
        program = program_rules.get(eqn.primitive)
        if not named_axes(eqn.primitive, eqn.params):
            each = [
                steps.step(eqn, [xs[d] for xs in operands], f"device {d}") for d in range(count)
            ]
            results = [list(xs) for xs in zip(*each, strict=True)]
        elif program is not None:
            results = _lockstep(steps, program(**eqn.params)[0], operands, mesh)
        else:
            results = _together(eqn, operands, mesh)
            for d in range(count):
                steps.computed(eqn, sum(operands, []), [xs[d] for xs in results], f"device {d}")
        env.update((id(v), xs) for v, xs in zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


def _together(eqn: JaxprEqn, operands: Sequence[_PerDevice], mesh: Mesh) -> list[_PerDevice]:
    """The results of an equation that is run on all devices at once."""
    split = PartitionSpec(tuple(mesh.axis_names))
    whole = [np.stack(list(map(np.asarray, xs))) for xs in operands]

    def fun(*shards: Array) -> list[Array]:
        local = [reshape(x, aval.shape[1:]) for x, aval in _typed(shards)]
        out = eqn.primitive.bind(*local, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        return [reshape(x, (1, *aval.shape)) for x, aval in _typed(outs)]

    outs = shard_map_call(
        fun,
        mesh,
        [split] * len(whole),
        lambda: [split] * len(eqn.outvars),
        whole,
        DebugInfo("steps", eqn.primitive.name),
    )
    return [[as_array(row) for row in np.asarray(x)] for x in outs]


def _typed(arrays: Sequence[Array]) -> list[tuple[Array, Any]]:
    return [(x, get_aval(x)) for x in arrays]


def _block(shape: Shape, mesh: Mesh, spec: PartitionSpec, device: int) -> tuple[slice, ...]:
    """The index of a device's shard of an array: a slice for each dimension."""
    place = dict(zip(mesh.axis_names, np.unravel_index(device, mesh.devices.shape), strict=True))
    slices = [slice(None)] * len(shape)
    for dim, part in enumerate(spec):
        index, parts = 0, 1
        for name in spec_axes(part):
            index = index * mesh.shape[name] + int(place[name])
            parts *= mesh.shape[name]
        size = shape[dim] // parts
        slices[dim] = slice(index * size, (index + 1) * size)
    return tuple(slices)


def _divided(steps: Steps, x: ArrayLike, mesh: Mesh, spec: PartitionSpec) -> _PerDevice:
    """The shards of an array."""
    values = np.asarray(x)
    return [
        steps.made(as_array(values[_block(values.shape, mesh, spec, d)]), x)
        for d in range(mesh.devices.size)
    ]


def _joined(
    steps: Steps, xs: _PerDevice, aval: ShapedArray, mesh: Mesh, spec: PartitionSpec
) -> Array:
    """The array that has these shards."""
    values = np.empty(aval.shape, aval.dtype)
    for d, x in enumerate(xs):
        values[_block(aval.shape, mesh, spec, d)] = np.asarray(x)
    return steps.made(as_array(values), *xs)


# Runs ``jaxpr`` on each device of ``mesh``. The specs say how the operands are divided into shards,
# and how the results are made of shards.
shard_map_p: Primitive = define(
    "shard_map",
    abstract_eval=_abstract_eval,
    multiple_results=True,
    memo=False,
    effects=lambda params: params["jaxpr"].effects,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    lower=_lower,
    dead_code=_dead_code,
    mesh=lambda *, mesh, **_: mesh,
    order=_order,
    steps=_steps,
    checkify=check_shards,
)
