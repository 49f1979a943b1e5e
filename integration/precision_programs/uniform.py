"""Models, solvers and losses that compute everything in one narrow type, without casts."""

import ricci
import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(normal("bfloat16", 6, 48), normal("bfloat16", 48, 48, scale=0.15, seed=1))
def block_with_norm(x, w):
    h = nn.gelu(x @ w) + 12
    mean = h.mean(-1, keepdims=True)
    variance = (h * h).mean(-1, keepdims=True) - mean * mean  # cause
    normed = (h - mean) * lax.rsqrt(jnp.abs(variance) + 0.01)
    return x + normed @ w


@planted(normal("bfloat16", 4, 16), normal("bfloat16", 500, 16, seed=1), runs="plain jit grad")
def linear_attention(q, keys):
    features = nn.softplus(keys)

    def add(total, k):
        total = total + k  # cause
        return total, None

    total, _ = lax.scan(add, jnp.zeros(16, keys.dtype), features)
    mixed = nn.softplus(q) @ (features.T @ keys)
    return mixed / (nn.softplus(q) @ total)[:, None]


@planted(normal("bfloat16", 8), normal("bfloat16", 64, 8, seed=1))
def adam_step(w, gradients):
    def step(state, g):
        w, m, v = state
        m = 0.9 * m + 0.1 * g
        v = v * 0.99951 + g * g * 0.0005  # cause
        return (w, m, v), None

    start = w, jnp.zeros_like(w), jnp.full_like(w, 2.0)
    (w, m, v), _ = lax.scan(step, start, gradients)
    return m / jnp.sqrt(v)


@planted(normal("bfloat16", 10, 24, scale=4))
def entropy_of_weights(logits):
    shifted = logits - logits.max(1, keepdims=True)
    e = jnp.exp(shifted)
    z = e.sum(1)
    mean = (e * shifted).sum(1) / z
    return jnp.log(z) - mean  # cause


@planted(values("bfloat16", 8, low=0.2, high=0.4), runs="plain jit grad")
def small_time_steps(y):
    def step(y, _):
        rate = y * (1 - y)
        y = y + 0.001953125 * rate  # cause
        return y, None

    y, _ = lax.scan(step, y, length=128)
    return jnp.log(y / (1 - y))


@planted(normal("float16", 12, 32, scale=8), normal("float16", 12, 32, scale=8, seed=1))
def squared_error(prediction, target):
    difference = prediction * 4 - target * 4
    total = (difference * difference).sum()  # cause
    return total / 384


@planted(normal("float32", 50, 3, scale=0.5), runs="plain jit")
def moment_of_inertia(x):
    place = x + 2000
    centre = place.mean(0)
    spread = (place * place).mean(0) - centre * centre  # cause
    return spread.sum()


@planted(values("float32", 40, low=1e-5, high=1e-4), runs="plain jit grad")
def relativistic_energy(speed):
    squared = speed * speed
    gamma = 1 / jnp.sqrt(1 - squared)
    kinetic = gamma - 1  # cause
    return kinetic.sum() * 511.0


@planted(normal("bfloat16", 30, scale=0.5))
def cumulative_log_odds(x):
    p = nn.sigmoid(x + 5)
    rest = 1 - p  # cause
    return jnp.cumsum(jnp.log(rest))


@planted(values("bfloat16", 6, 64, low=0, high=1))
def histogram_intersection(x):
    share = x / x.sum(1, keepdims=True)
    cdf = jnp.cumsum(share, 1)
    tail = 1 - cdf[:, -8:-1]  # cause
    return jnp.log(jnp.abs(tail) + 1e-3)


@planted(normal("bfloat16", 5, 12), normal("bfloat16", 30, 12, 12, scale=0.08, seed=1))
def recurrent_network(h, weights):
    def cell(state, w):
        h, c = state
        gate = nn.sigmoid(h @ w)
        c = c + 0.015625 * gate * jnp.tanh(h)  # cause
        return (jnp.tanh(h @ w + c), c), None

    (_, c), _ = lax.scan(cell, (h, jnp.full_like(h, 3)), weights)
    return c - 3


@planted(values("bfloat16", 24, low=300, high=400), values("bfloat16", 6, low=0.05, high=0.2))
def timestep_embedding(t, frequencies):
    angles = jnp.outer(t, frequencies)  # cause
    waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], 1)
    return nn.silu(waves)


@planted(values("float16", 20, low=1e-4, high=2e-4), values("float16", 20, low=1, high=2, seed=1))
def small_probabilities(p, weights):
    squares = p * p  # cause
    total = (squares * weights).sum()
    return jnp.sqrt(total)


@planted(normal("bfloat16", 3, 16), normal("bfloat16", 3, 16, scale=0.01, seed=1))
def triplet_margin(anchor, change):
    near = anchor + change
    similarity = (anchor * near).sum(1)
    size = (anchor * anchor).sum(1)
    margin = size - similarity  # cause
    return nn.relu(margin + 0.0625) * 2


@planted(values("float32", 12, low=0.5, high=1), runs="plain jit grad")
def continued_product(x):
    def step(p, i):
        p = p * (1 + x * 1e-5)  # cause
        return p, None

    p, _ = lax.scan(step, jnp.ones_like(x), length=200)
    return (p - 1) * 1e3


@planted(normal("bfloat16", 16, 8), normal("bfloat16", 8, 8, scale=0.3, seed=1))
def checkpointed_stream(x, w):
    @ricci.checkpoint
    def block(x):
        h = jnp.tanh(x @ w) * 0.0078125
        return x + h  # cause

    start = x
    for _ in range(20):
        x = block(x)
    return (x - start) @ w


@planted(normal("float16", 4, 100, scale=3))
def partition_function(x):
    energies = x * x
    z = jnp.exp(energies).sum(1)  # cause
    return jnp.log(z)


@planted(values("bfloat16", 400, low=0, high=1))
def streaming_sum_of_squares(x):
    def step(state, x):
        count, total = state
        square = x * x
        total = total + square  # cause
        return (count + 1, total), None

    (count, total), _ = lax.scan(step, (0, jnp.zeros((), x.dtype)), x)
    return jnp.sqrt(total / count)


@planted(values("float32", 20, low=3, high=3.1), runs="plain jit")
def difference_of_powers(x):
    y = x * 1.0001
    gap = y**8 - x**8  # cause
    return gap / x**7


@planted(normal("bfloat16", 8, 8), normal("bfloat16", 8, seed=1), runs="plain jit")
def residual_refinement(a, b):
    matrix = a * 0.0625 + jnp.eye(8, dtype=a.dtype)
    x = b
    for _ in range(4):
        residual = b - matrix @ x  # cause
        x = x + residual
    return x
