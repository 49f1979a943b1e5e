"""Step sizes as functions of the number of a step."""

from typing import Any

import numpy as np

import ricci_numpy as jnp

from ._state import Schedule

__all__ = ["constant", "exponential_decay", "inverse_time_decay", "make_schedule"]
__all__ += ["piecewise_constant", "polynomial_decay"]


def constant(step_size: float) -> Schedule:
    """A constant step size.

    Args:
      step_size: the step size.

    Returns:
      A function from the number of a step to its size.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> optimizers.constant(0.1)(7)
      0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """``step_size * decay_rate ** (i / decay_steps)``.

    Args:
      step_size: the first step size.
      decay_steps: the number of steps between two factors.
      decay_rate: the factor.

    Returns:
      A function from the number of a step to its size.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> optimizers.exponential_decay(1.0, 10, 0.5)(20)
      0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """``step_size / (1 + decay_rate * i / decay_steps)``.

    Args:
      step_size, decay_steps, decay_rate: numbers.
      staircase: whether ``i / decay_steps`` is rounded down, so that the size changes every
        ``decay_steps`` steps only.

    Returns:
      A function from the number of a step to its size.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> optimizers.inverse_time_decay(1.0, 10, 1.0)(10)
      0.5
      >>> print(optimizers.inverse_time_decay(1.0, 10, 1.0, staircase=True)(9))
      1.0
    """

    def schedule(i: Any) -> Any:
        if staircase:
            return step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
        return step_size / (1 + decay_rate * i / decay_steps)

    return schedule


def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """From ``step_size`` to ``final_step_size`` in ``decay_steps`` steps, along a power.

    Args:
      step_size, final_step_size: the first and the last step size.
      decay_steps: the number of steps between them.
      power: the power; 1 is a line.

    Returns:
      A function from the number of a step to its size.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> schedule = optimizers.polynomial_decay(1.0, 4, 0.0)
      >>> [float(schedule(i)) for i in (0, 1, 4, 9)]
      [1.0, 0.75, 0.0, 0.0]
    """

    def schedule(i: Any) -> Any:
        fraction = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return fraction * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """``values[k]``, where ``k`` is the number of boundaries below the number of the step.

    Args:
      boundaries: numbers of steps, in increasing order.
      values: the step sizes, one more than boundaries.

    Returns:
      A function from the number of a step to its size.

    Raises:
      ValueError: if either is not one-dimensional, or their numbers do not match.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> schedule = optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.1])
      >>> [round(float(schedule(i)), 2) for i in (10, 11, 30)]
      [1.0, 0.5, 0.1]
    """
    bounds, sizes = jnp.array(boundaries), jnp.array(values)
    if not bounds.ndim == sizes.ndim == 1:
        raise ValueError(
            "piecewise_constant: boundaries and values must be one-dimensional, got shapes "
            f"{bounds.shape} and {sizes.shape}."
        )
    if sizes.shape[0] != bounds.shape[0] + 1:
        raise ValueError(
            "piecewise_constant: values must be one more than boundaries, got "
            f"{sizes.shape[0]} values and {bounds.shape[0]} boundaries."
        )

    def schedule(i: Any) -> Any:
        # The number of boundaries that were passed is the position of the value.
        return sizes[jnp.sum(i > bounds)]

    return schedule


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Return a schedule unchanged, or the constant schedule of a number.

    Args:
      scalar_or_schedule: a number, or a function from the number of a step to its size.

    Returns:
      A function from the number of a step to its size.

    Raises:
      TypeError: for an array that is not a scalar.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> optimizers.make_schedule(0.1)(3)
      0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "step_size must be a number or a function of the step's number, got a "
        f"{type(scalar_or_schedule).__name__} of shape {np.shape(scalar_or_schedule)}."
    )
