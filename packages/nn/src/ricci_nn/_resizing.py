"""Resampling images, or arrays of any kind, along some of their dimensions.

Each dimension is resampled separately, by a product with a matrix of weights. A column
belongs to a sample of the output; it has the values of a kernel at the distances of the input's
samples from that sample.
"""

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, SupportsIndex

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, Shape, composite, dispatched, inlined, is_symbolic_dim
from ricci_lax.authoring import as_sizes, resample
from ricci_numpy.authoring import canonical_axes, operands, promote_args_inexact

type Settings = tuple["ResizeMethod", bool, Any]
"""The method, whether to antialias, and the precision of products."""


class ResizeMethod(Enum):
    """Resampling methods: the kernel that weights an input's samples by their distance.

    - ``NEAREST``: the nearest sample.
    - ``LINEAR``: a triangle of radius 1.
    - ``LANCZOS3``, ``LANCZOS5``: windowed sincs of radius 3 and 5.
    - ``CUBIC``: Keys' cubic of radius 2 with a = -1/2.
    - ``CUBIC_PYTORCH``: PyTorch's variant: without antialiasing a = -3/4, and beyond an edge the
      edge is repeated.
    - ``AREA``: the mean over the area that an output's sample covers.

    Example:
      >>> import ricci
      >>> ricci.image.ResizeMethod.from_string("bilinear")
      <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """Look up a method by its name.

        Args:
          s: the name.

        Raises:
          ValueError: if the name is unknown.
        """
        method = _NAMES.get(s)
        if method is None:
            raise ValueError(
                f"unknown resize method {s!r}; known are {', '.join(map(repr, _NAMES))}."
            )
        return method


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "area": ResizeMethod.AREA,
}


# Kernels: functions of the nonnegative distance in samples


def _cubic(a: float) -> Callable[[Array], Array]:
    """Keys' piecewise cubic, whose slope at distance 1 is ``a``."""

    def kernel(x: Array) -> Array:
        near = (((a + 2.0) * x - (a + 3.0)) * x) * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return jnp.where(x >= 2.0, 0.0, jnp.where(x >= 1.0, far, near))

    return kernel


def _lanczos(radius: float) -> Callable[[Array], Array]:
    """A sinc windowed by a wider sinc, up to the radius."""

    def kernel(x: Array) -> Array:
        waves = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
        # Near 0 the quotient is 1. The divisor is not 0 there, so that derivatives are finite.
        divisor = jnp.where(x != 0, np.pi**2 * x**2, 1)
        values = jnp.where(x > 1e-3, jnp.divide(waves, divisor), 1)
        return jnp.where(x > radius, 0.0, values)

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Array], Array]] = {
    ResizeMethod.LINEAR: lambda x: jnp.maximum(0.0, jnp.subtract(1.0, jnp.abs(x))),
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    # PyTorch's kernel with antialiasing; without it, see ``_edge_weights``.
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}


def _edge_weights(centers: Array, size: int) -> Array:
    """PyTorch's cubic weights: samples outside of the image are added to the weight of the edge."""
    samples = lax.iota(centers.dtype, size + 4) - 2.0
    weights = _cubic(-0.75)(jnp.abs(centers[None] - samples[:, None]))
    rows = jnp.clip(lax.iota(np.int32, size + 4) - 2, 0, size - 1)
    return jnp.zeros((size, centers.shape[0]), centers.dtype).at[rows].add(weights)


_NEGLIGIBLE = 1000 * float(np.finfo(np.float32).eps)  # a sum of weights that counts as 0


