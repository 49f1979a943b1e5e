"""The work that `bench_peers.py` times on Ricci, JAX, PyTorch and NumPy with SciPy.

A row names its arrays and what each library computes with them. NumPy, JAX and Ricci share one
function of the array module where they can, compiled by the latter two.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One kind of work.

    Args:
      name: what the table calls it.
      inputs: makes the arrays from NumPy's random generator.
      array: `array(xp, *inputs)`, for NumPy, and for `jax.numpy` where `api` is `None`.
      torch: `torch(module, *inputs)`.
      api: `api(module, *inputs)` for the modules `jax` and `ricci`.
      scipy: `scipy(package, *inputs)`, instead of NumPy's.
    """

    name: str
    inputs: Callable[[np.random.Generator], Sequence[Any]]
    array: Function | None = None
    torch: Function | None = None
    api: Function | None = None
    scipy: Function | None = None

    def of_side(self, side: str) -> Function | None:
        """The function of a side's module, or `None` where the side has none."""
        if side in ("jax", "ricci"):
            if self.api is not None or self.array is None:
                return self.api
            array = self.array
            return lambda api, *xs: array(api.numpy, *xs)
        if side == "numpy":
            return self.array if self.scipy is None else self.scipy
        return self.torch


ROWS: dict[str, Row] = {}


def row(name: str, inputs: Any, array: Any = None, torch: Any = None, **others: Any) -> None:
    """Enter a row into the table."""
    ROWS[name] = Row(name, inputs, array, torch, **others)


def normal(*shapes: tuple[int, ...], dtype: str = "float32") -> Function:
    """Make arrays of normal numbers."""
    return lambda random: [random.standard_normal(s).astype(dtype) for s in shapes]


def uniform(low: float, high: float, *shapes: tuple[int, ...], dtype: str = "float32") -> Function:
    """Make arrays of uniform numbers."""
    return lambda random: [random.uniform(low, high, s).astype(dtype) for s in shapes]


def integers(high: int, *shapes: tuple[int, ...]) -> Function:
    """Make arrays of whole numbers from 0."""
    return lambda random: [random.integers(0, high, s).astype("int32") for s in shapes]


MILLION = (1_000_000,)

# Elementwise functions

ELEMENTWISE = {
    "sin": ("sin", "sin", (-20, 20)),
    "cos": ("cos", "cos", (-20, 20)),
    "tan": ("tan", "tan", (-1, 1)),
    "arcsin": ("arcsin", "asin", (-1, 1)),
    "arctan": ("arctan", "atan", (-9, 9)),
    "exp": ("exp", "exp", (-9, 9)),
    "expm1": ("expm1", "expm1", (-1, 1)),
    "log": ("log", "log", (0.1, 9)),
    "log1p": ("log1p", "log1p", (0, 9)),
    "tanh": ("tanh", "tanh", (-3, 3)),
    "sqrt": ("sqrt", "sqrt", (0, 9)),
    "cbrt": ("cbrt", None, (0, 9)),
    "floor": ("floor", "floor", (-9, 9)),
}


def elementwise(name: str, dtype: str, size: int) -> None:
    numpy_name, torch_name, (low, high) = ELEMENTWISE[name]
    row(
        f"{name}, {dtype}, {size:,}",
        uniform(low, high, (size,), dtype=dtype),
        lambda xp, x: getattr(xp, numpy_name)(x),
        torch_name and (lambda torch, x: getattr(torch, torch_name)(x)),
    )


for _name in ELEMENTWISE:
    elementwise(_name, "float32", 1_000_000)
for _name in ("sin", "exp", "log", "tanh"):
    elementwise(_name, "float64", 1_000_000)
for _size in (1_000, 100_000, 10_000_000):
    elementwise("sin", "float32", _size)
    elementwise("exp", "float32", _size)

