"""Promotion of operands, contractions and types of arrays, in JAX's private forms."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import opt_einsum

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_lax import PrecisionLike
from ricci_numpy import authoring

Shape = Sequence[int]
DType = np.dtype


def _as_arrays(operands: Sequence[ir.ArrayLike]) -> list[ir.Array]:
    avals = map(ir.get_aval, operands)
    return [
        authoring.convert(x, aval.dtype, aval.weak_type)
        for x, aval in zip(operands, avals, strict=True)
    ]


def promote_dtypes(*args: ir.ArrayLike) -> list[ir.Array]:
    """Return operands as arrays of the dtype that they promote to."""
    return _as_arrays(authoring.promote_dtypes(*args))


def promote_dtypes_inexact(*args: ir.ArrayLike) -> list[ir.Array]:
    """Return operands as arrays of one dtype, integers and booleans becoming floats."""
    return _as_arrays(authoring.promote_dtypes_inexact(*args))


def promote_dtypes_numeric(*args: ir.ArrayLike) -> list[ir.Array]:
    """Return operands as arrays of one dtype, booleans becoming integers."""
    return _as_arrays(authoring.promote_dtypes_numeric(*args))


def promote_dtypes_complex(*args: ir.ArrayLike) -> list[ir.Array]:
    """Return operands as arrays of one complex dtype."""
    promoted = promote_dtypes_inexact(*args)
    dtype = ir.result_type(promoted[0].dtype, np.complex64)
    return [authoring.convert(x, dtype, ir.get_aval(x).weak_type) for x in promoted]


def ensure_arraylike(fun_name: str, /, *args: ir.ArrayLike) -> ir.Array | tuple[ir.Array, ...]:
    """Return checked operands as arrays; a single one without a tuple around it.

    Args:
      fun_name: the function's name in messages.
      args: the operands.

    Raises:
      TypeError: if one is neither an array nor a scalar.
    """
    authoring.check_arraylike(fun_name, *args)
    arrays = _as_arrays(args)
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def contraction_path(
    *operands: object, **options: object
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the operands of an ``einsum`` and the steps in which opt_einsum contracts them.

    Args:
      operands: subscripts and arrays.
      options: those of ``opt_einsum.contract_path``, with ``einsum_call=True``.
    """
    arrays, steps = cast(Any, opt_einsum.contract_path)(*operands, **options)
    return tuple(arrays), tuple(steps)


def contract(
    operands: Sequence[ir.ArrayLike],
    contractions: Sequence[tuple[Any, ...]],
    precision: PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    _dot_general: Callable[..., ir.Array] | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Return the result of an ``einsum`` computed in given steps.

    Args:
      operands: the arrays.
      contractions: the steps of ``contraction_path``: positions, summed letters and subscripts.
      precision, preferred_element_type, out_sharding: as for ``einsum``.
      _dot_general: the function that computes each product of two operands.
    """
    remaining: list[Any] = list(operands)
    for positions, _, subscripts, *_ in contractions:
        contracted = [remaining.pop(i) for i in sorted(positions, reverse=True)]
        remaining.append(
            jnp.einsum(
                subscripts,
                *contracted,
                precision=precision,
                preferred_element_type=preferred_element_type,
                _dot_general=_dot_general,
                out_sharding=out_sharding if not remaining else None,
            )
        )
    return remaining[0]
