"""Parts of mixed-precision training."""

import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(normal("bfloat16", 4, 600), runs="plain jit grad")
def softmax(x):
    e = jnp.exp(x - jnp.max(x, 1, keepdims=True))

    def add(total, column):
        total = total + column  # cause
        return total, None

    total, _ = lax.scan(add, jnp.zeros(4, x.dtype), e.T)
    return e / total[:, None]


@planted(values("bfloat16", 4, 64, low=8, high=9), values("bfloat16", 64))
def layer_norm(x, scale):
    mean = x.mean(1, keepdims=True)
    squares = (x * x).mean(1, keepdims=True)
    variance = squares - mean * mean  # cause
    return (x - mean) * lax.rsqrt(jnp.abs(variance) + 1e-3) * scale


@planted(normal("float16", 4, 64, scale=300.0), runs="plain jit grad")
def rms_norm(x):
    half = x * 0.5
    squares = half * half * 4.0  # cause
    mean = squares.mean(1, keepdims=True)
    return x * lax.rsqrt(mean + 1e-3)


@planted(values("float32", 500, 200))
def long_sum(x):
    def add(total, row):
        total = total + row.astype(jnp.bfloat16)  # cause
        return total, None

    total, _ = lax.scan(add, jnp.zeros(200, jnp.bfloat16), x)
    return (total / 500).mean()


@planted(normal("bfloat16", 400, 8, scale=0.1))
def second_moment(grads):
    def update(state, g):
        m, v, p = state
        m = 0.875 * m + 0.125 * g
        v = v + (g * g - v) * 0.0078125  # cause
        p = p - m * lax.rsqrt(v + 1e-4) * 0.5
        return (m, v, p), None

    zeros = jnp.zeros(8, grads.dtype)
    (_, v, _), _ = lax.scan(update, (zeros, zeros + 1.0, zeros), grads)
    return jnp.sqrt(v)


@planted(values("float16", 4, 32, low=9, high=14), runs="plain jit grad")
def log_sum_exp(x):
    shifted = x * 1.0
    total = jnp.exp(shifted).sum(1)  # cause
    return jnp.log(total).mean()


@planted(values("bfloat16", 256, low=20, high=21), runs="plain jit grad")
def variance(x):
    scaled = x * 0.5
    result = jnp.mean(scaled * scaled) - jnp.mean(scaled) ** 2  # cause
    return jnp.sqrt(jnp.abs(result) + 0.01)


@planted(*(normal("bfloat16", 8, 64, scale=1.0, seed=i) for i in range(3)), runs="plain jit grad")
def attention(q, k, v):
    weights = nn.softmax(q @ k.T, axis=-1)  # cause
    mixed = weights @ v
    return jnp.tanh(mixed)


@planted(normal("float16", 64, scale=1e-3), normal("float16", 64, scale=1e-3, seed=1))
def loss_scaling(x, y):
    error = x - y
    squares = (error * 0.125) ** 2 * 0.03  # cause
    return jnp.sqrt(squares.sum()) / 8


@planted(values("bfloat16", 500))
def running_sum(x):
    def add(total, x):
        total = total + x  # cause
        return total, total

    sums = lax.scan(add, jnp.zeros((), x.dtype), x)[1]
    return sums[::50] * 0.25


@planted(normal("bfloat16", 512), normal("bfloat16", 512, seed=1), runs="plain jit grad")
def long_dot(x, y):
    def add(total, row):
        a, b = row
        total = total + a * b  # cause
        return total, None

    total, _ = lax.scan(add, jnp.zeros((), x.dtype), (jnp.abs(x), jnp.abs(y)))
    return total / 512


@planted(values("bfloat16", 16, low=1, high=2), values("bfloat16", 16))
def small_learning_rate(p, target):
    def step(p, _):
        gradient = 2 * (p - target)
        update = 0.001 * gradient
        p = p - update  # cause
        return p, None

    return lax.scan(step, p, length=200)[0]


@planted(values("bfloat16", 300, 4))
def running_variance(xs):
    def step(state, x):
        centred = x - 0.5
        state = state * 0.984375 + centred * centred * 0.015625  # cause
        return state, None

    state, _ = lax.scan(step, jnp.full(4, 0.5, xs.dtype), xs)
    return lax.rsqrt(state + 0.01)


@planted(values("float16", 64, low=900, high=1100))
def mean_of_large_values(x):
    scaled = x * 2.0
    total = scaled.sum()  # cause
    return total / 64


@planted(values("bfloat16", 64, low=100, high=2000))
def positions(x):
    angle = jnp.sin(x * 0.3333)  # cause
    return angle * 0.5 + 1.0
