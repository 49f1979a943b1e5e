"""States that a step adds to: optimizers, solvers, running sums and counts, one of them narrow."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(normal("float32", 4, 32), normal("float32", 60, 16, 32, seed=1))
def online_attention(q, keys):
    def block(state, k):
        top, total, mixed = state
        scores = q @ k.T * 0.1
        new_top = jnp.maximum(top, scores.max(1))
        kept = jnp.exp(top - new_top)
        p = jnp.exp(scores - new_top[:, None])
        total = (kept * total + p.sum(1)).astype(jnp.bfloat16)  # cause
        mixed = kept[:, None] * mixed + p @ k
        return (new_top, total.astype(jnp.float32), mixed), None

    start = jnp.full(4, -1e9, jnp.float32), jnp.zeros(4), jnp.zeros((4, 32))
    (_, total, mixed), _ = lax.scan(block, start, keys)
    return mixed / total[:, None]


@planted(normal("float32", 300))
def distribution_table(logits):
    p = nn.softmax(logits)
    cdf = jnp.cumsum(p.astype(jnp.bfloat16))  # cause
    cdf = cdf.astype(jnp.float32)
    return jnp.diff(cdf) + p[1:] * 1e-3


@planted(normal("float32", 12), runs="plain jit")
def embedded_error(y):
    h = 0.03125
    first = -y + jnp.sin(y)
    low = (y + h * first).astype(jnp.bfloat16)  # cause
    second = -(y + h * first) + jnp.sin(y + h * first)
    high = y + h / 2 * (first + second)
    return (high - low.astype(jnp.float32)) / h


@planted(values("float32", 8, low=900, high=1100), normal("float32", 8, seed=1))
def leapfrog(q, p):
    def step(state, _):
        q, p = state
        force = -1e-3 * (q.astype(jnp.float32) - 1000)
        p = p + 0.05 * force
        q = (q.astype(jnp.float32) + 0.05 * p).astype(jnp.float16)  # cause
        return (q, p), None

    (q, _), _ = lax.scan(step, (q.astype(jnp.float16), p), length=100)
    return q.astype(jnp.float32) - 1000


@planted(normal("float32", 16, scale=0.01))
def corrected_moments(gradients):
    beta = jnp.asarray(0.9965, jnp.bfloat16).astype(jnp.float32)  # cause
    nu = 0.0035 * gradients * gradients
    corrected = nu / (1 - beta**3)
    return gradients / (jnp.sqrt(corrected) + 1e-8)


@planted(normal("float32", 20), normal("float32", 50, 20, scale=3e-4, seed=1))
def half_moments(w, gradients):
    def step(state, g):
        w, nu = state
        nu = (0.99 * nu.astype(jnp.float32) + 0.01 * g * g).astype(jnp.float16)  # cause
        w = w - 1e-3 * g / (jnp.sqrt(nu.astype(jnp.float32)) + 1e-6)
        return (w, nu), None

    (last, _), _ = lax.scan(step, (w, jnp.zeros(20, jnp.float16)), gradients)
    return last - w


@planted(normal("float32", 24), normal("bfloat16", 80, 24, seed=1))
def sign_updates(w, gradients):
    def step(state, g):
        w, m = state
        m = 0.9 * m + 0.1 * g.astype(jnp.float32)
        w = (w.astype(jnp.float32) - 1e-3 * jnp.sign(m)).astype(jnp.bfloat16)  # cause
        return (w, m), None

    start = w.astype(jnp.bfloat16)
    (last, _), _ = lax.scan(step, (start, jnp.zeros(24)), gradients)
    return last.astype(jnp.float32) - start.astype(jnp.float32)


@planted(normal("float32", 1500, 3))
def welford(xs):
    def step(state, x):
        count, mean, m2 = state
        count = count + 1
        delta = x - mean
        mean = mean + delta / count
        m2 = (m2 + delta * (x - mean)).astype(jnp.bfloat16)  # cause
        return (count, mean, m2), None

    start = jnp.float32(0), jnp.zeros(3), jnp.zeros(3, jnp.bfloat16)
    (count, _, m2), _ = lax.scan(step, start, xs)
    return jnp.sqrt(m2.astype(jnp.float32) / count)


@planted(normal("float32", 2000, 4), runs="plain")
def expert_slots(logits):
    hits = nn.one_hot(jnp.argmax(logits, 1), 4)
    slots = jnp.cumsum(hits.astype(jnp.bfloat16), 0)  # cause
    load = slots[-1].astype(jnp.float32) / 2000
    return (load * nn.softmax(logits).mean(0)).sum() * 4


@planted(values("float32", 64, low=0, high=6))
def laplacian(x):
    u = jnp.sin(jnp.sort(x))
    grid = jnp.sin(jnp.arange(0, 4, 0.0078125, dtype=np.float32))
    second = (grid[2:] - 2 * grid[1:-1] + grid[:-2]) * 16384  # cause
    return second.reshape(2, -1).mean(1) + u.mean()
