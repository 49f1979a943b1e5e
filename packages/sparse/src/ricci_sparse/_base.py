"""The base class of sparse arrays."""

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, NoReturn, Self, overload

import numpy as np

from ricci_ir import Array, ArrayLike, to_sizes

__all__ = ["JAXSparse"]


class JAXSparse:
    """A sparse array: the stored elements of a large array and their indices.

    It is a pytree: transformations trace, differentiate and map over its arrays.
    Operators, indexing and methods such as ``sum`` give sparse arrays where they can.

    Args:
      args: its elements and indices.
      shape: the shape of the array that it represents.

    Attributes:
      data: the elements that are stored.
      shape: the shape of the array that it represents.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import sparse
      >>> M = sparse.BCOO.fromdense(jnp.array([[0, 2], [1, 0]]))
      >>> isinstance(M, sparse.JAXSparse), M.nse, M.shape
      (True, 2, (2, 2))
    """

    # NumPy's arrays leave binary operations with this class to its reflected methods.
    __array_priority__ = 100
    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]

    data: Array
    shape: tuple[int, ...]
    _parts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, args: tuple[Array, ...], *, shape: Sequence[int]):
        self.shape = tuple(to_sizes(shape))

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        raise NotImplementedError(f"{type(self).__name__} does not define nse")

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements of the array that it represents."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def T(self) -> "JAXSparse":
        """The transposed array."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a sparse array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        parts = self._arrays()
        if not all(isinstance(part, Array) for part in parts):  # placeholders of a transformation
            return f"{name}({', '.join(map(repr, parts))})"
        return f"{name}({self._described()})"

    def _described(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{self.dtype.name}[{sizes}], nse={self.nse}"

    def _arrays(self) -> list[Array]:
        return [getattr(self, name) for name in self._parts]

    def _no_operation(self, name: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}.{name} is not implemented: BCOO arrays have most operations."
        )

    def __add__(self, other: "JAXSparse | ArrayLike") -> "JAXSparse | Array":
        return self._no_operation("__add__")

    def __radd__(self, other: ArrayLike) -> "JAXSparse | Array":
        return self._no_operation("__radd__")

    def __sub__(self, other: "JAXSparse | ArrayLike") -> "JAXSparse | Array":
        return self._no_operation("__sub__")

    def __rsub__(self, other: ArrayLike) -> "JAXSparse | Array":
        return self._no_operation("__rsub__")

    def __mul__(self, other: "JAXSparse | ArrayLike") -> Self:
        return self._no_operation("__mul__")

    def __rmul__(self, other: ArrayLike) -> Self:
        return self._no_operation("__rmul__")

    @overload
    def __matmul__(self, other: "JAXSparse") -> "JAXSparse": ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: "JAXSparse | ArrayLike") -> "JAXSparse | Array":
        return self._no_operation("__matmul__")

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return self._no_operation("__rmatmul__")

    def __neg__(self) -> Self:
        return self._no_operation("__neg__")

    def __pos__(self) -> Self:
        return self._no_operation("__pos__")

    def __getitem__(self, item: Any) -> Self:
        return self._no_operation("__getitem__")

    def sum(self, *args: Any, **kwargs: Any) -> "JAXSparse | Array":
        """The sum over dimensions: see ``numpy.sum``."""
        return self._no_operation("sum")

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, Any]]:
        """The arrays, and the static properties."""
        raise NotImplementedError(f"{type(self).__name__}.tree_flatten")

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """A container with these contents."""
        raise NotImplementedError(f"{cls.__name__}.tree_unflatten")

    def block_until_ready(self) -> Self:
        """Wait until its arrays are computed, and return it."""
        for part in self._arrays():
            part.block_until_ready()
        return self

    def todense(self) -> Array:
        """The dense array that it represents."""
        raise NotImplementedError(f"{type(self).__name__}.todense")

    def transpose(self, axes: Sequence[int] | None = None) -> "JAXSparse":
        """The array with its dimensions in another order; reversed without ``axes``."""
        raise NotImplementedError(f"{type(self).__name__}.transpose")


class StoredParts(JAXSparse):
    """The base class of sparse arrays with arrays named by ``_parts``, and static properties."""

    def _static(self) -> dict[str, Any]:
        """The static properties by name."""
        return {"shape": self.shape}

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, Any]]:
        """The arrays, and the static properties."""
        return tuple(self._arrays()), self._static()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """A container with these contents, which need not be arrays."""
        # Without ``__init__``, which converts the contents to arrays and checks their shapes.
        new = object.__new__(cls)
        for name, value in zip(cls._parts, children, strict=True):
            setattr(new, name, value)
        for name, value in aux_data.items():
            setattr(new, name, value)
        return new


def is_sparse(x: object) -> bool:
    """Whether ``x`` is a sparse array.

    Args:
      x: any object.

    Returns:
      Whether it is a ``JAXSparse``.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import sparse
      >>> sparse.ad.is_sparse(np.ones(2)), sparse.ad.is_sparse(sparse.eye(2))
      (False, True)
    """
    return isinstance(x, JAXSparse)