row(
    "arctan2, 1,000,000",
    normal(MILLION, MILLION),
    lambda xp, x, y: xp.arctan2(x, y),
    lambda torch, x, y: torch.atan2(x, y),
)
row(
    "power, 1,000,000",
    uniform(0.1, 3, MILLION, MILLION),
    lambda xp, x, y: xp.power(x, y),
    lambda torch, x, y: torch.pow(x, y),
)
row(
    "remainder, 1,000,000",
    uniform(-99, 99, MILLION),
    lambda xp, x: xp.remainder(x, np.float32(0.3)),
    lambda torch, x: torch.remainder(x, 0.3),
)
row(
    "floor_divide of int32 by 7, 1,000,000",
    integers(10**9, MILLION),
    lambda xp, x: xp.floor_divide(x, 7),
    lambda torch, x: torch.div(x, 7, rounding_mode="floor"),
)
row(
    "a polynomial and a mask, 1,000,000",
    normal(MILLION, MILLION),
    lambda xp, x, y: xp.where(x > 0, x * x * y + 3 * x - y, y),
    lambda torch, x, y: torch.where(x > 0, x * x * y + 3 * x - y, y),
)
row(
    "erf, 1,000,000",
    normal(MILLION),
    torch=lambda torch, x: torch.erf(x),
    api=lambda api, x: api.scipy.special.erf(x),
    scipy=lambda scipy, x: scipy.special.erf(x),
)
row(
    "gammaln, 1,000,000",
    uniform(0.1, 20, MILLION),
    torch=lambda torch, x: torch.lgamma(x),
    api=lambda api, x: api.scipy.special.gammaln(x),
    scipy=lambda scipy, x: scipy.special.gammaln(x),
)
row(
    "gelu with erf, 1,000,000",
    normal(MILLION),
    torch=lambda torch, x: torch.nn.functional.gelu(x),
    api=lambda api, x: api.nn.gelu(x, approximate=False),
)
row(
    "softmax of rows, 4096×512",
    normal((4096, 512)),
    torch=lambda torch, x: torch.softmax(x, -1),
    api=lambda api, x: api.nn.softmax(x),
    scipy=lambda scipy, x: scipy.special.softmax(x, -1),
)

# Reductions, scans and order

ROWS_512 = normal((4096, 512))
for _name, _axis in (("sum", -1), ("sum", 0), ("max", -1), ("argmax", -1), ("argmax", 0)):
    row(
        f"{_name} along axis {_axis}, 4096×512",
        ROWS_512,
        lambda xp, x, name=_name, axis=_axis: getattr(xp, name)(x, axis=axis),
        lambda torch, x, name=_name, axis=_axis: (
            torch.amax(x, axis) if name == "max" else getattr(torch, name)(x, dim=axis)
        ),
    )
row("mean and variance of rows, 4096×512", ROWS_512, lambda xp, x: (x.mean(-1), x.var(-1)),
    lambda torch, x: (x.mean(-1), x.var(-1, unbiased=False)))  # fmt: skip
row("logsumexp of rows, 4096×512", ROWS_512, torch=lambda torch, x: torch.logsumexp(x, -1),
    api=lambda api, x: api.nn.logsumexp(x, -1),
    scipy=lambda scipy, x: scipy.special.logsumexp(x, -1))  # fmt: skip
row("cumsum, 1,000,000", normal(MILLION), lambda xp, x: xp.cumsum(x),
    lambda torch, x: torch.cumsum(x, 0))  # fmt: skip
row("cumsum along axis 0, 2048×512", normal((2048, 512)), lambda xp, x: xp.cumsum(x, 0),
    lambda torch, x: torch.cumsum(x, 0))  # fmt: skip
row("sort, float32, 1,000,000", normal(MILLION), lambda xp, x: xp.sort(x),
    lambda torch, x: torch.sort(x)[0])  # fmt: skip
row("sort, int32, 1,000,000", integers(10**9, MILLION), lambda xp, x: xp.sort(x),
    lambda torch, x: torch.sort(x)[0])  # fmt: skip
row("argsort, 1,000,000", normal(MILLION), lambda xp, x: xp.argsort(x),
    lambda torch, x: torch.argsort(x))  # fmt: skip
