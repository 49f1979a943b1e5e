"""Measure the first step of transformers of growing depth, unrolled and with ``ricci.roll``.

    python tools/roll_growth.py [LAYERS ...]

Prints a row for each depth: the processor time of tracing, lowering and compiling a training step
(of all threads), the fusions of the executable, and that of a later step, the least of ten.
"""

import re
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


def measured(fun: Callable[..., Any], depth: int) -> tuple[float, int, float]:
    """The processor seconds to compile, the fusions, and the milliseconds of a step."""
    layers, x = parameters(depth), random.normal(random.key(0), (BATCH, TOKENS, WIDTH))
    start = time.process_time()
    compiled = ricci.jit(fun).lower(layers, x).compile()
    compiling = time.process_time() - start
    ricci.block_until_ready(compiled(layers, x))
    times = []
    for _ in range(10):
        start = time.process_time()
        ricci.block_until_ready(compiled(layers, x))
        times.append(time.process_time() - start)
    return compiling, len(re.findall(r" fusion\(", compiled.as_text())), min(times) * 1e3


def main(depths: tuple[int, ...]) -> None:
    print("| layers | | compile, s | fusions | step, ms |\n|---|---|---|---|---|")
    for depth in depths:
        for name, fun in (("unrolled", step), ("rolled", ricci.roll(step))):
            compiling, fusions, milliseconds = measured(fun, depth)
            print(
                f"| {depth} | {name} | {compiling:.1f} | {fusions} | {milliseconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or DEPTHS)
