"""LSTM layers as loops over sequences.

S. Hochreiter, J. Schmidhuber: Long short-term memory (1997); F. A. Gers et al.: Learning to forget
(2000) for the forget gate.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, composite
from ricci_nn._sigmoids import sigmoid
from ricci_random import bernoulli, fold_in, key

from ._lstm_weights import unpack_lstm_weights

__all__ = ["LSTMSizes", "States", "lstm_of_vector", "lstm_of_parts"]

type States = tuple[Array, Array, Array]


class LSTMSizes(NamedTuple):
    """The sizes of LSTM layers: see ``init_lstm_weight``."""

    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool


def lstm_of_vector(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    lengths: Array,
    sizes: LSTMSizes,
    dropout: float,
    precision: lax.PrecisionLike,
) -> States:
    """Run layers whose weights are one vector, on arrays of the right shapes."""
    parts = unpack_lstm_weights(weights, *sizes)
    arrays = (x, h_0, c_0, lengths)
    return lstm_of_parts(*arrays, parts, sizes.bidirectional, dropout, precision)


def lstm_of_parts(
    x: Array,
    h_0: Array,
    c_0: Array,
    lengths: Array,
    parts: Sequence[Mapping[int, Array]],
    bidirectional: bool,
    dropout: float,
    precision: lax.PrecisionLike,
) -> States:
    """Run layers whose weights are matrices and biases, on arrays of the right shapes."""
    flat = [part[i] for part in parts for i in range(len(parts[0]))]
    options = {"directions": 2 if bidirectional else 1, "dropout": dropout, "precision": precision}
    return _layers(x, h_0, c_0, lengths, *flat, **options)


@composite("lstm")
def _layers(
    x: Array,
    h_0: Array,
    c_0: Array,
    lengths: Array,
    *flat: Array,
    directions: int,
    dropout: float,
    precision: lax.PrecisionLike,
) -> States:
    """Run all layers; ``flat`` has the matrices and biases of each kind in turn."""
    count = len(flat) // 4
    # Time comes first, for scan.
    outputs = jnp.swapaxes(x, 0, 1)
    present = (jnp.arange(outputs.shape[0])[:, None] < lengths)[..., None]
    hidden: list[Array] = []
    cells: list[Array] = []
    for first in range(0, count, directions):
        if first and dropout:
            outputs = _dropout(outputs, first // directions, dropout)
        layer_outputs: list[Array] = []
        for i in range(first, first + directions):
            # One of each kind: ``flat`` has ``count`` of each of the four kinds in turn.
            weights = flat[i::count]
            run = partial(_direction, outputs, present, *weights, precision=precision)
            h, c, ys = run(h_0[i], c_0[i], backward=i > first)
            hidden.append(h)
            cells.append(c)
            layer_outputs.append(ys)
        outputs = jnp.concatenate(layer_outputs, axis=-1)
    return jnp.swapaxes(outputs, 0, 1), jnp.stack(hidden), jnp.stack(cells)


def _direction(
    xs: Array,
    present: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array,
    b_hh: Array,
    h: Array,
    c: Array,
    *,
    backward: bool,
    precision: lax.PrecisionLike,
) -> tuple[Array, Array, Array]:
    """Run one layer in one direction; return the last hidden state and cell, and all outputs.

    Backward, a sequence begins at its end: the state does not change before.
    """
    # The input's contribution to the gates is one product for all times.
    input_gates = jnp.matmul(xs, w_ih.T, precision=precision) + b_ih + b_hh

    def step(state: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[Any, Array]:
        h, c = state
        gates, is_present = row
        gates = gates + jnp.matmul(h, w_hh.T, precision=precision)
        enter, forget, new, leave = jnp.split(gates, 4, axis=-1)
        cell = sigmoid(forget) * c + sigmoid(enter) * jnp.tanh(new)
        output = sigmoid(leave) * jnp.tanh(cell)
        # Behind a sequence's end the state is passed on. In reverse, where padding comes first, the
        # initial state so reaches the last element.
        after = jnp.where(is_present, output, h), jnp.where(is_present, cell, c)
        return after, jnp.where(is_present, output, jnp.zeros_like(output))

    (h, c), ys = lax.scan(step, (h, c), (input_gates, present), reverse=backward)
    return h, c, ys


def _dropout(outputs: Array, layer: int, rate: float) -> Array:
    # A constant key for each layer: the forward and the backward pass draw the same mask.
    mask = bernoulli(fold_in(key(0), layer), 1.0 - rate, outputs.shape)
    return jnp.where(mask, outputs / (1.0 - rate), jnp.zeros_like(outputs))
