"""Operands that XLA transposes for products are stored before on CPUs, where they are computed."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

TOKENS, WIDTH = 64, 256


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


X, CT, W = numbers(2, 32, WIDTH), numbers(2, 32, 8, seed=1), numbers(WIDTH, 8, seed=2)


def over_tokens(x, ct):
    return lax.dot_general(x, ct, (((0, 1), (0, 1)), ((), ())))


def barriers(function, *args, **options):
    return ricci.jit(function).lower(*args, **options).as_text().count("optimization_barrier")


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x, ct: over_tokens(x * jnp.tanh(x), ct), (X, CT)),
        (lambda x, ct: (x + 1).T @ ct, (X[0], CT[0])),
        (lambda x, ct: (2 * x).reshape(TOKENS, WIDTH).T @ ct, (X, CT.reshape(TOKENS, 8))),
        (ricci.grad(lambda w: jnp.sum(jnp.tanh(jnp.exp(X) @ w) ** 2)), (W,)),
    ],
    ids=["over two dimensions", "over one", "reshaped", "gradient of weights"],
)
def test_a_computed_operand_is_stored(function, args):
    assert barriers(function, *args) == 1


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (over_tokens, (X, CT)),
        (lambda x, ct: over_tokens(jnp.ones_like(x), ct), (X, CT)),
        (lambda x, w: jnp.exp(x) @ w, (X, W)),
        (lambda x, ct: over_tokens(jnp.exp(x), ct), (X[..., :64], CT)),
        (lambda x, ct: over_tokens(1j * x, ct), (X, CT)),
        (lambda x, y: over_tokens(x @ y, x), (X, numbers(WIDTH, WIDTH))),
    ],
    ids=["argument", "constant", "contracted last", "small", "complex", "product"],
)
def test_other_operands_are_not(function, args):
    assert barriers(function, *args) == 0


def test_an_operand_of_several_products_is_stored_once():
    def function(x, a, b):
        y = jnp.exp(x)
        return over_tokens(y, a), over_tokens(y, b), y @ W

    assert barriers(function, X, CT, CT + 1) == 1


def test_other_platforms_see_no_barrier():
    traced = ricci.jit(lambda x, ct: over_tokens(x + 1, ct)).trace(X, CT)
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "optimization_barrier" not in text


def test_results_are_those_of_separate_operations():
    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return jnp.sum(x**2)

    ws = [numbers(WIDTH, WIDTH, seed=i) / 16 for i in range(3)]
    with ricci.disable_jit():
        expected = ricci.grad(loss)(ws, X)
    for gradient in (ricci.jit(ricci.grad(loss))(ws, X), ricci.grad(ricci.jit(loss))(ws, X)):
        for x, y in zip(gradient, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)
