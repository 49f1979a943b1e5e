"""A transformer of keras on its JAX backend, trained by its own loop over stateless functions."""

import os
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import keras
from keras import ops
from tool_model import LAYERS, TIME, WIDTH, Model, data

import jax


class Logarithm(keras.layers.Layer):
    """The logarithm as a layer."""

    def call(self, x: Any) -> Any:
        return ops.log(x)  # cause


def transformer() -> keras.Model:
    """Return blocks of layers behind a logarithm and a norm with running statistics."""
    layers = keras.layers
    inputs = layers.Input((TIME, WIDTH))
    x = layers.BatchNormalization()(Logarithm()(inputs))
    x = layers.Dropout(0.1, seed=1)(x)
    for _ in range(LAYERS):
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, WIDTH // 2)(h, h)
        h = layers.Dense(2 * WIDTH, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(WIDTH)(h)
    return keras.Model(inputs, x)


keras.utils.set_random_seed(0)
MODULE = transformer()
OPTIMIZER = keras.optimizers.Adam(1e-2, epsilon=1e-2)
OPTIMIZER.build(MODULE.trainable_variables)


def loss(trained: Any, others: Any, x: Any, y: Any) -> Any:
    """Return the mean square error, and the other variables."""
    out, others = MODULE.stateless_call(trained, others, x, training=True)
    return ops.mean((out - y) ** 2), others


@jax.jit
def step(trained: Any, others: Any, moments: Any, x: Any, y: Any) -> Any:
    """Return the variables of the model and of the optimizer after a step, and the loss."""
    (value, others), grads = jax.value_and_grad(loss, has_aux=True)(trained, others, x, y)
    trained, moments = OPTIMIZER.stateless_apply(moments, grads, trained)
    return trained, others, moments, value


@jax.jit
def fails(*arguments: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(*arguments)}")


def state(arguments: tuple[Any, ...]) -> Any:
    """Return the variables among the arguments, and those in the model."""
    held = [*MODULE.variables, *OPTIMIZER.variables]
    return arguments[:3], [variable.value for variable in held]


def arguments(rows: int) -> tuple[Any, ...]:
    """Return the variables' values with a batch."""
    groups = MODULE.trainable_variables, MODULE.non_trainable_variables, OPTIMIZER.variables
    return *([variable.value for variable in group] for group in groups), *data(rows)


MODEL = Model(arguments, step, fails, Logarithm.call, state, (None, None, None, 0, 0))
