"""Programs of several operations on larger and larger arrays, for Ricci and the oracle alike.

Each is called as ``name(api, **operands)``, where ``api`` is ``ricci`` or ``jax``; its operands are
made for a number of elements of the largest of them, or of what is computed from them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

type Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A program and its operands.

    Attributes:
      run: the program.
      shapes: called with the number of elements, returns the shapes of the operands by name; those
        of names that begin with ``i`` are of whole numbers below the number that ends their shape.
    """

    run: Callable[..., Any]
    shapes: Callable[[int], dict[str, Shape]]

    @property
    def source(self) -> str:
        """The text of a call, in which ``programs`` is this module and ``jax`` the package."""
        names = ", ".join(f"{name}={name}" for name in self.shapes(1000))
        return f"programs.{self.run.__name__}(jax, {names})"

    def operands(self, size: int) -> dict[str, np.ndarray]:
        """Return operands for a number of elements."""
        random = np.random.default_rng(0)
        operands = {}
        for name, shape in self.shapes(size).items():
            if name.startswith("i"):
                *shape, high = shape
                operands[name] = random.integers(0, high, shape).astype(np.int32)
            else:
                scale = max(prod(shape[:-1]), 1) ** 0.5 if name.startswith("w") else 1
                operands[name] = (random.normal(size=shape) / scale).astype(np.float32)
        return operands


PROGRAMS: dict[str, Program] = {}


