"""Accumulators of cotangents: the arguments of ``defvjp_with_accums``'s rules and ``HiPrim``'s."""

from typing import Any, Final

import ricci_ir as ir
from ricci_autodiff import SymbolicZero, Tangent, Zero, add_tangents, tangent_aval

__all__ = ["GradAccum", "NullAccum", "ValAccum"]


@ir.exported
class GradAccum:
    """The cotangent of an argument, to which a backward rule adds terms.

    Attributes:
      aval: the type of the cotangent.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ir.AbstractValue):
        self.aval: Final[Any] = aval

    def accum(self, x: ir.ArrayLike | SymbolicZero | None) -> None:
        """Add a term; ``None`` is zero."""
        raise NotImplementedError

    def freeze(self) -> Tangent:
        """Return the sum of the terms."""
        return Zero(self.aval)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval.str_short()})"


@ir.exported
class NullAccum(GradAccum):
    """The accumulator of an argument that is not differentiated. It drops the terms.

    Example:
      A rule that does not compute what would be dropped:

      >>> import ricci
      >>> from ricci.custom_derivatives import NullAccum
      >>> product = ricci.custom_vjp(lambda x, y: x * y)
      >>> def backward(residuals, ct, *accums):
      ...     for accum, factor in zip(accums, residuals):
      ...         if isinstance(accum, NullAccum):
      ...             print("dropped")
      ...         else:
      ...             accum.accum(ct * factor)
      >>> product.defvjp_with_accums(lambda x, y: (x * y, (y, x)), backward)
      >>> float(ricci.grad(product)(2.0, 3.0))
      dropped
      3.0
    """

    __slots__ = ()

    def accum(self, x: ir.ArrayLike | SymbolicZero | None) -> None:
        """Drop a term."""


@ir.exported
class ValAccum(GradAccum):
    """The accumulator of an argument that is differentiated.

    Attributes:
      aval: the type of the cotangent.
      val: the sum of the terms; a symbolic zero before the first one, unless there is a first sum.
    """

    __slots__ = ("val",)

    def __init__(self, aval: ir.AbstractValue, val: Tangent | None = None):
        super().__init__(aval)
        self.val: Tangent = Zero(aval) if val is None else val

    def accum(self, x: ir.ArrayLike | SymbolicZero | None) -> None:
        """Add a term; ``None`` is zero.

        Raises:
          ValueError: if the shape or dtype of the term is not that of the cotangent.
        """
        if x is None or isinstance(x, SymbolicZero | Zero):
            return
        aval: Any = ir.get_aval(x)
        same = self.aval.is_high or (aval.shape, aval.dtype) == (self.aval.shape, self.aval.dtype)
        if not same:
            raise ValueError(
                f"accum: the cotangent has type {self.aval.str_short()}, but the term has type "
                f"{aval.str_short()}."
            )
        self.val = add_tangents(self.val, x)

    def freeze(self) -> Tangent:
        """Return the sum of the terms."""
        return self.val


def accumulator(aval: ir.AbstractValue, perturbed: bool = True) -> GradAccum:
    """The accumulator of an argument of a type."""
    expected: Any = tangent_aval(aval)
    kind = ValAccum if perturbed and expected.dtype != ir.float0 else NullAccum
    return kind(expected)
