"""Long short-term memory (LSTM) layers over sequences of different lengths."""

from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import vjp
from ricci_ir import Array, ArrayLike, api_boundary

from ._cudnn_lstm import cudnn_lstm
from ._lstm_layers import LSTMSizes, lstm_of_parts, lstm_of_vector
from ._lstm_weights import check_weights

__all__ = ["lstm", "lstm_bwd", "lstm_fwd", "lstm_ref"]


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

    On NVIDIA GPUs they are cuDNN's, for float32 without dropout. Elsewhere they are loops.

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
    sizes = LSTMSizes(input_size, hidden_size, num_layers, bidirectional)
    weights = check_weights(weights, *sizes)
    x, h_0, c_0, lengths = _checked(x, h_0, c_0, seq_lengths, sizes)
    operands = (x, h_0, c_0, weights, lengths)
    states = cudnn_lstm(*operands, sizes, dropout, precision)
    return lstm_of_vector(*operands, sizes, dropout, precision) if states is None else states


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
    sizes = LSTMSizes(input_size, hidden_size, num_layers, bidirectional)
    arrays = _checked(x, h_0, c_0, seq_lengths, sizes)
    return lstm_of_parts(*arrays, (W_ih, W_hh, b_ih, b_hh), bidirectional, 0.0, None)


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


def _checked(
    x: ArrayLike, h_0: ArrayLike, c_0: ArrayLike, seq_lengths: ArrayLike, sizes: LSTMSizes
) -> tuple[Array, Array, Array, Array]:
    """Convert the operands to arrays and check their shapes."""
    arrays = jnp.asarray(x), jnp.asarray(h_0), jnp.asarray(c_0), jnp.asarray(seq_lengths)
    directions = 2 if sizes.bidirectional else 1
    states = (directions * sizes.num_layers, sizes.hidden_size)
    _check_shapes(*arrays, sizes.input_size, states)
    return arrays


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
