"""What all sparse arrays have in common."""

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Self

import numpy as np

from ricci_ir import Array, to_sizes

__all__ = ["JAXSparse", "is_sparse"]


class JAXSparse:
    """A sparse array: a few arrays that stand for a large one.

    It is a container to transformations: its arrays are traced, differentiated and mapped over.
    Operators, indexing and methods such as ``sum`` give sparse arrays where they can.

    Args:
      args: the arrays that it is made of.
      shape: the shape of the array that it stands for.

    Attributes:
      data: the elements that are stored.
      shape: the shape of the array that it stands for.
    """

    __array_priority__ = 100
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    data: Array
    shape: tuple[int, ...]
    _parts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, args: tuple[Array, ...], *, shape: Sequence[int]):
        self.shape = tuple(to_sizes(shape))

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        raise NotImplementedError(f"{type(self).__name__} does not say how many elements it stores")

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements of the array that it stands for."""
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
        if not all(isinstance(part, Array) for part in parts):  # what a transformation has made
            return f"{name}({', '.join(map(repr, parts))})"
        return f"{name}({self._described()})"

    def _described(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{self.dtype.name}[{sizes}], nse={self.nse}"

    def _arrays(self) -> list[Array]:
        return [getattr(self, name) for name in self._parts]

    def block_until_ready(self) -> Self:
        """Wait until its arrays are computed; returns itself."""
        for part in self._arrays():
            part.block_until_ready()
        return self

    def todense(self) -> Array:
        """The array that it stands for."""
        raise NotImplementedError(f"{type(self).__name__}.todense")

    def transpose(self, axes: Sequence[int] | None = None) -> "JAXSparse":
        """The array with its dimensions in another order; reversed without ``axes``."""
        raise NotImplementedError(f"{type(self).__name__}.transpose")


def is_sparse(x: object) -> bool:
    """Whether ``x`` is a sparse array."""
    return isinstance(x, JAXSparse)
