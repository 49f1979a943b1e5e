"""Loops and branches under every transformation: as real JAX computes them.

A run takes some of the cases; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, all.
"""

import os
import random

import numpy as np
import pytest

from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

pytestmark = pytest.mark.usefixtures("oracle")

_random = np.random.RandomState(0)
INPUTS = {
    "x": np.array([0.5, -1.2, 2.0], np.float32),
    "xs": _random.randn(4, 3).astype(np.float32),
    "W": 0.5 * _random.randn(3, 3).astype(np.float32),
    "p": np.array([1.0, -1.0], np.float32),
}

PREAMBLE = """
def rnn(W, h, xs, **o):
    def step(h, x):
        h = jnp.tanh(W @ h + x)
        return h, (h, jnp.sum(h))
    return lax.scan(step, h, xs, **o)
def loss(W, h, xs, **o):
    c, ys = rnn(W, h, xs, **o)
    return jnp.sum(c) + jnp.sum(ys[0] ** 2) + jnp.sum(ys[1])
def choose(p, a, b):
    return lax.cond(
        p > 0, lambda a, b: (jnp.sin(a) * b, a), lambda a, b: (b * 2.0, b * a * a), a, b)
def chosen(p, a):
    return sum(jnp.sum(z) for z in choose(p, a, a + 1))
def pick(i, a):
    return lax.switch(i, [lambda a: a, lambda a: jnp.sin(a), lambda a: a ** 3], a)
def grow(a):
    return lax.while_loop(
        lambda c: jnp.sum(c[1]) < 50, lambda c: (c[0] + 1, c[1] * 1.5 + a), (0, jnp.abs(a)))
def power(a, k):
    return lax.while_loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] * a), (0, a))
def nested(a, xs):
    inner = lambda c, v: lax.cond(
        jnp.sum(c) > 0, lambda c: c * v, lambda c: jnp.sin(c) + v, c)
    return jnp.sum(lax.scan(lambda c, v: (inner(c, v), c[0]), a, xs)[0])
def either(a):
    inner = lambda b: lax.cond(
        b[1] > 0, lambda c: (jnp.sin(c), jnp.tan(c)), lambda c: (c, jnp.exp(c)), b)
    return lax.cond(a[0] > 0, inner, lambda b: (b, jnp.tan(b)), a)
def dropped(a):
    layer = jax.checkpoint(lambda b, k: jnp.sin(random.normal(k, b.shape) * b))
    return lax.cond(
        a[0] > 0, lambda b: layer(b, random.fold_in(random.key(1), 3)), lambda b: b * 2, a)
@jax.custom_jvp
def cj(x): return jnp.sin(x)
cj.defjvp(lambda p, t: (cj(*p), t[0] * 5))
@jax.custom_vjp
def cv(x): return jnp.sin(x)
cv.defvjp(lambda x: (cv(x), x), lambda r, g: (g * r * 7,))
def many(v, xs):
    step = lambda cs, x: ([jnp.sin(c) * x[0] + 0.5 * c for c in cs], sum(cs[:3]))
    cs, ys = lax.scan(step, [v[i % 3] * i * 0.1 for i in range(12)], xs)
    return sum(c * (i + 1) for i, c in enumerate(cs)) + jnp.sum(ys)
"""

_OPTIONS = (
    "",
    "reverse=True",
    "unroll=2",
    "unroll=3, reverse=True",
    "unroll=True",
    "_split_transpose=True",
)
_SCANS = (
    "rnn(W, x, xs, {o})",
    "jax.grad(lambda *a: loss(*a, {o}), (0, 1, 2))(W, x, xs)",
    "jax.jit(jax.grad(lambda *a: loss(*a, {o}), (0, 1, 2)))(W, x, xs)",
    "jax.jvp(lambda *a: loss(*a, {o}), (W, x, xs), (W, x, xs))",
    "jax.jacfwd(jax.grad(lambda *a: loss(*a, {o}), 1), 1)(W, x, xs)",
    "jax.jacrev(jax.grad(lambda *a: loss(*a, {o}), 1), 1)(W, x, xs)",
    "jax.vmap(lambda *a: loss(*a, {o}), (None, 0, None))(W, jnp.stack([x, x * 2]), xs)",
    "jax.vmap(lambda *a: rnn(*a, {o}), (2, None, 1), (1, (0, 2)))"
    "(jnp.stack([W, W * 2], 2), x, jnp.stack([xs, xs + 1], 1))",
    "jax.vmap(jax.grad(lambda *a: loss(*a, {o})), (0, 0, None))"
    "(jnp.stack([W, W]), jnp.stack([x, x * 2]), xs)",
    "jax.linearize(lambda *a: loss(*a, {o}), W, x, xs)[1](W, x, xs)",
    "jax.vjp(lambda W: rnn(W, x, xs, {o}), W)[1]((x, (xs, jnp.ones(4))))",
)

