"""The MLIR text of attributes with Python or NumPy values."""

import re
from collections.abc import Mapping

import numpy as np

from ._types import dense, element_type, scalar_literal, string

__all__ = ["attribute"]

_BARE = r"[A-Za-z_][A-Za-z0-9_$.]*"
_INT64 = range(-(2**63), 2**63)


def attribute_name(name: str) -> str:
    """Return an attribute's name, quoted unless it is a bare MLIR identifier."""
    return name if re.fullmatch(_BARE, name) else string(name)


def attribute(value: object) -> str:
    """Return the text of an attribute.

    A Python number is an ``i64`` or an ``f64``, a NumPy scalar keeps its dtype, an array is
    ``dense``, a string or bytes a string, a dtype a type, a tuple or a list an array of attributes,
    and a dictionary one of attributes.

    Raises:
      TypeError: for any other value.
      OverflowError: for an integer outside of 64 bits.

    Example:
      >>> attribute({"eps": 1e-6, "axes": np.int32([0, 1])})
      '{axes = dense<[0, 1]> : tensor<2xi32>, eps = 1.0e-06 : f64}'
    """
    if value is True or value is False:
        return "true" if value else "false"
    match value:
        case np.bool_():
            return attribute(value.item())
        case str() | bytes():
            return string(value)
        case np.generic() if value.dtype.kind in "cOMm":
            raise TypeError(f"a scalar of dtype {value.dtype} is not an attribute")
        case np.generic():
            return f"{scalar_literal(value)} : {element_type(value.dtype)}"
        case int():
            if value not in _INT64:
                raise OverflowError(f"{value} does not fit into 64 bits")
            return f"{value} : i64"
        case float():
            return f"{scalar_literal(np.float64(value))} : f64"
        case np.ndarray():
            if value.dtype.kind in "OSUMm":
                raise TypeError(f"an array of dtype {value.dtype} is not an attribute")
            size = "".join(f"{n}x" for n in value.shape)
            return f"{dense(value)} : tensor<{size}{element_type(value.dtype)}>"
        case np.dtype():
            return element_type(value)
        case tuple() | list():
            return f"[{', '.join(map(attribute, value))}]"
        case Mapping():
            return dictionary({name: attribute(x) for name, x in value.items()})
    raise TypeError(f"a value of type {type(value).__name__} is not an attribute")


def dictionary(fields: Mapping[str, str]) -> str:
    """Return the text of a dictionary of attributes from the text of each.

    Raises:
      TypeError: if a name is not a string.
    """
    for name in fields:
        if not isinstance(name, str):
            raise TypeError(f"invalid attribute name {name!r}: names are strings")
    written = (f"{attribute_name(name)} = {fields[name]}" for name in sorted(fields))
    return f"{{{', '.join(written)}}}"
