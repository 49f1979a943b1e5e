"""Measure the first step of transformers of growing depth, unrolled and with ``ricci.roll``.

    python tools/roll_growth.py [LAYERS ...]

Prints a row for each depth: the processor time of the first step (of all threads), that of a later
step, the least of ten, and their difference: tracing, lowering and compiling. The last line is the
growth of each from the first depth to the last one, with ``roll``.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import nn, random

WIDTH, HEADS, TOKENS, BATCH = 128, 4, 32, 8
SHAPES = {
    **dict.fromkeys("qkvo", (WIDTH, WIDTH)),
    "up": (WIDTH, 4 * WIDTH),
    "down": (4 * WIDTH, WIDTH),
}
DEPTHS = (12, 24, 48, 96)


def parameters(layers: int) -> list[dict[str, Any]]:
    generator = np.random.default_rng(0)
    draw = lambda shape: generator.normal(0, 0.05, shape).astype(np.float32)
    ones = np.ones(WIDTH, np.float32)
    return [
        {**{name: draw(shape) for name, shape in SHAPES.items()}, "scale": ones, "scale2": ones}
        for _ in range(layers)
    ]


def normalized(x: Any, scale: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale


def layer(p: dict[str, Any], x: Any) -> Any:
    h = normalized(x, p["scale"])
    heads = (BATCH, TOKENS, HEADS, WIDTH // HEADS)
    q, k, v = ((h @ p[name]).reshape(heads).swapaxes(1, 2) for name in "qkv")
    weights = nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS))
    x = x + (weights @ v).swapaxes(1, 2).reshape(x.shape) @ p["o"]
    return x + nn.gelu(normalized(x, p["scale2"]) @ p["up"]) @ p["down"]


def loss(layers: list[dict[str, Any]], x: Any) -> Any:
    for p in layers:
        x = layer(p, x)
    return jnp.mean(x**2)


def step(layers: list[dict[str, Any]], x: Any) -> tuple[Any, Any]:
    value, slopes = ricci.value_and_grad(loss)(layers, x)
    return value, ricci.tree.map(lambda p, slope: p - 0.01 * slope, layers, slopes)


def measured(fun: Callable[..., Any], depth: int) -> tuple[float, float]:
    """The processor seconds of the first step, and of a later one."""
    ricci.clear_caches()
    layers, x = parameters(depth), random.normal(random.key(0), (BATCH, TOKENS, WIDTH))
    layers = ricci.tree.map(jnp.asarray, layers)
    jitted = ricci.jit(fun)
    times = []
    for _ in range(11):
        start = time.process_time()
        _, layers = ricci.block_until_ready(jitted(layers, x))
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def main(depths: tuple[int, ...]) -> None:
    measured(ricci.roll(step), 3)  # starts the compiler
    print("| layers | | first step, s | a step, s | difference, s |\n|---|---|---|---|---|")
    rolled: list[tuple[float, float]] = []
    for depth in depths:
        for name, fun in (("unrolled", step), ("rolled", ricci.roll(step))):
            first, later = measured(fun, depth)
            row = f"| {depth} | {name} | {first:.2f} | {later:.3f} | {first - later:.2f} |"
            print(row, flush=True)
        rolled.append((first, later))
    (first, later), (last, last_later) = rolled[0], rolled[-1]
    difference = (last - last_later) / (first - later)
    print(f"growth: first step {last / first:.2f}, difference {difference:.2f}")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or DEPTHS)
