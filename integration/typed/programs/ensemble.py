"""Several models trained at once: vmap over a dataclass of parameters."""

from dataclasses import dataclass
from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, random, tree


@ricci.tree_util.register_dataclass
@dataclass(frozen=True)
class Line:
    slope: Array
    offset: Array

    def __call__(self, x: Array) -> Array:
        return self.slope * x + self.offset


def start(key: Array) -> Line:
    return Line(random.normal(key), jnp.zeros(()))


def loss(model: Line, x: Array, y: Array) -> Array:
    return jnp.mean((model(x) - y) ** 2)


@ricci.jit
def step(models: Line, x: Array, y: Array) -> tuple[Line, Array]:
    values, gradients = ricci.vmap(ricci.value_and_grad(loss), in_axes=(0, None, None))(
        models, x, y
    )
    assert_type(values, Array)
    moved: Line = tree.map(lambda p, g: p - 0.3 * g, models, gradients)
    return moved, values


def main() -> None:
    models = ricci.vmap(start)(random.split(random.key(0), 5))
    assert_type(models, Line)
    x = jnp.linspace(-1.0, 1.0, 16)
    first = step(models, x, 2 * x + 1)[1]
    for _ in range(30):
        models, values = step(models, x, 2 * x + 1)
        assert bool((values <= first).all())
    predictions = ricci.vmap(Line.__call__, in_axes=(0, None))(models, x)
    assert predictions.shape == (5, 16)
    assert float(abs(models.offset - 1).max()) < 0.1
