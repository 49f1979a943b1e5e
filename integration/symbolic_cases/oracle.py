"""The calls that JAX exports with a symbolic dimension. JAX's interpreter runs this file.

A line of standard input is a call: ``[source, {name: [dtype, shape]}, {name: value}, size]``.
A line of standard output answers it: the class of the error, or nothing.
"""

import json
import sys

import ml_dtypes
import numpy as np

import jax
import jax.numpy as jnp
from jax import export, lax


def _dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def _answer(source, arrays, others, size):
    (dimension,) = export.symbolic_shape("n")
    specs = [
        jax.ShapeDtypeStruct(tuple(dimension if n == size else n for n in shape), _dtype(dtype))
        for dtype, shape in arrays.values()
    ]
    names = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, **others}

    def fun(*operands):
        return eval(source, {**names, **dict(zip(arrays, operands, strict=True))})

    try:
        export.export(jax.jit(fun), platforms=["cpu"])(*specs)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the answer
        return type(error).__name__
    return ""


for line in sys.stdin:
    print(_answer(*json.loads(line)), flush=True)
