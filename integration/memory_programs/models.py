"""A transformer, a ResNet and a U-Net, as lists of layers that a policy may wrap."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import ricci.numpy as jnp
from ricci import Array, lax, nn
from ricci.ad_checkpoint import checkpoint_name

type Parameters = Mapping[str, Array]
type Layer = Callable[..., Array]
type Wrap = Callable[[int, Layer], Layer]  # the place of a layer and the layer


class Model(NamedTuple):
    """A model: its loss with wrapped layers, its parameters and a batch.

    Attributes:
      loss: called as ``loss(wrap, parameters, batch)``; ``wrap(i, layer)`` is called instead of
        layer number ``i``.
      parameters: the parameters of each layer.
      batch: the inputs.
    """

    loss: Callable[[Wrap, Sequence[Parameters], Array], Array]
    parameters: Sequence[Parameters]
    batch: Array


def _draw(generator: np.random.Generator, *shape: int) -> Array:
    scale = np.sqrt(np.prod(shape[:-1]))
    return jnp.asarray(generator.normal(size=shape).astype(np.float32) / scale)


def _normalized(x: Array, axes: int | tuple[int, ...]) -> Array:
    mean = jnp.mean(x, axes, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, axes, keepdims=True) + 1e-5)


def _attention_layer(p: Parameters, x: Array) -> Array:
    width = x.shape[-1]
    heads = (*x.shape[:-1], 4, width // 4)
    h = _normalized(x, -1)
    q, k, v = ((h @ p[name]).reshape(heads).swapaxes(1, 2) for name in "qkv")
    weights = nn.softmax(q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(width // 4)))
    mixed = (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["o"]
    x = x + checkpoint_name(mixed, "mixed")
    return x + nn.gelu(_normalized(x, -1) @ p["up"]) @ p["down"]


def transformer(layers: int = 12, width: int = 64, tokens: int = 64, texts: int = 8) -> Model:
    """Return a transformer with four heads."""
    generator = np.random.default_rng(0)
    shapes = dict.fromkeys("qkvo", (width, width))
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    parameters = [
        {name: _draw(generator, *shape) for name, shape in shapes.items()} for _ in range(layers)
    ]

    def loss(wrap: Wrap, parameters: Sequence[Parameters], x: Array) -> Array:
        for i, p in enumerate(parameters):
            x = wrap(i, _attention_layer)(p, x)
        return jnp.mean(x**2)

    return Model(loss, parameters, _draw(generator, texts, tokens, width))


def _convolved(x: Array, kernel: Array) -> Array:
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _residual_layer(p: Parameters, x: Array) -> Array:
    h = nn.relu(_normalized(_convolved(x, p["first"]), (0, 1, 2)))
    h = _normalized(_convolved(checkpoint_name(h, "mixed"), p["second"]), (0, 1, 2))
    return nn.relu(x + h)


def resnet(blocks: int = 12, channels: int = 16, size: int = 24, images: int = 8) -> Model:
    """Return a residual network with two convolutions in each block."""
    generator = np.random.default_rng(0)
    shape = (3, 3, channels, channels)
    parameters = [
        {name: _draw(generator, *shape) for name in ("first", "second")} for _ in range(blocks)
    ]

    def loss(wrap: Wrap, parameters: Sequence[Parameters], x: Array) -> Array:
        for i, p in enumerate(parameters):
            x = wrap(i, _residual_layer)(p, x)
        return jnp.mean(x**2)

    return Model(loss, parameters, _draw(generator, images, size, size, channels))


def _convolutions(p: Parameters, x: Array) -> Array:
    h = nn.silu(_normalized(_convolved(x, p["first"]), (1, 2)))
    h = checkpoint_name(h, "mixed")
    return nn.silu(_normalized(_convolved(h, p["second"]), (1, 2)))


def _joined_convolutions(p: Parameters, x: Array, skipped: Array) -> Array:
    larger = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
    return _convolutions(p, jnp.concatenate([larger, skipped], -1))


def _halved(x: Array) -> Array:
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4))


def unet(channels: int = 8, depth: int = 3, size: int = 48, images: int = 8) -> Model:
    """Return a U-Net: two convolutions in each layer, twice the channels at half the size."""
    generator = np.random.default_rng(0)
    widths = [channels * 2**i for i in range(depth + 1)]
    down = list(zip([channels, *widths], widths, strict=False))
    up = [(widths[i + 1] + widths[i], widths[i]) for i in reversed(range(depth))]
    parameters: list[Parameters] = [
        {"first": _draw(generator, 3, 3, n, m), "second": _draw(generator, 3, 3, m, m)}
        for n, m in down + up
    ]

    def loss(wrap: Wrap, parameters: Sequence[Parameters], x: Array) -> Array:
        skipped = []
        for i, p in enumerate(parameters):
            if i <= depth:
                x = wrap(i, _convolutions)(p, x)
                if i < depth:
                    skipped.append(x)
                    x = _halved(x)
            else:
                x = wrap(i, _joined_convolutions)(p, x, skipped.pop())
        return jnp.mean(x**2)

    return Model(loss, parameters, _draw(generator, images, size, size, channels))


MODELS: dict[str, Callable[..., Model]] = {
    "transformer": transformer,
    "ResNet": resnet,
    "U-Net": unet,
}
