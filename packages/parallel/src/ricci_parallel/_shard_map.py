"""The primitive that runs a program on every device of a mesh, each on its own shard.

It is lowered to ``sdy.manual_computation``; ``pmap`` is made of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_autodiff import (
    Linearized,
    Zero,
    join_tangents,
    jvp_jaxpr,
    linearize_jaxpr,
    tangent_aval,
    transpose_jaxpr,
)
from ricci_autodiff import is_undefined_primal as is_linear
from ricci_batching import batch_jaxpr, named_axes
from ricci_ir import (
    DebugInfo,
    Effect,
    Jaxpr,
    JaxprEqn,
    Literal,
    ShapedArray,
    Steps,
    Var,
    as_array,
    convert_constvars,
    define,
    eval_jaxpr,
    extend_axes,
    get_aval,
    program_rules,
    trace_to_jaxpr,
)
from ricci_lax import create_token_p, div, reshape
from ricci_stablehlo import Lowering, Value, string, thread_tokens
from ricci_xla import Mesh, PartitionSpec

from ._checked_shards import check_shards
from ._collectives import psum_p


def spec_axes(part: Any) -> tuple:
    """The mesh axes that one entry of a partition spec names."""
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _named(spec: PartitionSpec) -> set:
    return {name for part in spec for name in spec_axes(part)}


def _scaled(aval: Any, mesh: Mesh, spec: PartitionSpec, grow: bool) -> ShapedArray:
    """The type of a shard of an array, or of the array that such shards make up."""
    shape = list(aval.shape)
    for i, part in enumerate(spec):
        for name in spec_axes(part):
            shape[i] = shape[i] * mesh.shape[name] if grow else shape[i] // mesh.shape[name]
    return aval.update(shape=tuple(shape))


def shard_aval(aval: Any, mesh: Mesh, spec: PartitionSpec) -> ShapedArray:
    """The type of one device's part of an array laid out by ``spec``."""
    return _scaled(aval, mesh, spec, grow=False)


def shard_map_call(
    fun: Callable[..., Sequence[Any]],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Callable[[], Sequence[PartitionSpec]],
    args: Sequence[Any],
    debug_info: DebugInfo,
) -> list[Any]:
    """Run a flat function on shards.

    Args:
      fun: takes one device's shards and returns a flat sequence of arrays.
      mesh: the devices.
      in_specs: how each argument is divided.
      out_specs: called after ``fun`` was traced: how the results are put together.
      args: whole arrays.
    """
    avals = [shard_aval(get_aval(x), mesh, s) for x, s in zip(args, in_specs, strict=True)]
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


def _abstract_eval(*avals, in_specs, jaxpr, mesh, out_specs):
    return [
        _scaled(aval, mesh, spec, grow=True)
        for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)
    ]


def _in_axes(mesh: Mesh, build: Callable[[], Any]) -> Any:
    with extend_axes(mesh.shape.items()):
        return build()


def _jvp(primals, tangents, *, in_specs, jaxpr, mesh, out_specs):
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


def _where(items: Sequence[Any], flags: Sequence[bool]) -> tuple:
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


def _linearize(tape, primals, tangents, *, in_specs, jaxpr, mesh, out_specs):
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
    # A result stands for itself among the residuals, laid out as it is.
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


def _linearized(jaxpr: Jaxpr, nonzeros, mesh: Mesh, in_specs) -> tuple[Linearized, tuple]:
    """The linearization whose new residuals have a leading axis, divided over the whole mesh.

    Each device keeps residuals of its own, of any rank; the added axis makes them one array.
    """
    key = ("linearize on shards", nonzeros, mesh)
    return jaxpr.derived(key, lambda: _make_linearized(jaxpr, nonzeros, mesh, in_specs))


