"""Programs that move a NaN on its way to the result."""

from functools import partial

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import lax, nn

from .table import EVERY, FORWARD, PROGRAMS, Program, f32, planted


@planted("log", "below 0", f32(1, -1, 2, 3), run=EVERY)
def moved(x):
    y = jnp.log(x)  # cause
    z = jnp.concatenate([y[::-1], x]).reshape(2, 4).T
    return jnp.pad(z, 1)[1:-1, 1:-1] @ jnp.ones((2, 2), z.dtype)


@planted("div", "divisor", f32(1, 0, 2), run=EVERY)
def sorted_and_taken(x):
    y = (x * 0) / x  # cause
    order = jnp.argsort(x)
    return jnp.take(y, order)[0] + jnp.max(x)


@planted("exp", "subtract the maximum", f32(1, 100), run=EVERY)
def scattered(x):
    e = jnp.exp(x)  # cause
    counts = jnp.zeros(3).at[jnp.array([0, 2])].add(e)
    return counts * 0


@planted("mul", "above 3.4", f32(1e30, 1), run=EVERY)
def scatter_of_products(x):
    y = x * 1e20  # cause
    out = jnp.ones(4).at[jnp.array([1, 2])].multiply(y, unique_indices=True)
    return out - out


@planted("div", "divisor", f32(1, 2, 3), np.array([0, 0, 1]), run=FORWARD)
def segment_means(x, ids):
    totals = ricci.ops.segment_sum(x, ids, 3)
    counts = ricci.ops.segment_sum(jnp.ones_like(x), ids, 3)
    return totals / counts  # cause


@planted("sqrt", "below 0", np.ones((1, 6, 6, 1), np.float32), run=EVERY)
def convolved(x):
    y = jnp.sqrt(x - 2.0)  # cause
    kernel = jnp.ones((3, 3, 1, 1), x.dtype)
    return lax.conv_general_dilated(
        y, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


@planted("log", "below 0", f32(4, -1, 1, 5).reshape(2, 2), run=EVERY)
def solved(a):
    b = jnp.log(a[0])  # cause
    return jnp.linalg.solve(a, b)


# Operations that move a NaN on its way to the result.
ROADS = {
    "svd": lambda a: jnp.linalg.svd(a)[1],
    "qr": lambda a: jnp.linalg.qr(a)[1],
    "inverse": jnp.linalg.inv,
    "determinant": jnp.linalg.det,
    "lstsq": lambda a: jnp.linalg.lstsq(a, a[0])[0],
    "eigenvectors": lambda a: jnp.linalg.eigh(a)[1],
    "exponential": ricci.scipy.linalg.expm,
    "median": lambda a: jnp.median(a, axis=0),
    "top_k": lambda a: lax.top_k(a, 3)[0],
    "pooled": lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"),
    "resized": lambda a: ricci.image.resize(a, (5, 5), "linear"),
    "interpolated": lambda a: jnp.interp(jnp.arange(9.0), jnp.arange(9.0), a.ravel()),
    "convolved": lambda a: jnp.convolve(a[0], a[1]),
    "one_hot": lambda a: nn.one_hot(jnp.array([0, 1, 2]), 3) @ a,
    "segments": lambda a: ricci.ops.segment_sum(a, jnp.array([0, 1, 1]), 2),
    "rolled": lambda a: jnp.roll(jnp.flip(a), 2, 1).T[::2],
    "dynamic": lambda a: lax.dynamic_update_slice(jnp.zeros((4, 4)), a, (1, 0))[1:, 1:2],
    "split": lambda a: jnp.stack(jnp.split(a, 3, 1))[1],
    "logsumexp": lambda a: nn.logsumexp(a, axis=0),
    "variance": lambda a: jnp.var(a, axis=1),
    "select": lambda a: lax.select_n(jnp.array(1), a, a * 2),
    "clamped": lambda a: jnp.clip(a, -1.0, 1.0),
}


def on_a_road(part, a):
    b = jnp.log(a)  # cause
    return ROADS[part](b)


SQUARE = f32(4, 1, 1, 2, -3, 1, 1, 1, 5).reshape(3, 3)
for part in ROADS:
    for title in ("plain", "jit"):
        call = EVERY[title](partial(on_a_road, part))
        name = f"{part} {title}"
        PROGRAMS.append(Program(name, call, on_a_road, (SQUARE,), "log", "below 0"))

# Where a condition that the NaN decides chooses a constant NaN: what the report says is in doubt.
NOT_FOLLOWED = frozenset({"median plain", "median jit"})
