"""Type promotion: the dtype of the result of operands of several dtypes.

Dtypes form a graph in which an edge leads to the next dtype that a value can be promoted to. The
result is the least dtype that can be reached from all operands. Weak dtypes, those of Python
scalars, are separate nodes below the dtypes of their kind, so that they give way.

Source: the type promotion semantics published in JAX's documentation.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir._config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from ricci_ir._messages import explained
from ricci_ir._option_kinds import ExplicitX64Mode, NumpyDtypePromotion

from . import _dtypes as dtypes

__all__ = ["dtype_and_weak_type", "is_weakly_typed", "lattice_result_type", "promote_types"]
__all__ += ["result_type", "TypePromotionError"]


class TypePromotionError(ValueError):
    """No dtype holds the values of all operands without an explicit cast."""


_BF16, _F16, _F32, _F64 = dtypes.FLOATS
_C64, _C128 = dtypes.COMPLEXES
_I8, _I16, _I32, _I64 = dtypes.INTS
_U8, _U16, _U32, _U64 = dtypes.UINTS
_NARROW_FLOATS = (*dtypes.FLOAT4, *dtypes.FLOAT6, *dtypes.FLOAT8)

# Python's scalar types represent the weak dtypes.
_STANDARD: dict[Any, tuple] = {
    dtypes.BOOL: (int,),
    int: (_U8, _I8, *dtypes.SMALL_INTS),
    _U8: (_I16, _U16),
    _U16: (_I32, _U32),
    _U32: (_I64, _U64),
    _U64: (float,),
    _I8: (_I16,),
    _I16: (_I32,),
    _I32: (_I64,),
    _I64: (float,),
    float: (complex, _BF16, _F16, *_NARROW_FLOATS),
    _BF16: (_F32,),
    _F16: (_F32,),
    _F32: (_F64, _C64),
    _F64: (_C128,),
    complex: (_C64,),
    _C64: (_C128,),
}
# Only Python scalars are promoted, and only to kinds that lose no information.
_STRICT: dict[Any, tuple] = {
    int: (float, *dtypes.INTS, *dtypes.UINTS, *dtypes.SMALL_INTS),
    float: (complex, *dtypes.FLOATS, *_NARROW_FLOATS),
    complex: dtypes.COMPLEXES,
}


def _upper_bounds(edges: dict[Any, tuple]) -> dict[Any, frozenset]:
    bounds: dict[Any, frozenset] = {}

    def above(node: object) -> frozenset:
        if node not in bounds:
            # The graph is acyclic, so the recursion ends.
            bounds[node] = frozenset((node,)).union(*map(above, edges.get(node, ())))
        return bounds[node]

    for node in (int, float, complex, *dtypes.array_dtypes):
        above(node)
    return bounds


_UPPER = {
    NumpyDtypePromotion.STANDARD: _upper_bounds(_STANDARD),
    NumpyDtypePromotion.STRICT: _upper_bounds(_STRICT),
}


def _least_upper_bound(nodes: Iterable[Any]) -> Any:
    nodes = frozenset(nodes)
    mode = numpy_dtype_promotion.value
    upper = _UPPER[mode]
    for node in nodes:
        if isinstance(node, dtypes.ExtendedDType):
            raise TypeError(_not_promoted(node))
        if node not in upper:
            raise ValueError(f"{node} does not take part in dtype promotion")
    common = frozenset.intersection(*(upper[node] for node in nodes))
    # The least common upper bound is the one that all others are upper bounds of. Some
    # pairs have none, such as a narrow float and another float.
    for node in common:
        if common <= upper[node]:
            return node
    raise TypePromotionError(_no_path(nodes, mode))


def _not_promoted(dtype: dtypes.ExtendedDType) -> str:
    problem = f"{dtype} is an extended dtype, and those are not promoted: it has no arithmetic."
    if not dtype.name.startswith("key<"):
        return problem
    return explained(
        f"{problem} Other keys come from random.split(key, n) or random.fold_in(key, number).",
        "keys",
    )


def _no_path(nodes: frozenset, mode: NumpyDtypePromotion) -> str:
    names = sorted(f"Python {n.__name__}" if isinstance(n, type) else n.name for n in nodes)
    problem = f"the dtypes {', '.join(names)} are not promoted to a common one"
    if mode is NumpyDtypePromotion.STRICT:
        return (
            f"{problem} while jax_numpy_dtype_promotion is 'strict': cast the operands to the "
            "dtype of the result with x.astype(...), or set the option to 'standard'"
        )
    small = nodes.intersection(_NARROW_FLOATS)
    kind, cast = ("narrow floats", "float32") if small else ("ints below 8 bits", "int32")
    return f"{problem}: {kind} never are unasked. Cast them first, as in x.astype({cast!r})"


def _kind(dtype: object) -> type | None:
    """The Python type of the weak dtypes of this kind; ``None`` for dtypes that cannot be weak."""
    if dtype in dtypes.array_dtypes:
        if dtypes.issubdtype(dtype, np.integer):
            return int
        if dtypes.issubdtype(dtype, np.floating):
            return float
        if dtypes.issubdtype(dtype, np.complexfloating):
            return complex
    return None


_ALLOWED = ExplicitX64Mode.ALLOW
_STANDARD_MODE = NumpyDtypePromotion.STANDARD
_results: Cache[Any, tuple[Any, bool]] = Cache("promotions", 4096)


def lattice_result_type(*pairs: tuple[Any, bool]) -> tuple[Any, bool]:
    """The dtype of a result and whether it is weak, given the same of each operand.

    Args:
      pairs: a dtype and a flag for each operand.

    Raises:
      TypePromotionError: if the dtypes have no common one.
      ValueError: if one of several dtypes takes no part in promotion, as ``float0``.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import lattice_result_type
      >>> lattice_result_type((np.dtype("int8"), False), (np.dtype("float32"), True))
      (dtype('float32'), True)
    """
    # Booleans represent the modes, since hashing an enumeration's member runs Python code.
    widths = 2 if enable_x64.value else explicit_x64_dtypes.value is _ALLOWED
    key = (pairs, widths, numpy_dtype_promotion.value is _STANDARD_MODE)
    cached = _results.entries.get(key)
    return _results.make(key, _lattice_result_type, pairs) if cached is None else cached


def _lattice_result_type(pairs: tuple[tuple[Any, bool], ...]) -> tuple[Any, bool]:
    if not pairs:
        raise ValueError("result_type: expected at least one array or dtype")
    unique = {(dtype, bool(weak)) for dtype, weak in pairs}
    if len(pairs) == 1 and pairs[0][1]:
        return _weak_result(pairs[0][0])
    if len({dtype for dtype, _ in unique}) == 1 and not all(weak for _, weak in unique):
        return pairs[0][0], False  # also a wide dtype while those are off
    standard = numpy_dtype_promotion.value is _STANDARD_MODE
    if standard and all(weak for _, weak in unique):
        # All operands are weak, so they are promoted as if all were strong.
        return _weak_result(_least_upper_bound(dtype for dtype, _ in unique))
    nodes = [(_kind(dtype) if weak else None) or dtype for dtype, weak in unique]
    node = _least_upper_bound(nodes)
    if isinstance(node, type):
        return _weak_result(node)
    # Where wide dtypes may be asked for they are kept, but uint32 and int8 give int32 nevertheless.
    stays = explicit_x64_dtypes.value is _ALLOWED and any(map(dtypes.is_wide, nodes))
    return node if stays else dtypes.canonicalize_dtype(node), False


def _weak_result(node: object) -> tuple[Any, bool]:
    """The default dtype of a node's kind, as a weak result; unsigned ints are a separate kind."""
    if node in dtypes.UINTS:
        return dtypes.canonicalize_dtype(_U64), True
    kind = node if isinstance(node, type) else _kind(node)
    return (node, False) if kind is None else (dtypes.python_scalar_dtype(kind), True)


