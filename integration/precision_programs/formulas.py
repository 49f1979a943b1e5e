"""Formulas that lose digits, and loops that collect errors."""

import ricci.numpy as jnp
from ricci import lax

from .table import planted, values


@planted(values("float32", 16))
def finite_difference(x):
    h = 2.0**-12
    y = jnp.sin(x + h)
    difference = y - jnp.sin(x)  # cause
    return difference / h


@planted(values("float16", 16, low=11, high=13))
def exp_of_large(x):
    y = x * 1.0
    e = jnp.exp(y)  # cause
    return e / (1 + e)


@planted(values("bfloat16", 16, low=1e-4, high=1e-2), runs="plain jit grad")
def log_of_one_plus(x):
    scaled = x * 0.5
    y = jnp.log(1 + scaled)  # cause
    return y * 3.0


@planted(values("float32", 16, low=1e-5, high=1e-4), runs="plain jit grad")
def root_minus_one(x):
    scaled = x * 0.7
    y = jnp.sqrt(1 + scaled) - 1  # cause
    return y / x


@planted(values("float16", 64, low=1e-5, high=1e-4))
def norm(x):
    y = x * 1.5
    length = jnp.sqrt((y * y).sum())  # cause
    return y / (length + 1e-4)


@planted(values("float32", 16, low=0.98, high=1.02), runs="plain jit grad")
def polynomial(x):
    y = x * 1.0
    p = y**5 - 5 * y**4 + 10 * y**3 - 10 * y**2 + 5 * y - 1  # cause
    return p * 1000.0


@planted(values("bfloat16", 16, low=-12, high=-6))
def softplus(x):
    y = x * 0.9
    s = jnp.log(1 + jnp.exp(y))  # cause
    return s * 2.0


@planted(values("bfloat16", 16, low=0.01, high=0.1), runs="plain jit grad")
def one_minus_cos(x):
    y = x * 1.1
    c = 1 - jnp.cos(y)  # cause
    return c / (y * y)


@planted(values("float32", 16, low=1000, high=2000))
def quadratic(b):
    root = jnp.sqrt(b * b - 4)
    x = (root - b) / 2  # cause
    return 3 * x


@planted(values("bfloat16", 8, 4, low=5, high=6), values("bfloat16", 8, 4, low=5, high=6, seed=1))
def distances(x, y):
    xx = (x * x).sum(1)[:, None]
    yy = (y * y).sum(1)[None, :]
    squared = xx + yy - 2 * (x @ y.T)  # cause
    return jnp.sqrt(jnp.abs(squared))


@planted(values("bfloat16", 16, low=0.99, high=1.01))
def product(x):
    def multiply(i, state):
        p, other = state
        p = p * x  # cause
        return p, other * 0.5

    return lax.fori_loop(0, 200, multiply, (jnp.ones_like(x), x))[0]


@planted(values("float16", 4, low=0.01, high=0.011))
def clock(dt):
    def running(state):
        return state[0] < 600

    def tick(state):
        i, time, wave = state
        time = time + dt  # cause
        return i + 1, time, wave * 0.5

    return lax.while_loop(running, tick, (0, jnp.zeros(4, dt.dtype), dt))[1]


@planted(values("bfloat16", 32, low=3, high=6))
def complement(x):
    s = 1 / (1 + jnp.exp(-x))
    c = 1 - s  # cause
    return jnp.log(c)


@planted(values("bfloat16", 40, 8))
def branches(xs):
    def small(total, x):
        return total + x * 0.0625  # cause

    def step(total, x):
        total = lax.cond(x.sum() < 100.0, small, lambda t, x: t + x, total, x)
        return total, None

    return lax.scan(step, jnp.full(8, 8.0, xs.dtype), xs)[0] - 8.0