row("median of rows, 4096×512", ROWS_512, lambda xp, x: xp.median(x, -1),
    lambda torch, x: torch.median(x, -1)[0])  # fmt: skip
row("top 100 of 1,000,000", normal(MILLION), lambda np, x: np.partition(x, -100)[-100:],
    lambda torch, x: torch.topk(x, 100)[0],
    api=lambda api, x: api.lax.top_k(x, 100)[0])  # fmt: skip
row("quantile, 1,000,000", normal(MILLION), lambda xp, x: xp.quantile(x, 0.3),
    lambda torch, x: torch.kthvalue(x, 300_000)[0])  # fmt: skip
row("searchsorted of 1,000,000 in 6,000", lambda random: [
        np.sort(random.standard_normal(6_000).astype("float32")),
        random.standard_normal(1_000_000).astype("float32"),
    ], lambda xp, a, x: xp.searchsorted(a, x),
    lambda torch, a, x: torch.searchsorted(a, x))  # fmt: skip
row("histogram of 100 bins, 1,000,000", normal(MILLION),
    lambda xp, x: xp.histogram(x, 100, (-5, 5))[0],
    lambda torch, x: torch.histc(x, 100, -5, 5))  # fmt: skip
row("bincount, 1,000,000 in 1,000", integers(1000, MILLION),
    lambda np, x: np.bincount(x, minlength=1000),
    lambda torch, x: torch.bincount(x, minlength=1000),
    api=lambda api, x: api.numpy.bincount(x, length=1000))  # fmt: skip
row("interp of 1,000,000 at 7 points", normal(MILLION),
    lambda xp, x: xp.interp(x, xp.arange(-3.0, 4.0), xp.arange(7.0)))  # fmt: skip
row("unique, 1,000,000 in 1,000", integers(1000, MILLION), lambda np, x: np.unique(x),
    lambda torch, x: torch.unique(x),
    api=lambda api, x: api.numpy.unique(x, size=1000))  # fmt: skip

# Movement

# NumPy's and PyTorch's transposes are views: each is asked for the elements in their new order.
row("transpose, 2048×2048", normal((2048, 2048)), lambda np, x: np.ascontiguousarray(x.T),
    lambda torch, x: x.T.contiguous(), api=lambda api, x: api.numpy.transpose(x))  # fmt: skip
row("concatenate of 8, 8×128×1024", normal(*[(128, 1024)] * 8),
    lambda xp, *xs: xp.concatenate(xs, 1), lambda torch, *xs: torch.cat(xs, 1))  # fmt: skip
row("take of 1,000,000 from 100,000", lambda random: [
        random.standard_normal(100_000).astype("float32"),
        random.integers(0, 100_000, 1_000_000).astype("int32"),
    ], lambda xp, x, i: xp.take(x, i), lambda torch, x, i: x[i])  # fmt: skip
row("rows of an embedding, 8192 of 50,000×256", lambda random: [
        random.standard_normal((50_000, 256)).astype("float32"),
        random.integers(0, 50_000, 8192).astype("int32"),
    ], lambda xp, x, i: x[i], lambda torch, x, i: x[i])  # fmt: skip
row("scatter-add of 1,000,000 into 1,000", lambda random: [
        random.integers(0, 1000, 1_000_000).astype("int32"),
        random.standard_normal(1_000_000).astype("float32"),
    ], lambda np, i, x: np.bincount(i, x, 1000),
    lambda torch, i, x: torch.zeros(1000).index_add_(0, i, x),
    api=lambda api, i, x: api.numpy.zeros(1000).at[i].add(x))  # fmt: skip
row("segment_sum of 100,000×16 into 1,000", lambda random: [
        random.integers(0, 1000, 100_000).astype("int32"),
        random.standard_normal((100_000, 16)).astype("float32"),
    ], None, lambda torch, i, x: torch.zeros(1000, 16).index_add_(0, i, x),
    api=lambda api, i, x: api.ops.segment_sum(x, i, 1000))  # fmt: skip

