"""Convolutions, with their transposes; the parameters of each are ``(W, b)``."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_lax as lax
import ricci_random as random
from ricci_nn.initializers import Initializer, glorot_normal, normal

from ._combinators import Layer

__all__ = ["Conv", "Conv1DTranspose", "ConvTranspose", "GeneralConv", "GeneralConvTranspose"]

type _Numbers = tuple[str, str, str]
type _Padding = str | Sequence[tuple[int, int]]

_IMAGES = ("NHWC", "HWIO", "NHWC")
_SERIES = ("NHC", "HIO", "NHC")
_biases = normal(1e-6)


def _convolution(
    shape_of: Callable[..., Any],
    convolve: Callable[..., Any],
    numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: _Padding,
    W_init: Initializer | None,
    b_init: Initializer,
) -> Layer:
    """A layer of a convolution function and its shape function."""
    inputs_spec, filter_spec, outputs_spec = numbers
    steps = strides or (1,) * len(filter_shape)
    make_W = W_init or glorot_normal(filter_spec.index("I"), filter_spec.index("O"))

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        # The filter's letters are O and I for the channels, and others for its spatial dimensions,
        # in order.
        spatial = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[inputs_spec.index("C")]}
        W_shape = [channels[c] if c in channels else next(spatial) for c in filter_spec]
        # A bias for each channel, which broadcasts over images and positions.
        b_shape = [out_chan if c == "C" else 1 for c in outputs_spec]
        for_W, for_b = random.split(rng)
        W, b = make_W(for_W, W_shape), b_init(for_b, b_shape)
        return shape_of(input_shape, W_shape, steps, padding, numbers), (W, b)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return convolve(inputs, W, steps, padding, dimension_numbers=numbers) + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _biases,
) -> Layer:
    """A convolution of inputs with any order of dimensions.

    Args:
      dimension_numbers: the dimensions of inputs, filters and outputs in their orders, such as
        ``("NHWC", "HWIO", "NHWC")``: batch, channels, channels in and out of the filter, space.
      out_chan: the number of channels of the outputs.
      filter_shape: the sizes of the filter in space.
      strides: the steps of the filter, 1 by default.
      padding: ``"SAME"``, ``"VALID"``, or the low and high padding of each dimension of space.
      W_init, b_init: the initializers of the filter and the biases.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.GeneralConv(("NCH", "OIH", "NCH"), 8, (3,))
      >>> shape, (W, b) = init(ricci.random.key(0), (-1, 4, 16))
      >>> shape, W.shape, b.shape
      ((-1, 8, 14), (8, 4, 3), (1, 8, 1))
    """
    return _convolution(
        lax.conv_general_shape_tuple,
        lax.conv_general_dilated,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def GeneralConvTranspose(
    dimension_numbers: _Numbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _biases,
) -> Layer:
    """A transposed convolution of inputs with any order of dimensions.

    Args:
      dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init: as for
        ``GeneralConv``; the outputs are larger than the inputs by the strides.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.GeneralConvTranspose(("NCH", "OIH", "NCH"), 8, (2,), (2,))
      >>> init(ricci.random.key(0), (-1, 4, 16))[0]
      (-1, 8, 32)
    """
    return _convolution(
        lax.conv_transpose_shape_tuple,
        lax.conv_transpose,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def Conv(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _biases,
) -> Layer:
    """A convolution of images, with their channels last.

    Args:
      out_chan, filter_shape, strides, padding, W_init, b_init: as for ``GeneralConv``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.Conv(8, (3, 3), padding="SAME")
      >>> init(ricci.random.key(0), (-1, 28, 28, 1))[0]
      (-1, 28, 28, 8)
    """
    return GeneralConv(_IMAGES, out_chan, filter_shape, strides, padding, W_init, b_init)


def ConvTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _biases,
) -> Layer:
    """A transposed convolution of images, with their channels last.

    Args:
      out_chan, filter_shape, strides, padding, W_init, b_init: as for ``GeneralConv``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.ConvTranspose(8, (2, 2), (2, 2))
      >>> init(ricci.random.key(0), (-1, 14, 14, 1))[0]
      (-1, 28, 28, 8)
    """
    return GeneralConvTranspose(_IMAGES, out_chan, filter_shape, strides, padding, W_init, b_init)


def Conv1DTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _biases,
) -> Layer:
    """A transposed convolution of series, with their channels last.

    Args:
      out_chan, filter_shape, strides, padding, W_init, b_init: as for ``GeneralConv``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.Conv1DTranspose(8, (2,), (2,))
      >>> init(ricci.random.key(0), (-1, 14, 1))[0]
      (-1, 28, 8)
    """
    return GeneralConvTranspose(_SERIES, out_chan, filter_shape, strides, padding, W_init, b_init)
