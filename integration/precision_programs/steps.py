"""Steps of training and inference in narrow formats: sums, norms, moments, updates, phases."""

import ricci.numpy as jnp
from ricci import lax

from .table import normal, planted, values


@planted(normal("bfloat16", 4, 1000, scale=0.5))
def softmax_total(x):
    e = jnp.exp(x)

    def add(total, column):
        return total + column, None  # cause

    total, _ = lax.scan(add, jnp.zeros(4, x.dtype), e.T)
    return e[:, :20] / total[:, None]


@planted(normal("bfloat16", 3, 48), values("bfloat16", 48, low=0.5, high=1.5))
def norm_with_offset(x, gain):
    h = x + 24
    mu = h.mean(-1, keepdims=True)
    sigma2 = (h * h).mean(-1, keepdims=True) - mu * mu  # cause
    return gain * (h - mu) * lax.rsqrt(jnp.abs(sigma2) + 0.05)


@planted(values("bfloat16", 2000))
def sum_in_while(x):
    def more(state):
        return state[0] < 2000

    def body(state):
        i, total = state
        total = total + x[i]  # cause
        return i + 1, total

    return lax.while_loop(more, body, (0, jnp.zeros((), x.dtype)))[1] * 0.001


@planted(normal("bfloat16", 300, 5, scale=0.05))
def adam_moment_from_zero(grads):
    def step(v, g):
        sq = g * g
        v = v + 0.00390625 * (sq - v)  # cause
        return v, None

    v, _ = lax.scan(step, jnp.full(5, 1.0, grads.dtype), grads)
    return lax.rsqrt(v + 1e-3)


@planted(values("float16", 5, 64, low=8, high=10.5))
def naive_logsumexp(x):
    e = jnp.exp(x * 1.0)
    total = e.sum(1)  # cause
    return jnp.log(total) * 0.5


@planted(values("float32", 200, low=2000, high=2001))
def variance_float32(x):
    mean = x.mean()
    square = (x * x).mean()
    var = square - mean * mean  # cause
    return jnp.sqrt(jnp.abs(var))


@planted(normal("bfloat16", 8, 32), normal("bfloat16", 32, 32, 32, scale=0.02, seed=2))
def scan_stream(x, ws):
    def layer(h, w):
        delta = jnp.tanh(h @ w) * 0.0625
        h = h + delta  # cause
        return h, None

    h, _ = lax.scan(layer, x * 5, ws)
    return h - x * 5


@planted(normal("bfloat16", 20), normal("bfloat16", 150, 20, seed=1, scale=0.2))
def parameter_updates(w, grads):
    def step(w, g):
        clipped = jnp.clip(g, -0.5, 0.5)
        w = w - 0.00390625 * clipped  # cause
        return w, None

    last, _ = lax.scan(step, w, grads)
    return last - w


@planted(values("float16", 1500, low=0.5, high=1.5))
def token_count(x):
    def step(count, x):
        w = x * 2
        count = count + w  # cause
        return count, None

    return lax.scan(step, jnp.float16(0), x)[0] / 1500


@planted(values("bfloat16", 40, low=-9, high=-4))
def log1p_by_hand(x):
    e = jnp.exp(x)
    loss = jnp.log(1 + e)  # cause
    return loss.sum()


@planted(values("float32", 20, low=1e-4, high=1e-3))
def cosine_defect(x):
    y = x * 2
    d = 1 - jnp.cos(y)  # cause
    return d / (y * y)


@planted(normal("float16", 30, 16, scale=150.0))
def gradient_norm_clip(g):
    squares = (g * g).sum()  # cause
    norm = jnp.sqrt(squares)
    return g * jnp.minimum(1.0, 1.0 / norm)


@planted(values("bfloat16", 32, low=60, high=500), values("bfloat16", 8, low=0.2, high=1, seed=1))
def rope_angles(t, freq):
    theta = t[:, None] * freq  # cause
    s, c = jnp.sin(theta), jnp.cos(theta)
    return jnp.concatenate([s, c], 1) * 0.5


@planted(normal("float16", 24, scale=2e-4))
def squared_gradients(g):
    sq = g * g  # cause
    v = sq * 0.5 + 0.0
    return g / (jnp.sqrt(v) + 1e-5)


@planted(values("bfloat16", 10, 3, low=7, high=9), values("bfloat16", 12, 3, low=7, high=9, seed=4))
def pairwise_kernel(x, y):
    xx = jnp.sum(x * x, 1)
    yy = jnp.sum(y * y, 1)
    d2 = xx[:, None] - 2 * x @ y.T + yy[None]  # cause
    return jnp.exp(-0.1 * d2)


@planted(values("bfloat16", 120, 4, low=0.97, high=1.03))
def discount_product(r):
    def step(p, x):
        p = p * x  # cause
        return p, None

    return lax.scan(step, jnp.ones(4, r.dtype), r)[0]


@planted(values("bfloat16", 3, 200, low=0, high=2))
def kahan_free_cumsum(x):
    def step(total, column):
        total = total + column  # cause
        return total, total * 0.01

    return lax.scan(step, jnp.zeros(3, x.dtype), x.T)[1][::25]


@planted(normal("float32", 64, scale=1e-8), normal("float32", 64, seed=2))
def narrow_gradient_cast(g, w):
    sent = (g * 0.5).astype(jnp.float16)  # cause
    received = sent.astype(jnp.float32) * 2e7
    return jnp.tanh(received) + w * 1e-3


@planted(normal("bfloat16", 9), values("float32", 200, low=0.01, high=0.02))
def ode_state(x, dts):
    def step(y, dt):
        slope = jnp.cos(y.astype(jnp.float32))
        y = (y.astype(jnp.float32) + dt * slope).astype(jnp.bfloat16)  # cause
        return y, None

    return lax.scan(step, x, dts)[0]
