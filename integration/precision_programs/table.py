"""The table of programs with a planted line that loses accuracy.

The line ends with ``# cause``; the other lines of a program round as well.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import ricci.numpy as jnp
from ricci import jit, value_and_grad


class Program(NamedTuple):
    """A program and its arguments.

    Attributes:
      name: names the row.
      call: what is called.
      source: the function with the line of the cause.
      args: its arguments.
    """

    name: str
    call: Callable[..., Any]
    source: Callable[..., Any]
    args: tuple[Any, ...]


PROGRAMS: list[Program] = []
# Programs whose report begins with another line, and that line's text.
OTHERS_FIRST = {
    # A norm hides elements much smaller than others; 1 - s is such where s rounds to 1.
    "complement plain": "s = 1 / (1 + jnp.exp(-x))",
    "complement jit": "s = 1 / (1 + jnp.exp(-x))",
    # Half of a square flushes more to 0 than the square.
    "squared_gradients plain": "v = sq * 0.5 + 0.0",
    "squared_gradients jit": "v = sq * 0.5 + 0.0",
    # Their last lines compute a part of the loss of digits: a constant and numbers that float16
    # flushes, a difference from 1.
    "log_of_softmax plain": "return jnp.log(p + 6e-8).mean()",
    "survival plain": "return (alive * 0.5 + 0.0)[-10:]",
    "unscaled_scores plain": "return nn.softmax(scores * 0.0009765625)",
    "unscaled_scores jit": "return nn.softmax(scores * 0.0009765625)",
    "nearly_parallel plain": "return jnp.sqrt(2 - 2 * jnp.minimum(cosine, 1.0))",
    "short_distance plain": "return 6371.0 * jnp.sqrt(jnp.maximum(2 - 2 * c, 0.0))",
    "short_distance jit": "return 6371.0 * jnp.sqrt(jnp.maximum(2 - 2 * c, 0.0))",
    "filter_covariance plain": "return (1 - gain) * p",
    # Another line has a larger effect than the planted one.
    "adam_step plain": "m = 0.9 * m + 0.1 * g",
    "adam_step jit": "m = 0.9 * m + 0.1 * g",
    "cumulative_log_odds plain": "p = nn.sigmoid(x + 5)",
    "cumulative_log_odds jit": "p = nn.sigmoid(x + 5)",
    "histogram_intersection plain": "cdf = jnp.cumsum(share, 1)",
    "histogram_intersection jit": "cdf = jnp.cumsum(share, 1)",
}
RUNS = {
    "plain": lambda f: f,
    "jit": jit,
    "grad": lambda f: value_and_grad(lambda *args: jnp.sum(f(*args))),
}


def planted(*args: Any, runs: str = "plain jit") -> Callable[..., Any]:
    """Add a row for each way to run a function."""

    def add(fun: Callable[..., Any]) -> Callable[..., Any]:
        for name in runs.split():
            PROGRAMS.append(Program(f"{fun.__name__} {name}", RUNS[name](fun), fun, args))
        return fun

    return add


def values(dtype: str, *shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Any:
    """Uniform random numbers."""
    numbers = np.random.RandomState(seed).uniform(low, high, shape)
    return numbers.astype(getattr(ml_dtypes, dtype, None) or dtype)


def normal(dtype: str, *shape: int, scale: float = 1.0, seed: int = 0) -> Any:
    """Normal random numbers."""
    numbers = scale * np.random.RandomState(seed).normal(size=shape)
    return numbers.astype(getattr(ml_dtypes, dtype, None) or dtype)
