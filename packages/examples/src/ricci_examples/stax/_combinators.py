"""The type of layers, and their combinators.

Combinators are serial, parallel, and layers that duplicate, add or concatenate inputs.
"""

from collections.abc import Callable
from typing import Any

import ricci_numpy as jnp
import ricci_random as random
from ricci_ir import Array

__all__ = ["FanInConcat", "FanInSum", "FanOut", "parallel", "serial", "shape_dependent"]

type Shapes = Any  # a shape, or for several inputs a sequence of shapes
type InitFun = Callable[[Array, Shapes], tuple[Shapes, Any]]
type ApplyFun = Callable[..., Any]
type Layer = tuple[InitFun, ApplyFun]


def _keys(rng: Any, number: int) -> Any:
    """Split a key for several layers; ``None`` for each layer without a key."""
    return (None,) * number if rng is None else random.split(rng, number)


def stateless(shape_of: Callable[[Any], Any], fun: Callable[[Any], Any]) -> Layer:
    """A layer without parameters, given the shape and the value of its result."""

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        return shape_of(input_shape), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs)

    return init_fun, apply_fun


def serial(*layers: Layer) -> Layer:
    """Compose layers; the parameters are the list of the layers' parameters.

    Args:
      *layers: the layers, each a pair ``(init, apply)``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> double, root = (lambda key, shape: (shape, 2.0), lambda params, x, **_: params * x), (
      ...     lambda key, shape: (shape, ()), lambda params, x, **_: jnp.sqrt(x))
      >>> init, apply = stax.serial(double, root)
      >>> shape, params = init(ricci.random.key(0), (-1,))
      >>> params, float(apply(params, 8.0))
      ([2.0, ()], 4.0)
    """
    init_funs, apply_funs = [init for init, _ in layers], [apply for _, apply in layers]

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        params = []
        for init in init_funs:
            rng, key = random.split(rng)
            input_shape, layer_params = init(key, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        # Layers that draw numbers, as dropout does, get a key each.
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for apply, layer_params, key in zip(apply_funs, params, keys, strict=True):
            inputs = apply(layer_params, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Apply layers to separate inputs, such as those of ``FanOut``.

    Inputs, outputs and their shapes are sequences with an entry for each layer.

    Args:
      *layers: the layers, each a pair ``(init, apply)``.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> triple = lambda key, shape: (shape, 3.0), lambda params, x, **_: params * x
      >>> init, apply = stax.parallel(triple, triple)
      >>> shapes, params = init(ricci.random.key(0), [(-1,), (-1,)])
      >>> apply(params, [1.0, 2.0])
      [3.0, 6.0]
    """
    init_funs, apply_funs = [init for init, _ in layers], [apply for _, apply in layers]

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        keys = random.split(rng, len(layers))
        shapes_and_params = [
            init(key, shape) for init, key, shape in zip(init_funs, keys, input_shape, strict=True)
        ]
        return tuple(shape for shape, _ in shapes_and_params), tuple(
            params for _, params in shapes_and_params
        )

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        rows = zip(apply_funs, params, inputs, keys, strict=True)
        return [apply(layer_params, x, rng=key, **kwargs) for apply, layer_params, x, key in rows]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that depends on the shape of its inputs.

    Args:
      make_layer: returns the layer for a shape.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> halved = lambda shape: (lambda key, shape: (shape, ()), lambda _, x, **__: x / shape[0])
      >>> init, apply = stax.shape_dependent(halved)
      >>> print(apply((), jnp.ones(4)))
      [0.25 0.25 0.25 0.25]
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        # The layer is made again in each call: its functions depend on the shape alone.
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun


def FanOut(num: int) -> Layer:
    """Duplicate the input ``num`` times.

    Args:
      num: the number of copies.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.FanOut(2)
      >>> init(None, (-1, 3)), apply((), 1.0)
      (([(-1, 3), (-1, 3)], ()), [1.0, 1.0])
    """
    return stateless(lambda shape: [shape] * num, lambda inputs: [inputs] * num)


FanInSum: Layer = stateless(lambda shapes: shapes[0], sum)


def FanInConcat(axis: int = -1) -> Layer:
    """Concatenate the inputs along an axis.

    Args:
      axis: the axis.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.FanInConcat()
      >>> init(None, [(-1, 3), (-1, 4)])[0]
      (-1, 7)
      >>> print(apply((), [jnp.ones(1), jnp.zeros(2)]))
      [1. 0. 0.]
    """

    def joined(shapes: Any) -> tuple[int, ...]:
        first = shapes[0]
        at = axis % len(first)
        return (*first[:at], sum(shape[at] for shape in shapes), *first[at + 1 :])

    return stateless(joined, lambda inputs: jnp.concatenate(inputs, axis))
