"""Symbolic dimensions as values."""

import numpy as np

from ricci_autodiff import not_linear, zero_derivative
from ricci_ir import (
    Array,
    Primitive,
    ShapedArray,
    SymbolicDimension,
    define,
    dimension_as_array,
    python_scalar_dtype,
    unsupported,
    without_sharding,
)
from ricci_lax.rules._law_examples import no_examples
from ricci_stablehlo import Lowering, Value

__all__ = ["dim_as_value_p"]


def _dim_as_value_aval(*, dim: SymbolicDimension) -> ShapedArray:
    return ShapedArray((), python_scalar_dtype(int), True)


def _dim_as_value_lower(ctx: Lowering, *, dim: SymbolicDimension) -> Value:
    return ctx.constant(dim, ctx.out)  # pyright: ignore[reportArgumentType]


def _dim_as_value_outside(*, dim: SymbolicDimension) -> np.ndarray:
    raise NotImplementedError(
        f"The symbolic dimension {dim} has a value only in a program that is exported: it cannot "
        "be computed with outside of a traced function."
    )


dim_as_value_p: Primitive = define(
    "dim_as_value",
    sharding=without_sharding,
    abstract_eval=_dim_as_value_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=unsupported("it has no operand to map over"),
    lower=_dim_as_value_lower,
    reference=_dim_as_value_outside,
    exact=_dim_as_value_outside,
    examples=no_examples("a dimension has a value only in a program with symbolic shapes"),
)


@dimension_as_array.provide
def _as_array(dimension: SymbolicDimension) -> Array:
    return dim_as_value_p.bind(dim=dimension)
