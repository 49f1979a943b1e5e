"""Layers that reduce windows of their inputs: the largest element, the sum, the mean."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp

from ._combinators import Layer

__all__ = ["AvgPool", "MaxPool", "SumPool"]

type _Padding = str | Sequence[tuple[int, int]]


def _pooling(
    reducer: Callable[..., Any],
    initial: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: _Padding,
    spec: str | None,
    mean: bool = False,
) -> Layer:
    """A layer that reduces windows in space.

    Args:
      reducer, initial: the reduction, as for ``reduce_window``.
      window_shape, strides, padding, spec: as for ``MaxPool``.
      mean: whether to divide by the number of inputs in each window, without padding.
    """
    rank = len(window_shape) + 2
    # Windows are of one element along examples and channels.
    beside = (0, rank - 1) if spec is None else tuple(sorted(map(spec.index, "NC")))
    window = _with_ones(window_shape, beside)
    steps = _with_ones(strides or (1,) * len(window_shape), beside)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        pads = _pads(input_shape, window, steps, padding)
        return tuple(
            (n + sum(pad) - w) // step + 1
            for n, pad, w, step in zip(input_shape, pads, window, steps, strict=True)
        ), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        pads = _pads(inputs.shape, window, steps, padding)
        out = lax.reduce_window(inputs, initial, reducer, window, steps, pads)
        if not mean:
            return out
        # Padding does not count in a mean: each sum is divided by the number of elements in its
        # window, which is the same for all examples and channels.
        shape = [1 if dim in beside else n for dim, n in enumerate(inputs.shape)]
        counts = lax.reduce_window(jnp.ones(shape, inputs.dtype), 0.0, lax.add, window, steps, pads)
        return out / counts

    return init_fun, apply_fun


def _with_ones(sizes: Sequence[int], positions: Sequence[int]) -> tuple[int, ...]:
    """Insert the size 1 at positions, given in increasing order."""
    padded = list(sizes)
    for position in positions:
        padded.insert(position, 1)
    return tuple(padded)


def _pads(
    shape: Sequence[int], window: Sequence[int], steps: Sequence[int], padding: _Padding
) -> Sequence[tuple[int, int]]:
    """The low and high padding of each dimension."""
    if isinstance(padding, str):
        return lax.padtype_to_pads(shape, window, steps, padding)
    return padding


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest input of each window.

    Args:
      window_shape: the sizes of a window in space.
      strides: the steps from window to window, 1 by default.
      padding: ``"SAME"``, ``"VALID"``, or the low and high padding of each dimension.
      spec: the order of the inputs' dimensions, such as ``"NCHW"``; batch first and channels last
        by default.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.MaxPool((2,), (2,))
      >>> print(apply((), jnp.arange(4.0).reshape(1, 4, 1)).ravel())
      [1. 3.]
    """
    return _pooling(lax.max, -np.inf, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window.

    Args:
      window_shape, strides, padding, spec: as for ``MaxPool``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.SumPool((2,), (2,))
      >>> print(apply((), jnp.arange(4.0).reshape(1, 4, 1)).ravel())
      [1. 5.]
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window, without its padding.

    Args:
      window_shape, strides, padding, spec: as for ``MaxPool``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.AvgPool((2,), (2,), padding="SAME")
      >>> print(apply((), jnp.arange(3.0).reshape(1, 3, 1)).ravel())
      [0.5 2. ]
    """
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, mean=True)
