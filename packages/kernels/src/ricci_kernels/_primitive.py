"""The primitive of a kernel call."""

from collections.abc import Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis
from ricci_stablehlo import Lowering, Value

from ._batching import batched
from ._interpreter import interpreted

__all__ = ["pallas_call_p"]


def _program(
    *,
    jaxpr: ir.Jaxpr,
    grid_mapping: Any,
    input_output_aliases: Any,
    out_avals: Any,
    name: str | None,
    interpret: Any,
    **_: Any,
) -> tuple[ir.Jaxpr, str]:
    """The kernel as a jaxpr of arrays.

    Raises:
      ValueError: if it is not to be interpreted.
    """
    if not interpret:
        raise ValueError(
            "Only interpret mode is supported on CPU backend. Pass interpret=True to pallas_call: "
            "kernels are not compiled for other devices yet, either."
        )
    program = interpreted(jaxpr, grid_mapping, input_output_aliases, out_avals)
    return program, name or "pallas_call"


def _effects(params: dict[str, Any]) -> frozenset[Any]:
    effects = params["jaxpr"].effects
    if not effects:
        return effects
    return frozenset(e for e in effects if not isinstance(e, ir.ReferenceEffect))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    program, name = _program(**params)
    return ad.jvp_rules[ir.staged_call.call](primals, tangents, jaxpr=program, name=name)


def _linearize(tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    program, name = _program(**params)
    return ad.linearize_call(tape, primals, tangents, jaxpr=program, name=name)


def _split(tape: Any, args: Sequence[Any], **params: Any) -> Any:
    program, name = _program(**params)
    return ad.split_call(tape, args, jaxpr=program, name=name)


def _transpose(cts: Any, *args: Any, **params: Any) -> Any:
    program, name = _program(**params)
    return ad.transpose_rules[ir.staged_call.call](cts, *args, jaxpr=program, name=name)


def _batch_rule(primitive: ir.Primitive) -> Any:
    def rule(axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        operands, changed = batched(axis, args, dims, params)
        outs = primitive.bind(*operands, **changed)
        return outs, [0] * len(outs)

    return rule


def _lower(ctx: Lowering, *operands: Value, **params: Any) -> list[Value]:
    program, name = _program(**params)
    return ctx.call(program, name, operands)


# Operands: the traced sizes of the grid, the scalars that index maps read, and the inputs.
pallas_call_p: ir.Primitive = ir.define(
    "pallas_call",
    abstract_eval=lambda *_, out_avals, **params: list(out_avals),
    multiple_results=True,
    sharding=ir.by_program,
    memo=False,
    effects=_effects,
    jvp=_jvp,
    linearize=_linearize,
    split=_split,
    transpose=_transpose,
    batch=ir.derived(_batch_rule),
    lower=_lower,
    program=_program,
)
