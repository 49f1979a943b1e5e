"""Intended differences from JAX, or of JAX from NumPy, with reasons; others are defects."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from patterns import matches

from .case import Call

# Errors that JAX raises from inside: Ricci then raises a TypeError or a ValueError.
ACCIDENTAL = frozenset(
    "AttributeError AssertionError IndexError KeyError UnboundLocalError ZeroDivisionError "
    "JaxRuntimeError MLIRError NameError TracerArrayConversionError".split()
)


class Expected(NamedTuple):
    """A difference from JAX: whose, what the call or the difference mentions, and the reason.

    In what is mentioned, `*` is any text.
    """

    functions: str
    side: str
    mentions: str
    reason: str


class Numpy(NamedTuple):
    """A difference of JAX, and Ricci, from NumPy: what the call or the text mentions, and why."""

    functions: str
    mentions: str
    reason: str


_NUMPYS = "as in NumPy"
_STATIC = "an array for what must be known is named, not found to have no hash"

# Patterns of functions, as in `fnmatch`, separated by spaces.
# fmt: off
EXPECTED: list[Expected] = [
    Expected("*", "*", "Non-hashable static arguments", _STATIC),
    Expected("*", "reference", "jax.jit(", "nothing is compiled there: all values are known"),
    Expected("array_repr", "reference", "text differs", "the class of arrays has another name"),
    Expected("from_dlpack", "reference", "ReferenceArray", "its arrays export no memory"),
    Expected("max min amax amin nanmax nanmin sign", "reference", "CNAN",
             "which part of a complex NaN is one is not kept"),
    Expected("unwrap", "*", "period=5", _NUMPYS),
    Expected("floor_divide divmod", "*", "np.inf, -0.0",
             "-1 divided by infinity is -0, as in the array API standard"),
    Expected("subtract", "*", "axis=(0, 1)", "several axes are reduced as one"),
    Expected("add multiply maximum", "*", "reduce(x0, out=x1)", "out= is refused with its reason"),
    Expected("cov corrcoef", "*", "x1=float32[3,4]", f"a ValueError, {_NUMPYS}"),
    Expected("transpose permute_dims moveaxis flip diagonal trace linalg.*", "*", "axis twice",
             f"a ValueError, {_NUMPYS}"),
    Expected("transpose permute_dims", "*", "must name all", f"a ValueError, {_NUMPYS}"),
    Expected("full", "*", "300, np.uint8", f"a fill value out of bounds is refused, {_NUMPYS}"),
    Expected("fromfunction", "*", "k=2", f"keywords are passed as they are, {_NUMPYS}"),
    Expected("block", "*", "jnp.block((", f"a TypeError, {_NUMPYS}"),
    Expected("split array_split", "*", "'a'", f"a TypeError, {_NUMPYS}"),
    Expected("pad", "*", "-1: 1}", f"a dict from axes is accepted, {_NUMPYS}"),
    Expected("pad", "*", "{5: 1}", "an axis that is not there is named"),
    Expected("*", "*", "axis='a'", "an axis of vmap is reduced by lax.psum and its kin"),
    Expected("put_along_axis", "*", "AxisError", "an axis that is not there is named"),
    Expected("lexsort", "*", "lexsort(3)", "a ValueError, as for other wrong shapes"),
    Expected("ix_", "*", "MASK3", f"booleans are accepted, {_NUMPYS}"),
    Expected("top_k", "*", "leaves differs", "always a tuple, as its signature says"),
    Expected("linalg.lstsq", "reference", "result(1)", "residuals of an exact fit are noise"),
    Expected("frexp", "*", "float0", "tangents of integers are NumPy arrays, or JAX's"),
    Expected("cov", "*", "float32[0,5]", "a result without elements has the operand's dtype, too"),
    Expected("intersect1d", "*", "assume_unique=True, return", "positions are default integers"),
    Expected("meshgrid", "*", ", 3.0)", f"scalars are accepted, {_NUMPYS}"),
    Expected("logical_and logical_or logical_xor logaddexp2", "*", "outer(",
             "pairs of weakly typed operands give the type that a call gives"),
]
NUMPY: list[Numpy] = [
    Numpy("*", "NumPy raises", "NumPy refuses, or lacks, what is accepted here"),
    Numpy("reciprocal", "int", "integers become floats"),
    Numpy("reciprocal", "bool", "booleans become floats"),
    Numpy("sinc", "CORNERS", "0 where the angle is infinite"),
    Numpy("sinc", "jnp.sinc(1", "single precision of a zero"),
    Numpy("spacing", "float32", "the spacing is that of the float that integers become"),
    Numpy("sign", "CNAN", "infinite complex numbers have no direction"),
    Numpy("modf", "CORNERS", "infinity less infinity is NaN"),
    Numpy("floor_divide divmod", "int", "division of integers by zero"),
    Numpy("*", ".nargs", "results are not counted among the arguments"),
    Numpy("frompyfunc", "(x, y)", "NumPy's results are objects"),
    Numpy("max min amax amin", "CNAN", "which part of a complex NaN is one is not kept"),
    Numpy("var std", "ddof=", "NaN, not infinity, where nothing is left to divide by"),
    Numpy("trapezoid", "bool", "booleans become floats before they are added"),
    Numpy("sinc", "2.78e-08", "single precision of a zero"),
    Numpy("linalg.lstsq", "NumPy (0,)", "residuals are there for each rank"),
    Numpy("linalg.matrix_rank", "rtol=0.5", "relative to the size, too"),
    Numpy("linalg.eigh linalg.eigvalsh", "float32[2,3,3]", "a matrix is made symmetric first"),
    Numpy("fft.*", "float16", "NumPy transforms in half precision"),
    Numpy("kaiser fft.*freq", "x0=float32[], 64-bit", "NumPy computes with doubles throughout"),
    Numpy("roots", "-3", "zeros at the end are put first"),
    Numpy("result_type promote_types", "NumPy", "32 bits by default; Python scalars are weak"),
    Numpy("isscalar", "float32[]", "arrays of rank 0 count as scalars"),
    Numpy("sort argsort", "HOLES, ", "from the greatest on, NaN is first"),
    Numpy("argsort", "int32[2,5]", "NumPy's order of equal elements is not stable"),
    Numpy("unique_values", " values, the first at ", "NumPy's values are not sorted"),
    Numpy("unique", "sorted=False", "values are sorted all the same"),
    Numpy("empty empty_like", " values, the first at *ours:*(0",
          "NumPy's values are whatever was in memory"),
    Numpy("pad", "empty", "NumPy's values are whatever was in memory"),
    Numpy("fromfunction", "lambda i: 7", "the function is mapped over the positions"),
    Numpy("atleast_?d", "atleast", "nothing gives a tuple"),
]
# fmt: on


def reason(call: Call, side: str, probe: str, text: str) -> str | None:
    """Return why a difference from JAX is expected, or None."""
    rows = (row for row in EXPECTED if fnmatchcase(side, row.side))
    return _first(rows, call, f"{call}\n{probe}\n{text}")


def numpy_reason(call: Call, text: str) -> str | None:
    """Return why a value differs from NumPy's, or None."""
    return _first(NUMPY, call, f"{call}\n{text}")


def _first(rows: Iterable[Expected | Numpy], call: Call, text: str) -> str | None:
    for row in rows:
        names = row.functions.split()
        if matches(text, f"*{row.mentions}*") and any(
            fnmatchcase(call.function, name) for name in names
        ):
            return row.reason
    return None
