"""Formulas of statistics and models."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, lax, nn, vmap

from .table import EIGHT, EVERY, FORWARD, GRADS, f32, planted


@planted("gather", "out of bounds", f32(1, 2, 3), np.array([0, 7]), run=FORWARD)
def taken_out_of_bounds(x, i):
    y = jnp.take(x, i)  # cause
    return y.sum()


@planted("exp", "subtract the maximum", f32(1, 90, 3), run=EVERY)
def naive_logsumexp(x):
    e = jnp.exp(x)  # cause
    total = jnp.sum(e)
    return jnp.log(total) - jnp.log(total)


@planted("log", "xlogy", f32(0, 1), f32(0, 1), run=EVERY)
def divergence(p, q):
    logs = jnp.log(q)  # cause
    return jnp.sum(p * (jnp.log(jnp.where(p > 0, p, 1.0)) - logs))


@planted("pow", "jnp.where", f32(0, 1), run=GRADS)
def half_power(x):
    return jnp.sum(jnp.where(x > 0, x**0.5, 0.0))  # cause


@planted("sqrt", "jnp.where", f32(0, 0), f32(0, 0), run=GRADS)
def distance(x, y):
    d = x - y
    return jnp.sqrt(jnp.dot(d, d))  # cause


@planted("div", "divisor", f32(0, 0), run=EVERY)
def clipped_by_norm(g):
    size = jnp.sqrt(jnp.where(g == 0, 1e-30, g * g).sum()) * 0
    scale = jnp.minimum(size, 1.0) / size  # cause
    return g * scale


@planted("rsqrt", "below 0", f32(1, 1, 1), run=EVERY)
def batch_norm(x):
    variance = jnp.mean(x * x) - jnp.mean(x) ** 2
    return (x - x.mean()) * lax.rsqrt(variance - 0.1)  # cause


@planted("rsqrt", "keep 0 out", f32(1, 1, 1), run=EVERY)
def layer_norm(x):
    variance = jnp.var(lax.stop_gradient(x))
    inverse = lax.rsqrt(variance)  # cause
    return (x - x.mean()) * inverse


@planted("mul", "above 3.4", np.array([2e20 + 0j, 1], np.complex64), run=FORWARD)
def complex_product(x):
    y = x * x * 1e5  # cause
    return (y - y).real


@planted("exp", "subtract the maximum", jnp.asarray([1, 100], jnp.bfloat16), run=EVERY)
def in_bfloat16(x):
    e = jnp.exp(x)  # cause
    return e / e


@planted("log", "below 0", f32(1, -1, 2, 3), run=EVERY)
def through_fft(x):
    y = jnp.log(x)  # cause
    return jnp.abs(jnp.fft.fft(y)) ** 2


@planted("log", "below 0", f32(1, -1, 2, 3), run=EVERY)
def through_einsum(x):
    y = jnp.log(x).reshape(2, 2)  # cause
    return jnp.einsum("ij,jk->ik", jnp.ones((2, 2), y.dtype), y) @ y.T


@planted("log", "below 0", f32(1, -1, 2, 3), run=EVERY)
def through_cumsum(x):
    y = jnp.log(x)  # cause
    return jnp.cumsum(y)[::2] + lax.associative_scan(jnp.add, y)[1::2]


@planted("log", "below 0", f32(1, -1, 2, 3), run=EVERY)
def through_sort(x):
    y = jnp.log(x)  # cause
    return jnp.sort(y)[-1] * 2


@planted("log", "below 0", f32(4, 1, 1, -3).reshape(2, 2), run=FORWARD)
def through_cholesky(a):
    b = jnp.log(a)  # cause
    return jnp.linalg.cholesky(b @ b.T)


@planted("log", "below 0", f32(4, 1, 1, -3).reshape(2, 2), run=FORWARD)
def through_eigenvalues(a):
    b = jnp.log(a)  # cause
    return jnp.linalg.eigvalsh(b)


@planted(
    "div",
    "divisor",
    f32(1, 2, 3),
    run={"vmap of scan": lambda f: vmap(f), "jit": lambda f: jit(vmap(f))},
)
def in_mapped_scan(x):
    def step(total, y):
        total = total * 0 / (total - 3.0)  # cause
        return total, total

    return lax.scan(step, x, jnp.arange(1.0))[1]


@planted("log", "below 0", np.array([[1, 2], [3, -4]], np.float32), run=EVERY)
def in_nested_scan(rows):
    def inner(total, x):
        return total + jnp.log(x), None  # cause

    def outer(total, row):
        return lax.scan(inner, total, row)[0], None

    return lax.scan(outer, 0.0, rows)[0]


@planted("log", "below 0", f32(1, -4, 2), run=EVERY)
def in_map(xs):
    def one(x):
        return jnp.log(x) * 2  # cause

    return lax.map(one, xs)


@planted(
    "sqrt",
    "jnp.where",
    f32(0, 4),
    run={
        "jacrev": ricci.jacrev,
        "jacfwd": ricci.jacfwd,
        "hessian": ricci.hessian,
        "vjp": lambda f: lambda x: ricci.vjp(f, x)[1](1.0),
        "linearize": lambda f: lambda x: ricci.linearize(f, x)[1](x),
    },
)
def root_derivatives(x):
    y = jnp.sqrt(x)  # cause
    return jnp.sum(jnp.where(x > 0, y, 0.0) * y * 0)


@planted("atan2", "jnp.where", f32(0, 1), run=GRADS)
def polar(x):
    angle = jnp.arctan2(x, x * 0)  # cause
    return jnp.sum(jnp.where(x == 0, 0.0, angle))


@planted("erf_inv", "-1 and 1", f32(0.5, 1.5), run=EVERY)
def gaussian_quantile(x):
    return lax.erf_inv(x)  # cause


@planted("log", "xlogy", np.array([[1, 0, 0], [0, 1, 0]], np.float32), f32(1, 0, 0), run=EVERY)
def cross_entropy(p, labels):
    losses = labels * jnp.log(p)  # cause
    return -losses.sum()


@planted("exp", "subtract the maximum", f32(3, 1000), run=EVERY)
def naive_sigmoid(x):
    e = jnp.exp(x)  # cause
    return e / (1 + e)


@planted("mul", "above 3.4", np.ones((4, 4), np.float32), run=EVERY)
def deep(x):
    w = jnp.full((4, 4), 1e9)
    for _ in range(3):
        x = jnp.maximum(x @ w, 0.0)
    x = x * 1e12  # cause
    return nn.softmax(x @ w)


@planted("dot_general", "above 3.4", np.ones((4, 4), np.float32), run=EVERY)
def deep_in_scan(x):
    def layer(x, w):
        return nn.relu(x @ w), None  # cause

    ws = jnp.full((6, 4, 4), 1e9)
    x, _ = lax.scan(layer, x, ws)
    return nn.softmax(x)


@planted("dot_general", "above 3.4", np.ones((4, 4), np.float32), run=EVERY)
def tanh_swallows(x):
    inner = jnp.tanh(jnp.exp(x * 200))
    y = (inner * 1e30) @ jnp.full((4, 4), 1e30)  # cause
    return y - y.mean()


@ricci.custom_jvp
def safe_log(x):
    return jnp.log(x)


@safe_log.defjvp
def safe_log_jvp(primals, tangents):
    return safe_log(primals[0]), tangents[0] / primals[0]  # cause


def masked_safe_log(x):
    return jnp.sum(jnp.where(x > 0, safe_log(x), 0.0))


planted("div", "divisor", f32(0, 1), run=lambda _: grad(masked_safe_log))(safe_log_jvp)


@planted("log", "below 0", EIGHT, run={"pmap": lambda f: ricci.pmap(f, "i")})
def on_mapped_devices(x):
    y = jnp.log(x - 2.5)  # cause
    return lax.pmean(y, "i") + x


@planted("log", "below 0", EIGHT)
def gathered(x):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))

    def shard(x):
        y = jnp.log(x - 0.5)  # cause
        return lax.all_gather(y, "i").sum() + lax.ppermute(y, "i", [(0, 1)])

    return ricci.shard_map(shard, mesh=mesh, in_specs=ricci.P("i"), out_specs=ricci.P("i"))(x)
