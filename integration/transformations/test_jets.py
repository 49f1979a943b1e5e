"""Jets: JAX's values and types where it has rules; order 5 of every primitive by nested jvp.

A run takes a sample of the primitives; with RICCI_ALL_JETS=1 it takes all, which takes minutes.
"""

import os
import random

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import Oracle, assert_same, check_jets, examples

EVERYTHING = os.environ.get("RICCI_ALL_JETS") == "1"
NAMES = sorted(examples())
CHOSEN = NAMES if EVERYTHING else random.Random(5).sample(NAMES, 4)

FUNCTIONS = {
    "transcendental": "lambda x: jnp.sin(x) * jnp.exp(x) / (1 + jnp.log(x)) - jnp.tanh(x) ** 3",
    "special": "lambda x: jax.nn.sigmoid(x) + jnp.sqrt(x) * lax.erf(x) + x ** 2.5 + lax.log1p(x)",
    "moving": "lambda x: jnp.concatenate([jnp.maximum(x, 0.5), x[::-1]]).reshape(2, 2).sum(0)",
    "products": "lambda x: jnp.cumsum(jnp.outer(x, x) @ x) / jnp.max(x)",
}


@pytest.mark.parametrize("name", CHOSEN)
def test_order_five_is_nested_jvp(name):
    with use_backend(reference_backend):
        for example in examples()[name]:
            check_jets(primitives[name], example, 5)


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("scaled", [True, False])
def test_terms_are_those_of_jax(scaled):
    jets = ", ".join(
        f"{name!r}: jet({fun}, (x,), (series,), factorial_scaled={scaled})"
        for name, fun in FUNCTIONS.items()
    )
    x = "jnp.array([0.6, 0.9]), [jnp.array(t) for t in ([1., .5], [.2, -.4], [.1, .3])]"
    find = "jet = __import__('importlib').import_module(jax.__name__ + '.experimental.jet').jet"
    assert_same(f"jax.jit(lambda x, series, jet=({find[6:]}): {{{jets}}})({x})")