def dtype_and_weak_type(x: object) -> tuple[Any, bool]:
    """The dtype of an operand, and whether it is weak.

    Args:
      x: an array, a tracer, a NumPy array, a Python scalar, or anything that names a dtype.

    Raises:
      TypeError: if ``x`` has no dtype that arrays can have.
    """
    cls = type(x)
    if cls in dtypes.python_scalar_dtypes:
        return dtypes.python_scalar_dtype(cls), cls is not bool
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval.dtype, aval.weak_type
    if isinstance(x, type) and x in dtypes.python_scalar_dtypes:
        return dtypes.python_scalar_dtype(x), x is not bool
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        base = next(t for t in (int, float, complex) if isinstance(x, t))
        return dtypes.python_scalar_dtype(base), True
    return _described_dtype(x), False


def _described_dtype(x: Any) -> Any:
    if isinstance(x, np.dtype) and x in dtypes.array_dtypes and not dtypes.is_wide(x):
        return x
    array_dtype = getattr(x, "dtype", None)
    if isinstance(array_dtype, np.dtype) and array_dtype in dtypes.array_dtypes:
        # An array of NumPy or another library, a description, or a scalar type of ``ricci.numpy``:
        # narrowed without a warning, since no dtype was requested by name.
        return dtypes.canonicalize_dtype(array_dtype)
    if x is None or isinstance(x, str | np.dtype | type) or dtypes.is_extended(x):
        described = dtypes.explicit_dtype(x, "result_type")
    elif hasattr(x, "dtype"):
        described = x.dtype
    else:
        raise TypeError(
            f"result_type: expected an array, a scalar or a dtype, got {x!r} of type "
            f"{type(x).__name__}"
        )
    if not dtypes.is_array_dtype(described):
        raise TypeError(
            f"result_type: {x!r} has dtype {described}, and arrays hold only numbers and booleans "
            "in native byte order"
        )
    return described


