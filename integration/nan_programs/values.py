"""Programs with a NaN in their values."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, nn

from .table import EVERY, FORWARD, f32, planted


@planted("log", "below 0", f32(1, -1, 2), run=EVERY)
def log_of_negative(x):
    y = x * 2
    z = jnp.log(y)  # cause
    return z + 1


@planted("log", "xlogy", f32(0.5, 0, 0.5), run=EVERY)
def entropy(p):
    q = p / p.sum()
    logs = jnp.log(q)  # cause
    return -jnp.sum(q * logs)


@planted("sqrt", "below 0", f32(1, 2, 3), run=EVERY)
def deviation(x):
    mean = x.mean()
    variance = (x**2).mean() - mean**2 - 1.0
    return jnp.sqrt(variance)  # cause


@planted("div", "divisor", f32(0, 0, 0), run=EVERY)
def normalized(x):
    total = jnp.sum(x)
    return x / total  # cause


@planted("exp", "subtract the maximum", f32(1, 200), run=EVERY)
def naive_softmax(x):
    e = jnp.exp(x)  # cause
    return e / e.sum()


@planted("dot_general", "above 3.4", f32(1e30, 1e30), f32(1e30, -1e30), run=EVERY)
def product_of_large(x, y):
    m = x[:, None] @ y[None, :]  # cause
    return m.sum()


def _mlp():
    up, down = np.full((4, 8), 1e13, np.float32), np.full((8, 4), 1e30, np.float32)
    return up, down, f32(1, 1, -1, -1)[:, None], np.ones((2, 4), np.float32)


@planted("dot_general", "above 3.4", *_mlp(), run=EVERY)
def perceptron(up, down, head, x):
    h = nn.gelu(x @ up)
    h = h @ down  # cause
    return jnp.mean(h @ head)


@planted("integer_pow", "above 3.4", f32(1e25, 1), run=EVERY)
def cube_difference(x):
    y = x**3  # cause
    return y - y


@planted("cumprod mul", "above 3.4", np.full(200, 10, np.float32), run=EVERY)
def running_product(x):
    p = jnp.cumprod(x)  # cause
    return p[-1] - p[-2]


@planted("reduce_prod mul", "above 3.4", np.full(60, 10, np.float32), run=EVERY)
def likelihood_ratio(x):
    p = jnp.prod(x)  # cause
    return p / p


@planted("convert_element_type", "65504", f32(1e5, 2), run=EVERY)
def half_precision(x):
    h = x.astype(jnp.float16)  # cause
    return h - h


@planted("exp", "65504", np.array([1, 12], np.float16), run=EVERY)
def half_exponential(x):
    e = jnp.exp(x)  # cause
    return e * 0


@planted("pow", "base", f32(-1, 2), f32(0.5, 0.5), run=EVERY)
def fractional_power(x, y):
    return x**y  # cause


@planted("pow", "base", f32(0, 2), f32(-0.5, 1), run=EVERY)
def negative_power_of_zero(x, y):
    p = jnp.power(x, y)  # cause
    return p - p


@planted("acos", "clip", f32(0.5, 1.0001), run=EVERY)
def angle(x):
    c = x / 1.0
    return jnp.arccos(c)  # cause


@planted("div", "divisor", f32(1, 2), f32(1, 0), run=EVERY)
def ratio_difference(x, y):
    r = x / y  # cause
    return r - r


@planted("rem", "divisor", f32(1, 2), f32(1, 0), run=FORWARD)
def remainder(x, y):
    return lax.rem(x, y)  # cause


@planted("cholesky", "positive definite", f32(1, 2, 2, 1).reshape(2, 2), run=EVERY)
def factor(a):
    l = jnp.linalg.cholesky(a)  # cause
    return l.sum()


@planted("log1p", "-1", f32(-2, 1), run=EVERY)
def log_one_plus(x):
    return jnp.log1p(x)  # cause


@planted("reduce_sum", "above 3.4", np.full(10, 1e38, np.float32), run=EVERY)
def centered(x):
    total = jnp.sum(x)  # cause
    return total - total
