"""Long short-term memory (LSTM) layers over sequences of different lengths.

S. Hochreiter, J. Schmidhuber: Long short-term memory (1997); F. A. Gers et al.: Learning to forget
(2000) for the forget gate.

The weights are one vector, in cuDNN's order. First come the matrices, layer by layer and in each
layer direction by direction: that of the input and that of the hidden state, each with a row for
every gate of every unit. Then come the biases in the same order, two vectors for each layer and
direction. The gates are the input gate, the forget gate, the new cell and the output gate.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import vjp
from ricci_ir import Array, ArrayLike, api_boundary, composite
from ricci_nn._sigmoids import sigmoid
from ricci_random import bernoulli, fold_in, key, uniform

__all__ = ["get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_bwd", "lstm_fwd", "lstm_ref"]
__all__ += ["swap_lstm_gates", "unpack_lstm_weights"]

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


def _split(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Iterator[tuple[_Part, Array]]:
    weights = jnp.asarray(weights)
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if weights.shape != (count,):
        raise ValueError(
            f"an LSTM of these sizes has {count} weights in one vector, but the weights have the "
            f"shape {weights.shape}. Create them with init_lstm_weight."
        )
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


type _States = tuple[Array, Array, Array]


@api_boundary
def lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: lax.PrecisionLike = None,
) -> tuple[Array, Array, Array]:
    """Apply LSTM layers to a batch of sequences, on every platform.

    Args:
      x: the sequences, of shape ``(batch, length, input_size)``.
      h_0, c_0: the hidden states and cells to start from, of shape
        ``(layers, batch, hidden_size)``; with two directions there are twice as many layers, the
        backward direction following the forward one.
      weights: the vector of weights, see ``init_lstm_weight``.
      seq_lengths: the length of each sequence, integers of shape ``(batch,)``. Later elements of
        ``x`` are not used, and the outputs there are zero. For an empty sequence the final states
        are the initial ones.
      input_size, hidden_size: the numbers of features.
      num_layers: the number of layers. Each takes the outputs of the one before.
      dropout: the fraction of the outputs between layers that are set to zero, the others being
        scaled up. The mask is the same in each call.
      bidirectional: whether each layer also runs backward. The outputs are concatenated.
      precision: the precision of the products of matrices.

    Returns:
      The outputs of the last layer, of shape ``(batch, length, hidden_size)``, or twice as wide;
      and the hidden states and the cells at the end of each sequence, of the shape of ``h_0``.

    Raises:
      ValueError: if a shape is wrong.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> weights = jnp.full(rnn.get_num_params_in_lstm(1, 1, 1, False), 0.5)
      >>> x, start = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1))
      >>> y, h, c = rnn.lstm(x, start, start, weights, jnp.array([2]), 1, 1, 1, 0.0, False)
      >>> y.shape, h.shape, bool(y[0, 1, 0] == h[0, 0, 0])
      ((1, 2, 1), (1, 1, 1), True)
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    sizes = (input_size, hidden_size, bidirectional)
    return _check_and_run(x, h_0, c_0, parts, seq_lengths, *sizes, dropout, precision)