# Products and linear algebra

for _size in (64, 512, 1024):
    row(f"matmul, {_size}³", normal((_size, _size), (_size, _size)), lambda xp, x, y: x @ y,
        lambda torch, x, y: x @ y)  # fmt: skip
row("matmul, float64, 512³", normal((512, 512), (512, 512), dtype="float64"),
    lambda xp, x, y: x @ y, lambda torch, x, y: x @ y)  # fmt: skip
row("matrix times vector, 2048²", normal((2048, 2048), (2048,)), lambda xp, x, y: x @ y,
    lambda torch, x, y: x @ y)  # fmt: skip
row("batched matmul, 64 of 128³", normal((64, 128, 128), (64, 128, 128)),
    lambda xp, x, y: x @ y, lambda torch, x, y: x @ y)  # fmt: skip
for _count, _size in ((1000, 4), (1000, 8), (256, 32)):
    row(f"batched matmul, {_count} of {_size}³", normal(*[(_count, _size, _size)] * 2),
        lambda xp, x, y: x @ y, lambda torch, x, y: x @ y)  # fmt: skip
row("matmul, int8 to int32, 512³", lambda random: [
        random.integers(-128, 128, (512, 512)).astype("int8") for _ in range(2)
    ], lambda np, x, y: np.matmul(x, y, dtype="int32"),
    lambda torch, x, y: torch._int_mm(x, y),
    api=lambda api, x, y: api.numpy.matmul(x, y, preferred_element_type="int32"))  # fmt: skip
row("einsum bhqd,bhkd->bhqk, 8×8×128×64", normal((8, 8, 128, 64), (8, 8, 128, 64)),
    lambda xp, x, y: xp.einsum("bhqd,bhkd->bhqk", x, y),
    lambda torch, x, y: torch.einsum("bhqd,bhkd->bhqk", x, y))  # fmt: skip
row("einsum chain ij,jk,kl->il, 256", normal(*[(256, 256)] * 3),
    lambda xp, x, y, z: xp.einsum("ij,jk,kl->il", x, y, z),
    lambda torch, x, y, z: torch.einsum("ij,jk,kl->il", x, y, z))  # fmt: skip


def positive_definite(random: np.random.Generator) -> Sequence[Any]:
    """Make a positive definite matrix and a right-hand side."""
    x = random.standard_normal((512, 512)).astype("float32")
    return [
        x @ x.T + 512 * np.eye(512, dtype="float32"),
        random.standard_normal(512).astype("float32"),
    ]


row("cholesky, 512", positive_definite, lambda xp, a, b: xp.linalg.cholesky(a),
    lambda torch, a, b: torch.linalg.cholesky(a))  # fmt: skip
row("solve, 512", positive_definite, lambda xp, a, b: xp.linalg.solve(a, b),
    lambda torch, a, b: torch.linalg.solve(a, b))  # fmt: skip
row("batched solve, 2000 of 8×8", normal((2000, 8, 8), (2000, 8, 1)),
    lambda xp, a, b: xp.linalg.solve(a, b),
    lambda torch, a, b: torch.linalg.solve(a, b))  # fmt: skip
row("svd, 256", normal((256, 256)), lambda xp, a: xp.linalg.svd(a),
    lambda torch, a: torch.linalg.svd(a))  # fmt: skip
row("eigh, 256", positive_definite, lambda xp, a, b: xp.linalg.eigh(a),
    lambda torch, a, b: torch.linalg.eigh(a))  # fmt: skip
row("qr, 256", normal((256, 256)), lambda xp, a: xp.linalg.qr(a),
    lambda torch, a: torch.linalg.qr(a))  # fmt: skip
row("fft of 2²⁰", normal((2**20,)), lambda xp, x: xp.fft.fft(x),
    lambda torch, x: torch.fft.fft(x))  # fmt: skip
row("rfft of 1024 rows of 1024", normal((1024, 1024)), lambda xp, x: xp.fft.rfft(x),
    lambda torch, x: torch.fft.rfft(x))  # fmt: skip

