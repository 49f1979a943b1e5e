"""The static interface of arrays; ``_array_type.py`` assembles the class when it runs.

``ricci_numpy`` gives the methods that compute, tracers and the backends' arrays the others.
``integration/arrays/test_array_interface.py`` compares the signatures here with those.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Literal, Protocol, SupportsIndex

import numpy as np

from ._typing import ArrayLike, Axis, DTypeLike, Index, Shape, ShapeLike

__all__ = ["Array", "LateMember", "define_array_methods", "describe_arrays", "dispatch_by_array"]
__all__ += ["register_array_type"]

class Array:
    """The type of arrays: ``isinstance(x, Array)`` holds for arrays and for traced arrays.

    It cannot be instantiated; arrays are made by functions such as ``numpy.asarray``.
    """

    # A tracer keeps its type in a slot; elsewhere this is a property.
    aval: Any
    __hash__: None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]
    __array_priority__: int

    @property
    def shape(self) -> Shape:
        """The length of each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> int:
        """The number of elements."""

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to another operand's, as that of a Python scalar does."""

    @property
    def T(self) -> Array:
        """The array with its axes in reverse order."""

    @property
    def mT(self) -> Array:
        """The array with its last two axes swapped."""

    @property
    def real(self) -> Array:
        """The real part."""

    @property
    def imag(self) -> Array:
        """The imaginary part."""

    @property
    def at(self) -> IndexableUpdates:
        """Updated copies: ``x.at[index].set(values)`` and more."""

    # Where the array is. The classes of devices and shardings belong to the runtime.

    @property
    def sharding(self) -> Any:
        """How the array is divided over devices."""

    @property
    def device(self) -> Any:
        """The device that holds the array; its sharding, if several do."""

    @property
    def format(self) -> Any:
        """The layout in memory and the sharding."""

    @property
    def committed(self) -> bool:
        """Whether the array was put on its devices explicitly."""

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read every part."""

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""

    @property
    def addressable_shards(self) -> list[Any]:
        """The parts on this process's devices."""

    @property
    def global_shards(self) -> Sequence[Any]:
        """The parts on all devices."""

    @property
    def traceback(self) -> Any:
        """Where the array was made."""

    def devices(self) -> set[Any]:
        """The devices that hold a part of the array."""

    def addressable_data(self, index: int) -> Array:
        """The part on one of this process's devices."""

    def to_device(self, device: Any, *, stream: Any = None) -> Array:
        """The array on another device, or with another sharding."""

    def block_until_ready(self) -> Array:
        """Wait until the array has been computed, and return it."""

    def copy_to_host_async(self) -> None:
        """Start to copy the array to the host."""

    def is_ready(self) -> bool:
        """Whether the array has been computed."""

    def is_deleted(self) -> bool:
        """Whether the array's memory was freed or donated."""

    def delete(self) -> None:
        """Free the array's memory."""

    def on_device_size_in_bytes(self) -> int:
        """The memory that the array takes on its devices."""

    def unsafe_buffer_pointer(self) -> int:
        """The address of the array's memory."""

    # Leaving for Python and NumPy.

    def item(self, *args: int) -> Any:
        """One element as a Python scalar."""

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""

    def tobytes(self, order: str = "C") -> bytes:
        """The bytes of the elements."""

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, np.dtype[Any]]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def __array_module__(self, types: Any) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: int | Any | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __reversed__(self) -> Iterator[Array]: ...
    def __contains__(self, value: ArrayLike) -> bool: ...
    def __getitem__(self, index: Index) -> Array: ...
    def __round__(self, ndigits: int | None = None, /) -> Array: ...
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any) -> Array: ...

    # Operators.

    def __pos__(self) -> Array: ...
    def __neg__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __eq__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __ne__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __lt__(self, other: ArrayLike, /) -> Array: ...
    def __le__(self, other: ArrayLike, /) -> Array: ...
    def __gt__(self, other: ArrayLike, /) -> Array: ...
    def __ge__(self, other: ArrayLike, /) -> Array: ...
    def __add__(self, other: ArrayLike, /) -> Array: ...
    def __radd__(self, other: ArrayLike, /) -> Array: ...
    def __sub__(self, other: ArrayLike, /) -> Array: ...
    def __rsub__(self, other: ArrayLike, /) -> Array: ...
    def __mul__(self, other: ArrayLike, /) -> Array: ...
    def __rmul__(self, other: ArrayLike, /) -> Array: ...
    def __truediv__(self, other: ArrayLike, /) -> Array: ...
    def __rtruediv__(self, other: ArrayLike, /) -> Array: ...
    def __floordiv__(self, other: ArrayLike, /) -> Array: ...
    def __rfloordiv__(self, other: ArrayLike, /) -> Array: ...
    def __mod__(self, other: ArrayLike, /) -> Array: ...
    def __rmod__(self, other: ArrayLike, /) -> Array: ...
    def __divmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
    def __pow__(self, exponent: ArrayLike, /) -> Array: ...
    def __rpow__(self, other: ArrayLike, /) -> Array: ...
    def __matmul__(self, other: ArrayLike, /) -> Array: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Array: ...
    def __and__(self, other: ArrayLike, /) -> Array: ...
    def __rand__(self, other: ArrayLike, /) -> Array: ...
    def __or__(self, other: ArrayLike, /) -> Array: ...
    def __ror__(self, other: ArrayLike, /) -> Array: ...
    def __xor__(self, other: ArrayLike, /) -> Array: ...
    def __rxor__(self, other: ArrayLike, /) -> Array: ...
    def __lshift__(self, other: ArrayLike, /) -> Array: ...
    def __rlshift__(self, other: ArrayLike, /) -> Array: ...
    def __rshift__(self, other: ArrayLike, /) -> Array: ...
    def __rrshift__(self, other: ArrayLike, /) -> Array: ...

    # Methods that compute, by name; each does what the function of that name does.

    def all(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """Whether all elements along the axes are true."""

    def any(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """Whether any element along the axes is true."""

    def argmax(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array:
        """Where the largest element along an axis is."""

    def argmin(
        self, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Array:
        """Where the smallest element along an axis is."""

    def argpartition(self, kth: int, axis: int = -1) -> Array:
        """The indices that put the ``kth`` element where it would be in sorted order."""

    def argsort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array:
        """The indices that sort the array along an axis."""

    def astype(self, dtype: DTypeLike | None, copy: bool = False, device: Any = None) -> Array:
        """The array with its elements converted to a dtype."""

    def byteswap(self) -> Array:
        """The array with the bytes of each element in reverse order."""

    def choose(
        self, choices: Sequence[ArrayLike] | ArrayLike, out: None = None, mode: str = "raise"
    ) -> Array:
        """Elements of the choices, this array saying which of them."""

    def clip(self, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
        """The elements limited to an interval."""

    def compress(
        self,
        condition: ArrayLike | Sequence[bool],
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: ArrayLike = 0,
    ) -> Array:
        """The parts along an axis at which a condition holds."""

    def conj(self, /) -> Array:
        """The complex conjugate."""

    def conjugate(self, /) -> Array:
        """The complex conjugate."""

    def copy(self) -> Array:
        """A new array with the same elements."""

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The products of the elements up to each one along an axis."""

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The sums of the elements up to each one along an axis."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """A diagonal of two axes."""

    def dot(
        self,
        b: ArrayLike,
        *,
        precision: Any = None,
        preferred_element_type: DTypeLike | None = None,
        out_sharding: Any = None,
    ) -> Array:
        """The dot product with another array."""

    def flatten(self, order: str = "C", *, out_sharding: Any = None) -> Array:
        """The elements as a vector."""

    def max(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The largest element along the axes."""

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        """The mean along the axes."""

    def min(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The smallest element along the axes."""

    def nonzero(
        self,
        *,
        size: int | None = None,
        fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
    ) -> tuple[Array, ...]:
        """The indices of the elements that are not zero, one array for each axis."""

    def prod(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        """The product along the axes."""

    def ptp(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
        """The largest element less the smallest, along the axes."""

    def ravel(self, order: str = "C", *, out_sharding: Any = None) -> Array:
        """The elements as a vector."""

    def repeat(
        self,
        repeats: ArrayLike,
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: Any = None,
    ) -> Array:
        """The array with each part along an axis repeated."""

    def reshape(self, *sizes: ShapeLike, order: str = "C", out_sharding: Any = None) -> Array:
        """The elements in another shape; one size may be -1, which is then worked out."""

    def round(self, decimals: int = 0, out: None = None) -> Array:
        """The elements rounded to a number of decimals."""

    def searchsorted(
        self,
        v: ArrayLike,
        side: str = "left",
        sorter: ArrayLike | None = None,
        *,
        method: str = "scan",
    ) -> Array:
        """Where values would be inserted in this sorted vector."""

    def sort(
        self,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array:
        """The array sorted along an axis."""

    def squeeze(self, axis: Axis = None) -> Array:
        """The array without axes of length 1."""

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array:
        """The standard deviation along the axes."""

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        """The sum along the axes."""

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """The array with two axes swapped."""

    def take(
        self,
        indices: ArrayLike,
        axis: int | None = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: ArrayLike | None = None,
    ) -> Array:
        """The parts at some indices along an axis."""

    def trace(
        self,
        offset: int | ArrayLike = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """The sum of a diagonal."""

    def transpose(self, *args: SupportsIndex | Sequence[SupportsIndex] | None) -> Array:
        """The array with its axes in another order; reversed by default."""

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Array:
        """The variance along the axes."""

    def view(self, dtype: DTypeLike | None = None, type: None = None) -> Array:
        """The array's bytes read as elements of another dtype."""

class IndexableUpdates(Protocol):
    """What ``x.at`` is: index it to say which elements to update or to get."""

    def __getitem__(self, index: Index, /) -> IndexedUpdates: ...

class Update(Protocol):
    """A method of ``x.at[index]`` that returns an updated copy of ``x``."""

    def __call__(
        self,
        values: ArrayLike | list[Any] | tuple[Any, ...],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array: ...

class IndexedUpdates(Protocol):
    """What ``x.at[index]`` is: its methods return updated copies of ``x``."""

    @property
    def set(self) -> Update:
        """A copy of ``x`` with ``x[index] = values``; of repeated indices, one is written."""

    @property
    def add(self) -> Update:
        """A copy of ``x`` with ``x[index] += values``; repeated indices add up."""

    @property
    def subtract(self) -> Update:
        """A copy of ``x`` with ``x[index] -= values``; repeated indices add up."""

    @property
    def multiply(self) -> Update:
        """A copy of ``x`` with ``x[index] *= values``; repeated indices multiply."""

    @property
    def mul(self) -> Update:
        """The same as ``multiply``."""

    @property
    def divide(self) -> Update:
        """A copy of ``x`` with ``x[index] /= values``; repeated indices divide repeatedly."""

    @property
    def power(self) -> Update:
        """A copy of ``x`` with ``x[index] **= values``."""

    @property
    def min(self) -> Update:
        """A copy of ``x`` with ``x[index] = minimum(x[index], values)``."""

    @property
    def max(self) -> Update:
        """A copy of ``x`` with ``x[index] = maximum(x[index], values)``."""

    def apply(
        self,
        func: Callable[[Array], ArrayLike],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """A copy of ``x`` with ``x[index] = func(x[index])``, ``func`` being elementwise."""

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        strategy: Literal["auto", "gather", "static_slice", "dynamic_slice"] = "auto",
    ) -> Array:
        """``x[index]`` with a choice of what happens to indices out of bounds."""

def register_array_type(cls: type) -> None:
    """Make a backend's array class an ``Array``, with all the shared methods."""

def dispatch_by_array[T, K: Hashable](
    cls: type[T], split: Callable[[T], tuple[Array, K]], join: Callable[[K, Array], T]
) -> None:
    """Let backends dispatch calls with values of a class by the type of the array in each."""

class LateMember:
    """A method or property of arrays whose module is imported when it is first looked up."""

    name: str
    load: Callable[[], object]

    def __init__(self, name: str, load: Callable[[], object]) -> None: ...
    def __get__(self, instance: object, owner: type) -> object: ...

def define_array_methods(methods: dict[str, Any]) -> None:
    """Give every array class these methods and properties, now and later."""

def describe_arrays(members: dict[str, Any]) -> None:
    """Show methods and attributes of arrays on the class ``Array`` too."""
