"""Examples of primitives with jaxprs as parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import get_aval, primitives, trace_to_jaxpr

from ._example import Example, captured

X = np.array([[0.3, -0.7, 1.2], [-1.9, 0.55, 2.4]], np.float32)
Y = np.array([1.1, 0.4, -1.6], np.float32)


def _staged(*args: np.ndarray) -> Example:
    def params(*args: Any) -> dict[str, Any]:
        along = lambda x, y: lax.broadcast_in_dim(y, x.shape, (1,) if y.shape else ())
        fun = lambda x, y: [lax.mul(lax.sin(x), along(x, y)), y]
        return {"jaxpr": trace_to_jaxpr(fun, list(map(get_aval, args))), "name": "fun"}

    def make(convert: Callable[[np.ndarray], np.ndarray]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        converted = tuple(map(convert, args))
        return converted, params(*converted)

    return Example(args, params(*args), make=make)


@lax.custom_jvp
def _sine(x):
    return lax.sin(x)


@_sine.defjvp
def _sine_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _sine(x), lax.mul(t, lax.cos(x))


@lax.custom_vjp
def _product(x, y):
    return lax.mul(x, y)


_product.defvjp(
    lambda x, y: (lax.mul(x, y), (x, y)),
    lambda residuals, ct: (lax.mul(ct, residuals[1]), lax.mul(ct, residuals[0])),
)


def _diagonal_system(d, b):
    divide = lambda matvec, y: lax.div(y, d)
    return [lax.custom_linear_solve(lambda x: lax.mul(d, x), b, divide, symmetric=True)]


def _sums_system(b):
    # The inverse of cumulative sums is differences of neighbours.
    padded = lambda x, before: lax.pad(x, x.dtype.type(0), ((before, 1 - before, 0),))
    differences = lambda matvec, y: lax.slice_in_dim(lax.sub(padded(y, 0), padded(y, 1)), 0, -1)
    reversed_differences = lambda vecmat, y: lax.slice_in_dim(
        lax.sub(padded(y, 1), padded(y, 0)), 1, None
    )
    # For complex numbers as well, the sign of the absolute value is locally constant.
    with_sign = lambda solve: lambda matvec, y: (solve(matvec, y), lax.sign(lax.abs(y)))
    x, sign = lax.custom_linear_solve(
        lambda x: lax.cumsum(x),
        b,
        with_sign(differences),
        with_sign(reversed_differences),
        has_aux=True,
    )
    return [x, sign]


def _tangent_map(transposed: bool):
    def fun(a, x, v):
        square = lambda a, x: [lax.mul(lax.mul(x, x), a)]
        jaxpr = trace_to_jaxpr(square, [get_aval(a), get_aval(x)])
        return lax.tangent_map_p.bind(a, x, v, jaxpr=jaxpr, count=1, transposed=transposed)

    return fun


def _scaled(residual, x):
    scale = lambda r, x: lax.mul(r, x)
    return lax.linear_call(scale, scale, residual, x)


@lax.custom_vmap
def _sine_of_product(x, y):
    return lax.sin(lax.mul(x, y))


@_sine_of_product.def_vmap
def _sine_of_product_batch(axis_size, in_batched, x, y):
    grown = [
        z if batched else lax.broadcast_in_dim(z, (axis_size, *z.shape), range(1, z.ndim + 1))
        for z, batched in zip((x, y), in_batched, strict=True)
    ]
    return lax.sin(lax.mul(*grown)), True


def jaxpr_examples() -> dict[str, list[Example]]:
    """The examples of all defined primitives with jaxprs as parameters."""
    rows = X, X[::-1].copy()
    complex_rows = tuple((x + 0.5j * X).astype(np.complex64) for x in rows)
    table = {
        "jit": [_staged(X, Y), _staged(np.asarray(X[0, 0]), np.asarray(Y[0]))],
        "custom_jvp_call": [captured("custom_jvp_call", _sine, X)],
        "custom_vjp_call": [captured("custom_vjp_call", _product, *rows, modes=("rev",))],
        # The matrix of a system is an operand several times, and the result is smooth only if all
        # copies change together.
        "custom_linear_solve": [
            captured("custom_linear_solve", _diagonal_system, *rows, fixed=(0, 1, 2, 3)),
            captured("custom_linear_solve", _diagonal_system, *complex_rows, fixed=(0, 1, 2, 3)),
            captured("custom_linear_solve", _diagonal_system, X[:0], X[:0], fixed=(0, 1, 2, 3)),
            captured("custom_linear_solve", _sums_system, Y),
        ],
        "tangent_map": [
            captured("tangent_map", _tangent_map(transposed), *rows, X + 1)
            for transposed in (False, True)
        ],
        "linear_call": [
            captured("linear_call", _scaled, *rows, fixed=(0,)),
            captured("linear_call", _scaled, *complex_rows, fixed=(0,)),
        ],
        "custom_vmap_call": [captured("custom_vmap_call", _sine_of_product, *rows)],
    }
    return {name: examples for name, examples in table.items() if name in primitives}
