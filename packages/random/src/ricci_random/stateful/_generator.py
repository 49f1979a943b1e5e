"""Stateful generators of random numbers, which count their calls instead of taking keys."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, DTypeLike, api_boundary, context, eval_trace, get_aval
from ricci_lax.refs import new_ref
from ricci_pytree import register_dataclass
from ricci_random.keys import fold_in, key, split
from ricci_random.samplers import normal, randint, uniform

__all__ = ["StatefulPRNG", "stateful_rng"]

type _Size = int | Sequence[int] | None


@final
@dataclass(frozen=True)
class StatefulPRNG:
    """A stateful generator of random numbers: a key, and a reference that counts the draws.

    Each draw uses the key with the count folded in, and counts. A generator is a pytree with two
    leaves, so that functions under ``jit`` take it as an argument; ``vmap`` maps over the result of
    ``split``.

    Args:
      _base_key: the key, or an array of keys.
      _counter: a reference to an integer, or to an array of the shape of the keys.

    Example:
      >>> from ricci.experimental import random
      >>> rng = random.stateful_rng(5)
      >>> bool(rng.normal() == rng.normal())
      False
    """

    _base_key: Array
    _counter: Any

    @api_boundary
    def key(self, shape: _Size = ()) -> Array:
        """A new key for functions of ``random``, or an array of them.

        Args:
          shape: the shape of the array.

        Returns:
          A key, or an array of keys of that shape.

        Raises:
          ValueError: for a result of ``split``, which represents several generators.
        """
        copies = get_aval(self._base_key).shape  # pyright: ignore[reportAttributeAccessIssue]
        if copies:
            raise ValueError(
                f"this generator was split and represents {copies} generators, one for each of its "
                "keys. Map over them with vmap; spawn returns a list of separate ones."
            )
        count = self._counter[...]
        self._counter[...] = count + 1
        new = fold_in(self._base_key, count)
        return split(new, _shape(shape)) if shape else new

    def random(self, size: _Size = None, dtype: DTypeLike = float) -> Array:
        """Numbers uniform in [0, 1).

        Args:
          size: the shape; ``None`` for a single number.
          dtype: the dtype, of floats.
        """
        return uniform(self.key(), _shape(size), dtype)

    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: _Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Numbers uniform between two bounds.

        Args:
          low, high: the bounds, arrays that broadcast with each other and with ``size``.
          size: the shape; by default that of the bounds.
          dtype: the dtype, of floats.
        """
        return uniform(self.key(), _shape(size, low, high), dtype, low, high)

    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: _Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Normally distributed numbers.

        Args:
          loc, scale: the mean and the standard deviation, arrays that broadcast.
          size: the shape; by default that of ``loc`` and ``scale``.
          dtype: the dtype, of floats.
        """
        drawn = normal(self.key(), _shape(size, loc, scale), dtype)
        cast = lambda x: jnp.asarray(x).astype(drawn.dtype)
        return cast(loc) + cast(scale) * drawn

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: _Size = None,
        *,
        dtype: DTypeLike = int,
    ) -> Array:
        """Integers uniform in [low, high), or in [0, low) without ``high``.

        Args:
          low, high: the bounds, arrays that broadcast.
          size: the shape; by default that of the bounds.
          dtype: the dtype, of integers.
        """
        if high is None:
            low, high = 0, low
        return randint(self.key(), _shape(size, low, high), low, high, dtype)

    @api_boundary
    def split(self, num: int | Sequence[int]) -> "StatefulPRNG":
        """Generators for ``vmap``: one object whose leaves have leading dimensions.

        Args:
          num: the number of generators, or their shape.
        """
        shape = (num,) if isinstance(num, int) else tuple(num)
        return StatefulPRNG(split(self.key(), shape), new_ref(np.zeros(shape, np.int32)))

    @api_boundary
    def spawn(self, n_children: int) -> "list[StatefulPRNG]":
        """A list of separate generators."""
        keys = split(self.key(), n_children)
        return [StatefulPRNG(keys[i], new_ref(np.int32(0))) for i in range(n_children)]


register_dataclass(StatefulPRNG, ("_base_key", "_counter"), ())


def _shape(size: _Size, *params: ArrayLike) -> tuple[int, ...]:
    """The shape to draw: ``size``, else that of the parameters."""
    if size is None:
        return jnp.broadcast_shapes(*map(jnp.shape, params))
    return (size,) if isinstance(size, int | np.integer) else tuple(size)


@api_boundary
def stateful_rng(seed: ArrayLike | None = None, *, impl: Any = None) -> StatefulPRNG:
    """Create a stateful generator of random numbers, which is used without keys.

    Args:
      seed: an integer; by default a random number of the operating system.
      impl: the generator, as for ``key``.

    Returns:
      A ``StatefulPRNG``.

    Raises:
      TypeError: if the seed is not an integer, or missing inside of a transformed function.

    Example:
      >>> from ricci.experimental import random
      >>> rng = random.stateful_rng(0)
      >>> rng.uniform(size=3).shape, rng.integers(10).dtype.name
      ((3,), 'int32')
    """
    if seed is None:
        if context.trace is not eval_trace:
            raise TypeError(
                "stateful_rng: give a seed where a function is traced: a random one would be a "
                "constant of the compiled function."
            )
        seed = secrets.randbits(31)
    return StatefulPRNG(key(seed, impl=impl), new_ref(np.int32(0)))
