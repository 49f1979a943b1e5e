"""Loops that draw random numbers until every element of an array has a sample.

The number of random numbers that an element needs is random, so the loop draws for all elements in
each round, until all are done. ``draw_until_done`` is that loop. Two kinds of samplers run in it:

- by rejection (von Neumann 1951): a number is proposed, and accepted with such a probability that
  the accepted numbers have the target distribution: ``accept_reject``. For discrete distributions
  with one mode the proposals are those of Hörmann: ``transformed_rejection``.
- by counting, which sums random waiting times until a limit is passed.
"""

from collections.abc import Callable

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, TupleRecord, iinfo, issubdtype
from ricci_pytree import tree_map
from ricci_random.keys._primitives import subkeys

from . import _exact_functions as exact
from ._parameters import float_info
from ._uniform import _uniform

_BATCHES = 64  # of pending samples, if all of them are


class Draws[V](TupleRecord):
    """The state of a sampler's loop.

    Attributes:
      key: the key for the next round.
      value: the current samples: an array, or a tuple of arrays.
      is_pending: a boolean for each sample, true if it needs another round.
      rounds: the number of completed rounds; ``None`` if it is not limited.
    """

    key: Array
    value: V
    is_pending: Array
    rounds: Array | None = None


def draw_until_done[V](
    step: Callable[[Array, V, Array], tuple[Array, V, Array]],
    start: tuple[Array, V, Array],
    limit: int | None = None,
) -> V:
    """Run rounds of a sampler until no sample is pending.

    Args:
      step: one round, from ``(key, value, is_pending)`` to the same of the next round.
      start: the arguments of the first round.
      limit: the maximum number of rounds; samples that are still pending keep their value.

    Returns:
      The last ``value``.
    """

    def goes_on(state: Draws[V]) -> Array:
        pending = jnp.any(state.is_pending) if state.is_pending.shape else state.is_pending
        if limit is None or state.rounds is None:
            return pending
        return lax.bitwise_and(pending, state.rounds < limit)

    def next_round(state: Draws[V]) -> Draws[V]:
        rounds = None if state.rounds is None else state.rounds + 1
        return Draws(*step(state.key, state.value, state.is_pending), rounds)

    rounds = None if limit is None else lax.full((), 0, np.int32)
    return lax.while_loop(goes_on, next_round, Draws(*start, rounds)).value


def most_rounds(dtype: np.dtype) -> int:
    """The maximum number of rounds of samplers of counts: the largest count of the dtype.

    Every sampler ends long before; this bounds the loop for parameters that reject all proposals.
    """
    greatest = iinfo(dtype).max if issubdtype(dtype, np.integer) else float_info(dtype).largest
    return int(min(float(greatest), np.iinfo(np.int32).max))


def accept_reject(
    propose: Callable[..., tuple[Array, Array]],
    key: Array,
    start: Array,
    keys: int,
    limit: int | None = None,
) -> Array:
    """Draw proposals until one is accepted for every sample.

    Args:
      propose: ``propose(*keys) -> (proposals, is_rejected)``: a number for each sample, and whether
        it is rejected.
      key: the key of all proposals.
      start: an array of the samples' shape and dtype: the values if the limit is reached.
      keys: the number of keys that ``propose`` takes.
      limit: the maximum number of proposals for a sample.
    """

    def step(key: Array, value: Array, is_pending: Array) -> tuple[Array, Array, Array]:
        key, *round_keys = subkeys(key, 1 + keys)
        proposals, is_rejected = propose(*round_keys)
        if limit is None and not start.shape:  # one sample: the loop ends when it is accepted
            return key, proposals, is_rejected
        # A finished sample may accept again while the loop continues for others. That number
        # has the distribution as well, and taking it gives the same bits as JAX's samplers.
        value = lax.select(is_rejected, value, proposals)
        return key, value, lax.bitwise_and(is_pending, is_rejected)

    return draw_until_done(step, (key, start, lax.full_like(start, True, np.bool_)), limit)


