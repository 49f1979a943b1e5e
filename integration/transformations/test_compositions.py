"""Every transformation within every other: compositions give what JAX gives.

The oracle compiles each composition as a whole; here it runs operation by operation, or as its own
transformations compile it. A run takes one composition for each function and outermost
transformation; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, every pair with every
function and every triple with one.
"""

import os
import random
from itertools import product

import numpy as np
import pytest

from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)

# Each takes a function from a pytree of arrays to one of the same types, and makes another such.
# Integers have no derivative: where one would stand, the integer itself is given.
TRANSFORMATIONS = """
map = jax.tree.map
is_float0 = lambda a: a.dtype == jax.dtypes.float0
is_smooth = lambda a: jnp.issubdtype(a.dtype, jnp.inexact)
total = lambda y: sum(
    jnp.sum(jnp.real(a * (1 + i + jnp.arange(a.shape[-1]))))
    for i, a in enumerate(jax.tree.leaves(y)) if is_smooth(a))
filled = lambda d, x: map(lambda d, x: x if is_float0(d) else d, d, x)
twice = lambda d: map(lambda d: d if is_float0(d) else d * 2, d)
direction = lambda x: map(
    lambda a: jnp.cos(a) if is_smooth(a) else np.zeros(a.shape, jax.dtypes.float0), x)

def jit(f):
    return jax.jit(f)
def grad(f):
    return lambda x: filled(jax.grad(lambda x: total(f(x)), allow_int=True)(x), x)
def jvp(f):
    return lambda x: filled(jax.jvp(f, (x,), (direction(x),))[1], x)
def vmap(f):
    def mapped(x):
        pairs = jax.vmap(f, in_axes=-1)(map(lambda a: jnp.stack([a, a * 2], -1), x))
        return map(lambda a: a[1] - a[0] * 2, pairs)
    return mapped
def checkpoint(f):
    return jax.checkpoint(f)
def custom_jvp(f):
    custom = jax.custom_jvp(f)
    @custom.defjvp
    def rule(primals, tangents):
        y, t = jax.jvp(f, primals, tangents)
        return y, twice(t)
    return custom
def custom_vjp(f):
    custom = jax.custom_vjp(f)
    custom.defvjp(lambda x: (f(x), x), lambda x, ct: twice(jax.vjp(f, x)[1](ct)))
    return custom
def scan(f):
    return lambda x: lax.scan(lambda c, k: (map(lambda a: a * k.astype(a.dtype), f(c)), c),
                              x, np.arange(1, 4))[0]
def cond(f):
    return lambda x: lax.cond(total(x) > 0, f, lambda x: map(lambda a: a * 3, x), x)
"""
NAMES = ("jit", "grad", "jvp", "vmap", "checkpoint", "custom_jvp", "custom_vjp", "scan", "cond")

_random = np.random.RandomState(0)
X = np.array([0.4, -0.7, 1.1], np.float32)
W = _random.uniform(-0.5, 0.5, (3, 3)).astype(np.float32)
STATE = {"c": X * 0.5, "h": X}

FUNCTIONS = {
    "elementwise": ("lambda x: jnp.sin(x) * x + 1.5 / (1 + x ** 2)", X),
    "matmul": ("lambda x: jnp.tanh(W @ x) + x @ W", X),
    "reductions": (
        "lambda x: (x - x.mean()) * jnp.max(x) + 0.1 * jnp.prod(x) + jnp.cumsum(x) * jnp.var(x)",
        X,
    ),
    "indexing": (
        "lambda x: x.at[jnp.array([0, 2])].add(x[1] * x[::2])[jnp.array([2, 0, 1])]"
        " * jnp.where(x > 0, lax.dynamic_index_in_dim(x, 1, keepdims=False), x)",
        X,
    ),
    "softmax": ("lambda x: jax.nn.softmax(x) + x * jax.nn.logsumexp(x * 0.5)", X),
    "rnn": (
        "lambda s: {'c': jax.nn.sigmoid(W @ s['h']) * s['c'] + jnp.tanh(s['h']),"
        " 'h': jnp.tanh(s['c']) * jax.nn.sigmoid(W.T @ s['h'])}",
        STATE,
    ),
    "complex": ("lambda z: jnp.exp(0.3j * z) * jnp.conj(z) + jnp.abs(z) * (W @ z)", X * (1 + 0.5j)),
    "integers": (
        "lambda s: (s[0] * s[1] % 3 + jnp.sin(s[0]), jnp.minimum(s[1] + 1, 5))",
        (X, np.array([1, 2, 3], np.int32)),
    ),
}

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"


def compositions(function: str, outermost: str) -> list[tuple[str, ...]]:
    """The compositions to try: pairs; and triples, which the functions share out."""
    turn = list(FUNCTIONS).index(function)
    pairs = [(outermost, inner) for inner in NAMES]
    triples = [
        (outermost, *inner)
        for i, inner in enumerate(product(NAMES, NAMES))
        if (i + NAMES.index(outermost)) % len(FUNCTIONS) == turn
    ]
    if EVERYTHING:
        return pairs + triples
    kind = (pairs, triples)[(turn + NAMES.index(outermost)) % 2]
    return [random.Random(f"{function} {outermost}").choice(kind)]


def composed(names: tuple[str, ...], source: str) -> str:
    for name in reversed(names):
        source = f"{name}({source})"
    return source


@pytest.mark.sampled(7)
@pytest.mark.parametrize("outermost", NAMES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_composition(function, outermost):
    source, x = FUNCTIONS[function]
    inputs = {"W": W, "x": x}
    calls = [composed(names, source) for names in compositions(function, outermost)]
    requests = [Request(f"{TRANSFORMATIONS}\njax.jit({call})(x)", inputs) for call in calls]
    wrong = []
    for call, theirs in zip(calls, shared_oracle().run_many(requests), strict=True):
        ours = evaluate_with(ricci_namespace(), f"{TRANSFORMATIONS}\n{call}(x)", inputs)
        try:
            compare(ours, theirs, source=call, rtol=1e-4)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)
