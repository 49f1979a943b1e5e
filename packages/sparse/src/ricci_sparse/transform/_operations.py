"""Sparse rules of single operations, and of all elementwise functions of one operand.

An elementwise function that maps zero to zero preserves its operand's indices. Whether a function
does is determined by evaluating it at zero.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import elementwise_primitives
from ricci_ir import Array, Primitive, eval_trace, set_trace
from ricci_sparse import bcoo
from ricci_sparse._api import todense_p
from ricci_sparse._base import is_sparse
from ricci_sparse.bcsr import BCSR, bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general

from ._values import (
    ArrayOrSparse,
    SparseRule,
    SparsifyEnv,
    SparsifyValue,
    further_rules,
    of_arrays,
    placed,
    sparse_rules_bcoo,
    sparse_rules_bcsr,
    to_array,
)

# Elementwise functions of one operand


def with_data[S: bcoo.BCOO | BCSR](mat: S, data: Array) -> S:
    """The array with other elements at the same indices."""
    parts, info = mat.tree_flatten()
    return type(mat)((data, *parts[1:]), **info)  # pyright: ignore[reportArgumentType]


def _without_duplicates[S: bcoo.BCOO | BCSR](mat: S) -> S:
    """Sum duplicates, so that nonlinear functions may be applied to the elements."""
    return mat if mat.unique_indices else mat.sum_duplicates(mat.nse, remove_zeros=False)


def _applied(primitive: Primitive, linear: bool) -> Callable[..., ArrayOrSparse]:
    def apply(x: bcoo.BCOO | BCSR, **params: Any) -> ArrayOrSparse:
        mat = x if linear else _without_duplicates(x)
        return with_data(mat, primitive.bind(mat.data, **params))

    return apply


def _keeps_zero(primitive: Primitive) -> bool:
    """Whether an elementwise function of one floating-point operand maps zero to zero."""
    try:
        # One evaluation decides for a whole primitive: it is elementwise, so it acts alike
        # everywhere.
        result = primitive.bind(np.float32(0))
    except (TypeError, ValueError, NotImplementedError):  # of two operands, or with parameters
        return False
    return result.dtype == np.float32 and result == 0


_zero_preserving: dict[Primitive, bool] = {}


def _elementwise_rule(primitive: Primitive) -> SparseRule | None:
    """The rule of an elementwise function of one operand that maps zero to zero."""
    if primitive not in elementwise_primitives:
        return None
    preserves = _zero_preserving.get(primitive)
    if preserves is None:
        with set_trace(eval_trace):
            preserves = _zero_preserving[primitive] = _keeps_zero(primitive)
    return of_arrays(_applied(primitive, linear=False)) if preserves else None


further_rules.append(_elementwise_rule)


def _set_rule(primitive: Primitive, fun: Callable[..., ArrayOrSparse]) -> None:
    """Set the rule for BCOO and BCSR arrays."""
    sparse_rules_bcoo[primitive] = sparse_rules_bcsr[primitive] = of_arrays(fun)


for _primitive in (
    *(lax.neg_p, lax.copy_p, lax.convert_element_type_p, lax.real_p, lax.imag_p, lax.conj_p),
):
    # A conversion to booleans or integers is not linear, but JAX applies it to each element.
    _set_rule(_primitive, _applied(_primitive, linear=_primitive is not lax.convert_element_type_p))


def _integer_pow(x: bcoo.BCOO | BCSR, *, y: int, **params: Any) -> ArrayOrSparse:
    if y <= 0:
        raise NotImplementedError(
            f"sparsify: integer_pow with the exponent {y} of a sparse array would be dense. Use "
            "todense first, if it is small enough."
        )
    mat = _without_duplicates(x)
    return with_data(mat, lax.integer_pow_p.bind(mat.data, y=y, **params))


_set_rule(lax.integer_pow_p, _integer_pow)

# Sums, products, quotients


def _refuse(what: str) -> Any:
    raise NotImplementedError(
        f"sparsify: {what} would be dense. Use todense first, if it is small enough."
    )


def _with_refs(fun: Callable[[ArrayOrSparse, ArrayOrSparse, bool], ArrayOrSparse]) -> SparseRule:
    """A rule from a function of two operands and a flag whether they have the same indices."""

    def rule(
        spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **params: Any
    ) -> list[SparsifyValue]:
        same = x.is_sparse() and x.indices_ref == y.indices_ref
        return [placed(spenv, fun(to_array(spenv, x), to_array(spenv, y), same), (x, y))]

    return rule


def _add(x: ArrayOrSparse, y: ArrayOrSparse, same: bool) -> ArrayOrSparse:
    if is_sparse(x) and is_sparse(y):
        return _joined(x, y, same, "addition")
    mat, dense = (x, y) if is_sparse(x) else (y, x)
    if dense.shape != mat.shape:
        return _refuse("the sum of a sparse array and a smaller dense one")
    # The sum has an element wherever the dense array has one.
    return mat.todense() + dense


def _joined(x: bcoo.BCOO, y: bcoo.BCOO, same: bool, what: str) -> bcoo.BCOO:
    """The sum of two sparse arrays: the elements of both, or their sums if they share indices."""
    if x.shape != y.shape:
        raise NotImplementedError(
            f"sparsify: {what} of sparse arrays of different shapes, {x.shape} and {y.shape}."
        )
    if (x.n_batch, x.n_dense) != (y.n_batch, y.n_dense):
        raise NotImplementedError(
            f"sparsify: {what} of sparse arrays with other batch and dense dimensions: "
            f"{x.n_batch, x.n_dense} and {y.n_batch, y.n_dense}. Use update_layout first."
        )
    if same:
        return with_data(x, x.data + y.data)
    # Elements with equal indices may then be stored twice; their sum is the element.
    n_batch = x.n_batch
    batch = np.broadcast_shapes(*(p.shape[:n_batch] for m in (x, y) for p in (m.data, m.indices)))
    wide = lambda p: jnp.broadcast_to(p, (*batch, *p.shape[n_batch:]))
    data = jnp.concatenate([wide(x.data), wide(y.data)], axis=n_batch)
    indices = jnp.concatenate([wide(x.indices), wide(y.indices)], axis=n_batch)
    return bcoo.BCOO((data, indices), shape=x.shape)


def _sub(x: ArrayOrSparse, y: ArrayOrSparse, same: bool) -> ArrayOrSparse:
    if is_sparse(x) and is_sparse(y):
        return _joined(x, with_data(y, -y.data), same, "subtraction")
    raise NotImplementedError(
        "sparsify: subtraction between a sparse and a dense array. Use todense first, if it is "
        "small enough."
    )


def _mul(x: ArrayOrSparse, y: ArrayOrSparse, same: bool) -> ArrayOrSparse:
    if is_sparse(x) and is_sparse(y):
        if same and x.unique_indices:
            return with_data(x, x.data * y.data)
        # Duplicates have to be multiplied crosswise: (a + b)(c + d).
        return bcoo.bcoo_multiply_sparse(x, y)
    mat, dense = (x, y) if is_sparse(x) else (y, x)
    return with_data(mat, bcoo.bcoo_multiply_dense(mat, dense))


def _div(x: ArrayOrSparse, y: ArrayOrSparse, same: bool) -> ArrayOrSparse:
    if is_sparse(y):
        return _refuse("a quotient by a sparse array")
    divisors = bcoo.bcoo_multiply_dense(with_data(x, jnp.ones_like(x.data)), y)
    # Padding gets the divisor 1.
    inside = bcoo.bcoo_multiply_dense(with_data(x, jnp.ones_like(x.data)), jnp.ones_like(y)) != 0
    return with_data(x, x.data / jnp.where(inside, divisors, jnp.ones_like(divisors)))


for _primitive, _pair in (
    (lax.add_p, _add),
    (lax.sub_p, _sub),
    (lax.mul_p, _mul),
    (lax.div_p, _div),
):
    sparse_rules_bcoo[_primitive] = _with_refs(_pair)
sparse_rules_bcoo[lax.add_any_p] = sparse_rules_bcoo[lax.add_p]


# Reductions, products of matrices, and operations that move elements


def _reduce_sum(x: bcoo.BCOO, *, axes: Sequence[int], **params: Any) -> ArrayOrSparse:
    result = bcoo.bcoo_reduce_sum(x, axes=axes)
    return result if result.shape else result.todense()


def _dot_general(x: ArrayOrSparse, y: ArrayOrSparse, **params: Any) -> ArrayOrSparse:
    result = bcoo.bcoo_dot_general(
        x,
        y,
        dimension_numbers=params["dimension_numbers"],
        preferred_element_type=params["preferred_element_type"],
    )
    return result.todense() if isinstance(result, bcoo.BCOO) and not result.shape else result


def _row_dot_general(x: ArrayOrSparse, y: ArrayOrSparse, **params: Any) -> Array:
    if not isinstance(x, BCSR) or is_sparse(y):
        raise NotImplementedError(
            "sparsify: the product of a BCSR array has it on the left, and a dense array on the "
            "right. Use mat.to_bcoo() for others."
        )
    return bcsr_dot_general(
        x,
        y,
        dimension_numbers=params["dimension_numbers"],
        preferred_element_type=params["preferred_element_type"],
    )


def _concatenate(*xs: ArrayOrSparse, dimension: int) -> bcoo.BCOO:
    return bcoo.bcoo_concatenate(xs, dimension=dimension)


def _stack(*xs: ArrayOrSparse, axis: int) -> bcoo.BCOO:
    expanded = []
    for x in xs:
        if not isinstance(x, bcoo.BCOO):
            raise ValueError("sparsify: BCOO arrays are joined with BCOO arrays only.")
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        dims = tuple(d + (d >= axis) for d in range(x.ndim))
        expanded.append(bcoo.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims))
    return bcoo.bcoo_concatenate(expanded, dimension=axis)


def _row_concatenate(*xs: ArrayOrSparse, dimension: int) -> BCSR:
    if not all(isinstance(x, BCSR) for x in xs):
        raise ValueError("sparsify: BCSR arrays are joined with BCSR arrays only.")
    return bcsr_concatenate(xs, dimension=dimension)


def _gather(x: bcoo.BCOO, indices: Array, **params: Any) -> bcoo.BCOO:
    mode = params["mode"]
    if mode is lax.GatherScatterMode.FILL_OR_DROP:
        raise NotImplementedError("bcoo_gather: mode='fill' not yet supported.")
    return bcoo.bcoo_gather(
        x, indices, params["dimension_numbers"], params["slice_sizes"], mode=mode
    )


def _with_parameters(fun: Callable[..., ArrayOrSparse], *names: str) -> SparseRule:
    """The rule of a function that takes a subset of the primitive's parameters."""
    return of_arrays(lambda *xs, **params: fun(*xs, **{name: params[name] for name in names}))