CASES = [
    *(scan.replace("{o}", options) for options in _OPTIONS for scan in _SCANS),
    # branches
    "[choose(q, x, x + 1) for q in (1.0, -1.0)]",
    "[jax.grad(chosen, 1)(q, x) for q in (1.0, -1.0)]",
    "[jax.jvp(lambda a: choose(q, a, x), (x,), (x,)) for q in (1.0, -1.0)]",
    "[jax.hessian(chosen, 1)(q, x) for q in (1.0, -1.0)]",
    "jax.vmap(choose, (0, None, 0))(p, x, xs[:2])",
    "jax.vmap(choose, (None, 0, None), 1)(1.0, xs, x)",
    "jax.grad(lambda a: jnp.sum(jax.vmap(choose, (0, None, 0))(p, a, xs[:2])[0]))(x)",
    "jax.vmap(jax.grad(lambda v: lax.cond(v > 0, jnp.sqrt, lambda v: 0.0 * v, v)))"
    "(jnp.array([4.0, 0.0]))",
    "jax.grad(lambda w: jnp.sum(jax.vmap(lambda v: lax.cond(v > 0, jnp.log, lambda v: v, v))(w)))"
    "(jnp.array([4.0, 0.0]))",
    "[pick(i, x) for i in (-1, 0, 1, 2, 7)]",
    "[jax.grad(lambda a: jnp.sum(pick(i, a)))(x) for i in range(3)]",
    "jax.vmap(pick)(jnp.arange(3), xs[:3])",
    "jax.jit(jax.vmap(jax.grad(lambda i, a: jnp.sum(pick(i, a)), 1)))(jnp.arange(3), xs[:3])",
    "lax.switch(3, [lambda a: a * 2], x)",
    "jax.vmap(lambda i: lax.switch(i, [lambda: 1.0, lambda: 2.0]))(jnp.arange(2))",
    "jax.grad(nested)(x, xs)",
    "jax.vmap(jax.grad(nested), (0, None))(xs, xs)",
    "jax.linear_transpose(lambda a: lax.cond(True, lambda a: a * 2, lambda a: a, a), x)(x)",
    # loops whose length is not known
    "grow(x)",
    "jax.jvp(lambda a: grow(a)[1], (x,), (x,))",
    "jax.vmap(grow)(xs)",
    "jax.vmap(jax.vmap(grow))(jnp.stack([xs, xs * 2]))",
    "jax.jacfwd(lambda a: grow(a)[1])(x)",
    "jax.vmap(lambda a: jax.jvp(lambda a: grow(a)[1], (a,), (a,)))(xs)",
    "jax.vmap(power, (0, None))(xs, 3)",
    "jax.vmap(power, (None, 0))(x, jnp.arange(3))",
    "jax.vmap(jax.vmap(power, (None, 0)), (0, None))(xs, jnp.arange(3))",
    "jax.vmap(jax.vmap(power, (0, None)), (None, 0))(xs, jnp.arange(3))",
    "jax.vmap(jax.vmap(power, (0, None), 1), (None, 0), 2)(xs, jnp.arange(3))",
    "jax.linearize(lambda a: power(a, 3)[1], x)[1](x)",
    "jax.jit(power)(x, 4)",
    # loops over an index
    "lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, x)",
    "jax.grad(lambda a: jnp.sum(lax.fori_loop(0, 5, lambda i, c: c * jnp.sin(a) + i, a)))(x)",
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x))(5)",
    "jax.jit(lambda n: jax.jvp(lambda a: lax.fori_loop(0, n, lambda i, c: c * a, a), (x,), (x,)))"
    "(3)",
    "jax.vmap(lambda n, a: lax.fori_loop(0, n, lambda i, c: c * a + i, a))(jnp.arange(4), xs)",
    "lax.fori_loop(5, 0, lambda i, c: c + 1, x)",
    "lax.fori_loop(np.int8(0), np.int8(3), lambda i, c: c + i, np.int8(0))",
    "lax.fori_loop(0, 7, lambda i, c: c + i, 0, unroll=3)",
    "lax.fori_loop(0, 7, lambda i, c: c + i, 0, unroll=True)",
    "jax.linear_transpose(lambda a: lax.fori_loop(0, 3, lambda i, c: c * (i + 1) + a, a), x)(x)",
    # map
    "lax.map(lambda a: a @ W, xs)",
    "lax.map(lambda a: a @ W, xs, batch_size=3)",
    "lax.map(lambda a: a @ W, xs, batch_size=9)",
    "jax.grad(lambda W: jnp.sum(lax.map(lambda a: jnp.sin(a @ W), xs, batch_size=3)))(W)",
    "lax.map(lambda q: {'s': q[0] + q[1]}, (xs, xs))",
    "lax.map(lambda a: a * 2, xs[:0])",
    # carries and collected values
    "lax.scan(lambda c, a: (c + a, c), 1, jnp.ones(3))",
    "lax.while_loop(lambda c: c < 3, lambda c: c + 1.5, 0)",
    "lax.fori_loop(0, 3, lambda i, c: c + np.float32(1), 0)",
    "lax.scan(lambda c, a: (c + a, c), 0, jnp.ones(3, 'uint8'))",
    "lax.scan(lambda c, a: (c, None), 1.0, None, length=3)",
    "lax.scan(lambda c, a: ((), a * 2), (), xs)",
    "lax.scan(lambda c, a: (c, (a, c)), x, xs)",
    "jax.grad(lambda a: jnp.sum(lax.scan(lambda c, v: (c * v, v), a, xs[:0])[0]))(x)",
    "jax.grad(lambda a: lax.scan(lambda c, i: (c + a[i], None), 0.0, np.arange(3))[0])(x)",
    "jax.grad(lambda a: jnp.sum(lax.scan("
    "lambda c, v: ((c[0] + 1, c[1] * v + c[0]), c[0]), (0, a), xs)[0][1]))(x)",
    "jax.grad(lambda a: jnp.sum(lax.scan("
    "lambda c, v: (lax.stop_gradient(c) * v, c * v), a, xs)[1]))(x)",
    "jax.grad(lambda a: jnp.sum(lax.scan(lambda c, v: (c, v * a), 0.0, xs)[1]))(x)",
    "jax.grad(lambda q: jnp.sum(lax.scan(lambda c, v: (c * v, v), x, q)[1]))(xs)",
    "jax.grad(lambda a: jnp.sum(lax.scan(lambda c, v: (c * a + v * jnp.sin(a), c), x, xs)[0]))(x)",
    "jax.vmap(lambda a: lax.scan(lambda c, v: (c * a + v * jnp.sin(a), c), x, xs))(xs)",
    "jax.vmap(jax.grad(lambda a: jnp.sum(lax.cond(True, lambda: a * a, lambda: jnp.exp(a)))))(xs)",
    "jax.linear_transpose(lambda a: lax.scan(lambda c, v: (c * v + a, c), a, xs), x)((x, xs))",
    # many scalars
    "many(x, xs)",
    "jax.jit(jax.grad(many, (0, 1)))(x, xs)",
    "jax.vmap(jax.grad(many), (0, None))(xs, xs)",
    "jax.hessian(many)(x, xs)",
    # random keys
    "lax.scan(lambda k, _: (random.split(k)[0], random.uniform(k)), random.key(0), None, 3)[1]",
    "lax.scan(lambda c, k: (c, random.fold_in(k, 1)), 0.0, random.split(random.key(0), 3))[1]",
    "lax.cond(True, lambda k: random.split(k)[0], lambda k: k, random.key(3))",
    "jax.vmap(lambda k: lax.while_loop(lambda c: c[1] < 0.7, lambda c: (random.split(c[0])[0], "
    "random.uniform(c[0])), (k, 0.0))[1])(random.split(random.key(0), 3))",
    # custom rules inside
    "jax.grad(lambda a: jnp.sum(lax.scan(lambda c, v: (cj(c), c), a, xs)[0]))(x)",
    "jax.grad(lambda a: jnp.sum(lax.scan(lambda c, v: (cv(c) * v, c), a, xs)[0]))(x)",
    "jax.jit(jax.vmap(jax.grad("
    "lambda a: jnp.sum(lax.scan(lambda c, v: (cv(c) * v, c), a, xs)[0]))))(xs)",
    "jax.grad(lambda a: jnp.sum(lax.cond(a[0] > 0, cv, cj, a)))(x)",
    "jax.grad(lambda a: jnp.sum(lax.map(cv, a)))(xs)",
    # residuals of several types
    "jax.grad(lambda a: jnp.sum(either(a)[0]))(x)",
    "jax.jit(jax.grad(lambda a: sum(map(jnp.sum, either(a)))))(-x)",
    "jax.vmap(jax.grad(lambda a: jnp.sum(either(a)[1])))(xs)",
    "jax.hessian(lambda a: sum(map(jnp.sum, either(a))))(x)",
    "jax.grad(lambda a: jnp.sum(dropped(a)))(x)",
    "jax.vmap(jax.grad(lambda a: jnp.sum(dropped(a))))(xs)",
    # named axes
    "jax.vmap(lambda a: lax.scan(lambda c, v: (c + lax.psum(v, 'i'), v * lax.axis_index('i')), "
    "a, xs), axis_name='i')(xs)",
    "jax.vmap(lambda a: lax.cond(True, lambda: lax.psum(1.0, 'i') * 1.0, lambda: 0.0), "
    "axis_name='i')(xs)",
    # platforms
    "lax.platform_dependent(x, cpu=lambda a: a + 1, default=lambda a: a)",
    "jax.jit(jax.grad(lambda a: jnp.sum("
    "lax.platform_dependent(a, cpu=lambda a: a * 3, default=lambda a: a))))(x)",
    "jax.vmap(lambda a: lax.platform_dependent(a, cpu=lambda a: a * 3, tpu=lambda a: a))(xs)",
    # recomputing
    "jax.grad(lambda a: jnp.sum(jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(a)))(x)",
    "jax.hessian(lambda a: jnp.sum(jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(a)))(x)",
    "jax.grad(lambda a: jnp.sum(lax.scan(jax.checkpoint("
    "lambda c, v: (jnp.sin(c) * v, c)), a, xs)[0]))(x)",
    "jax.vmap(jax.grad(jax.checkpoint(nested)), (0, None))(xs, xs)",
    "jax.grad(jax.checkpoint(lambda W: loss(W, x, xs)))(W)",
    "jax.grad(lambda a: jnp.sum(jax.checkpoint(lambda a: cv(cj(a)))(a)))(x)",
    "jax.linearize(jax.checkpoint(lambda a: jnp.sin(a) * a), x)[1](x)",
    "jax.grad(lambda W: jnp.sum(jax.checkpoint(lambda W: jnp.sin(W @ W) @ W, "
    "policy=jax.checkpoint_policies.dots_saveable)(W)))(W)",
]


EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
BOTH = [(source, wide) for source in CASES for wide in (False, True)]
CHOSEN = BOTH if EVERYTHING else random.Random(1).sample(BOTH, len(BOTH) // 6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("source", "wide"), CHOSEN)
def test_values_equal_those_of_jax(source, wide):
    assert_same(f"{PREAMBLE}\n{source}", config={"jax_enable_x64": wide}, **INPUTS)
