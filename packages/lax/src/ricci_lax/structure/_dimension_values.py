"""Symbolic dimensions as values."""

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_lax.rules._law_examples import no_examples
from ricci_stablehlo import Lowering, Value

__all__ = ["dim_as_value_p"]


def _dim_as_value_aval(*, dim: ir.SymbolicDimension) -> ir.ShapedArray:
    return ir.ShapedArray((), ir.python_scalar_dtype(int), True)


def _dim_as_value_lower(ctx: Lowering, *, dim: ir.SymbolicDimension) -> Value:
    return ctx.constant(dim, ctx.out)  # pyright: ignore[reportArgumentType]


def _dim_as_value_outside(*, dim: ir.SymbolicDimension) -> np.ndarray:
    raise NotImplementedError(
        f"The symbolic dimension {dim} has a value only in a program that is exported: it cannot "
        "be computed with outside of a traced function."
    )


dim_as_value_p: ir.Primitive = ir.define(
    "dim_as_value",
    sharding=ir.without_sharding,
    abstract_eval=_dim_as_value_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=ir.unsupported("it has no operand to map over"),
    lower=_dim_as_value_lower,
    reference=_dim_as_value_outside,
    exact=_dim_as_value_outside,
    examples=no_examples("a dimension has a value only in a program with symbolic shapes"),
)


@ir.dimension_as_array.provide
def _as_array(dimension: ir.SymbolicDimension) -> ir.Array:
    return dim_as_value_p.bind(dim=dimension)
