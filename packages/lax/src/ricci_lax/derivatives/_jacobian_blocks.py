"""Jacobians as blocks of arrays: their bases, and their splits by arguments and results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise import add, eq
from ricci_lax.elementwise._conversion import converted
from ricci_lax.shapes._joining import split
from ricci_lax.structure import broadcasted_iota, reshape
from ricci_lax.structure._broadcasting import zeros_of


def total(avals: Sequence[Any]) -> int:
    return sum(aval.size for aval in avals)


def standard_basis(avals: Sequence[Any]) -> list[Any]:
    """The standard basis of arrays of the given types: one unit vector for each index of axis 0."""
    size = total(avals)
    # One matrix in the promoted dtype, cut into columns for each array: one constant for all of
    # them.
    dtype = ir.result_type(*avals)
    row, column = (broadcasted_iota(np.int32, (size, size), axis) for axis in (0, 1))
    # The rows are the unit vectors of all arrays, concatenated; each array has its columns of them.
    matrix = converted(eq(add(row, np.int32(0)), column), dtype)
    parts = split(matrix, [aval.size for aval in avals], axis=1)
    return [
        converted(shaped(part, (size, *aval.shape)), aval.dtype, aval.weak_type)
        for part, aval in zip(parts, avals, strict=True)
    ]


def columns_of(value: ir.ArrayLike, out: ir.ShapedArray, avals: Sequence[Any]) -> list[Any]:
    """Split a block of a result's Jacobian along its last axis: a part for each argument.

    The parts are weakly typed if the result is, even if the tangents are not.
    """
    parts = split(value, [aval.size for aval in avals], axis=out.ndim)
    return [
        ir.as_array(_weakly_typed_as(out, shaped(part, (*out.shape, *aval.shape))))
        for part, aval in zip(parts, avals, strict=True)
    ]


def rows_of(
    value: ir.ArrayLike | None, out_avals: Sequence[Any], aval: ir.ShapedArray
) -> list[Any]:
    """Split a block along its first axis: a part for each result; ``None`` is zeros.

    The parts are weakly typed if the argument, of type ``aval``, is.
    """
    if value is None:
        shapes = [(*out.shape, *aval.shape) for out in out_avals]
        return [
            ir.as_array(zeros_of(ir.ShapedArray(s, aval.dtype, aval.weak_type))) for s in shapes
        ]
    parts = split(value, [out.size for out in out_avals], axis=0)
    return [
        ir.as_array(_weakly_typed_as(aval, shaped(part, (*out.shape, *aval.shape))))
        for part, out in zip(parts, out_avals, strict=True)
    ]


def _weakly_typed_as(aval: ir.ShapedArray, x: ir.Array) -> ir.Array:
    return converted(x, ir.get_aval(x).dtype, aval.weak_type)


def shaped(x: ir.Array, shape: tuple[int, ...]) -> ir.Array:
    aval = ir.get_aval(x)
    return x if aval.shape == shape else reshape(x, shape)
