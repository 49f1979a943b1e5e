"""Examples of primitives that hold programs."""

from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import get_aval, primitives, trace_to_jaxpr

from ._example import Example, captured

X = np.array([[0.3, -0.7, 1.2], [-1.9, 0.55, 2.4]], np.float32)
Y = np.array([1.1, 0.4, -1.6], np.float32)


def _staged(*args: Any) -> Example:
    def params(*args: Any) -> dict[str, Any]:
        fun = lambda x, y: [lax.mul(lax.sin(x), lax.broadcast_in_dim(y, x.shape, (1,))), y]
        return {"jaxpr": trace_to_jaxpr(fun, list(map(get_aval, args))), "name": "fun"}

    return Example(args, params(*args), make=params)


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


def program_examples() -> dict[str, list[Example]]:
    """The examples of all primitives that hold programs and are defined."""
    rows = X, X[::-1].copy()
    table = {
        "jit": [_staged(X, Y)],
        "custom_jvp_call": [captured("custom_jvp_call", _sine, X)],
        "custom_vjp_call": [captured("custom_vjp_call", _product, *rows, modes=("rev",))],
    }
    return {name: examples for name, examples in table.items() if name in primitives}
