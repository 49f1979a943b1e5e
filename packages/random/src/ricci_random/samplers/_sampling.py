"""The common part of samplers' public functions: check the arguments and draw."""

from collections.abc import Callable

import numpy as np

from ricci_ir import Array, ArrayLike, DTypeLike, ShapeLike
from ricci_random.keys._checks import check_key

from ._parameters import Sharding, as_shape, constrain_sharding, float_dtype, sampled_shape


def sample(
    name: str,
    draw: Callable[..., Array],
    key: ArrayLike,
    parameters: tuple[ArrayLike, ...],
    shape: ShapeLike | None,
    dtype: DTypeLike | None,
    out_sharding: Sharding = None,
    kind: type = np.floating,
    **settings: object,
) -> Array:
    """Check the arguments of a sampler and draw samples.

    Args:
      name: the sampler's name, for messages.
      draw: ``draw(key, *parameters, shape=shape, dtype=dtype, **settings)``.
      key: the user's key.
      parameters: the distribution's parameters, which must broadcast to ``shape``.
      shape: the result's shape; ``None`` for the broadcast shape of the parameters.
      dtype: the result's dtype; ``None`` for the default float dtype.
      out_sharding: the result's sharding.
      kind: what the dtype must be: ``np.floating``, or ``np.inexact`` to allow complex ones.
      **settings: other keyword arguments of ``draw``.

    Raises:
      TypeError: if ``key`` is not a key, or ``shape`` is not a shape.
      ValueError: if ``key`` is an array of keys, the parameters do not broadcast to ``shape``, or
        the dtype is of another kind.
    """
    key = check_key(key, name)
    result_dtype = float_dtype(name, dtype, kind)
    if parameters:
        sizes = sampled_shape(name, shape, *parameters)
    else:
        sizes = as_shape(shape)  # pyright: ignore[reportArgumentType]  # as_shape raises for None
    samples = draw(key, *parameters, shape=sizes, dtype=result_dtype, **settings)
    return samples if out_sharding is None else constrain_sharding(samples, out_sharding)
