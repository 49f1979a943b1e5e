"""The form in which a library's model is given to Ricci's tools: see `run_tools.py`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LAYERS, TIME, WIDTH = 3, 6, 16


class Model(NamedTuple):
    """A model's training, written as its library's guide does.

    Attributes:
      arguments: returns new arguments of a step, with a batch of so many rows.
      step: a training step, jitted by the library's own function where it has one.
      fails: a step that raises an `ArithmeticError` after the model was called.
      cause: the function whose line with `# cause` gives a NaN for a batch with a negative number.
      state: returns what the user's objects among the arguments hold.
      layers: whether the layers are a Python loop over parameters of equal types.
      batch: `axis=` of the data among a step's arguments for `bucketed`.
    """

    arguments: Callable[[int], tuple[Any, ...]]
    step: Callable[..., Any]
    fails: Callable[..., Any]
    cause: Callable[..., Any]
    state: Callable[[tuple[Any, ...]], Any]
    batch: Any
    layers: bool = True


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a batch of positive inputs, and targets."""
    random = np.random.RandomState(rows)
    x = random.uniform(0.5, 2, (rows, TIME, WIDTH)).astype(np.float32)
    return x, random.normal(size=(rows, TIME, WIDTH)).astype(np.float32)


def poisoned(arguments: tuple[Any, ...], inputs: np.ndarray) -> tuple[Any, ...]:
    """Return a step's arguments with a negative number in the batch."""
    negative = inputs.copy()
    negative[0, 0, 0] = -1
    return tuple(negative if x is inputs else x for x in arguments)
