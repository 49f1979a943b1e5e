"""A transformer of flax nnx, trained by `nnx.Optimizer`: its objects hold the state."""

from typing import Any

import optax
from flax import nnx
from tool_model import LAYERS, WIDTH, Model, data

import jax
import jax.numpy as jnp


class Block(nnx.Module):
    """Attention and an MLP, each with a norm before it."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norms = nnx.List([nnx.LayerNorm(WIDTH, rngs=rngs) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(2, WIDTH, decode=False, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norms[0](x))
        return x + self.down(nnx.gelu(self.up(self.norms[1](x))))


class Transformer(nnx.Module):
    """Blocks behind a logarithm and a norm with running statistics."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0, dropout=1)
        self.first = nnx.BatchNorm(WIDTH, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))

    def __call__(self, x: Any) -> Any:
        self.calls[...] += 1
        x = jnp.log(x)  # cause
        x = self.drop(self.first(x))
        for block in self.blocks:
            x = block(x)
        return x


def loss(model: Transformer, x: Any, y: Any) -> Any:
    """Return the mean square error."""
    return jnp.mean((model(x) - y) ** 2)


@nnx.jit
def step(model: Transformer, optimizer: Any, x: Any, y: Any) -> Any:
    """Train the model, and return the loss."""
    value, grads = nnx.value_and_grad(loss)(model, x, y)
    optimizer.update(model, grads)
    return value


@nnx.jit
def fails(model: Transformer, optimizer: Any, x: Any, y: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(model, optimizer, x, y)}")


def arguments(rows: int) -> tuple[Any, ...]:
    """Return a new model and its optimizer with a batch."""
    model = Transformer()
    return model, nnx.Optimizer(model, optax.adam(1e-2, eps=1e-2), wrt=nnx.Param), *data(rows)


def state(arguments: tuple[Any, ...]) -> Any:
    """Return the arrays in the model and the optimizer."""
    return jax.tree.leaves([nnx.state(part) for part in arguments[:2]])


MODEL = Model(arguments, step, fails, Transformer.__call__, state, (None, None, 0, 0))
