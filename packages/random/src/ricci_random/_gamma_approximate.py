"""Gamma numbers by a formula: close to the distribution, with no loop for a device to wait in."""

from typing import Any

import numpy as np

import ricci_lax as lax

from ._arguments import float_info, to_shape
from ._continuous import _exponential
from ._normal import _normal
from ._uniform import split_pair

# How many uniform numbers raise the shape parameter: one of a + 4 is made one of a by them.
_RAISED = 4
# The cube root of a gamma number over its mean is nearly normal (Wilson and Hilferty). These are
# the corrections: for each power of the normal number x, highest first, the coefficients of powers
# of 1 / (2 a), lowest first.
_CORRECTIONS = (
    (9.780499e-05, -0.001450117, 0.001565326),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.0001348028, 0.01128186, 0.02277679),
    (0.4713941, 0.02607083, -0.008986007),
    (1.0, -0.2237368, -0.01513904),
)


def gamma_approximate(key: Any, a: Any, shape: tuple, dtype: np.dtype, log_space: bool) -> Any:
    """Numbers nearly of the gamma distribution, inside a sampler; in float32 at least."""
    work = np.dtype("float32") if dtype.itemsize < 4 else dtype
    a = to_shape(lax.convert_element_type(a, work), shape)
    normal_key, raise_key = split_pair(key)
    raised = a + float(_RAISED)
    twice = 2.0 * raised
    x = _normal(normal_key, shape=shape, dtype=work)
    step, x = 1.0 / twice, x * lax.rsqrt(twice)
    root = None
    for c0, c1, c2 in _CORRECTIONS:
        coefficient = c0 + step * (c1 + step * c2)
        root = coefficient if root is None else root * x + coefficient
    log_number = lax.log(raised) + 3.0 * lax.log(lax.max(root, float_info(work).tiny))
    places = lax.reshape(lax.iota(work, _RAISED), (_RAISED,) + (1,) * len(shape))
    log_u = lax.neg(_exponential(raise_key, shape=(_RAISED, *shape), dtype=work))
    log_number += lax.reduce_sum(log_u / (lax.expand_dims(a, (0,)) + places), (0,))
    number = log_number if log_space else lax.exp(log_number)
    return number if dtype == work else lax.convert_element_type(number, dtype)
