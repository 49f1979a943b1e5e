"""The optimizers, each written for a single array.

The state of all but ``sgd`` is the array followed by the accumulators.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import ricci_numpy as jnp

from ._schedules import make_schedule
from ._state import Schedule, optimizer

__all__ = ["adagrad", "adam", "adamax", "momentum", "nesterov", "rmsprop", "rmsprop_momentum"]
__all__ += ["sgd", "sm3"]

type _Functions = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
type _StepSize = float | Schedule


def _accumulating(number: int, step: Callable[..., Any]) -> _Functions:
    """A method with accumulators of the array's shape, all zero at first.

    Args:
      number: the number of accumulators.
      step: ``step(i, gradient, x, *accumulators)`` returns the next ``x`` and accumulators.
    """

    def init(x: Any) -> Any:
        return (x, *(jnp.zeros_like(x) for _ in range(number)))

    def update(i: Any, g: Any, state: Any) -> Any:
        return step(i, g, *state)

    def get_params(state: Any) -> Any:
        return state[0]

    return init, update, get_params


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where ``x`` is not positive."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(x), 0.0)


def _bias_correction(decay: float, i: Any, like: Any) -> Any:
    """The weight of ``i + 1`` values in a running mean that began with zeros.

    The exponent is an array: a Python number would be a constant, compiled again for each step.
    """
    return 1 - jnp.asarray(decay, like.dtype) ** jnp.asarray(i + 1)


@optimizer
def sgd(step_size: _StepSize) -> _Functions:
    """Gradient descent: ``x - step_size * g``.

    Args:
      step_size: a number, or a function of the step's number.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.sgd(0.5)
      >>> opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0)))
      2.0
    """
    size = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - size(i) * g, lambda x: x


@optimizer
def momentum(step_size: Schedule, mass: float) -> _Functions:
    """Gradient descent along a velocity that decays: ``v = mass * v + g``.

    Args:
      step_size: a number, or a function of the step's number.
      mass: the decay factor of the velocity.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.momentum(0.5, 0.9)
      >>> print(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0))))
      2.0

    Source: Polyak, "Some methods of speeding up the convergence of iteration methods", 1964.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, velocity: Any) -> Any:
        velocity = mass * velocity + g
        return x - size(i) * velocity, velocity

    return _accumulating(1, step)


@optimizer
def nesterov(step_size: Schedule, mass: float) -> _Functions:
    """Momentum that looks ahead: the step is along ``mass * v + g`` with the new velocity.

    Args:
      step_size: a number, or a function of the step's number.
      mass: the decay factor of the velocity.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.nesterov(0.5, 0.5)
      >>> print(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0))))
      1.5

    Source: Nesterov, "A method of solving a convex programming problem with convergence rate
    O(1/k^2)", 1983.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, velocity: Any) -> Any:
        velocity = mass * velocity + g
        # The step that the velocity would take next, from the gradient here: Nesterov's method
        # without a gradient at another point.
        return x - size(i) * (mass * velocity + g), velocity

    return _accumulating(1, step)


@optimizer
def adagrad(step_size: _StepSize, momentum: float = 0.9) -> _Functions:
    """AdaGrad: gradients over the root of the sum of past squares, with momentum.

    Args:
      step_size: a number, or a function of the step's number.
      momentum: the decay factor of the velocity.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.adagrad(1.0, momentum=0.0)
      >>> print(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0))))
      2.0

    Source: Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, squares: Any, velocity: Any) -> Any:
        squares = squares + jnp.square(g)
        velocity = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * velocity
        return x - size(i) * velocity, squares, velocity

    return _accumulating(2, step)


