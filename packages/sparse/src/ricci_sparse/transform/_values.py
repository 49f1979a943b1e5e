"""Sparse and dense values in ``sparsify``, and the table of rules by primitive.

A value is its shape and references to arrays of an environment.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ricci_numpy as jnp
from ricci_ir import ArrayLike, Primitive, ShapedArray, get_aval
from ricci_pytree import tree_map
from ricci_sparse._base import is_sparse
from ricci_sparse.bcoo import BCOO
from ricci_sparse.bcsr import BCSR

__all__ = ["ArrayOrSparse", "SparsifyEnv", "SparsifyValue", "arrays_to_spvalues"]
__all__ += ["sparse_rules_bcoo", "sparse_rules_bcsr", "spvalues_to_arrays", "spvalues_to_avals"]

ArrayOrSparse = Any  # an array, or a sparse one


class SparsifyEnv:
    """The arrays to which the values of a ``sparsify`` call refer.

    Args:
      bufs: the initial arrays.
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
        """The row pointers of a BCSR value."""
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
        """A new sparse value, of new arrays or of references to arrays of the environment."""
        if data is not None:
            data_ref = self._push(data)
        if indices is not None:
            indices_ref = self._push(indices)
        if indptr is not None:
            indptr_ref = self._push(indptr)
        refs = data_ref, indices_ref, indptr_ref
        return SparsifyValue(tuple(shape), *refs, indices_sorted, unique_indices)


class SparsifyValue(NamedTuple):
    """A value in ``sparsify``: its shape, and references to its arrays in the environment.

    Attributes:
      shape: the shape of the array that it represents.
      data_ref: the reference to its elements.
      indices_ref: the reference to its indices, if it is sparse.
      indptr_ref: the reference to its row pointers, if it is a BCSR array.
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
    """Add a dense or sparse array to the environment."""
    if isinstance(x, BCOO | BCSR):
        promises = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
        indptr = x.indptr if isinstance(x, BCSR) else None
        return spenv.sparse(x.shape, x.data, x.indices, indptr, **promises)
    if is_sparse(x):
        raise TypeError(
            f"sparsify takes BCOO and BCSR arrays, but got a {type(x).__name__}. Convert it, with "
            "BCOO.fromdense(x.todense()) if it is small."
        )
    return spenv.dense(x)


def to_array(spenv: SparsifyEnv, spvalue: SparsifyValue) -> ArrayOrSparse:
    """Convert a value of the environment to a dense or sparse array."""
    if spvalue.is_dense():
        return spenv.data(spvalue)
    info = {
        "shape": spvalue.shape,
        "indices_sorted": bool(spvalue.indices_sorted),
        "unique_indices": bool(spvalue.unique_indices),
    }
    data, indices = spenv.data(spvalue), spenv.indices(spvalue)
    if spvalue.is_bcsr():
        return BCSR((data, indices, spenv.indptr(spvalue)), **info)
    return BCOO((data, indices), **info)


def _is_value(x: object) -> bool:
    return isinstance(x, SparsifyValue)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """Convert a pytree of dense and sparse arrays to values."""
    return tree_map(lambda x: to_value(spenv, x), args, is_leaf=is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """Convert a pytree of values to dense and sparse arrays."""
    return tree_map(lambda v: to_array(spenv, v), spvalues, is_leaf=_is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The abstract values of the dense arrays that a pytree of values represents."""

    def aval(spvalue: SparsifyValue) -> ShapedArray:
        data: Any = get_aval(spenv.data(spvalue))
        return ShapedArray(spvalue.shape, data.dtype, data.weak_type)

    return tree_map(aval, spvalues, is_leaf=_is_value)


type SparseRule = Callable[..., Sequence[SparsifyValue]]

# ``rule(spenv, *spvalues, **params)`` gives the results as a sequence of values of ``spenv``. The
# first table is used for operands of which none is a BCSR array.
sparse_rules_bcoo: dict[Primitive, SparseRule] = {}
sparse_rules_bcsr: dict[Primitive, SparseRule] = {}


# Functions that return the rule of a primitive that is in neither table, or None.
further_rules: list[Callable[[Primitive], SparseRule | None]] = []


def of_arrays(fun: Callable[..., Any], multiple_results: bool = False) -> SparseRule:
    """A rule from a function of arrays, some of which are sparse.

    A result with the indices of an operand refers to the same indices in the environment.
    """

    def rule(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> list[SparsifyValue]:
        outs = fun(*(to_array(spenv, v) for v in spvalues), **params)
        return [placed(spenv, x, spvalues) for x in (outs if multiple_results else (outs,))]

    return rule


def placed(
    spenv: SparsifyEnv, x: ArrayOrSparse, operands: Sequence[SparsifyValue]
) -> SparsifyValue:
    """Put a result into the environment, which shares the indices of operands."""
    value = to_value(spenv, x)
    if value.is_sparse():
        # Identity of the arrays, not equality of the values: it costs nothing and holds while
        # tracing. Later operations on two values with one reference need not match indices.
        indices = spenv.indices(value)
        for other in operands:
            if other.is_sparse() and spenv.indices(other) is indices:
                return value._replace(indices_ref=other.indices_ref)
    return value


def apply_rule(
    primitive: Primitive,
    spenv: SparsifyEnv,
    spvalues: Sequence[SparsifyValue],
    params: dict[str, Any],
) -> Sequence[SparsifyValue]:
    """Apply the rule of a primitive to operands of which at least one is sparse.

    Raises:
      NotImplementedError: if it has no rule for them.
    """
    by_rows = any(v.is_bcsr() for v in spvalues)
    rule = (sparse_rules_bcsr if by_rows else sparse_rules_bcoo).get(primitive)
    for find in further_rules:
        rule = rule or find(primitive)
    if rule is None:
        kinds = ", ".join(
            "dense" if v.is_dense() else "BCSR" if v.is_bcsr() else "BCOO" for v in spvalues
        )
        raise NotImplementedError(
            f"sparsify: {primitive.name} has no rule for operands that are sparse: {kinds}. Make "
            "them dense first, with ricci.experimental.sparse.todense, if they are small enough."
        )
    return rule(spenv, *spvalues, **params)