def _weights(
    size: int,
    out_size: int,
    step: Array | float,
    offset: Array | float,
    method: ResizeMethod,
    antialias: bool,
) -> Array:
    """The matrix of weights: rows for the input's samples, columns for the output's.

    Args:
      size, out_size: the numbers of samples.
      step: the distance of the output's samples, in samples of the input.
      offset: the shift of the output towards the input's start, in samples of the input.
      method: the kernel.
      antialias: whether the kernel is widened by a step greater than 1.
    """
    dtype = step.dtype if isinstance(step, Array) else np.dtype(np.float32)
    iota, samples = lax.iota(dtype, out_size), lax.iota(dtype, size)
    # Positions of the output samples' centers, in units of input samples; a sample's center is 1/2
    # from its edge.
    centers = (iota + 0.5) * step - offset - 0.5
    if method == ResizeMethod.AREA:
        # The weights of an output sample are the lengths of its overlaps with the input's samples.
        start = iota * step - offset
        ends = jnp.minimum((start + step)[None], (samples + 1.0)[:, None])
        starts = jnp.maximum(start[None], samples[:, None])
        weights = jnp.maximum(0.0, ends - starts)
    elif method == ResizeMethod.CUBIC_PYTORCH and not antialias:
        weights = _edge_weights(centers, size)
    else:
        # In downsampling, a sample of the output covers more than one of the input.
        wide = jnp.maximum(step, 1.0) if isinstance(step, Array) else max(step, 1.0)
        distances = jnp.abs(centers[None] - samples[:, None]) / (wide if antialias else 1.0)
        weights = _KERNELS[method](distances)
    # Weights are normalized, so that a constant image is constant near its edges, too.
    total = jnp.sum(weights, axis=0, keepdims=True)
    shares = weights / jnp.where(total != 0, total, 1)
    shares = jnp.where(jnp.abs(total) > _NEGLIGIBLE, shares, 0)
    if method == ResizeMethod.CUBIC_PYTORCH and not antialias:
        return shares
    # Samples outside of the image are zero.
    is_inside = jnp.logical_and(centers >= -0.5, centers <= size - 0.5)
    return jnp.where(is_inside[None], shares, 0)


# The kernels' radii, in samples.
_RADII = {ResizeMethod.LINEAR: 1, ResizeMethod.LANCZOS3: 3, ResizeMethod.LANCZOS5: 5}


def _band(step: float, method: ResizeMethod, antialias: bool) -> int:
    """The most weights of a sample that are not zero."""
    is_wide = antialias or method == ResizeMethod.AREA
    radius = 0.5 if method == ResizeMethod.AREA else _RADII.get(method, 2)
    return math.ceil(2 * radius * (max(step, 1.0) if is_wide else 1.0)) + 1


def _resample(
    x: Array,
    shape: Shape,
    dims: Sequence[int],
    steps: Sequence[Array | float],
    offsets: Sequence[Array | float],
    settings: Settings,
) -> Array:
    """One product with a matrix of weights for each of ``dims``.

    Those with steps that are arrays are a single einsum: how many weights are zero is not known.
    """
    method, antialias, precision = settings
    if not jnp.issubdtype(x.dtype, np.inexact):
        x = x.astype(jnp.promote_types(x.dtype, np.float32))
    if not dims:
        return x
    out = list(range(x.ndim))
    products: list[Any] = []  # of the weights along dimensions whose steps are arrays
    for i, d in enumerate(dims):
        step = steps[i]
        weights = _weights(x.shape[d], shape[d], step, offsets[i], method, antialias)
        if not isinstance(step, Array):
            band = _band(step, method, antialias)
            x = resample(x, weights.astype(x.dtype), d, band, precision)
            continue
        out[d] = x.ndim + i
        products += [weights.astype(x.dtype), [d, out[d]]]
    if not products:
        return x
    return jnp.einsum(x, list(range(x.ndim)), *products, out, precision=precision)


def _real(size: int) -> Array | float:
    """A size as a number; a symbolic one as an array."""
    return jnp.asarray(size, np.float32) if is_symbolic_dim(size) else float(size)


def _step(size: int, out_size: int) -> Array | float:
    """The distance of the samples of the output, in samples of the input."""
    if is_symbolic_dim(size) or is_symbolic_dim(out_size):
        return jnp.divide(_real(size), _real(out_size))
    return 1.0 / (out_size / size or 1.0)


def _nearest(x: Array, shape: Shape, dims: Sequence[int]) -> Array:
    for d in dims:
        # The input's sample in which the center of the output's sample lies.
        positions = (lax.iota(np.float32, shape[d]) + 0.5) * _real(x.shape[d]) / _real(shape[d])
        index = jnp.floor(positions).astype(np.int32)
        x = x.at[(slice(None),) * d + (index,)].get(mode="promise_in_bounds")
    return x


@composite("_resize")
def _resize(image: Array, *, shape: Shape, settings: Settings) -> Array:
    dims = [d for d, (m, n) in enumerate(zip(image.shape, shape, strict=True)) if m != n]
    if settings[0] == ResizeMethod.NEAREST:
        return _nearest(image, shape, dims)
    steps = [_step(image.shape[d], shape[d]) for d in dims]
    return _resample(image, shape, dims, steps, [0.0] * len(dims), settings)


@inlined("scale_and_translate")
def _scale_and_translate(
    image: Array, scale: Array, translation: Array, *, shape: Shape, dims: Shape, settings: Settings
) -> Array:
    steps = [jnp.divide(1.0, scale[i]) for i in range(len(dims))]
    offsets = [translation[i] * step for i, step in enumerate(steps)]
    return _resample(image, shape, dims, steps, offsets, settings)


