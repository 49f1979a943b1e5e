"""The models whose first steps ``tools/roll_growth.py`` measures."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import nn, random

__all__ = ["DEPTHS", "MODELS", "Step"]

# Makes a training step, and returns the loss.
type Step = Callable[[], Any]

WIDTH, HEADS, TOKENS = 128, 4, 32


def weights(shapes: dict[str, tuple[int, ...]], layers: int) -> list[dict[str, Any]]:
    """The parameters of equal layers: normal matrices, vectors of ones."""
    generator = np.random.default_rng(0)

    def draw(shape: tuple[int, ...]) -> Any:
        values = generator.normal(0, 0.05, shape) if len(shape) > 1 else np.ones(shape)
        return jnp.asarray(values.astype(np.float32))

    return [{name: draw(shape) for name, shape in shapes.items()} for _ in range(layers)]


def normalized(x: Any, scale: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale


def transformer_layer(p: dict[str, Any], x: Any) -> Any:
    h = normalized(x, p["scale"])
    heads = (*x.shape[:2], HEADS, WIDTH // HEADS)
    q, k, v = ((h @ p[name]).reshape(heads).swapaxes(1, 2) for name in "qkv")
    attention = nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS))
    x = x + (attention @ v).swapaxes(1, 2).reshape(x.shape) @ p["o"]
    return x + nn.gelu(normalized(x, p["scale2"]) @ p["up"]) @ p["down"]


def perceptron_layer(p: dict[str, Any], x: Any) -> Any:
    return x + jnp.tanh((x - x.mean(-1, keepdims=True)) @ p["w"] * p["s"] + p["b"])


TRANSFORMER = {
    **dict.fromkeys("qkvo", (WIDTH, WIDTH)),
    "up": (WIDTH, 4 * WIDTH),
    "down": (4 * WIDTH, WIDTH),
    **dict.fromkeys(("scale", "scale2"), (WIDTH,)),
}
PERCEPTRON = {"w": (32, 32), "b": (32,), "s": (32,)}


def descent(value_and_slopes: Any, state: Any, x: Any) -> tuple[Any, Any]:
    """A step of gradient descent."""
    value, slopes = value_and_slopes(state, x)
    return value, ricci.tree.map(lambda p, slope: p - 0.01 * slope, state, slopes)


def adam(value_and_slopes: Any, state: Any, x: Any) -> tuple[Any, Any]:
    """A step of Adam, whose state is the parameters, both moments and the number of the step."""
    params, first, second, count = state
    value, slopes = value_and_slopes(params, x)
    count, tree = count + 1, ricci.tree
    first = tree.map(lambda m, slope: 0.9 * m + 0.1 * slope, first, slopes)
    second = tree.map(lambda v, slope: 0.999 * v + 0.001 * slope**2, second, slopes)

    def updated(p: Any, m: Any, v: Any) -> Any:
        return p - 1e-3 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)

    return value, (tree.map(updated, params, first, second), first, second, count)


def model(
    layer: Callable[[dict[str, Any], Any], Any],
    shapes: dict[str, tuple[int, ...]],
    batch: tuple[int, ...],
    optimizer: Callable[[Any, Any, Any], tuple[Any, Any]],
) -> Callable[[int, bool], Step]:
    """A model of equal layers, as a function of their number and whether they are rolled."""

    def build(depth: int, is_rolled: bool) -> Step:
        params = weights(shapes, depth)
        x = random.normal(random.key(0), batch)

        def loss(layers: list[dict[str, Any]], x: Any) -> Any:
            for p in layers:
                x = layer(p, x)
            return jnp.mean(x**2)

        def step(state: Any, x: Any) -> tuple[Any, Any]:
            return optimizer(ricci.value_and_grad(loss), state, x)

        run = ricci.jit(ricci.roll(step) if is_rolled else step)
        zeros = ricci.tree.map(jnp.zeros_like, params)
        state: Any = (params, zeros, zeros, jnp.float32(0)) if optimizer is adam else params

        def advance() -> Any:
            nonlocal state
            value, state = run(state, x)
            return value, state

        return advance

    return build


def nnx_transformer(depth: int, is_rolled: bool) -> Step:
    """A transformer as a user of Flax writes it, with optax's AdamW and a list of blocks."""
    import optax  # noqa: PLC0415 - only this model needs them  # pyright: ignore
    from flax import nnx  # noqa: PLC0415  # pyright: ignore

    class Block(nnx.Module):
        def __init__(self, rngs: Any):
            self.norm, self.norm2 = (nnx.LayerNorm(WIDTH, rngs=rngs) for _ in range(2))
            self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, rngs=rngs, decode=False)
            self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
            self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = x + self.attention(self.norm(x))
            return x + self.down(nnx.gelu(self.up(self.norm2(x))))

    class Network(nnx.Module):
        def __init__(self, rngs: Any):
            self.blocks = nnx.List([Block(rngs) for _ in range(depth)])

        def __call__(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    network = Network(nnx.Rngs(0))
    optimizer = nnx.Optimizer(network, optax.adamw(1e-3), wrt=nnx.Param)
    x = random.normal(random.key(0), (8, TOKENS, WIDTH))

    @nnx.jit
    def step(network: Any, optimizer: Any, x: Any) -> Any:
        value, slopes = nnx.value_and_grad(lambda network: (network(x) ** 2).mean())(network)
        optimizer.update(network, slopes)
        return value

    run = ricci.roll(step) if is_rolled else step
    return lambda: run(network, optimizer, x)


MODELS: dict[str, Callable[[int, bool], Step]] = {
    "transformer": model(transformer_layer, TRANSFORMER, (8, TOKENS, WIDTH), descent),
    "transformer, Adam": model(transformer_layer, TRANSFORMER, (8, TOKENS, WIDTH), adam),
    "transformer, 2 × 32 tokens": model(transformer_layer, TRANSFORMER, (2, TOKENS, WIDTH), adam),
    "MLP": model(perceptron_layer, PERCEPTRON, (64, 32), adam),
    "nnx": nnx_transformer,
}
# The depths, and whether the step is compiled in a Python loop as well, which takes minutes at 96.
DEPTHS: dict[str, tuple[tuple[int, bool], ...]] = {
    "transformer": ((12, True), (24, True), (48, True), (96, False)),
    "transformer, Adam": ((12, True), (24, True), (96, False)),
    "transformer, 2 × 32 tokens": ((12, True), (96, False)),
    "MLP": ((12, True), (24, True), (48, True), (96, True)),
    "nnx": ((12, True), (24, True), (96, False)),
}