sparse_rules_bcoo |= {
    lax.reduce_sum_p: of_arrays(_reduce_sum),
    lax.dot_general_p: of_arrays(_dot_general),
    lax.concatenate_p: of_arrays(_concatenate),
    lax.stack_p: of_arrays(_stack),
    lax.dynamic_slice_p: of_arrays(
        lambda x, *starts, slice_sizes, **params: bcoo.bcoo_dynamic_slice(x, starts, slice_sizes)
    ),
    lax.gather_p: of_arrays(_gather),
    lax.transpose_p: _with_parameters(bcoo.bcoo_transpose, "permutation"),
    lax.broadcast_in_dim_p: _with_parameters(
        bcoo.bcoo_broadcast_in_dim, "shape", "broadcast_dimensions"
    ),
    lax.reshape_p: _with_parameters(bcoo.bcoo_reshape, "new_sizes", "dimensions"),
    lax.squeeze_p: _with_parameters(bcoo.bcoo_squeeze, "dimensions"),
    lax.rev_p: _with_parameters(bcoo.bcoo_rev, "dimensions"),
    lax.slice_p: _with_parameters(bcoo.bcoo_slice, "start_indices", "limit_indices", "strides"),
    lax.conv_general_dilated_p: of_arrays(bcoo.bcoo_conv_general_dilated),
    todense_p: of_arrays(lambda *xs, **params: xs[0].todense()),
}
sparse_rules_bcsr |= {
    lax.dot_general_p: of_arrays(_row_dot_general),
    lax.concatenate_p: of_arrays(_row_concatenate),
    lax.broadcast_in_dim_p: _with_parameters(
        bcsr_broadcast_in_dim, "shape", "broadcast_dimensions"
    ),
    todense_p: of_arrays(lambda *xs, **params: xs[0].todense()),
}
