"""The accumulator of cotangents that adds them to a reference."""

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.custom import GradAccum
from ricci_lax.refs._functions import new_ref

__all__ = ["RefAccum"]


@ir.exported
class RefAccum(GradAccum):
    """A sum of cotangents in a reference.

    Args:
      aval: the type of the cotangent.
      ref: the reference, to which cotangents are added.
    """

    def __init__(self, aval: ir.ShapedArray, ref: ir.PyTree = None):
        super().__init__(aval)
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