def _program(shapes: Callable[[int], dict[str, Shape]]) -> Callable[..., Callable[..., Any]]:
    def enter(run: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[run.__name__] = Program(run, shapes)
        return run

    return enter


def _root(n: float, least: int = 2) -> int:
    """A whole number near the square root, a multiple of ten where it is large."""
    root = max(round(n**0.5), least)
    return root if root < 50 else round(root, -1)


# Networks


@_program(lambda n: {name: (2, 4, _root(n / 8), 32) for name in "qkv"})
def attention(api, q, k, v):
    scores = api.numpy.einsum("bhqd,bhkd->bhqk", q, k) / 32**0.5
    return api.numpy.einsum("bhqk,bhkd->bhqd", api.nn.softmax(scores), v)


@_program(lambda n: {name: (2, 4, _root(n / 8), 32) for name in "qkv"})
def causal_attention(api, q, k, v):
    jnp = api.numpy
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 32**0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bhkd->bhqd", api.nn.softmax(jnp.where(mask, scores, -1e9)), v)


@_program(lambda n: {name: (2, _root(n / 8), 4, 32) for name in "qkv"})
def dot_product_attention(api, q, k, v):
    return api.nn.dot_product_attention(q, k, v, is_causal=True)


@_program(lambda n: {"x": (n // 128, 128), "scale": (128,), "shift": (128,)})
def layer_norm(api, x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) * api.lax.rsqrt(variance + 1e-5) * scale + shift


@_program(lambda n: {"x": (n // 128, 128), "scale": (128,)})
def rms_norm(api, x, scale):
    return x * api.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


@_program(lambda n: {"x": (n // 256 // 8 + 1, 16, 16, 8)})
def batch_norm(api, x):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / api.numpy.sqrt(variance + 1e-5)


@_program(lambda n: {"x": (n // 64 // 16 + 1, 8, 8, 16)})
def group_norm(api, x):
    groups = x.reshape(*x.shape[:-1], 4, 4)
    mean = groups.mean((1, 2, 4), keepdims=True)
    variance = groups.var((1, 2, 4), keepdims=True)
    return ((groups - mean) / api.numpy.sqrt(variance + 1e-5)).reshape(x.shape)


@_program(lambda n: {"x": (n // 128, 64), "w1": (64, 128), "w2": (128, 64), "w3": (64, 10)})
def perceptron(api, x, w1, w2, w3):
    h = api.nn.gelu(x @ w1)
    return api.nn.log_softmax(api.nn.relu(h @ w2) @ w3)


@_program(lambda n: {"x": (n // 256, 64), "w1": (64, 256), "w2": (64, 256), "w3": (256, 64)})
def gated_units(api, x, w1, w2, w3):
    return (api.nn.silu(x @ w1) * (x @ w2)) @ w3


@_program(lambda n: {"x": (n // 8192 + 1, 16, 16, 3), "w1": (3, 3, 3, 16), "w2": (3, 3, 16, 32)})
def convolutional_network(api, x, w1, w2):
    order = ("NHWC", "HWIO", "NHWC")
    for w in (w1, w2):
        x = api.nn.relu(api.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=order))
    return x.mean((1, 2))


@_program(lambda n: {"x": (n // 4096 + 1, 16, 16, 16), "w1": (3, 3, 1, 16), "w2": (1, 1, 16, 16)})
def depthwise_network(api, x, w1, w2):
    order = ("NHWC", "HWIO", "NHWC")
    convolve = api.lax.conv_general_dilated
    h = convolve(x, w1, (1, 1), "SAME", dimension_numbers=order, feature_group_count=16)
    return x + convolve(api.nn.relu(h), w2, (1, 1), "SAME", dimension_numbers=order)


@_program(lambda n: {"x": (n // 1024 + 1, 16, 16, 4)})
def max_pooling(api, x):
    window = (1, 2, 2, 1)
    return api.lax.reduce_window(x, -np.inf, api.lax.max, window, window, "VALID")


@_program(lambda n: {"x": (n // 1024 + 1, 16, 16, 4)})
def mean_pooling(api, x):
    window, strides = (1, 3, 3, 1), (1, 2, 2, 1)
    return api.lax.reduce_window(x, 0.0, api.lax.add, window, strides, "SAME") / 9


@_program(lambda n: {"x": (50, n // 3200 + 1, 64), "w1": (64, 64), "w2": (64, 64)})
def recurrent_network(api, x, w1, w2):
    def step(h, row):
        h = api.numpy.tanh(row @ w1 + h @ w2)
        return h, h.sum(-1)

    return api.lax.scan(step, api.numpy.zeros(x.shape[1:]), x)


@_program(lambda n: {"x": (50, n // 1600 + 1, 32), "w1": (32, 128), "w2": (32, 128)})
def long_short_term_memory(api, x, w1, w2):
    def step(carry, row):
        h, c = carry
        i, f, g, o = api.numpy.split(row @ w1 + h @ w2, 4, -1)
        c = api.nn.sigmoid(f) * c + api.nn.sigmoid(i) * api.numpy.tanh(g)
        h = api.nn.sigmoid(o) * api.numpy.tanh(c)
        return (h, c), h

    start = api.numpy.zeros(x.shape[1:])
    return api.lax.scan(step, (start, start), x)[1]


@_program(lambda n: {"x": (n // 1000 + 1, 1000), "i": (n // 1000 + 1, 1000)})
def cross_entropy(api, x, i):
    logs = api.nn.log_softmax(x)
    return -api.numpy.take_along_axis(logs, i[:, None], 1).mean()


@_program(lambda n: {"w": (1000, 64), "i": (n // 64, 1000)})
def embedding(api, w, i):
    return api.numpy.tanh(w[i]).sum(0)


@_program(lambda n: {"x": (n // 64, 64), "w1": (64, 8), "w2": (8, 64, 32)})
def mixture_of_experts(api, x, w1, w2):
    gates, chosen = api.lax.top_k(api.nn.softmax(x @ w1), 2)
    weights = (api.nn.one_hot(chosen, 8) * gates[..., None]).sum(1)
    return api.numpy.einsum("nd,ndk->nk", weights, api.numpy.einsum("nx,dxk->ndk", x, w2))


@_program(lambda n: {"x": (n // 4096 + 1, 32, 128)})
def rotary_embedding(api, x):
    jnp = api.numpy
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10_000.0 ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


# Pairs


@_program(lambda n: {"x": (_root(n / 3), 3)})
def pairwise_energy(api, x):
    d = x[:, None] - x[None]
    return api.numpy.exp(-(d * d).sum(-1)).sum()


@_program(lambda n: {"x": (_root(n / 3), 3)})
def pairwise_distances(api, x):
    d = x[:, None] - x[None]
    return api.numpy.sqrt((d * d).sum(-1) + 1e-6)


@_program(lambda n: {"x": (_root(n / 3), 3)})
def gravity(api, x):
    d = x[None] - x[:, None]
    r2 = (d * d).sum(-1) + 1e-2
    return (d * (r2**-1.5)[..., None]).sum(1)


@_program(lambda n: {"x": (_root(n / 3), 3)})
def lennard_jones(api, x):
    d = x[:, None] - x[None]
    s6 = 1 / ((d * d).sum(-1) + 0.5) ** 3
    return (s6 * s6 - s6).sum()


@_program(lambda n: {"x": (_root(n / 2), 2)})
def planar_vortices(api, x):
    d = x[:, None] - x[None]
    r2 = (d**2).sum(-1) + 1e-3
    return api.numpy.stack([-(d[..., 1] / r2).sum(1), (d[..., 0] / r2).sum(1)], -1)


@_program(lambda n: {"x": (_root(n), 16)})
def kernel_matrix(api, x):
    squares = (x * x).sum(-1)
    return api.numpy.exp(-(squares[:, None] + squares - 2 * x @ x.T) / 16)


@_program(lambda n: {"x": (_root(n), 8), "y": (_root(n),)})
def kernel_product(api, x, y):
    d = x[:, None] - x[None]
    return api.numpy.exp(-(d * d).sum(-1) / 8) @ y


@_program(lambda n: {"x": (_root(n), 16)})
def cosine_similarities(api, x):
    unit = x / api.numpy.linalg.norm(x, axis=-1, keepdims=True)
    return api.nn.log_softmax(unit @ unit.T * 10, -1).diagonal().mean()


@_program(lambda n: {"x": (_root(n),), "y": (_root(n),)})
def outer_sum(api, x, y):
    return api.numpy.tanh(x[:, None] + y).sum(1)


@_program(lambda n: {"x": (n // 16, 8), "c": (16, 8)})
def k_means_step(api, x, c):
    jnp = api.numpy
    nearest = jnp.argmin(((x[:, None] - c) ** 2).sum(-1), 1)
    counts = api.ops.segment_sum(jnp.ones(len(x)), nearest, 16)
    return api.ops.segment_sum(x, nearest, 16) / jnp.maximum(counts, 1)[:, None]


@_program(lambda n: {"x": (_root(n), 4)})
def nearest_neighbours(api, x):
    d = ((x[:, None] - x[None]) ** 2).sum(-1)
    return api.lax.top_k(-d, 5)[0]


@_program(lambda n: {"x": (_root(n), 2), "y": (_root(n), 2)})
def chamfer_distance(api, x, y):
    d = ((x[:, None] - y[None]) ** 2).sum(-1)
    return d.min(0).mean() + d.min(1).mean()


@_program(lambda n: {"x": (_root(n), 2), "y": (_root(n), 2)})
def sinkhorn_steps(api, x, y):
    cost = ((x[:, None] - y[None]) ** 2).sum(-1)
    f, g = api.numpy.zeros(len(x)), api.numpy.zeros(len(y))
    for _ in range(3):
        g = -api.nn.logsumexp(f[:, None] - cost, axis=0)
        f = -api.nn.logsumexp(g - cost, axis=1)
    return f.sum() + g.sum()


# Sciences


@_program(lambda n: {"x": (_root(n), _root(n))})
def spectral_poisson(api, x):
    jnp = api.numpy
    k = jnp.fft.fftfreq(len(x)) * 2 * jnp.pi
    squares = k[:, None] ** 2 + k**2
    return jnp.fft.ifft2(jnp.fft.fft2(x) / jnp.where(squares == 0, 1, squares)).real


@_program(lambda n: {"x": (n,)})
def burgers_step(api, x):
    jnp = api.numpy
    k = jnp.fft.rfftfreq(len(x), 1 / len(x))
    hat = jnp.fft.rfft(x)
    slope = jnp.fft.irfft(1j * k * hat, len(x))
    return x - 1e-3 * x * slope + 1e-6 * jnp.fft.irfft(-(k**2) * hat, len(x))


@_program(lambda n: {"x": (n,)})
def autocorrelation(api, x):
    hat = api.numpy.fft.rfft(x, 2 * len(x))
    return api.numpy.fft.irfft(abs(hat) ** 2)[: len(x)]


@_program(lambda n: {"x": (_root(n), _root(n))})
def diffusion_steps(api, x):
    def step(_, x):
        roll = api.numpy.roll
        around = roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1)
        return x + 0.1 * (around - 4 * x)

    return api.lax.fori_loop(0, 10, step, x)


@_program(lambda n: {"x": (_root(n), _root(n))})
def wave_steps(api, x):
    def step(carry, _):
        before, now = carry
        inner = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
        after = 2 * now - before
        after = after.at[1:-1, 1:-1].add(0.2 * (inner - 4 * now[1:-1, 1:-1]))
        return (now, after), None

    return api.lax.scan(step, (x, x), None, length=8)[0][1]


@_program(lambda n: {"x": (n,)})
def logistic_maps(api, x):
    return api.lax.scan(lambda x, _: (3.7 * x * (1 - x), None), api.nn.sigmoid(x), length=20)[0]


@_program(lambda n: {"x": (n // 3, 3)})
def lorenz_steps(api, x):
    def slope(x):
        a, b, c = x[:, 0], x[:, 1], x[:, 2]
        return api.numpy.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c], 1)

    def step(_, x):
        half = x + 0.005 * slope(x)
        return x + 0.01 * slope(half)

    return api.lax.fori_loop(0, 5, step, x)


@_program(lambda n: {"x": (_root(n / 4), 3), "y": (_root(n / 4),)})
def gaussian_process(api, x, y):
    jnp = api.numpy
    d = ((x[:, None] - x[None]) ** 2).sum(-1)
    factor = jnp.linalg.cholesky(jnp.exp(-d / 2) + 1e-1 * jnp.eye(len(x)))
    solved = api.scipy.linalg.solve_triangular(factor, y, lower=True)
    return solved @ solved / 2 + jnp.log(jnp.diagonal(factor)).sum()


@_program(lambda n: {"x": (_root(n / 4), _root(n / 4)), "y": (_root(n / 4),)})
def conjugate_gradients(api, x, y):
    matrix = x @ x.T / len(x) + api.numpy.eye(len(x))
    return api.scipy.sparse.linalg.cg(lambda v: matrix @ v, y, maxiter=5)[0]


@_program(lambda n: {"x": (n // 16, 15), "y": (n // 16,)})
def least_squares(api, x, y):
    return api.numpy.linalg.solve(x.T @ x + 1e-3 * api.numpy.eye(15), x.T @ y)


@_program(lambda n: {"x": (n // 16, 15), "w": (15,), "i": (n // 16, 2)})
def logistic_regression(api, x, w, i):
    logits = x @ w
    return (api.nn.softplus(logits) - i * logits).mean()


@_program(lambda n: {"x": (n // 25, 5, 5)})
def small_matrices(api, x):
    gram = x @ x.swapaxes(-1, -2) + api.numpy.eye(5)
    return api.numpy.linalg.solve(gram, x).sum(-1)


@_program(lambda n: {"x": (n // 9, 3, 3)})
def determinants(api, x):
    return api.numpy.linalg.det(x)


@_program(lambda n: {"x": (n // 3, 3), "y": (n // 3, 3)})
def cross_products(api, x, y):
    normal = api.numpy.cross(x, y)
    return normal / (api.numpy.linalg.norm(normal, axis=-1, keepdims=True) + 1e-6)


@_program(lambda n: {"x": (n // 4, 4), "y": (n // 4, 3)})
def rotations(api, x, y):
    q = x / api.numpy.linalg.norm(x, axis=-1, keepdims=True)
    w, u = q[:, :1], q[:, 1:]
    twice = 2 * api.numpy.cross(u, y)
    return y + w * twice + api.numpy.cross(u, twice)


# Indices


@_program(lambda n: {"x": (n,), "i": (n, 1000)})
def segment_sums(api, x, i):
    return api.ops.segment_sum(x * x, i, 1000)


@_program(lambda n: {"x": (n,), "i": (n, 1000)})
def segment_softmax(api, x, i):
    peaks = api.ops.segment_max(x, i, 1000)
    weights = api.numpy.exp(x - peaks[i])
    return weights / api.ops.segment_sum(weights, i, 1000)[i]


@_program(lambda n: {"x": (n,), "i": (n, 1000), "ir": (n, 1000), "y": (1000,)})
def sparse_product(api, x, i, ir, y):
    return api.numpy.zeros(1000).at[ir].add(x * y[i])


@_program(lambda n: {"x": (1000, 16), "i": (n // 16, 1000), "ir": (n // 16, 1000), "w": (16, 16)})
def graph_convolution(api, x, i, ir, w):
    messages = api.nn.relu(x[i] @ w)
    return x + api.ops.segment_sum(messages, ir, 1000)


@_program(lambda n: {"x": (n,)})
def running_sums(api, x):
    return api.numpy.cumsum(api.numpy.tanh(x)) / api.numpy.arange(1, len(x) + 1)


@_program(lambda n: {"x": (n // 100, 100)})
def running_rows(api, x):
    return api.lax.cumlogsumexp(x, axis=1) + api.lax.cummax(x, axis=1)


@_program(lambda n: {"x": (n,), "y": (n,)})
def associative_recurrence(api, x, y):
    combine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
    return api.lax.associative_scan(combine, (api.nn.sigmoid(x), y))[1]


@_program(lambda n: {"x": (n // 1000 + 1, 1000)})
def largest_entries(api, x):
    values, _ = api.lax.top_k(x, 10)
    return api.nn.softmax(values)


@_program(lambda n: {"x": (n,)})
def sorted_quantiles(api, x):
    ordered = api.numpy.sort(x)
    return ordered[:: max(len(x) // 100, 1)], api.numpy.median(x)


@_program(lambda n: {"x": (n,), "y": (n,)})
def sorted_pairs(api, x, y):
    order = api.numpy.argsort(x)
    return api.numpy.cumsum(y[order])


@_program(lambda n: {"x": (n,)})
def histogram(api, x):
    counts, _ = api.numpy.histogram(x, 50, (-3, 3))
    return counts * x.mean()


@_program(lambda n: {"x": (n,), "y": (1000,)})
def interpolation(api, x, y):
    return api.numpy.interp(x, api.numpy.linspace(-3, 3, 1000), y)


@_program(lambda n: {"x": (_root(n), _root(n)), "y": (2, n // 4)})
def image_samples(api, x, y):
    return api.scipy.ndimage.map_coordinates(x, abs(y) * 10, order=1, mode="nearest")


@_program(lambda n: {"x": (_root(n), _root(n), 3)})
def resized_image(api, x):
    return api.image.resize(x, (x.shape[0] // 2, x.shape[1] // 2, 3), "bilinear")


@_program(lambda n: {"x": (n // 64, 8, 8), "w1": (8, 8, 8), "w2": (8, 8)})
def contraction_chain(api, x, w1, w2):
    return api.numpy.einsum("nab,abc,cd->nd", x, w1, w2)


@_program(lambda n: {"x": (n // 16, 4, 4), "y": (n // 16, 4, 4)})
def batched_products(api, x, y):
    return api.numpy.einsum("nij,njk,nlk->nil", x, y, x)


@_program(lambda n: {"x": (n,), "w": (65,)})
def filtered_signal(api, x, w):
    return api.numpy.convolve(api.numpy.tanh(x), w, "same")


@_program(lambda n: {"x": (n // 8, 8)})
def weighted_statistics(api, x):
    weights = api.nn.softmax(x, 0)
    mean = (weights * x).sum(0)
    centred = x - mean
    return (weights * centred).T @ centred


@_program(lambda n: {"x": (n // 8, 8), "y": (4, 8), "z": (4, 8)})
def gaussian_mixture(api, x, y, z):
    jnp = api.numpy
    scaled = (x[:, None] - y) * jnp.exp(-z)
    logs = -0.5 * (scaled * scaled).sum(-1) - z.sum(-1)
    return api.nn.logsumexp(logs, axis=1).mean()


@_program(lambda n: {"x": (n // 4, 2, 2)})
def masked_means(api, x):
    present = x > 0
    return api.numpy.where(present, x, 0).sum((1, 2)) / api.numpy.maximum(present.sum((1, 2)), 1)
