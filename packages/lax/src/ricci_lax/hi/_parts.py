"""The operations that split a value into its parts, and that make a value of parts."""

from typing import final

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batched_at
from ricci_lax.elementwise._linear import add_any
from ricci_lax.structure._broadcasting import zeros_of

from ._primitive import HiPrim

__all__: list[str] = []


def _check_parts(tangent: ir.HiType, aval: ir.HiType) -> None:
    parts = list(map(ad.tangent_aval, aval.lo_ty()))
    if [x.str_short() for x in tangent.lo_ty()] != [x.str_short() for x in parts]:
        raise NotImplementedError(
            f"a value of type {aval} enters or leaves a jitted function, a loop or a branch that "
            f"is differentiated, and its tangents, of type {tangent}, are not made of the tangents "
            "of its parts. Differentiate inside of that function."
        )


def _tangent_type(aval: ir.HiType) -> ir.PyTree:
    tangent: ir.PyTree = ad.tangent_aval(aval)
    _check_parts(tangent, aval)
    return tangent


def join(aval: ir.PyTree, parts: ir.PyTree) -> ir.PyTree:
    """The value of a type that is made of parts."""
    return Join(aval)(*parts) if aval.is_high else aval.raise_val(*parts)


def split(aval: ir.PyTree, x: ir.PyTree) -> ir.PyTree:
    """The parts of a value of a type."""
    return Split(aval)(x) if aval.is_high else aval.lower_val(x)


@final
class Join(HiPrim):
    """Make a value of its parts.

    Args:
      aval: the type of the value.
    """

    def __init__(self, aval: ir.HiType):
        self.in_avals = tuple(aval.lo_ty())
        self.out_aval = aval
        self.params = {"aval": aval}
        super().__init__()

    def expand(self, *parts: ir.PyTree) -> ir.PyTree:
        """See ``HiPrim``."""
        return self.out_aval.raise_val(*parts)

    def jvp(
        self, primals: tuple[ir.PyTree, ...], tangents: tuple[ir.PyTree, ...]
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """See ``HiPrim``."""
        tangent = _tangent_type(self.out_aval)
        return self(*primals), join(tangent, map(ad.instantiate, tangents))

    def transpose(self, out_ct: ir.PyTree, *maybe_accums: ir.PyTree) -> None:
        """See ``HiPrim``."""
        ct = ad.instantiate(out_ct)
        for accumulator, part in zip(maybe_accums, split(ir.typeof(ct), ct), strict=True):
            if hasattr(accumulator, "accum"):
                accumulator.accum(part)

    def batch(
        self, axis_data: ir.PyTree, args: tuple[ir.PyTree, ...], dims: tuple[ir.PyTree, ...]
    ) -> ir.PyTree:
        """See ``HiPrim``."""
        spec = self.out_aval.leading_axis_spec()
        parts = [batched_at(x, d, axis_data, 0) for x, d in zip(args, dims, strict=True)]
        return join(self.out_aval.inc_rank(axis_data.size, spec), parts), spec


@final
class Split(HiPrim):
    """Return the parts of a value.

    Args:
      aval: the type of the value.
    """

    def __init__(self, aval: ir.HiType):
        self.in_avals = (aval,)
        self.out_aval = tuple(aval.lo_ty())
        self.params = {"aval": aval}
        super().__init__()

    def expand(self, *args: ir.PyTree) -> ir.PyTree:
        """See ``HiPrim``."""
        return tuple(self.in_avals[0].lower_val(*args))

    def jvp(
        self, primals: tuple[ir.PyTree, ...], tangents: tuple[ir.PyTree, ...]
    ) -> tuple[ir.PyTree, ir.PyTree]:
        """See ``HiPrim``."""
        tangent = _tangent_type(self.in_avals[0])
        return self(*primals), tuple(split(tangent, ad.instantiate(*tangents)))

    def transpose(self, out_ct: ir.PyTree, *maybe_accums: ir.PyTree) -> None:
        """See ``HiPrim``."""
        (accumulator,) = maybe_accums
        accumulator.accum(join(accumulator.aval, map(ad.instantiate, out_ct)))

    def batch(
        self, axis_data: ir.PyTree, args: tuple[ir.PyTree, ...], dims: tuple[ir.PyTree, ...]
    ) -> ir.PyTree:
        """See ``HiPrim``."""
        (x,), (dim,), (aval,) = args, dims, self.in_avals
        if dim != aval.leading_axis_spec():
            raise NotImplementedError(
                f"a value of type {aval}, mapped by {dim}, enters a loop, a branch or a jitted "
                "function. Only the mapping of its leading_axis_spec may."
            )
        parts = tuple(split(ir.typeof(x), x))
        return parts, (0,) * len(parts)


ir.join_parts.provide(lambda aval, parts: Join(aval)(*parts))
ir.split_parts.provide(lambda aval, x: Split(aval)(x))


@ir.zero_parts.provide
def _zero(aval: ir.HiType) -> ir.PyTree:
    return join(aval, [zeros_of(part) for part in aval.lo_ty()])  # pyright: ignore


@ir.add_parts.provide
def _sum(aval: ir.AbstractValue, x: ir.PyTree, y: ir.PyTree) -> ir.PyTree:
    parts = zip(split(aval, x), split(aval, y), strict=True)
    return join(aval, [a if a.dtype == ir.float0 else add_any(a, b) for a, b in parts])