def draw_pending(
    draw: Callable[..., Array], operands: tuple[object, ...], values: Array, is_pending: Array
) -> Array:
    """Draw the few samples of a large array that are pending, in batches of a smaller size.

    A loop over the whole array would compute as much for each of them as for all.

    Args:
      draw: ``draw(*operands)``, the samples of a batch.
      operands: pytrees of arrays with a row for each sample.
      values: the samples, a vector.
      is_pending: whether they are to be replaced.
    """
    size = values.shape[0]
    batch = size // _BATCHES
    number = lax.cumsum(lax.convert_element_type(is_pending, np.int32))
    # The positions of pending samples in turn. The last batch is filled up by one past the end,
    # which is not written; and so are the others' ranks.
    order = jnp.full(size + batch, size, np.int32)
    rank = jnp.where(is_pending, number - 1, order.size)
    order = order.at[rank].set(lax.iota(np.int32, size), mode="drop")

    def next_batch(state: tuple[Array, Array]) -> tuple[Array, Array]:
        start, values = state
        at = lax.dynamic_slice(order, (start,), (batch,))
        rows = tree_map(lambda x: jnp.take(x, at, axis=0, mode="clip"), operands)
        return start + batch, values.at[at].set(draw(*rows), mode="drop")

    start = (lax.full((), 0, np.int32), values)
    return lax.while_loop(lambda state: state[0] < number[-1], next_batch, start)[1]


class TableMountain(TupleRecord):
    """The hat function of Hörmann's transformed rejection, in the letters of his papers.

    A uniform number u in [-1/2, 1/2) becomes the proposal k = floor((2 a / (1/2 - |u|) + b) u + c).
    The proposals' density is flat in the middle, and falls like 1 / k² on both sides.

    Attributes:
      a, b: the heaviness of the tails, and the width of the flat top.
      c: the centre, as terms that are added in this order, which determines the rounding.
      alpha: a second uniform number is multiplied by it to be compared with the density.
      v_r: for u in the middle, proposals with a second uniform number up to this always lie below
        the density.
    """

    a: Array
    b: Array
    c: tuple[Array | float, ...]
    alpha: Array
    v_r: Array


def transformed_rejection(
    key: Array,
    hat: TableMountain,
    log_density: Callable[[Array], Array],
    is_outside: Callable[[Array, Array, Array], Array],
    like: Array,
    limit: int,
) -> Array:
    """Samples of a discrete distribution with one mode.

    Args:
      key: the key of all samples.
      hat: fitted to the distribution, with the parameters of each sample.
      log_density: the logarithm of the probability of integers ``k``, up to a constant that
        ``hat.alpha`` takes into account.
      is_outside: ``is_outside(k, us, v)``, with us = 1/2 - |u|: where a proposal is rejected
        before its density is computed.
      like: an array of the samples' shape and dtype.
      limit: the maximum number of proposals for a sample; if it is reached, the sample is -1.

    Source: Hörmann, "The transformed rejection method for generating Poisson random variables",
    1993, and "The generation of binomial random variates", 1993.
    """

    def propose(u_key: Array, v_key: Array) -> tuple[Array, Array]:
        u = _uniform(u_key, 0.0, 1.0, shape=like.shape, dtype=like.dtype) - 0.5
        v = _uniform(v_key, 0.0, 1.0, shape=like.shape, dtype=like.dtype)
        us = 0.5 - lax.abs(u)
        k = (2 * hat.a / us + hat.b) * u
        for term in hat.c:
            k = k + term
        k = lax.floor(k)
        # In this rectangle every proposal lies below the density (Hörmann's squeeze).
        in_squeeze = lax.bitwise_and(us >= 0.07, v <= hat.v_r)
        # The hat's slope at k turns v into a number that is uniform below the hat.
        log_v = exact.log(v * hat.alpha / (hat.a / (us * us) + hat.b))
        inside = lax.bitwise_not(is_outside(k, us, v))
        below_density = lax.bitwise_and(inside, log_v <= log_density(k))
        return k, lax.bitwise_not(lax.bitwise_or(in_squeeze, below_density))

    return accept_reject(propose, key, lax.full_like(like, -1), 2, limit)
