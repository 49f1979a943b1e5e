"""Copying an array: the same values in new memory."""

import numpy as np

from ricci_autodiff import linear
from ricci_batching import elementwise
from ricci_ir import Primitive, by_element, define, linear_in_all
from ricci_lax.rules._law_examples import ANY, samples

from . import _exact_rules as exact

__all__ = ["copy_p"]

copy_p: Primitive = define(
    "copy",
    sharding=by_element,
    sums=linear_in_all,
    abstract_eval=lambda x: x,
    jvp=linear,
    transpose=lambda ct, x: [copy_p.bind(ct)],
    batch=elementwise,
    lower=lambda ctx, x: x,
    exact=exact.elementwise(np.copy),
    examples=samples(ANY),
    follow=1,
)
