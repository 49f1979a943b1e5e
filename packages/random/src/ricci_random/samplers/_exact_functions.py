"""Functions as the compiler computes them, so that samples keep the bits of JAX's.

Elsewhere CPUs compute large arrays by formulas that differ in the last place.
"""

import ricci_lax as lax
from ricci_ir import Array
from ricci_lax.authoring import CompilerAccuracy


def erfc(x: Array) -> Array:
    return lax.erfc_p.bind(x, accuracy=CompilerAccuracy.OWN)


def log(x: Array) -> Array:
    return lax.log_p.bind(x, accuracy=CompilerAccuracy.OWN)


def log1p(x: Array) -> Array:
    return lax.log1p_p.bind(x, accuracy=CompilerAccuracy.OWN)


def pow(x: Array, y: Array) -> Array:
    return lax.pow_p.bind(x, y, accuracy=CompilerAccuracy.OWN)


def tan(x: Array) -> Array:
    return lax.tan_p.bind(x, accuracy=CompilerAccuracy.OWN)
