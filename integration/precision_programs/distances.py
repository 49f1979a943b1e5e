"""Differences of nearly equal values in statistics, geometry and losses."""

import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(values("float32", 64, low=4000, high=4001))
def standard_deviation(x):
    y = x * 1.0
    second = jnp.mean(y * y) - jnp.mean(y) ** 2  # cause
    return jnp.sqrt(jnp.abs(second) + 1e-6)


@planted(values("bfloat16", 16, low=0.99, high=1.0))
def arc(x):
    y = x * 1.0
    s = jnp.sqrt(1 - y * y)  # cause
    return 2 * s


@planted(values("float32", 16, low=1e-4, high=1e-3), values("float32", 16, low=1, high=2, seed=2))
def haversine(d, lat):
    c = jnp.sin(lat) ** 2 + jnp.cos(lat) ** 2 * jnp.cos(d)  # cause
    angle = jnp.arccos(jnp.clip(c, -1, 1))
    return angle * 6371.0


@planted(values("float32", 16, low=20, high=30))
def log_survival(x):
    p = nn.sigmoid(x)
    q = 1 - p  # cause
    return jnp.log(q + 1e-12)


@planted(normal("bfloat16", 32), normal("bfloat16", 32, scale=0.01, seed=1))
def cosine_distance(x, noise):
    y = x + noise
    similarity = jnp.dot(x, y) / (jnp.sqrt(jnp.dot(x, x)) * jnp.sqrt(jnp.dot(y, y)))
    return 1 - similarity  # cause


@planted(values("float32", 8, 3, low=100, high=101), runs="plain jit")
def triangle_area(p):
    x, y, z = p.T
    products = x * y - y * x * 0.999999  # cause
    return products + 1e-9 * z


@planted(values("float32", 32, low=1e-6, high=1e-5), runs="plain jit grad")
def sinc_like(x):
    y = 3 * x
    n = (jnp.exp(y) - 1) / y  # cause
    return n * 2.0


@planted(values("float32", 100000, low=0, high=1), runs="plain jit")
def mean_of_many(x):
    rows = x.reshape(10000, 10).astype(jnp.bfloat16)

    def add(total, row):
        return total + row, None  # cause

    total, _ = lax.scan(add, jnp.zeros(10, jnp.bfloat16), rows[:2000])
    return total.astype(jnp.float32) / 2000


@planted(normal("bfloat16", 8, 64), runs="plain jit")
def narrow_layer_norm(x):
    y = x + 30.0
    mean = y.mean(1, keepdims=True)
    centred = y - mean  # cause
    return centred * lax.rsqrt(jnp.mean(centred * centred, 1, keepdims=True) + 1e-5)
