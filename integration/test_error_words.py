"""The words that a user searches for stand in the messages: those that JAX's messages have."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

ONES = np.ones(2, np.float32)

WORDS = [
    (lambda: ricci.grad(lambda x: x)(ONES), ["scalar-output", "(2,)"]),
    (lambda: ricci.grad(lambda x: (x, x))(1.0), ["scalar-output"]),
    (lambda: ricci.grad(lambda weights: weights)(1), ["integer", "weights", "int32", "allow_int"]),
    (lambda: ricci.grad(lambda x: x.astype(int))(1.0), ["real-valued", "integer", "vjp", "int32"]),
    (lambda: ricci.grad(lambda x: x * 1j)(1.0), ["real-valued", "holomorphic", "complex64"]),
    (lambda: ricci.grad(lambda x: x, 3)(1.0), ["argnums", "3"]),
    (lambda: ricci.grad(lambda x: x, "a"), ["argnums", "integer"]),
    (lambda: ricci.grad(3), ["callable", "grad"]),
    (lambda: ricci.vmap(3), ["callable", "vmap"]),
    (lambda: ricci.jit(lambda x: 1 if x > 0 else 2)(1.0), ["tracer", "concrete", "bool[]"]),
    (lambda: ricci.jit(lambda x: float(x))(1.0), ["tracer", "concrete", "shape", "float"]),
    (lambda: ricci.jit(lambda x: np.sin(x))(1.0), ["tracer", "concrete", "NumPy"]),
    (lambda: ricci.jit(lambda x: [1, 2][x])(1), ["tracer", "concrete", "integer"]),
    (lambda: ricci.jit(lambda x: x[x > 0])(ONES), ["mask", "concrete", "bool[2]"]),
    (lambda: jnp.ones(2) + jnp.ones(3), ["incompatible shapes", "broadcasting", "(2,)", "(3,)"]),
    (lambda: jnp.sum(ONES, axis=3), ["sum", "axis 3", "out of bounds"]),
    (lambda: jnp.size(ONES, 3), ["size", "axis 3", "out of bounds"]),
    (lambda: jnp.expand_dims(ONES, 5), ["axis 5", "out of bounds"]),
    (lambda: lax.concatenate([ONES, ONES], 2), ["dimension=2", "out of bounds", "(2,)"]),
    (lambda: lax.cummax(ONES, 2), ["axis=2", "out of bounds", "(2,)"]),
    (lambda: lax.argmax(ONES, 2, np.int32), ["axis 2", "out of bounds", "(2,)"]),
]


@pytest.mark.parametrize(("mistake", "words"), WORDS, ids=range(len(WORDS)))
def test_the_words_that_are_searched_for(mistake, words):
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        mistake()
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
