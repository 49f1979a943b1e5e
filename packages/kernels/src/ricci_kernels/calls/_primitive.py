"""The primitive of a kernel call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis
from ricci_kernels.blocks._grid_mapping import kernel_name
from ricci_stablehlo import Lowering, Value, writes_host_checks

from ._batched_steps import batched_steps
from ._batching import batched
from ._compiled_calls import compiled_kernel_p
from ._interpreter import interpreted, varying_aval
from ._partitioning import lower_partitioned, result_shardings

__all__ = ["pallas_call_p"]


def _program(**params: Any) -> tuple[ir.Jaxpr, str]:
    """The kernel as a jaxpr of arrays: a loop over the grid, or one call that is compiled."""
    jaxpr, mapping, out_avals = params["jaxpr"], params["grid_mapping"], params["out_avals"]
    name = params["name"] or "pallas_call"
    if params["interpret"]:
        program = batched_steps(params)
        if program is None:
            program = interpreted(jaxpr, mapping, params["input_output_aliases"], out_avals)
        return program, name
    # The jaxpr of one equation depends on all parameters; the kernel's own jaxpr is the cache's
    # owner.
    key = ("compiled", *(v for k, v in sorted(params.items()) if k != "jaxpr"))
    scalars = [ref.inner_aval for ref in jaxpr.in_avals[: mapping.num_index_operands]]

    def trace() -> ir.Jaxpr:
        sizes = [ir.ShapedArray((), np.dtype("int32"))] * mapping.num_dynamic_grid_bounds
        inputs = [m.array_aval for m in mapping.block_mappings[: mapping.num_inputs]]
        axes = ir.varying(out_avals[0]) if out_avals else frozenset()
        avals = [varying_aval(aval, axes) for aval in (*sizes, *scalars, *inputs)]
        bind = lambda *operands: compiled_kernel_p.bind(*operands, **params)
        return ir.trace_to_jaxpr(bind, avals, jaxpr.debug_info)

    return jaxpr.derived(key, trace), name


def _loop(params: dict[str, Any]) -> tuple[ir.Jaxpr, str]:
    """The loop over the grid whose derivatives are those of the call, and its name.

    That of a compiled kernel is compiled by XLA.
    """
    if not params["interpret"]:
        ir.warn_user(
            f"the derivative of the compiled kernel {kernel_name(params)} is a loop over its grid "
            "that XLA compiles, not a kernel. For a faster one, give the function that calls the "
            "kernel a custom_vjp."
        )
        return _program(**{**params, "interpret": True})
    checked = default_checks.call(params)
    return _program(**params) if checked is None else (checked, params["name"] or "pallas_call")


def _effects(params: dict[str, Any]) -> frozenset[Any]:
    effects = params["jaxpr"].effects
    # Effects on references are on those that the call itself makes, which nothing outside can see.
    if not effects:
        return effects
    return frozenset(e for e in effects if not isinstance(e, ir.ReferenceEffect))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: object) -> Any:
    program, name = _loop(params)
    results = ad.jvp_rules[ir.staged_call.call](primals, tangents, jaxpr=program, name=name)
    return _with_values_of_kernel(results, primals, params)


def _linearize(tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: object) -> Any:
    program, name = _loop(params)
    results = ad.linearize_call(tape, primals, tangents, jaxpr=program, name=name)
    return _with_values_of_kernel(results, primals, params)


def _with_values_of_kernel(
    results: tuple[list[ir.Array], list[Any]], primals: Sequence[Any], params: dict[str, Any]
) -> tuple[list[ir.Array], list[Any]]:
    """The results of a derivative rule with the values that the compiled kernel computes."""
    if params["interpret"]:
        return results
    # The loop may round differently from the kernel: a value must not depend on whether it is
    # differentiated.
    return pallas_call_p.bind(*primals, **params), results[1]


def _split(tape: Any, args: Sequence[Any], **params: object) -> Any:
    program, name = _loop(params)
    return ad.split_call(tape, args, jaxpr=program, name=name)


def _transpose(cts: Any, *args: object, **params: object) -> Any:
    program, name = _loop(params)
    return ad.transpose_rules[ir.staged_call.call](cts, *args, jaxpr=program, name=name)


def _batch_rule(primitive: ir.Primitive) -> Any:
    def rule(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        operands, changed = batched(axis, args, dims, params)
        outs = primitive.bind(*operands, **changed)
        return outs, [0] * len(outs)

    return rule


def _shown(**params: object) -> list[tuple[str, object]]:
    metadata: Any = params["metadata"]
    shown = None if metadata is None else f"FrozenDict({dict(metadata)})"
    return sorted({**params, "metadata": shown}.items())


def _lower(ctx: Lowering, *operands: Value, **params: Any) -> list[Value]:
    if params["interpret"]:
        # The checks are on the whole call, ahead of its partition.
        checked = default_checks.call(params)
        if checked is not None:
            if writes_host_checks(ctx):
                return ctx.call(checked, params["name"] or "pallas_call", operands)
            params["grid_mapping"] = params["grid_mapping"]._replace(checked=True)
    partitioned = lower_partitioned(ctx, pallas_call_p, operands, params)
    if partitioned is not None:
        return partitioned
    program, name = _program(**params)
    return ctx.call(program, name, operands)


# Imported with the first call that is checked: its module needs ``checkify``.
checked_call: ir.Hook[Callable[..., list[Any]]] = ir.Hook(
    "checks of interpreted kernels", provided_by="ricci_kernels"
)
checked_call.provide_late("ricci_kernels.checks._index_checks")


# Imported with the first interpreted call that is compiled: its module needs this primitive.
default_checks: ir.Hook[Callable[[Mapping[str, Any]], ir.Jaxpr | None]] = ir.Hook(
    "default checks of interpreted kernels", provided_by="ricci_kernels"
)
default_checks.provide_late("ricci_kernels.checks._default_checks")


# Operands: the traced sizes of the grid, the scalars that index maps read, and the inputs.
pallas_call_p: ir.Primitive = ir.define(
    "pallas_call",
    abstract_eval=lambda *_, out_avals, **params: list(out_avals),
    multiple_results=True,
    sharding=ir.own_sharding(result_shardings),
    memo=False,
    effects=_effects,
    jvp=_jvp,
    linearize=_linearize,
    split=_split,
    transpose=_transpose,
    batch=ir.derived(_batch_rule),
    lower=_lower,
    checkify=lambda *args: checked_call.call(*args),
    program=_program,
    # Dead code elimination must not put the program in the call's place: the compiler would
    # partition that, instead of ``_partitioning``.
    dead_code=ir.live_whole,
    eager=ir.as_equation,
    shown=_shown,
)
