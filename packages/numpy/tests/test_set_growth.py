"""Set operations grow with the sum of their operands' sizes, not the product."""

import numpy as np

import ricci.numpy as jnp
from ricci import make_jaxpr


def _largest(jaxpr) -> int:
    """Return the number of elements of the largest array that a jaxpr computes."""
    sizes = [0]
    for eqn in jaxpr.eqns:
        sizes += [int(np.prod(var.aval.shape)) for var in eqn.outvars]
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                sizes.append(_largest(inner))
    return max(sizes)


def test_setxor1d_compares_no_pairs():
    x = np.arange(1000, dtype=np.int32)
    jaxpr = make_jaxpr(lambda x, y: jnp.setxor1d(x, y, size=2000))(x, x + 500)
    assert _largest(jaxpr.jaxpr) <= 4 * (len(x) + len(x))
