"""Accumulators, to which backward rules of ``HiPrim`` add the cotangents of its operands."""

from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.refs._functions import new_ref

__all__ = ["GradAccum", "NullAccum", "RefAccum", "ValAccum"]


class GradAccum:
    """The base class of accumulators.

    Attributes:
      aval: the type of the cotangent.
    """

    aval: ir.PyTree

    def accum(self, x: ir.PyTree) -> None:
        """Add a cotangent, which may be ``Zero``."""
        raise NotImplementedError(f"{type(self).__name__} must implement accum")

    def freeze(self) -> ir.PyTree:
        """Return the sum, or ``Zero``."""
        raise NotImplementedError(f"{type(self).__name__} must implement freeze")


class ValAccum(GradAccum):
    """A sum of cotangents as a value.

    Args:
      aval: the type of the cotangent.
      val: the initial sum.
    """

    def __init__(self, aval: ir.AbstractValue, val: ir.PyTree = None):
        self.aval = aval
        self.val: Any = ad.Zero(aval) if val is None else val

    def accum(self, x: ir.PyTree) -> None:
        """Add a cotangent, which may be ``Zero``."""
        if x is not None:
            self.val = ad.add_tangents(self.val, x)

    def freeze(self) -> ir.PyTree:
        """Return the sum, or ``Zero``."""
        return self.val

    def __repr__(self) -> str:
        return f"ValAccum({self.aval})"


class NullAccum(GradAccum):
    """An accumulator of a cotangent that is not used.

    Args:
      aval: the type of the cotangent.
    """

    def __init__(self, aval: ir.AbstractValue):
        self.aval = aval

    def accum(self, x: ir.PyTree) -> None:
        """Do nothing."""

    def freeze(self) -> ir.PyTree:
        """Return ``Zero``."""
        return ad.Zero(self.aval)

    def __repr__(self) -> str:
        return f"NullAccum({self.aval})"


class RefAccum(GradAccum):
    """A sum of cotangents in a reference.

    Args:
      aval: the type of the cotangent.
      ref: the reference, to which cotangents are added.
    """

    def __init__(self, aval: ir.AbstractValue, ref: ir.PyTree = None):
        self.aval = aval
        self.ref: ir.PyTree = ref

    def accum(self, x: ir.PyTree) -> None:
        """Add a cotangent, which may be ``Zero``."""
        if self.ref is None:
            self.inst()
        if type(x) is not ad.Zero:
            self.ref.addupdate(x)  # pyright: ignore[reportOptionalMemberAccess]

    def freeze(self) -> ir.PyTree:
        """Return the array in the reference, or ``Zero``."""
        return ad.Zero(self.aval) if self.ref is None else self.ref[...]

    def inst(self) -> "RefAccum":
        """Create the reference, of zeros, if there is none; returns the accumulator."""
        if self.ref is None:
            self.ref = new_ref(ad.instantiate(ad.Zero(self.aval)))
        return self