def result_type(*args: object, return_weak_type_flag: bool = False) -> Any:
    """The dtype of the result of an operation on these operands.

    Args:
      args: arrays, scalars or dtypes.
      return_weak_type_flag: also return whether the result is weak.

    Returns:
      The dtype.

    Raises:
      TypePromotionError: if there is no common dtype.
      TypeError: if an operand cannot be an array.

    Example:
      >>> import numpy as np
      >>> from ricci import dtypes
      >>> dtypes.result_type(np.int8(1), 2.0), dtypes.result_type("bfloat16", 2.0)
      (dtype('float32'), dtype(bfloat16))
    """
    result, weak = lattice_result_type(*map(dtype_and_weak_type, args))
    return (result, weak) if return_weak_type_flag else result


def promote_types(a: object, b: object) -> np.dtype:
    """The dtype that two dtypes promote to; 64-bit dtypes are not narrowed while they are off.

    Args:
      a, b: dtypes or arguments of ``np.dtype``; Python scalar types are weak.

    Returns:
      The dtype.

    Raises:
      TypePromotionError: if there is no common dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.promote_types("int8", "uint8"), jnp.promote_types(float, "bfloat16")
      (dtype('int16'), dtype(bfloat16))
    """
    nodes = [_promotion_node(a), _promotion_node(b)]
    node = _least_upper_bound(nodes)
    if isinstance(node, type):
        return dtypes.python_scalar_dtypes[node]
    # The result has 64 bits only if one of the two has: uint32 and int8 give int32, not int64.
    return node if any(dtypes.is_wide(n) for n in nodes) else dtypes.canonicalize_dtype(node)


def _promotion_node(x: Any) -> Any:
    if isinstance(x, type) and x in (int, float, complex):
        return x
    if isinstance(x, dtypes.ExtendedDType):
        raise TypeError(f"promote_types: {_not_promoted(x)}")
    return np.dtype(x)


def is_weakly_typed(x: object) -> bool:
    """Whether the dtype of an array or scalar gives way to others in promotion.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import is_weakly_typed
      >>> is_weakly_typed(1.0), is_weakly_typed(np.float32(1.0)), is_weakly_typed(True)
      (True, False, False)
    """
    aval = getattr(x, "aval", x)
    weak = getattr(aval, "weak_type", None)
    if weak is None:
        return type(x) in (int, float, complex)
    return weak
