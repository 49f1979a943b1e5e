"""A recurrent and convolutional network of keras, trained by its own `train_on_batch`."""

import os
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import keras
from keras import ops
from tool_model import TIME, WIDTH, Model, data


class Logarithm(keras.layers.Layer):
    """The logarithm as a layer."""

    def call(self, x: Any) -> Any:
        return ops.log(x)  # cause


def network() -> keras.Model:
    """Return convolutions, a norm with running statistics and a loop over time."""
    layers = keras.layers
    inputs = layers.Input((TIME, WIDTH))
    x = layers.Conv1D(8, 3, padding="same", activation="relu")(Logarithm()(inputs))
    x = layers.Dropout(0.1, seed=1)(layers.BatchNormalization()(x))
    return keras.Model(inputs, layers.Dense(WIDTH)(layers.LSTM(8, return_sequences=True)(x)))


keras.utils.set_random_seed(0)
MODULE = network()
MODULE.compile(keras.optimizers.Adam(1e-2, epsilon=1e-2), "mse")
step = MODULE.train_on_batch


def fails(*arguments: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(*arguments)}")


MODEL = Model(
    data,
    step,
    fails,
    Logarithm.call,
    lambda arguments: [variable.value for variable in MODULE.variables],
    (0, 0),
    layers=False,
)
