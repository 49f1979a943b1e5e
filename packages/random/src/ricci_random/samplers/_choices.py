"""Random choices: categories, elements of an array, and orders of elements."""

from functools import partial
from math import prod
from operator import index
from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import canonical_axis, resolved_by, with_out_sharding
from ricci_random.keys._key_arguments import check_key, is_key, staged
from ricci_random.keys._primitives import random_bits_p, subkeys, type_of

from . import _exact_functions as exact
from ._inversion import _gumbel, gumbel_mode
from ._native_draws import lower_shuffle, shuffle_rounds
from ._parameters import Sharding, as_shape, broadcasts_to, float_info
from ._uniform import _randint, _uniform

__all__ = ["categorical", "choice", "permutation"]


def categorical(
    key: ir.ArrayLike,
    logits: ir.ArrayLike,
    axis: int = -1,
    shape: ir.ShapeLike | None = None,
    replace: bool = True,
    mode: Literal["high", "low"] | None = None,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Numbers of the categorical distribution, of probabilities proportional to ``exp(logits)``.

    Args:
      key, out_sharding: as for ``uniform``.
      logits: unnormalized log-probabilities, of any shape.
      axis: the axis of the categories.
      shape: the result's shape, which must end with that of ``logits`` without ``axis``; by
        default just that.
      replace: whether the leading dimensions of the result are drawn independently; if false,
        no category is drawn twice.
      mode: as for ``gumbel``.

    Returns:
      An integer array: indices along ``axis``.

    Raises:
      ValueError: if the shapes are incompatible, or more are to be drawn without replacement than
        there are categories.
      TypeError: if ``key`` is not a key.
      IndexError: if ``logits`` have no such axis.

    For probabilities ``p`` pass their logarithms; for a probability of 0 ``log(p)`` is -inf
    and that category is never drawn.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> logits = jnp.log(jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
      >>> random.categorical(random.key(0), logits).tolist()
      [1, 0]
      >>> random.categorical(random.key(0), logits, shape=(5, 2)).shape
      (5, 2)

    See also:
      `choice`, which takes probabilities.

    Source: the Gumbel-max trick (Gumbel 1954), without replacement: Kool, van Hoof and Welling,
    "Stochastic beams and where to find them", 2019.
    """
    key = check_key(key, "categorical")
    gumbels = gumbel_mode(mode)
    logs: ir.Array = jnp.asarray(logits)
    if not ir.issubdtype(logs.dtype, np.floating):
        logs = lax.convert_element_type(logs, ir.result_type(float, logs))
    if not -logs.ndim <= axis < logs.ndim:
        raise IndexError(
            f"categorical: axis {axis} is out of bounds for logits of shape {logs.shape}"
        )
    axis %= logs.ndim
    batch = logs.shape[:axis] + logs.shape[axis + 1 :]
    sizes = batch if shape is None else as_shape(shape)
    if not broadcasts_to(batch, sizes):
        raise ValueError(
            f"categorical: the shape {sizes} of the samples must end with the batch dimensions "
            f"{batch} of the logs."
        )
    extra = sizes[: len(sizes) - len(batch)]
    if replace:
        # Samples get leading dimensions, so the axis of the categories is counted from the end.
        back = axis - logs.ndim
        full = (*sizes[: len(sizes) + 1 + back], logs.shape[axis], *sizes[len(sizes) + 1 + back :])
        # Gumbel-max: the index of the largest sum of a logit and Gumbel noise is of the categorical
        # distribution.
        noise = _gumbel(key, shape=full, dtype=logs.dtype, mode=gumbels)
        if extra:
            logs = lax.expand_dims(logs, tuple(range(len(extra))))
        return resolved_by(out_sharding, lambda: jnp.argmax(lax.add(noise, logs), axis=back))
    noise = _gumbel(key, shape=logs.shape, dtype=logs.dtype, mode=gumbels)
    count = prod(extra)
    if count > logs.shape[axis]:
        raise ValueError(
            f"categorical: {count} different categories were asked for, out of "
            f"{logs.shape[axis]}. Ask for fewer, or pass replace=True."
        )
    _, categories = lax.top_k(lax.add(logs, noise), count, axis=axis)
    order = (axis, *(d for d in range(logs.ndim) if d != axis))
    return with_out_sharding(lax.reshape(categories, sizes, order), out_sharding)


@partial(staged, lower=lower_shuffle)
def _shuffle(key: ir.Array, x: ir.Array, *, axis: int) -> ir.Array:
    for _ in range(shuffle_rounds(x.size)):
        key, subkey = subkeys(key)
        order = random_bits_p.bind(subkey, bit_width=32, shape=x.shape)
        _, x = lax.sort_key_val(order, x, dimension=axis)
    return x


def _shuffled_positions(key: ir.Array, count: int) -> ir.Array:
    """The integers below a number in random order; in 32 bits, as far as they fit, while sorted."""
    is_narrow = ir.surely_at_most(count, np.iinfo(np.int32).max)
    dtype = np.dtype("int32") if is_narrow else ir.dtype(int)
    order = _shuffle(key, lax.iota(dtype, count), axis=0)
    return lax.convert_element_type(order, ir.dtype(int))


def permutation(
    key: ir.ArrayLike,
    x: ir.ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Sharding = None,
) -> ir.Array:
    """Shuffle the elements of an array along an axis, or those of ``arange(x)``.

    Args:
      key, out_sharding: as for ``uniform``.
      x: an array, or an integer ``n`` for ``arange(n)``.
      axis: the axis that is shuffled.
      independent: whether each vector along the axis gets a separate order.

    Returns:
      An array of the shape of ``x``, or of shape ``(x,)``.

    Raises:
      TypeError: if ``x`` is a scalar but not an integer.
      ValueError: if the array has no such axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> random.permutation(random.key(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
      >>> table = jnp.array([[1, 10], [2, 20], [3, 30]])
      >>> rows = random.permutation(random.key(0), table)
      >>> bool((rows[:, 1] == 10 * rows[:, 0]).all())  # rows stay whole
      True

    See also:
      `choice` with ``replace=False``: a part of the elements.
    """
    key = check_key(key, "permutation")
    aval = type_of(x)
    axis = canonical_axis(axis, max(aval.ndim, 1))
    if not aval.ndim:
        if not ir.issubdtype(aval.dtype, np.integer):
            raise TypeError(
                "permutation: x is a scalar that is not an integer. Give an integer n, to permute "
                "arange(n), or an array."
            )
        count = max(index(x), 0)  # pyright: ignore[reportArgumentType]  # an integer, as checked
        return resolved_by(out_sharding, lambda: _shuffled_positions(key, count))
    if not is_key(x) and (independent or aval.ndim == 1):
        array: ir.Array = x  # pyright: ignore[reportAssignmentType]  # it has dimensions
        return resolved_by(out_sharding, lambda: _shuffle(key, array, axis=axis))
    indices = _shuffled_positions(key, aval.shape[axis])
    return resolved_by(out_sharding, lambda: _take(x, indices, axis, unique=True))


def _take(x: ir.ArrayLike, indices: ir.Array, axis: int, unique: bool) -> ir.Array:
    if is_key(x):
        return x[(slice(None),) * axis + (indices,)]
    return jnp.take(x, indices, axis=axis, unique_indices=unique)


def choice(
    key: ir.ArrayLike,
    a: ir.ArrayLike,
    shape: ir.ShapeLike = (),
    replace: bool = True,
    p: ir.ArrayLike | None = None,
    axis: int = 0,
    mode: Literal["high", "low"] | None = None,
) -> ir.Array:
    """Draw random elements of an array, or of ``arange(a)``.

    Args:
      key: as for ``uniform``.
      a: an array, or an integer ``n`` for ``arange(n)``.
      shape: the shape of the draws, which replaces ``axis`` in the result.
      replace: whether an element may be drawn more than once.
      p: the probability of each element, by default all equal.
      axis: the axis of the elements.
      mode: as for ``gumbel``; used where draws without replacement have probabilities.

    Returns:
      An array of the dtype of ``a``, whose dimension ``axis`` is replaced by ``shape``.

    Raises:
      ValueError: if ``a`` is empty, more elements are to be drawn without replacement than
        it has, or ``p`` is of another length.

    Without replacement all elements are shuffled, or for ``p`` given a number each, even if few
    are drawn. A few positions of very many are drawn faster by ``randint``, if duplicates are
    allowed.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import random
      >>> random.choice(random.key(0), 5, (3,), replace=False)
      Array([0, 1, 4], dtype=int32)
      >>> rows = jnp.array([[1, 10], [2, 20], [3, 30]])
      >>> random.choice(random.key(1), rows, (2,)).shape
      (2, 2)
      >>> random.choice(random.key(1), rows, (2,), p=jnp.array([0.0, 1.0, 0.0])).tolist()
      [[2, 20], [2, 20]]

    See also:
      ``permutation``: all elements; ``categorical``, which takes logits.

    Source: numpy.random.Generator.choice.
    """
    key = check_key(key, "choice")
    sizes = as_shape(shape)
    aval = type_of(a)
    if not aval.ndim:
        a = n_inputs = int(a)  # pyright: ignore[reportArgumentType]  # an error if complex
        is_range, axis = True, 0
    else:
        axis = canonical_axis(axis, aval.ndim)
        n_inputs, is_range = aval.shape[axis], False
    n_draws = prod(sizes)
    if n_draws == 0:
        if is_range:
            return lax.full(sizes, 0, ir.dtype(int))
        return lax.full((*aval.shape[:axis], *sizes, *aval.shape[axis + 1 :]), 0, aval.dtype)
    if n_inputs <= 0:
        raise ValueError("choice: a is empty, so nothing can be drawn from it.")
    if not replace and n_draws > n_inputs:
        raise ValueError(
            f"choice: {n_draws} different samples were asked for, out of {n_inputs}. Ask for "
            "fewer, or pass replace=True."
        )
    if p is None and not replace:
        drawn = permutation(key, a, axis)
        drawn_shape = drawn.shape
        stop = (*drawn_shape[:axis], n_draws, *drawn_shape[axis + 1 :])
        drawn = lax.slice(drawn, (0,) * len(drawn_shape), stop)
        return lax.reshape(drawn, (*drawn_shape[:axis], *sizes, *drawn_shape[axis + 1 :]))
    if p is None:
        indices = _randint(key, 0, n_inputs, shape=sizes, dtype=ir.dtype(int))
        return indices if is_range else _take(a, indices, axis, unique=False)
    indices = _draw(key, p, sizes, n_inputs, n_draws, replace, mode)
    return indices if is_range else _take(a, indices, axis, unique=not replace)


def _draw(
    key: ir.Array,
    p: ir.ArrayLike,
    sizes: ir.Shape,
    n_inputs: int,
    n_draws: int,
    replace: bool,
    mode: str | None,
) -> ir.Array:
    """Draw indices with probabilities ``p``.

    With replacement they are drawn by inversion. Without, they are where the logarithms of ``p``
    with Gumbel noise are largest (see ``categorical``).
    """
    weights: ir.Array = jnp.asarray(p)
    if not ir.issubdtype(weights.dtype, np.floating):
        weights = lax.convert_element_type(weights, ir.result_type(float, weights))
    if weights.shape != (n_inputs,):
        raise ValueError(
            f"choice: p of shape {weights.shape} must be a vector of {n_inputs} probabilities, one "
            "for each entry of a along axis."
        )
    if replace:
        total = jnp.cumsum(weights)
        last = lax.squeeze(lax.slice_in_dim(total, n_inputs - 1, n_inputs), (0,))
        u = _uniform(key, 0.0, 1.0, shape=sizes, dtype=weights.dtype)
        # 1 - u lies in (0, 1]. So the first element whose cumulative weight reaches the point has a
        # positive weight.
        points = lax.mul(last, lax.sub(float_info(weights.dtype).one, u))
        return lax.convert_element_type(jnp.searchsorted(total, points), ir.dtype(int))
    noise = _gumbel(key, shape=(n_inputs,), dtype=weights.dtype, mode=gumbel_mode(mode))
    # The indices of the largest sums of log-weights and Gumbel noise are a sample without
    # replacement (Gumbel top-k; Kool et al., 2019).
    _, indices = lax.top_k(lax.add(noise, exact.log(weights)), n_draws)
    return lax.reshape(lax.convert_element_type(indices, ir.dtype(int)), sizes)