@api_boundary
def lstm_ref(
    x: Array,
    h_0: Array,
    c_0: Array,
    W_ih: dict[int, Array],
    W_hh: dict[int, Array],
    b_ih: dict[int, Array],
    b_hh: dict[int, Array],
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """``lstm`` with the matrices and biases that ``unpack_lstm_weights`` returns.

    Args:
      x, h_0, c_0, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional: as in
        ``lstm``.
      W_ih, W_hh, b_ih, b_hh: as ``unpack_lstm_weights`` returns them.

    Returns:
      As ``lstm``.

    Raises:
      NotImplementedError: if ``dropout`` is not 0, which is not supported.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> weights = jnp.full(rnn.get_num_params_in_lstm(1, 1, 1, False), 0.5)
      >>> parts = rnn.unpack_lstm_weights(weights, 1, 1, 1, False)
      >>> x, start = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1))
      >>> y, h, c = rnn.lstm_ref(x, start, start, *parts, jnp.array([2]), 1, 1, 1, 0.0, False)
      >>> y.shape
      (1, 2, 1)
    """
    if dropout:
        raise NotImplementedError(
            f"lstm_ref does not support dropout, got {dropout}. Call lstm, or pass 0."
        )
    parts = (W_ih, W_hh, b_ih, b_hh)
    sizes = (input_size, hidden_size, bidirectional)
    return _check_and_run(x, h_0, c_0, parts, seq_lengths, *sizes, 0.0, None)


def lstm_fwd(
    x: Array,
    h_0: Array,
    c_0: Array,
    w: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: lax.PrecisionLike,
) -> tuple[tuple[Array, Array, Array], Any]:
    """The results of ``lstm``, and the residuals for ``lstm_bwd``.

    Args:
      x, h_0, c_0, seq_lengths: as in ``lstm``.
      w: the vector of weights.
      input_size, hidden_size, num_layers, dropout, bidirectional, precision: as in ``lstm``.

    Returns:
      A tuple of the results and the residuals.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> weights = jnp.full(rnn.get_num_params_in_lstm(1, 1, 1, False), 0.5)
      >>> x, start = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1))
      >>> settings = 1, 1, 1, 0.0, False, None
      >>> results, residuals = rnn.lstm_fwd(x, start, start, weights, jnp.array([2]), *settings)
      >>> [r.shape for r in results]
      [(1, 2, 1), (1, 1, 1), (1, 1, 1)]
    """
    sizes = (input_size, hidden_size, num_layers, dropout, bidirectional, precision)
    run = lambda x, h, c, w: lstm(x, h, c, w, seq_lengths, *sizes)
    return vjp(run, x, h_0, c_0, w)


def lstm_bwd(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: lax.PrecisionLike,
    residuals: Any,
    gradients: tuple[Array, Array, Array],
) -> tuple[Array | None, ...]:
    """The cotangents of ``x``, ``h_0``, ``c_0`` and the weights; ``None`` for the lengths.

    Args:
      input_size, hidden_size, num_layers, dropout, bidirectional, precision: as in ``lstm``.
      residuals: the residuals that ``lstm_fwd`` returned.
      gradients: the cotangents of the three results.

    Returns:
      A tuple of the cotangents of ``lstm``'s first five arguments.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental import rnn
      >>> weights = jnp.full(rnn.get_num_params_in_lstm(1, 1, 1, False), 0.5)
      >>> x, start = jnp.ones((1, 2, 1)), jnp.zeros((1, 1, 1))
      >>> settings = 1, 1, 1, 0.0, False, None
      >>> results, residuals = rnn.lstm_fwd(x, start, start, weights, jnp.array([2]), *settings)
      >>> cotangents = rnn.lstm_bwd(*settings, residuals, results)
      >>> cotangents[0].shape, cotangents[3].shape
      ((1, 2, 1), (16,))
    """
    return *residuals(gradients), None


def _check_and_run(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    parts: tuple[Mapping[int, Array], ...],
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    bidirectional: bool,
    dropout: float,
    precision: lax.PrecisionLike,
) -> _States:
    arrays = jnp.asarray(x), jnp.asarray(h_0), jnp.asarray(c_0), jnp.asarray(seq_lengths)
    count = len(parts[0])
    _check_shapes(*arrays, input_size, (count, hidden_size))
    flat = [part[i] for part in parts for i in range(count)]
    directions = 2 if bidirectional else 1
    return _layers(*arrays, *flat, directions=directions, dropout=dropout, precision=precision)


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
) -> _States:
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


def _check_shapes(
    x: Array, h_0: Array, c_0: Array, lengths: Array, input_size: int, sizes: tuple[int, int]
) -> None:
    if x.ndim != 3 or x.shape[2] != input_size:
        raise ValueError(
            f"lstm: x must have the shape (batch, length, {input_size}), got {x.shape}."
        )
    expected = (sizes[0], x.shape[0], sizes[1])
    for name, state in (("h_0", h_0), ("c_0", c_0)):
        if state.shape != expected:
            raise ValueError(
                f"lstm: {name} must have the shape {expected}, a state for each layer and "
                f"direction and each sequence, got {state.shape}."
            )
    if lengths.shape != x.shape[:1] or not np.issubdtype(lengths.dtype, np.integer):
        raise ValueError(
            f"lstm: seq_lengths must be {x.shape[0]} integers, the length of each sequence, got "
            f"{lengths.dtype}{list(lengths.shape)}."
        )