def _make_linearized(jaxpr, nonzeros, mesh, in_specs):
    split = linearize_jaxpr(jaxpr, nonzeros)
    results = len(jaxpr.outvars)
    first_new = len(jaxpr.invars) + results

    def forward(*args):
        outs = eval_jaxpr(split.forward, split.forward.consts, *args)
        return [
            *outs[:results],
            *(reshape(r, (1, *get_aval(r).shape)) for r in outs[results:]),
        ]

    def tangent(*args):
        count = len(split.residuals)
        residuals = [
            reshape(x, get_aval(x).shape[1:]) if i >= first_new else x
            for x, i in zip(args[:count], split.residuals, strict=True)
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


def _transpose(cts, *args, in_specs, jaxpr, mesh, out_specs):
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


def _transposed(jaxpr, linear, nonzeros, mesh, in_specs, out_specs):
    """The transposed program on shards.

    A result that is the same on several devices shares its cotangent among them, and an argument
    that is the same on several devices collects theirs.
    """
    program, out_nonzeros = transpose_jaxpr(jaxpr, linear, nonzeros)
    known = len(linear) - sum(linear)
    ct_specs = _where(out_specs, nonzeros)
    result_specs = _where(_where(in_specs, linear), out_nonzeros)

    def fun(*args):
        cts = [
            _shared(ct, _missing(mesh, spec), mesh)
            for ct, spec in zip(args[known:], ct_specs, strict=True)
        ]
        outs = eval_jaxpr(program, program.consts, *args[:known], *cts)
        return [
            _collected(x, _missing(mesh, spec)) for x, spec in zip(outs, result_specs, strict=True)
        ]

    key = ("transpose on shards", tuple(linear), tuple(nonzeros), mesh, in_specs, out_specs)
    return (
        jaxpr.derived(key, lambda: trace_to_jaxpr(fun, program.in_avals, jaxpr.debug_info)),
        out_nonzeros,
    )


def _missing(mesh: Mesh, spec: PartitionSpec) -> tuple:
    named = _named(spec)
    return tuple(name for name in mesh.axis_names if name not in named)


def _shared(ct: Any, axes: tuple, mesh: Mesh) -> Any:
    size = int(np.prod([mesh.shape[name] for name in axes], dtype=np.int64))
    return div(ct, get_aval(ct).dtype.type(size)) if size > 1 else ct  # pyright: ignore


def _collected(x: Any, axes: tuple) -> Any:
    return psum_p.bind(x, axes=axes, axis_index_groups=None)[0] if axes else x


def _batch(axis, args, dims, *, in_specs, jaxpr, mesh, out_specs):
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


def _lower(ctx: Lowering, *operands: Value, in_specs, jaxpr, mesh, out_specs):
    outs = list(ctx.outs)
    module = ctx.module
    symbol = module.mesh(tuple(mesh.shape.items()))
    outer, manual = module.axis_sizes, module.manual
    module.axis_sizes, module.manual = dict(mesh.shape), True
    inner_avals = [v.aval for v in jaxpr.invars]
    if module.num_partitions == 1:  # nothing to divide: jaxlib keeps no room for it in modules
        try:
            return ctx.inline(jaxpr, operands)
        finally:
            module.axis_sizes, module.manual = outer, manual
    try:
        region = ctx.region(inner_avals, lambda c, *shards: c.inline(jaxpr, shards))
    finally:
        module.axis_sizes, module.manual = outer, manual
    region[-1] = region[-1].replace("stablehlo.return", "sdy.return")

    def shardings(specs, avals):
        texts = [_sharding_text(symbol, s, a.ndim) for s, a in zip(specs, avals, strict=True)]
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


def _order(eqn: JaxprEqn, effects: tuple[Effect, ...], tokens: list[Var]):
    """Each device keeps the order by itself: nothing orders what several do."""
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


# Step by step: each device's operations one after another, in lockstep; what combines values of
# several devices is done at once, for all of them.


def _steps(steps: Steps, *operands: Any, in_specs, jaxpr, mesh, out_specs) -> list[Any]:
    shards = [_divided(steps, x, mesh, spec) for x, spec in zip(operands, in_specs, strict=True)]
    results = _lockstep(steps, jaxpr, shards, mesh)
    avals = _abstract_eval(
        *map(get_aval, operands), in_specs=in_specs, jaxpr=jaxpr, mesh=mesh, out_specs=out_specs
    )
    return [
        _joined(steps, xs, aval, mesh, spec)
        for xs, aval, spec in zip(results, avals, out_specs, strict=True)
    ]


def _lockstep(steps: Steps, jaxpr: Jaxpr, args: Sequence[list[Any]], mesh: Mesh) -> list[list]:
    """The results of a program; arguments and results are lists with a value for each device."""
    count = mesh.devices.size
    env = {id(v): [c] * count for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update((id(v), xs) for v, xs in zip(jaxpr.invars, args, strict=True))
    read = lambda a: [a.operand()] * count if isinstance(a, Literal) else env[id(a)]
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


def _together(eqn: JaxprEqn, operands: Sequence[list[Any]], mesh: Mesh) -> list[list]:
    """One equation on all devices."""
    split = PartitionSpec(tuple(mesh.axis_names))
    whole = [np.stack(list(map(np.asarray, xs))) for xs in operands]

    def fun(*shards: Any) -> list[Any]:
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


def _typed(arrays: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(x, get_aval(x)) for x in arrays]


def _block(shape: tuple[int, ...], mesh: Mesh, spec: PartitionSpec, device: int) -> tuple:
    """Which part of an array a device has: a slice for each dimension."""
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


def _divided(steps: Steps, x: Any, mesh: Mesh, spec: PartitionSpec) -> list[Any]:
    values = np.asarray(x)
    return [
        steps.made(as_array(values[_block(values.shape, mesh, spec, d)]), x)
        for d in range(mesh.devices.size)
    ]


def _joined(steps: Steps, xs: list[Any], aval: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    values = np.empty(aval.shape, aval.dtype)
    for d, x in enumerate(xs):
        values[_block(aval.shape, mesh, spec, d)] = np.asarray(x)
    return steps.made(as_array(values), *xs)


# Runs ``jaxpr`` on each device of ``mesh``; arguments are divided by ``in_specs``, results put
# together by ``out_specs``.
shard_map_p = define(
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
    mesh=lambda *, mesh, **_: mesh,
    order=_order,
    steps=_steps,
    checkify=check_shards,
)
