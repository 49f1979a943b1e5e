"""The primitive of a kernel call."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis
from ricci_stablehlo import Lowering, Value

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
        return interpreted(jaxpr, mapping, params["input_output_aliases"], out_avals), name
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


def _differentiable(**params: Any) -> tuple[ir.Jaxpr, str]:
    """The program of a kernel that is differentiated.

    Raises:
      NotImplementedError: if it is compiled.
    """
    if not params["interpret"]:
        raise NotImplementedError(
            f"the kernel {params['name'] or params['jaxpr'].debug_info.func_name} is compiled, and "
            "the derivative of a compiled kernel is not. Give its caller a custom_vjp, or pass "
            "interpret=True to pallas_call."
        )
    return _program(**params)


def _effects(params: dict[str, Any]) -> frozenset[Any]:
    effects = params["jaxpr"].effects
    if not effects:
        return effects
    return frozenset(e for e in effects if not isinstance(e, ir.ReferenceEffect))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: object) -> Any:
    program, name = _differentiable(**params)
    return ad.jvp_rules[ir.staged_call.call](primals, tangents, jaxpr=program, name=name)


def _linearize(tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: object) -> Any:
    program, name = _differentiable(**params)
    return ad.linearize_call(tape, primals, tangents, jaxpr=program, name=name)


def _split(tape: Any, args: Sequence[Any], **params: object) -> Any:
    program, name = _differentiable(**params)
    return ad.split_call(tape, args, jaxpr=program, name=name)


def _transpose(cts: Any, *args: object, **params: object) -> Any:
    program, name = _differentiable(**params)
    return ad.transpose_rules[ir.staged_call.call](cts, *args, jaxpr=program, name=name)


def _batch_rule(primitive: ir.Primitive) -> Any:
    def rule(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        operands, changed = batched(axis, args, dims, params)
        outs = primitive.bind(*operands, **changed)
        return outs, [0] * len(outs)

    return rule


def _lower(ctx: Lowering, *operands: Value, **params: object) -> list[Value]:
    partitioned = lower_partitioned(ctx, pallas_call_p, operands, params)
    if partitioned is not None:
        return partitioned
    program, name = _program(**params)
    return ctx.call(program, name, operands)


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
    program=_program,
    dead_code=ir.live_whole,
    eager=ir.as_equation,
)