# Random numbers


PROBABILITIES = np.full(10, 0.1, "float32")


def sampler(name: str, numpy: Function | None, torch: Function, api: Function) -> None:
    draw = numpy and (lambda np, seed: numpy(_generator(np)))
    row(name, lambda random: [np.uint32(1)], draw,
        lambda module, seed: torch(module),
        api=lambda module, seed: api(module.random, module.random.key(seed)))  # fmt: skip


def _generator(numpy: Any) -> Any:
    return numpy.random.Generator(numpy.random.SFC64(1))


# NumPy's and PyTorch's numbers are of float32 unless the row says otherwise, and so are those of
# the other two, whose default is float64 here.
for _size in (1_000, 1_000_000, 10_000_000):
    sampler(f"uniform, {_size:,}", lambda g, n=_size: g.random(n, dtype="float32"),
            lambda t, n=_size: t.rand(n),
            lambda r, key, n=_size: r.uniform(key, (n,), "float32"))  # fmt: skip
    sampler(f"normal, {_size:,}", lambda g, n=_size: g.standard_normal(n, dtype="float32"),
            lambda t, n=_size: t.randn(n),
            lambda r, key, n=_size: r.normal(key, (n,), "float32"))  # fmt: skip
sampler("uniform, float64, 1,000,000", lambda g: g.random(1_000_000),
        lambda t: t.rand(1_000_000, dtype=t.float64),
        lambda r, key: r.uniform(key, MILLION, "float64"))  # fmt: skip
sampler("normal, float64, 1,000,000", lambda g: g.standard_normal(1_000_000),
        lambda t: t.randn(1_000_000, dtype=t.float64),
        lambda r, key: r.normal(key, MILLION, "float64"))  # fmt: skip
sampler("normal, bfloat16, 1,000,000", None,
        lambda t: t.randn(1_000_000, dtype=t.bfloat16),
        lambda r, key: r.normal(key, MILLION, "bfloat16"))  # fmt: skip
sampler("exponential, 1,000,000", lambda g: g.standard_exponential(1_000_000, dtype="float32"),
        lambda t: t.empty(1_000_000).exponential_(),
        lambda r, key: r.exponential(key, MILLION, "float32"))  # fmt: skip
sampler("gamma, 100,000", lambda g: g.standard_gamma(2.5, 100_000, dtype="float32"),
        lambda t: t._standard_gamma(t.full((100_000,), 2.5)),
        lambda r, key: r.gamma(key, 2.5, (100_000,), "float32"))  # fmt: skip
sampler("beta, 100,000", lambda g: g.beta(2.5, 1.5, 100_000),
        lambda t: t.distributions.Beta(2.5, 1.5).sample((100_000,)),
        lambda r, key: r.beta(key, 2.5, 1.5, (100_000,), "float32"))  # fmt: skip
sampler("poisson, 100,000", lambda g: g.poisson(4.0, 100_000),
        lambda t: t.poisson(t.full((100_000,), 4.0)),
        lambda r, key: r.poisson(key, 4.0, (100_000,), "int32"))  # fmt: skip
sampler("categorical, 100,000 of 10",
        lambda g: np.cumsum(PROBABILITIES).searchsorted(g.random(100_000)),
        lambda t: t.multinomial(t.from_numpy(PROBABILITIES), 100_000, replacement=True),
        lambda r, key: r.categorical(key, np.log(PROBABILITIES), shape=(100_000,)))  # fmt: skip
sampler("permutation, 1,000,000", lambda g: g.permutation(1_000_000),
        lambda t: t.randperm(1_000_000), lambda r, key: r.permutation(key, 1_000_000))  # fmt: skip

# Convolutions, windows and images: batch, channels, rows, columns


