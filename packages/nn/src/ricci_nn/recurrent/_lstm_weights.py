"""The weights of LSTM layers, as one vector.

The vector is in cuDNN's order. First come the matrices, layer by layer and in each layer direction
by direction: that of the input and that of the hidden state, each with a row for every gate of
every unit. Then come the biases in the same order, two vectors for each layer and direction. The
gates are the input gate, the forget gate, the new cell and the output gate.
"""

from collections.abc import Iterator
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike
from ricci_random import uniform

__all__ = ["get_num_params_in_lstm", "init_lstm_weight", "swap_lstm_gates", "unpack_lstm_weights"]

type _ByLayer = dict[int, Array]


class _Part(NamedTuple):
    """A matrix or bias in the vector: its kind, its layer and direction, and its shape."""

    kind: str
    layer: int
    shape: tuple[int, ...]


def _parts(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Iterator[_Part]:
    directions = 2 if bidirectional else 1
    rows = 4 * hidden_size
    for i in range(num_layers * directions):
        # From the second layer on, the input is the outputs of all directions of the layer before.
        columns = input_size if i < directions else hidden_size * directions
        yield _Part("W_ih", i, (rows, columns))
        yield _Part("W_hh", i, (rows, hidden_size))
    for i in range(num_layers * directions):
        yield _Part("b_ih", i, (rows,))
        yield _Part("b_hh", i, (rows,))


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """The number of weights of an LSTM.

    Args:
      input_size, hidden_size, num_layers, bidirectional: as for ``init_lstm_weight``.

    Returns:
      A Python int.

    Example:
      >>> from ricci.experimental import rnn
      >>> rnn.get_num_params_in_lstm(2, 3, 1, False)
      84
    """
    return sum(
        prod(part.shape) for part in _parts(input_size, hidden_size, num_layers, bidirectional)
    )


def init_lstm_weight(
    rng: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Random weights, uniform between plus and minus ``1 / sqrt(hidden_size)``.

    Args:
      rng: a random key.
      input_size, hidden_size: the numbers of features of the input and of the hidden state.
      num_layers: the number of layers.
      bidirectional: whether each layer runs in both directions.

    Returns:
      A vector of float32.

    Example:
      >>> from ricci import random
      >>> from ricci.experimental import rnn
      >>> rnn.init_lstm_weight(random.key(0), 2, 3, 1, False).shape
      (84,)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = sqrt(1.0 / hidden_size)
    return uniform(rng, (count,), np.float32, -bound, bound)


def check_weights(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Convert a vector of weights to an array.

    Raises:
      ValueError: if it has another size than the layers need.
    """
    weights = jnp.asarray(weights)
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if weights.shape != (count,):
        raise ValueError(
            f"an LSTM of these sizes has {count} weights in one vector, but the weights have the "
            f"shape {weights.shape}. Create them with init_lstm_weight."
        )
    return weights


def _split(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Iterator[tuple[_Part, Array]]:
    weights = check_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    start = 0
    for part in _parts(input_size, hidden_size, num_layers, bidirectional):
        end = start + prod(part.shape)
        yield part, weights[start:end]
        start = end


def unpack_lstm_weights(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[_ByLayer, _ByLayer, _ByLayer, _ByLayer]:
    """Unpack a vector of weights into matrices and biases.

    Args:
      weights: the vector of weights, see ``init_lstm_weight``.
      input_size, hidden_size, num_layers, bidirectional: as for ``init_lstm_weight``.

    Returns:
      ``W_ih, W_hh, b_ih, b_hh``: by the number of the layer, or with two directions by twice that
      and one more for the backward direction, the matrices of the input and of the hidden state
      and their biases. Each has rows for the four gates.

    Raises:
      ValueError: if the vector has another size.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> W_ih, W_hh, b_ih, b_hh = rnn.unpack_lstm_weights(jnp.arange(16.0), 1, 1, 1, False)
      >>> W_ih[0].shape, b_hh[0].shape
      ((4, 1), (4,))
    """
    parts: dict[str, _ByLayer] = {"W_ih": {}, "W_hh": {}, "b_ih": {}, "b_hh": {}}
    for part, values in _split(weights, input_size, hidden_size, num_layers, bidirectional):
        parts[part.kind][part.layer] = values.reshape(part.shape)
    return parts["W_ih"], parts["W_hh"], parts["b_ih"], parts["b_hh"]


def swap_lstm_gates(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Exchange the last two gates of each part of the weights, for MIOpen's order.

    Args:
      weights, input_size, hidden_size, num_layers, bidirectional: as for ``unpack_lstm_weights``.

    Returns:
      A vector of weights.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> weights = jnp.arange(16.0)
      >>> rnn.swap_lstm_gates(weights, 1, 1, 1, False)[:4].tolist()
      [0.0, 1.0, 3.0, 2.0]
    """
    pieces: list[Array] = []
    for _, values in _split(weights, input_size, hidden_size, num_layers, bidirectional):
        first, second, third, fourth = jnp.split(values, 4)
        # cuDNN's order is input, forget, cell, output; MIOpen has the last two the other way round.
        pieces += [first, second, fourth, third]
    return jnp.concatenate(pieces)
