"""The accuracy of elementwise functions, and the factories of functions that take it."""

import enum
from collections.abc import Callable, Sequence
from typing import Protocol

import ricci_ir as ir
from ricci_stablehlo import Lowering, Value, tensor_type

from ._complex_corners import with_corners
from ._factories import document, nary

__all__ = ["AccuracyMode", "Tolerance"]


@ir.exported
class AccuracyMode(enum.Enum):
    """The required accuracy of a transcendental function."""

    HIGHEST = 1
    DEFAULT = 2


@ir.exported
class Tolerance(ir.Record):
    """The tolerated error of a transcendental function, by any of three bounds.

    Args:
      atol: the absolute error.
      rtol: the relative error.
      ulps: the error in units of the last place.

    Raises:
      ValueError: if a bound is negative, or all are ``None``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> y = lax.exp(jnp.array(0.0), accuracy=lax.Tolerance(rtol=1e-5))
      >>> float(y)
      1.0
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError("Tolerance: a bound is negative; atol, rtol and ulps count from 0.")
        if atol == rtol == ulps == 0:
            raise ValueError("Tolerance: no bound was given; give atol, rtol or ulps.")
        super().__init__(atol, rtol, ulps)


class CompilerAccuracy(enum.Enum):
    """Accuracy of the compiler's own function, which no formula replaces.

    For results whose bits are promised. Jaxprs do not show it.
    """

    OWN = 1


Accuracy = Tolerance | AccuracyMode | CompilerAccuracy | None


def shown_accuracy(accuracy: Accuracy = None, **params: object) -> dict[str, object]:
    """The parameters that a jaxpr shows of a function with an accuracy."""
    if accuracy is None or accuracy is CompilerAccuracy.OWN:
        return params
    return {"accuracy": accuracy, **params}


def _accuracy_text(accuracy: Accuracy) -> str:
    """The attribute of StableHLO for an accuracy; empty for the default."""
    if accuracy in (None, AccuracyMode.DEFAULT, CompilerAccuracy.OWN):
        return ""
    if accuracy is AccuracyMode.HIGHEST:
        fields, mode = [], "HIGHEST"
    elif isinstance(accuracy, Tolerance):
        bounds = (("atol", accuracy.atol), ("rtol", accuracy.rtol))
        fields = [f"{name} = {bound:.16e}" for name, bound in bounds if bound]
        fields += [f"ulps = {accuracy.ulps}"] if accuracy.ulps else []
        mode = "TOLERANCE"
    else:
        raise NotImplementedError(
            f"accuracy {accuracy!r} is not supported: give an AccuracyMode or a Tolerance"
        )
    fields.append(f"mode = #stablehlo.result_accuracy_mode<{mode}>")
    return f"result_accuracy = #stablehlo.result_accuracy<{', '.join(fields)}>"


def accurately(op: str) -> Callable[..., Value]:
    """The lowering to an operation with a required accuracy."""
    return lambda ctx, x, *, accuracy=None: emit_accurately(ctx, op, x, ctx.out, accuracy)


def emit_accurately(
    ctx: Lowering, op: str, x: Value, out: ir.ShapedArray, accuracy: Accuracy
) -> Value:
    text = _accuracy_text(accuracy)
    if not text:
        return ctx.emit(op, [x], out)
    return ctx.append(op, f" {x}", [out], tensor_type(out), annotations=text)[0]


def accurate(
    name: str,
    op: str | Callable[..., Value],
    accepted: Sequence[type],
    *derivative: Callable[..., ir.ArrayLike],
    **rules: object,
) -> ir.Primitive:
    """A primitive with a parameter ``accuracy`` and ``derivative(t, result, x)``.

    Where the derivative depends on the accuracy, it has the rule ``jvp`` instead.
    """

    return nary(
        name,
        with_corners(name, accurately(op)) if isinstance(op, str) else op,
        accepted,
        *derivative,
        from_result=True,
        **{"shown": shown_accuracy, **rules},
    )


class AccurateFunction(Protocol):
    """An elementwise function of one array, with a required accuracy."""

    def __call__(self, x: ir.ArrayLike, *, accuracy: Accuracy = None) -> ir.Array: ...


def accurate_function(primitive: ir.Primitive, summary: str, example: str) -> AccurateFunction:
    """The public function that applies such a primitive; see ``unary_function``."""
    bind = primitive.bind

    def apply(x: ir.ArrayLike, *, accuracy: Accuracy = None) -> ir.Array:
        if accuracy is None:
            return bind(x)
        _accuracy_text(accuracy)
        return bind(x, accuracy=accuracy)

    apply.bind = bind  # pyright: ignore[reportFunctionMemberAccess]
    args = "Args:\n  x: an array.\n  accuracy: how accurate the result should be, if it matters."
    return document(apply, primitive.name, "ricci_lax", summary, example, args)
