"""Approximate gamma numbers by a formula without loops."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, Shape
from ricci_random.keys._primitives import subkeys

from ._float_info import float_info
from ._inversion import _exponential
from ._normal import _normal
from ._parameters import to_shape

# The formula is accurate for large shape parameters, so it is used with a + 4. A gamma number for
# a + 4, multiplied by u^(1/(a + i)) for i = 0 .. 3 with uniform numbers u, is one for a.
_RAISED = 4
# The cube root of a gamma number over its mean is nearly normal (Wilson and Hilferty). It is a
# polynomial in the normal number x. The rows hold the coefficients of the powers of x, highest
# first, each as a polynomial in 1 / (2 a), lowest power first.
_COEFFICIENTS = (
    (9.780499e-05, -0.001450117, 0.001565326),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.0001348028, 0.01128186, 0.02277679),
    (0.4713941, 0.02607083, -0.008986007),
    (1.0, -0.2237368, -0.01513904),
)


def gamma_approximate(
    key: Array, a: Array, shape: Shape, dtype: np.dtype, log_space: bool
) -> Array:
    """Draw approximate gamma numbers, inside a sampler; computed in float32 at least."""
    work = np.dtype("float32") if dtype.itemsize < 4 else dtype
    a = to_shape(lax.convert_element_type(a, work), shape)
    normal_key, raise_key = subkeys(key)
    raised = a + float(_RAISED)
    twice = 2.0 * raised
    x = _normal(normal_key, shape=shape, dtype=work)
    step, x = 1.0 / twice, x * lax.rsqrt(twice)
    coefficients = [c0 + step * (c1 + step * c2) for c0, c1, c2 in _COEFFICIENTS]
    root = coefficients[0]
    for coefficient in coefficients[1:]:
        root = root * x + coefficient
    log_number = lax.log(raised) + 3.0 * lax.log(lax.max(root, float_info(work).tiny))
    offsets = lax.reshape(lax.iota(work, _RAISED), (_RAISED,) + (1,) * len(shape))
    log_u = lax.neg(_exponential(raise_key, shape=(_RAISED, *shape), dtype=work))
    log_number += lax.reduce_sum(log_u / (lax.expand_dims(a, (0,)) + offsets), (0,))
    number = log_number if log_space else lax.exp(log_number)
    return number if dtype == work else lax.convert_element_type(number, dtype)
