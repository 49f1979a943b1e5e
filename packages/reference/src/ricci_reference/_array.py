"""Arrays of the reference backend: a read-only NumPy array with its abstract type."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

import ricci_ir as ir

__all__ = ["ReferenceArray"]


class ReferenceArray:
    """An immutable array that holds its values in a NumPy array.

    Args:
      value: the values, of ``aval``'s shape and dtype; the array is not copied, and made read-only.
      aval: the abstract type.

    Example:
      >>> import numpy as np
      >>> import ricci_ir as ir
      >>> from ricci_reference import ReferenceArray
      >>> ReferenceArray(np.ones(2, np.float32), ir.ShapedArray((2,), np.float32))
      Array([1., 1.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_value", "aval")
    __array_priority__ = 100

    _value: np.ndarray
    aval: ir.ShapedArray

    def __init__(self, value: np.ndarray, aval: ir.ShapedArray):
        # Nothing may change the values: other arrays and traces assume that they stay.
        value.flags.writeable = False
        self._value = value
        self.aval = aval

    @property
    def shape(self) -> ir.Shape:
        """The size of each dimension."""
        return self.aval.shape

    @property
    def committed(self) -> bool:
        """Whether computations must run on the array's device; ``False``, as there is only one."""
        return False

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        """Whether the dtype is weak in promotion, as those of Python scalars are."""
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.aval.size * self.aval.dtype.itemsize

    def block_until_ready(self) -> "ReferenceArray":
        """Return the array itself: its values are always computed already."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: the values are on the host."""

    def is_deleted(self) -> bool:
        """Return whether the memory was freed: it never is."""
        return False

    def tolist(self) -> Any:
        """Return the values as nested lists of Python scalars."""
        return self._value.tolist()

    def tobytes(self, order: Literal["C", "F", "A"] = "C") -> bytes:
        """Return the values as bytes."""
        return self._value.tobytes(order)

    def item(self, *args: int) -> bool | int | float | complex:
        """Return one element as a Python scalar; without arguments, the only element.

        Raises:
          ValueError: if no index is given and the array does not have exactly one element.
        """
        ir.check_item(self.aval, args)
        return self._value.item(*args)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        value = self._value
        if dtype is not None and value.dtype != dtype:
            if copy is False:
                raise ValueError(
                    f"an array of dtype {value.dtype} cannot become one of {dtype} without a copy; "
                    "leave copy=False out."
                )
            return value.astype(dtype)
        return value.copy() if copy else value

    def __repr__(self) -> str:
        aval = self.aval
        suffix = f"dtype={aval.dtype.name}"
        if aval.weak_type:
            suffix += ", weak_type=True"
        # NumPy prints ``[]`` for every empty array, whatever its shape.
        if 0 in aval.shape:
            return f"Array([], shape={aval.shape}, {suffix})"
        text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ")
        # NumPy's rule for a separate line for the dtype: the values' last line counts, but
        # "Array(" before it does not.
        width = len(text.rpartition("\n")[2]) + len(f", {suffix})")
        if width >= np.get_printoptions()["linewidth"]:
            return f"Array({text},{' ' * len('Array(')}{suffix})"
        return f"Array({text}, {suffix})"

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, format_spec: str) -> str:
        return format(self._value if self.aval.shape else self._value[()], format_spec)

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Iterator["ReferenceArray"]:
        if not self.aval.shape:
            raise TypeError("a scalar (an array of rank 0) has no first axis to iterate over.")
        # Copies, as rows that are views would keep the whole array alive.
        part = self.aval.resized(self.aval.shape[1:])
        return (ReferenceArray(np.array(value), part) for value in self._value)

    def __reversed__(self) -> Iterator["ReferenceArray"]:
        if not self.aval.shape:
            raise TypeError("a scalar (an array of rank 0) has no first axis to reverse.")
        return reversed(list(self))

    def _scalar(self) -> np.ndarray:
        ir.check_number(self.aval)
        return self._value

    def __bool__(self) -> bool:
        ir.check_truth(self.aval)
        return bool(self._value.reshape(()))

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        ir.check_index(self.aval)
        return int(self._value)

    # Arrays compare by element, so that they cannot be keys.
    __hash__: None = None  # pyright: ignore[reportIncompatibleMethodOverride]

    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError(
            f"an array of type {self.aval.str_short()} cannot be assigned to: arrays are "
            "immutable. Use x = x.at[index].set(value), which returns an updated copy."
        )

    def __copy__(self) -> "ReferenceArray":
        return ReferenceArray(self._value.copy(), self.aval)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReferenceArray":
        return self.__copy__()

    def __reduce__(self) -> Any:
        return ReferenceArray, (self._value, self.aval)


ir.register_array_type(ReferenceArray)