def convolution(name: str, x: Any, w: Any, groups: int = 1, gradient: bool = False) -> None:
    def torch_forward(torch: Any, x: Any, w: Any) -> Any:
        call = {3: "conv1d", 4: "conv2d", 5: "conv3d"}[x.ndim]
        return getattr(torch.nn.functional, call)(x, w, padding=w.shape[-1] // 2, groups=groups)

    def torch_gradient(torch: Any, x: Any, w: Any) -> Any:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        (torch_forward(torch, x, w) ** 2).sum().backward()
        return x.grad, w.grad

    def forward(api: Any, x: Any, w: Any) -> Any:
        ones = (1,) * (x.ndim - 2)
        return api.lax.conv_general_dilated(x, w, ones, "SAME", feature_group_count=groups)

    def both(api: Any, x: Any, w: Any) -> Any:
        return api.grad(lambda x, w: (forward(api, x, w) ** 2).sum(), (0, 1))(x, w)

    row(name, normal(x, w), None, torch_gradient if gradient else torch_forward,
        api=both if gradient else forward)  # fmt: skip


for _gradient, _word in ((False, ""), (True, ", gradient")):
    convolution(f"depthwise 3×3, 8×64×56²{_word}", (8, 64, 56, 56), (64, 1, 3, 3), 64, _gradient)
    convolution(f"3×3, 8×32×32²{_word}", (8, 32, 32, 32), (32, 32, 3, 3), 1, _gradient)
    convolution(f"1×1, 8×64×32²{_word}", (8, 64, 32, 32), (128, 64, 1, 1), 1, _gradient)
    convolution(f"in 1-D, 16×32×1024, 9{_word}", (16, 32, 1024), (32, 32, 9), 1, _gradient)
    convolution(f"grouped by 4, 8×32×32²{_word}", (8, 32, 32, 32), (32, 8, 3, 3), 4, _gradient)
convolution("in 3-D, 2×8×16³, 3×3×3", (2, 8, 16, 16, 16), (8, 8, 3, 3, 3))


def max_pool(api: Any, x: Any, size: int, step: int) -> Any:
    window = (1, 1, size, size), (1, 1, step, step)
    return api.lax.reduce_window(x, -np.inf, api.lax.max, *window, "VALID")


def torch_pool_gradient(torch: Any, x: Any, size: int, step: int) -> Any:
    x = x.detach().requires_grad_()
    torch.nn.functional.max_pool2d(x, size, step).sum().backward()
    return x.grad


for _size, _step in ((2, 2), (3, 2)):
    row(f"max pooling {_size}×{_size} by {_step}, 16×32×64²", normal((16, 32, 64, 64)), None,
        lambda torch, x, n=_size, s=_step: torch.nn.functional.max_pool2d(x, n, s),
        api=lambda api, x, n=_size, s=_step: max_pool(api, x, n, s))  # fmt: skip
    row(f"max pooling {_size}×{_size} by {_step}, 16×32×64², gradient", normal((16, 32, 64, 64)),
        None, lambda torch, x, n=_size, s=_step: torch_pool_gradient(torch, x, n, s),
        api=lambda api, x, n=_size, s=_step: (
            api.grad(lambda x: max_pool(api, x, n, s).sum())(x)))  # fmt: skip
row("bilinear resize, 8×3×128² to 224²", normal((8, 3, 128, 128)), None,
    lambda torch, x: torch.nn.functional.interpolate(x, (224, 224), mode="bilinear"),
    api=lambda api, x: api.image.resize(x, (8, 3, 224, 224), "linear"))  # fmt: skip
row("convolve 100,000 by 101", normal((100_000,), (101,)), lambda xp, x, y: xp.convolve(x, y),
    lambda torch, x, y: torch.nn.functional.conv1d(x[None, None], y.flip(0)[None, None],
                                                   padding=100))  # fmt: skip
row("map_coordinates, 512², order 1", lambda random: [
        random.standard_normal((512, 512)).astype("float32"),
        random.uniform(0, 511, (2, 512, 512)).astype("float32"),
    ], api=lambda api, x, c: api.scipy.ndimage.map_coordinates(x, list(c), 1),
    scipy=lambda scipy, x, c: scipy.ndimage.map_coordinates(x, c, order=1))  # fmt: skip
