"""Functions as the compiler computes them, so that samples keep the bits of JAX's.

Elsewhere CPUs compute large arrays by formulas that differ in the last place.
"""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike
from ricci_lax.authoring import CompilerAccuracy
from ricci_numpy.authoring import promote_args_inexact
from ricci_random.keys._primitives import type_of


def erfc(x: Array) -> Array:
    return lax.erfc_p.bind(x, accuracy=CompilerAccuracy.OWN)


def exp(x: Array) -> Array:
    return lax.exp_p.bind(x, accuracy=CompilerAccuracy.OWN)


def log(x: Array) -> Array:
    return lax.log_p.bind(x, accuracy=CompilerAccuracy.OWN)


def log1p(x: Array) -> Array:
    return lax.log1p_p.bind(x, accuracy=CompilerAccuracy.OWN)


def pow(x: Array, y: Array) -> Array:
    return lax.pow_p.bind(x, y, accuracy=CompilerAccuracy.OWN)


def power(x: Array, y: ArrayLike) -> Array:
    """The same as ``jnp.power`` of floats; integers as exponents are not converted there."""
    if ir.issubdtype(type_of(y).dtype, np.integer):
        return jnp.power(x, y)
    return pow(*promote_args_inexact("power", x, y))


def tan(x: Array) -> Array:
    return lax.tan_p.bind(x, accuracy=CompilerAccuracy.OWN)
