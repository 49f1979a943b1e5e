"""Sparse and dense values of a program, as ``sparsify`` and its rules hold them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import ricci_numpy as jnp
from ricci_ir import ArrayLike, ShapedArray, get_aval
from ricci_pytree import tree_map
from ricci_sparse._base import is_sparse
from ricci_sparse.bcoo import BCOO
from ricci_sparse.bcsr import BCSR

__all__ = [
    "ArrayOrSparse",
    "SparsifyEnv",
    "SparsifyValue",
    "arrays_to_spvalues",
    "spvalues_to_arrays",
    "spvalues_to_avals",
]

ArrayOrSparse = Any  # an array, or a sparse one


class SparsifyEnv:
    """The arrays that the values of a program are made of.

    Args:
      bufs: the first of them.
    """

    __slots__ = ("_buffers",)

    def __init__(self, bufs: Sequence[Any] = ()):
        self._buffers: list[Any] = list(bufs)

    def _push(self, array: ArrayLike) -> int:
        self._buffers.append(jnp.asarray(array))
        return len(self._buffers) - 1

    def data(self, spvalue: "SparsifyValue") -> Any:
        """The elements of a value."""
        assert spvalue.data_ref is not None
        return self._buffers[spvalue.data_ref]

    def indices(self, spvalue: "SparsifyValue") -> Any:
        """The indices of a sparse value."""
        assert spvalue.indices_ref is not None
        return self._buffers[spvalue.indices_ref]

    def indptr(self, spvalue: "SparsifyValue") -> Any:
        """Where the rows of a value begin that is stored row by row."""
        assert spvalue.indptr_ref is not None
        return self._buffers[spvalue.indptr_ref]

    def dense(self, data: ArrayLike) -> "SparsifyValue":
        """A new value that is a dense array."""
        ref = self._push(data)
        return SparsifyValue(self._buffers[ref].shape, ref)

    def sparse(
        self,
        shape: tuple[int, ...],
        data: ArrayLike | None = None,
        indices: ArrayLike | None = None,
        indptr: ArrayLike | None = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> "SparsifyValue":
        """A new sparse value, of arrays or of references to arrays that are here."""
        if data is not None:
            data_ref = self._push(data)
        if indices is not None:
            indices_ref = self._push(indices)
        if indptr is not None:
            indptr_ref = self._push(indptr)
        refs = data_ref, indices_ref, indptr_ref
        return SparsifyValue(tuple(shape), *refs, indices_sorted, unique_indices)


class SparsifyValue(NamedTuple):
    """A value of a program: its shape, and where its arrays are in the environment.

    Attributes:
      shape: the shape of the array that it stands for.
      data_ref: the place of its elements.
      indices_ref: the place of its indices, if it is sparse.
      indptr_ref: the place of what says where its rows begin, if it is stored row by row.
      indices_sorted: whether its indices are in order.
      unique_indices: whether no index occurs twice.
    """

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Whether it is a sparse value."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Whether it is a dense array."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Whether it is a BCOO array."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Whether it is a BCSR array."""
        return self.is_sparse() and self.indptr_ref is not None


def to_value(spenv: SparsifyEnv, x: ArrayOrSparse) -> SparsifyValue:
    """An array, or a sparse one, as a value of the environment."""
    if isinstance(x, BCOO | BCSR):
        known = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
        indptr = x.indptr if isinstance(x, BCSR) else None
        return spenv.sparse(x.shape, x.data, x.indices, indptr, **known)
    if is_sparse(x):
        raise TypeError(
            f"sparsify knows BCOO and BCSR arrays, but got a {type(x).__name__}. Convert it, with "
            "BCOO.fromdense(x.todense()) if it is small."
        )
    return spenv.dense(x)


def to_array(spenv: SparsifyEnv, spvalue: SparsifyValue) -> ArrayOrSparse:
    """A value of the environment as an array or a sparse one."""
    if spvalue.is_dense():
        return spenv.data(spvalue)
    known = {
        "shape": spvalue.shape,
        "indices_sorted": bool(spvalue.indices_sorted),
        "unique_indices": bool(spvalue.unique_indices),
    }
    data, indices = spenv.data(spvalue), spenv.indices(spvalue)
    if spvalue.is_bcsr():
        return BCSR((data, indices, spenv.indptr(spvalue)), **known)
    return BCOO((data, indices), **known)


def _is_value(x: object) -> bool:
    return isinstance(x, SparsifyValue)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """A pytree of arrays, some of them sparse, as one of values."""
    return tree_map(lambda x: to_value(spenv, x), args, is_leaf=is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A pytree of values as one of arrays, some of them sparse."""
    return tree_map(lambda v: to_array(spenv, v), spvalues, is_leaf=_is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A pytree of values as one of the types of the arrays that they stand for."""

    def aval(spvalue: SparsifyValue) -> ShapedArray:
        data: Any = get_aval(spenv.data(spvalue))
        return ShapedArray(spvalue.shape, data.dtype, data.weak_type)

    return tree_map(aval, spvalues, is_leaf=_is_value)
