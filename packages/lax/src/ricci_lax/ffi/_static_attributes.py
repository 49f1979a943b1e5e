"""The static attributes of a call."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ricci_ir import Tracer
from ricci_stablehlo import attribute


class Attribute:
    """The value of an attribute. Two are equal if they have the same text in StableHLO.

    So ``1``, ``1.0``, ``True`` and ``np.int32(1)`` are different, unlike in Python.
    """

    __slots__ = ("text", "value")

    def __init__(self, value: object, text: str):
        self.value = value
        self.text = text

    def __eq__(self, other: object) -> bool:
        return type(other) is Attribute and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        match self.value:
            case np.ndarray():
                return f"HashableArray({self.value!r})"
            case Mapping():
                return f"FrozenDict({self.value!r})"
        return repr(self.value)


def static_attributes(
    target: str, attributes: Mapping[str, Any]
) -> tuple[tuple[str, Attribute], ...]:
    """Read the attributes of a call.

    Raises:
      TypeError: if one is of a type that attributes cannot have.
      OverflowError: if an integer does not fit into 64 bits.
    """
    return tuple((name, _read(target, name, attributes[name])) for name in sorted(attributes))


def _read(target: str, name: str, value: object) -> Attribute:
    if isinstance(value, np.ndarray):
        value = value.copy()  # it is read again at lowering
    try:
        return Attribute(value, attribute(value))
    except (TypeError, OverflowError) as error:
        raise type(error)(_message(target, name, value, error)) from None


def _message(target: str, name: str, value: object, error: Exception) -> str:
    head = f"ffi_call: the attribute {name!r} of {target!r} cannot be written into the program: "
    if isinstance(value, Tracer):
        return (
            f"{head}it is a traced value, {value.aval.str_short()}. Pass it as an operand, or make "
            "it static."
        )
    if hasattr(value, "aval"):
        return f"{head}it is an array of a device. Pass it as an operand, or np.asarray of it."
    if isinstance(error, OverflowError):
        return f"{head}{error}. Pass np.uint64, a float or a string."
    return (
        f"{head}{error}. Attributes are numbers (a Python int is an int64, a float a float64, a "
        "NumPy scalar of its own type), strings, NumPy arrays, dtypes, and tuples, lists and "
        "dictionaries of them."
    )