def _check_image(
    name: str, image: ArrayLike, shape: Sequence[SupportsIndex]
) -> tuple[Array, Shape]:
    """Convert and check an image and a shape for it.

    Raises:
      TypeError: if the shape does not hold integers.
      ValueError: if it is not of the image's rank.
    """
    sizes = as_sizes(shape)
    x = operands(name, image)[0]
    if len(sizes) != np.ndim(x):
        raise ValueError(
            f"{name}: shape must have one size for each dimension of the image, got {sizes} for an "
            f"image of shape {np.shape(x)}."
        )
    return x, sizes


def _as_method(name: str, method: str | ResizeMethod) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise AssertionError(f"{name}: method must be a str or a ResizeMethod, got {method!r}.")
    return method


@dispatched("shape", "method", "antialias", "precision")
def resize(
    image: ArrayLike,
    shape: Sequence[SupportsIndex],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: lax.PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """Resample an image, or an array of any kind, to a shape.

    Args:
      image: an array of numbers; integers become floats, unless the method is ``"nearest"``.
      shape: the result's shape; dimensions of unchanged size are not resampled.
      method: ``"nearest"``, ``"linear"``, ``"cubic"``, ``"lanczos3"``, ``"lanczos5"`` or another
        name of a ``ResizeMethod``.
      antialias: whether kernels are widened along dimensions that become smaller.
      precision: the precision of the products with weights; see ``lax.Precision``.

    Returns:
      An array of that shape, of a float dtype unless the method is ``"nearest"``.

    Raises:
      ValueError: if ``shape`` has another rank than the image, or the method is unknown.
      AssertionError: if ``method`` is neither a string nor a ``ResizeMethod``.
      TypeError: if ``shape`` does not hold integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.image.resize(np.float32([[0.0, 4.0]]), (1, 4), "linear").tolist()
      [[0.0, 1.0, 3.0, 4.0]]

    Source: Keys, "Cubic convolution interpolation for digital image processing", 1981; Duchon,
    "Lanczos filtering in one and two dimensions", 1979.
    """
    x, sizes = _check_image("resize", image, shape)
    settings = (_as_method("resize", method), bool(antialias), precision)
    return _resize(x, shape=sizes, settings=settings)


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[SupportsIndex],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: lax.PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """Scale and translate an image, and resample it to a shape; outside of the image it is 0.

    The point x of the image is moved to ``x * scale + translation``. The result is differentiable
    by the scale and the translation.

    Args:
      image: an array of numbers; integers become floats.
      shape: the result's shape, which differs from the image's in ``spatial_dims`` only.
      spatial_dims: the n dimensions to scale.
      scale, translation: arrays of shape (n,).
      method: as for ``resize``, but not ``"nearest"``.
      antialias, precision: as for ``resize``.

    Returns:
      A float array of that shape.

    Raises:
      ValueError: if ``shape`` has another rank than the image, a dimension does not exist, or the
        method is ``"nearest"`` or unknown.
      AssertionError: if ``scale`` or ``translation`` is not of shape (n,).
      TypeError: if it is a scalar.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> x = np.float32([1.0, 2.0, 3.0])
      >>> one = np.ones(1, np.float32)
      >>> ricci.image.scale_and_translate(x, (3,), (0,), one, one, "linear").tolist()
      [0.0, 1.0, 2.0]

    Source: the same as for ``resize``.
    """
    name = "scale_and_translate"
    x, sizes = _check_image(name, image, shape)
    checked_method = _as_method(name, method)
    if checked_method == ResizeMethod.NEAREST:
        raise ValueError(f"{name}: the method 'nearest' is not available; use resize with it.")
    dims = canonical_axes(tuple(spatial_dims), np.ndim(x), "spatial_dims")
    scales, translations = promote_args_inexact(name, scale, translation)
    for argument, value in (("scale", scales), ("translation", translations)):
        if value.ndim == 0:
            raise TypeError(f"{name}: {argument} must be of shape ({len(dims)},), got a scalar.")
        if value.shape != (len(dims),):
            raise AssertionError(
                f"{name}: {argument} must be of shape ({len(dims)},), one element for each of "
                f"spatial_dims, got {value.shape}."
            )
    settings = (checked_method, bool(antialias), precision)
    return _scale_and_translate(x, scales, translations, shape=sizes, dims=dims, settings=settings)