@optimizer
def rmsprop(step_size: _StepSize, gamma: float = 0.9, eps: float = 1e-8) -> _Functions:
    """RMSProp: gradients over the root of a running mean of their squares.

    Args:
      step_size: a number, or a function of the step's number.
      gamma: the decay factor of the mean.
      eps: added to the mean.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.rmsprop(0.1, gamma=0.75)
      >>> round(float(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0)))), 3)
      2.8

    Source: Tieleman and Hinton, "Lecture 6.5: RMSProp", 2012.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, squares: Any) -> Any:
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size(i) * g / jnp.sqrt(squares + eps), squares

    return _accumulating(1, step)


@optimizer
def rmsprop_momentum(
    step_size: _StepSize, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> _Functions:
    """``rmsprop`` with momentum; the velocity includes the step sizes.

    Args:
      step_size, gamma, eps: as for ``rmsprop``.
      momentum: the decay factor of the velocity.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.rmsprop_momentum(0.1, gamma=0.75)
      >>> round(float(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0)))), 3)
      2.8
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, squares: Any, velocity: Any) -> Any:
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + size(i) * g / jnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return _accumulating(2, step)


@optimizer
def adam(step_size: _StepSize, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> _Functions:
    """Adam: running means of gradients and of their squares, with bias correction.

    Args:
      step_size: a number, or a function of the step's number.
      b1, b2: the decay factors of the two means.
      eps: is added to the root of the second mean.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.adam(0.1)
      >>> round(float(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0)))), 3)
      2.9

    Source: Kingma and Ba, "Adam", 2015, algorithm 1.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, mean: Any, squares: Any) -> Any:
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        unbiased = mean / _bias_correction(b1, i, mean)
        spread = squares / _bias_correction(b2, i, mean)
        return x - size(i) * unbiased / (jnp.sqrt(spread) + eps), mean, squares

    return _accumulating(2, step)


@optimizer
def adamax(
    step_size: _StepSize, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> _Functions:
    """``adam`` with a decaying maximum of absolute gradients in place of the mean of squares.

    Args:
      step_size, b1, b2: as for ``adam``.
      eps: is added to the maximum.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.adamax(0.1)
      >>> round(float(opt.params_fn(opt.update_fn(0, 2.0, opt.init_fn(3.0)))), 3)
      2.9

    Source: Kingma and Ba, "Adam", 2015, algorithm 2.
    """
    size = make_schedule(step_size)

    def step(i: Any, g: Any, x: Any, mean: Any, largest: Any) -> Any:
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        unbiased = size(i) / _bias_correction(b1, i, mean) * mean
        return x - unbiased / (largest + eps), mean, largest

    return _accumulating(2, step)


@optimizer
def sm3(step_size: _StepSize, momentum: float = 0.9) -> _Functions:
    """SM3: ``adagrad`` with accumulators for each row and column, not each element.

    For an array of shape ``(m, n)`` it stores ``m + n`` bounds; an element's sum of squares is at
    most the smaller of the two bounds of its row and its column.

    Args:
      step_size: a number, or a function of the step's number.
      momentum: the decay factor of the velocity.

    Returns:
      An ``Optimizer``: the functions ``init``, ``update`` and ``get_params``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import optimizers
      >>> opt = optimizers.sm3(1.0, momentum=0.0)
      >>> print(opt.params_fn(opt.update_fn(0, jnp.array([2.0, 0.0]), opt.init_fn(jnp.ones(2)))))
      [0. 1.]

    Source: Anil, Gupta, Koren and Singer, "Memory-efficient adaptive optimization", 2019.
    """
    size = make_schedule(step_size)

    def init(x: Any) -> Any:
        # The shape is part of the state, so that states saved by JAX can be loaded.
        bounds = [jnp.zeros(n, x.dtype) for n in x.shape or ((),)]  # a scalar has one
        return x, jnp.zeros_like(x), bounds, x.shape

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity, bounds, shape = state
        dims = range(x.ndim)
        # Each dimension has a bound of the sum of squares for each of its positions. An element has
        # the least of those of its own positions, so that memory grows with the sum of the sizes,
        # not their product.
        others = [tuple(k for k in dims if k != dim) for dim in dims] or [()]
        spread = [jnp.expand_dims(b, axes) for b, axes in zip(bounds, others, strict=True)]
        squares = reduce(jnp.minimum, spread) + jnp.square(g)
        velocity = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * velocity
        return x - size(i) * velocity, velocity, [squares.max(axes) for axes in others], shape

    return init, update, lambda state: state[0]
