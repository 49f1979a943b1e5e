"""The gamma distribution: a primitive whose samples have derivatives by the shape parameter.

The approximate method is a formula without loops.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import not_linear, per_operand_with_result
from ricci_batching import batched_at, vmap
from ricci_ir import Array, ArrayLike, DTypeLike, Primitive, Shape, ShapeLike, TupleRecord
from ricci_random.keys._derivation import key_dtype
from ricci_random.keys._key_arguments import staged
from ricci_random.keys._key_type import CIPHERS
from ricci_random.keys._primitives import move_dim_of_keys, random_split_p, subkey, subkeys
from ricci_stablehlo import Lowering, Value, of_function, traced

from . import _exact_functions as exact
from ._inversion import _exponential
from ._native_draws import lower_gamma_proposals
from ._normal import _normal
from ._parameters import Sharding, float_info, sample, to_shape
from ._rejection import accept_reject, draw_pending
from ._uniform import _uniform

__all__ = ["gamma", "loggamma", "random_gamma_p"]

# The formula is accurate for large shape parameters, so it is used with a + 4. A gamma number for
# a + 4, multiplied by u^(1/(a + i)) for i = 0 .. 3 with uniform numbers u, is one for a.
_RAISED = 4
# The cube root of a gamma number over its mean is nearly normal (Wilson and Hilferty). It is a
# polynomial in the normal number x. The rows hold the coefficients of the powers of x, highest
# first, each as a polynomial in 1 / (2 a), lowest power first.
_COEFFICIENTS = (
    (9.780499e-05, -0.001450117, 0.001565326),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.0001348028, 0.01128186, 0.02277679),
    (0.4713941, 0.02607083, -0.008986007),
    (1.0, -0.2237368, -0.01513904),
)


# The fewest numbers that are drawn in batches: that takes half of the time, or a third of that of
# 10⁶, but the compiler takes about a second longer.
_LEAST_SIZE = 65536


@staged
def _gamma_approx(key: Array, a: Array, *, shape: Shape, dtype: np.dtype, log_space: bool) -> Array:
    """Draw approximate gamma numbers, inside a sampler; computed in float32 at least."""
    work = np.dtype("float32") if dtype.itemsize < 4 else dtype
    a = to_shape(lax.convert_element_type(a, work), shape)
    normal_key, raise_key = subkeys(key)
    # The cube root of a gamma number with a large shape is nearly normal (Wilson and Hilferty); the
    # polynomial corrects the rest. The shape is raised by _RAISED first, and lowered again: a gamma
    # number of shape a + 1 times u^(1/a) has the shape a.
    raised = a + float(_RAISED)
    twice = 2.0 * raised
    x = _normal(normal_key, shape=shape, dtype=work)
    step, x = 1.0 / twice, x * lax.rsqrt(twice)
    coefficients = [c0 + step * (c1 + step * c2) for c0, c1, c2 in _COEFFICIENTS]
    root = coefficients[0]
    for coefficient in coefficients[1:]:
        root = root * x + coefficient
    log_number = exact.log(raised) + 3.0 * exact.log(lax.max(root, float_info(work).tiny))
    offsets = lax.reshape(lax.iota(work, _RAISED), (_RAISED,) + (1,) * len(shape))
    log_u = lax.neg(_exponential(raise_key, shape=(_RAISED, *shape), dtype=work))
    log_number += lax.reduce_sum(log_u / (lax.expand_dims(a, (0,)) + offsets), (0,))
    number = log_number if log_space else exact.exp(log_number)
    return number if dtype == work else lax.convert_element_type(number, dtype)


class _Scales(TupleRecord):
    """Numbers that depend on the parameter a alone.

    Attributes:
      is_large: whether a ≥ 1.
      d, c: a - 1/3 and 1 / sqrt(9 d); of a + 1, where a is not large.
      inverse: 1 / a.
    """

    is_large: Array
    d: Array
    c: Array
    inverse: Array

    @classmethod
    def of(cls, a: Array) -> "_Scales":
        is_large = lax.ge(a, float_info(a.dtype)(1))
        d = lax.select(is_large, a, a + 1.0) - 1.0 / 3.0
        return cls(is_large, d, (1.0 / 3.0) / lax.sqrt(d), 1.0 / a)


def _draw(key: Array, scales: _Scales, log_space: bool) -> Array:
    """One number of the gamma distribution, by the method of Marsaglia and Tsang.

    For a normal number x, d (1 + c x)³ with d = a - 1/3 and c = 1 / sqrt(9 d) nearly has the
    distribution, if a ≥ 1; rejection makes it exact. For a < 1 a number for a + 1 is multiplied
    by u^(1/a), where u is uniform.
    """
    key, boost_key = subkeys(key)
    one = lax.full_like(scales.c, 1)

    def propose(normal_key, uniform_key):
        normal = partial(_propose, scales.c)
        x = accept_reject(normal, normal_key, lax.full_like(one, 0), keys=1)
        return _decide(x, uniform_key, scales.c, scales.d)

    v = accept_reject(propose, key, one, keys=2)
    return _number(v, _boost(boost_key, scales, log_space), scales, log_space)


@ir.composite("gamma_proposals", lower=lower_gamma_proposals)
def _first_draws(keys: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """The number v of the first proposal of ``_draw`` for each key, and whether it is rejected."""

    def first_draw(key: Array, c: Array, d: Array) -> tuple[Array, Array]:
        key = subkey(key, 2, 0)
        x, is_negative = _propose(c, subkey(subkey(key, 3, 1), 2, 1))
        v, is_rejected = _decide(x, subkey(key, 3, 2), c, d, _rounded)
        return v, lax.bitwise_or(is_negative, is_rejected)

    return vmap(first_draw)(keys, c, d)


def _propose(c: Array, key: Array) -> tuple[Array, Array]:
    """A normal number x, and whether 1 + c x, which must be positive, is not."""
    # A normal number is a product with a constant. Rounding it keeps XLA of jaxlib 0.11 from
    # multiplying that constant by c, where c is a constant, too.
    x = _rounded(_normal(key, shape=(), dtype=c.dtype))
    return x, lax.le(1.0 + x * c, float_info(c.dtype)(0))


def _rounded(x: Array) -> Array:
    """Return a product unchanged, where the compiler would not round it before its next use."""
    infinity = lax.full_like(x, np.inf)
    return lax.select(lax.lt(x, infinity), x, x + infinity)


def _decide(
    x: Array, key: Array, c: Array, d: Array, rounded: Callable[[Array], Array] = lambda x: x
) -> tuple[Array, Array]:
    """The number v = (1 + c x)³, and whether it is rejected; if not, d v is a gamma number.

    In loops the compiler rounds a product before it adds it; elsewhere ``rounded`` must, as the
    last place decides about some numbers of a million.
    """
    v = 1.0 + x * c
    x_squared, v = x * x, rounded(v * v * v)
    u = _uniform(key, 0.0, 1.0, shape=(), dtype=x.dtype)
    # The squeeze, a polynomial below the density, accepts as well. Comparisons with NaN are false
    # and reject nothing, so the loop ends for such parameters.
    beyond_squeeze = lax.ge(u, 1.0 - 0.0331 * (x_squared * x_squared))
    product = rounded(d * ((1.0 - v) + exact.log(v)))
    beyond_density = lax.ge(exact.log(u), x_squared * 0.5 + product)
    return v, lax.bitwise_and(beyond_squeeze, beyond_density)


def _boost(key: Array, scales: _Scales, log_space: bool) -> Array:
    """The factor u^(1/a), or its logarithm; 1 if a ≥ 1."""
    dtype = scales.d.dtype
    number = float_info(dtype)
    if log_space:
        log_u = lax.neg(_exponential(key, shape=(), dtype=dtype))
        no_boost = lax.bitwise_or(scales.is_large, lax.eq(log_u, number(0)))
        return lax.select(no_boost, number(0), log_u * scales.inverse)
    u = 1.0 - _uniform(key, 0.0, 1.0, shape=(), dtype=dtype)
    return lax.select(scales.is_large, number(1), exact.pow(u, scales.inverse))


def _number(v: Array, boost: Array, scales: _Scales, log_space: bool) -> Array:
    if log_space:
        return exact.log(scales.d) + exact.log(v) + boost
    return scales.d * v * boost


def _draw_many(keys: Array, scales: _Scales, log_space: bool) -> Array:
    """Draw a number for each key of a large array, the same as ``_draw``.

    Nearly all first proposals are accepted, and are computed without a loop; the few others are
    drawn in batches. Boosts are computed if a parameter is below 1.
    """
    v, is_pending = _first_draws(keys, scales.c, scales.d)

    def boosts():
        return vmap(lambda key, each: _boost(subkey(key, 2, 1), each, log_space))(keys, scales)

    none = lax.full_like(v, 0 if log_space else 1)
    boost = lax.cond(lax.reduce_and(scales.is_large, (0,)), lambda: none, boosts)
    draw = vmap(partial(_draw, log_space=log_space))
    first = _number(v, boost, scales, log_space)
    return draw_pending(draw, (keys, scales), first, is_pending)


# random_gamma: a number for each entry of the array of shape parameters, whose leading dimensions
# are those of the array of keys


def _random_gamma_aval(keys, a, *, log_space):
    if not ir.issubdtype(keys.dtype, ir.prng_key):
        raise TypeError(f"random_gamma takes keys, got {keys.str_short()}. Make them with key().")
    if not ir.issubdtype(a.dtype, np.floating):
        raise TypeError(f"random_gamma: the parameters must be floats, got {a.str_short()}.")
    if a.shape[: keys.ndim] != keys.shape:
        raise TypeError(
            f"random_gamma: the parameters' leading dimensions must be those of the keys, got "
            f"{a.str_short()} for {keys.str_short()}."
        )
    return ir.ShapedArray(a.shape, a.dtype)


def _slope(t, sample, keys, a, *, log_space):
    # The derivative of a sample by ``a`` at a fixed quantile (Figurnov et
    # al.). The derivative of a logarithm is that of the sample over the sample.
    if not log_space:
        return lax.mul(t, lax.random_gamma_grad(a, sample))
    sample = lax.exp(sample)
    tiny = lax.full_like(sample, float_info(sample.dtype).tiny)
    sample = lax.select(lax.eq(sample, float_info(sample.dtype)(0)), tiny, sample)
    return lax.mul(t, lax.div(lax.random_gamma_grad(a, sample), sample))


def _random_gamma_batch(axis, args, dims, *, log_space):
    keys, a = args
    if dims[0] is None:
        keys = lax.broadcast(keys, (axis.size,))
    else:
        keys = move_dim_of_keys(keys, dims[0])
    a = batched_at(a, dims[1], axis, 0)
    return random_gamma_p.bind(keys, a, log_space=log_space), 0


def _random_gamma(keys, a, *, log_space, in_batches=False):
    each = prod(a.shape[keys.ndim :])
    keys = random_split_p.bind(lax.reshape(keys, (keys.size,)), shape=(each,))
    keys = lax.reshape(keys, (a.size,))
    a, shape = lax.reshape(a, (a.size,)), a.shape
    scales = _Scales.of(a)
    draw = partial(_draw, log_space=log_space)
    if any(keys.dtype == key_dtype(name) for name in CIPHERS):
        if in_batches and a.size >= _LEAST_SIZE:
            return lax.reshape(_draw_many(keys, scales, log_space), shape)
        return lax.reshape(vmap(draw)(keys, scales), shape)
    # Other generators may draw a whole batch from its first key in each round of these loops, so
    # the samples are drawn sequentially.
    return lax.reshape(lax.map(lambda each: draw(*each), (keys, scales)), shape)


def _random_gamma_lower(ctx: Lowering, keys: Value, a: Value, *, log_space: bool) -> Value:
    # Devices would draw different numbers of batches.
    in_batches = ctx.platform == "cpu" and ctx.module.num_partitions == 1
    in_batches = in_batches and ir.is_static_shape(a.shape)
    return traced(partial(_random_gamma, in_batches=in_batches))(ctx, keys, a, log_space=log_space)


random_gamma_p: Primitive = ir.define(
    "random_gamma",
    sharding=ir.by_element,
    abstract_eval=_random_gamma_aval,
    jvp=per_operand_with_result(None, _slope),
    transpose=not_linear,
    batch=_random_gamma_batch,
    lower=of_function(_random_gamma, _random_gamma_lower),
)
ir.key_roles[random_gamma_p] = ir.KeyRole.DRAW


@staged
def _gamma(key: Array, a: Array, *, shape: Shape, dtype: np.dtype, log_space: bool) -> Array:
    a = to_shape(lax.convert_element_type(a, dtype), shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


type Method = Literal["exact", "approximate"]
_METHODS = {"exact": _gamma, "approximate": _gamma_approx}


def gamma_rule(name: str, method: str) -> Callable[..., Array]:
    """Look up the staged function that draws gamma numbers by a method.

    Raises:
      ValueError: if the method is unknown.
    """
    if method not in _METHODS:
        raise ValueError(f"{name}: method={method!r} is unknown; it is 'exact' or 'approximate'.")
    return _METHODS[method]


def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: Method = "exact",
    out_sharding: Sharding = None,
) -> Array:
    """Numbers of the gamma distribution, of density x^(a - 1) exp(-x) / Γ(a) for x > 0.

    Samples have implicit derivatives by ``a``: those at a fixed quantile of the
    distribution.

    Args:
      key, dtype, out_sharding: as for ``uniform``.
      a: the shape parameter, a positive scalar or an array that broadcasts to ``shape``.
      shape: the result's shape; by default that of ``a``.
      method: ``"exact"``, or ``"approximate"``: a formula without a loop, with the formula's
        derivatives.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError: if ``key`` is not a key.
      ValueError: if the method is unknown, ``dtype`` is not a float dtype, or ``a`` does not
        broadcast to ``shape``.

    Example:
      >>> from ricci import random
      >>> random.gamma(random.key(0), 2.0, (3,)).shape
      (3,)

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; Figurnov,
    Mohamed and Mnih, "Implicit reparameterization gradients", 2018.
    """
    draw = gamma_rule("gamma", method)
    return sample("gamma", draw, key, (a,), shape, dtype, out_sharding, log_space=False)


def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: Method = "exact",
    out_sharding: Sharding = None,
) -> Array:
    """Logarithms of gamma numbers, accurate also for numbers that are too small for the dtype.

    Args:
      key, a, shape, dtype, method, out_sharding: as for ``gamma``.

    Returns:
      A float array of shape ``shape``.

    Raises:
      TypeError, ValueError: as ``gamma`` does.

    Example:
      >>> from ricci import random
      >>> random.loggamma(random.key(0), 1e-3, (3,)).shape
      (3,)

    Source: as ``gamma``.
    """
    draw = gamma_rule("loggamma", method)
    return sample("loggamma", draw, key, (a,), shape, dtype, out_sharding, log_space=True)
