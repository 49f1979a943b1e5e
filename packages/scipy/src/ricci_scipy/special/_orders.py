"""Functions of all orders up to a maximum: Legendre's, spherical harmonics, Bessel's."""

from operator import index

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, canonicalize_dtype, dispatched, inlined, warn_user

from ._integrals import bernoulli_numbers

__all__ = ["bernoulli", "bessel_jn", "lpmn", "lpmn_values", "sph_harm_y"]


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B₀ to Bₙ, with B₁ = -1/2.

    Args:
      n: an integer from 0.

    Returns:
      A vector of ``n + 1`` floats.

    Raises:
      ValueError: if ``n`` is negative.

    Example:
      >>> from ricci.scipy import special
      >>> special.bernoulli(2)
      Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)

    Source: DLMF 24.2.
    """
    n = index(n)
    if n < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}.")
    return _bernoulli(n=n)


@inlined("bernoulli")
def _bernoulli(*, n: int) -> Array:
    return jnp.asarray(np.array([float(b) for b in bernoulli_numbers(n)]), dtype=float)


@dispatched("v", "n_iter")
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind of orders 0 to v.

    Args:
      z: real numbers.
      v: the highest order.
      n_iter: the order at which the recurrence starts; it must be well above ``v`` and |z|.

    Returns:
      An array with one more leading axis, of size v + 1.

    Raises:
      ValueError: if z is complex.

    Example:
      >>> from ricci.scipy import special
      >>> [round(float(y), 4) for y in special.bessel_jn(1.0, v=2)]
      [0.7652, 0.4401, 0.1149]

    Source: the backward recurrence of Miller, by ratios (DLMF 3.6(iii) and 10.74(iv)).
    """
    z, v, n_iter = jnp.asarray(z), index(v), index(n_iter)
    if jnp.iscomplexobj(z):
        raise ValueError(f"bessel_jn is defined for real numbers, got dtype {z.dtype.name}.")
    return _bessel_jn(z, v=v, n_iter=n_iter)


@inlined("bessel_jn")
def _bessel_jn(z: Array, *, v: int, n_iter: int) -> Array:
    z = z * 1.0
    orders = np.arange(max(n_iter, v + 1), 0, -1)
    weights = np.where(orders % 2 == 0, 2.0, 0.0)

    def step(state, row):
        ratio, total = state
        order, weight = (x.astype(z.dtype) for x in row)
        # The ratio of J at an order to J at the order below it, by the three-term recurrence, which
        # is stable from the highest order down.
        ratio = z / (2 * order - z * ratio)
        # The sum J₀ + 2 J₂ + 2 J₄ + … = 1, divided by J₀ and computed from the highest order down.
        return (ratio, ratio * (weight + total)), ratio

    zero = jnp.zeros_like(z)
    rows = (orders.astype(np.float32), weights.astype(np.float32))
    (_, total), ratios = lax.scan(step, (zero, zero), rows)
    factors = jnp.concatenate([(1 / (1 + total))[None], ratios[::-1][: max(v, 0)]])
    return jnp.cumprod(factors, axis=0)[: v + 1]


@inlined("legendre_table")
def _legendre_table(z: Array, *, n: int, normalized: bool) -> Array:
    """Pₗᵐ(z) for orders m and degrees l up to n: an array of shape (n + 1, n + 1, *z.shape)."""
    sine = jnp.sqrt(1 - z * z)
    orders = np.arange(n + 1)
    square = orders**2
    diagonal = [jnp.full_like(z, np.sqrt(0.25 / np.pi) if normalized else 1.0)]
    for m in range(1, n + 1):
        factor = np.sqrt((2 * m + 1) / (2 * m)) if normalized else 2 * m - 1
        diagonal.append(diagonal[-1] * sine * float(-factor))
    row = lambda x: np.asarray(x, z.dtype).reshape(-1, *(1,) * z.ndim)
    before = jnp.zeros((n + 1, *z.shape), z.dtype)
    last = jnp.stack([diagonal[0]] + [jnp.zeros_like(z)] * n)
    rows = [last]
    for degree in range(1, n + 1):
        below = orders < degree
        if normalized:
            gap = np.where(below, degree**2 - square, 1)
            first = np.sqrt((4 * degree**2 - 1) / gap)
            second = first * np.sqrt(
                np.maximum((degree - 1) ** 2 - square, 0) / max(4 * (degree - 1) ** 2 - 1, 1)
            )
        else:
            gap = np.where(below, degree - orders, 1)
            first, second = (2 * degree - 1) / gap, (degree + orders - 1) / gap
        # (l - m) P[l] = (2l - 1) z P[l-1] - (l + m - 1) P[l-2] (DLMF 14.10.3), for orders m below
        # the degree l.
        following = z[None] * row(first * below) * last - before * row(second * below)
        following = following + diagonal[degree][None] * row(orders == degree)
        before, last = last, following
        rows.append(last)
    return jnp.stack(rows, axis=1)


_REAL = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def _check_legendre(name: str, m: int, n: int, z: ArrayLike) -> Array:
    z = jnp.asarray(z)
    if z.dtype not in _REAL:
        raise TypeError(f"{name}: z must be of dtype float32 or float64, got {z.dtype.name}.")
    if z.ndim != 1:
        raise ValueError(f"{name}: z must be one-dimensional, got shape {z.shape}.")
    if m != n:
        raise NotImplementedError(
            f"{name}: the highest order and degree must be equal, got m={m} and n={n}. Take the "
            "larger for both, and slice the result."
        )
    return z


def _warn_deprecated(name: str) -> None:
    warn_user(f"{name} is deprecated, as in SciPy; sph_harm_y is not.", DeprecationWarning)


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of the first kind, and their derivatives.

    Args:
      m, n: the highest order and degree, which must be equal.
      z: a one-dimensional array of float32 or float64, within (-1, 1).

    Returns:
      The values and the derivatives, each of shape (m + 1, n + 1, len(z)).

    Raises:
      TypeError: for another dtype.
      ValueError: for an array of another rank.
      NotImplementedError: if ``m`` and ``n`` differ.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import special
      >>> [round(float(y), 3) for y in special.lpmn(1, 1, np.float32([0.6]))[0][:, 1, 0]]
      [0.6, -0.8]

    Source: DLMF 14.6 and 14.10.
    """
    _warn_deprecated("lpmn")
    z = _check_legendre("lpmn", m, n, z)
    return _legendre_and_derivatives(z, n=n)


@inlined("lpmn")
def _legendre_and_derivatives(z: Array, *, n: int) -> tuple[Array, Array]:
    values = _legendre_table(z, n=n, normalized=False)
    orders = np.arange(n + 1).reshape(-1, 1, 1)
    degrees = np.arange(n + 1).reshape(1, -1, 1)
    lower = jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
    weights = [x.astype(z.dtype) for x in (degrees + orders, degrees)]
    # (1 - z²) P'[l] = (l + m) P[l-1] - l z P[l].
    z = z.reshape(1, 1, -1)
    return values, (lower * weights[0] - z * weights[1] * values) / (1 - z * z)


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions of the first kind.

    Args:
      m, n: the highest order and degree, which must be equal.
      z: a one-dimensional array of float32 or float64, within [-1, 1].
      is_normalized: whether they are scaled as in spherical harmonics.

    Returns:
      An array of shape (m + 1, n + 1, len(z)).

    Raises:
      TypeError: for another dtype.
      ValueError: for an array of another rank.
      NotImplementedError: if ``m`` and ``n`` differ.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import special
      >>> [round(float(y), 3) for y in special.lpmn_values(1, 1, np.float32([0.6]), False)[:, 1, 0]]
      [0.6, -0.8]

    Source: DLMF 14.10.3; Holmes and Featherstone, J. Geodesy 76 (2002) 279.
    """
    _warn_deprecated("lpmn_values")
    z = _check_legendre("lpmn_values", m, n, z)
    return _legendre_table(z, n=n, normalized=bool(is_normalized))


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Spherical harmonics.

    Args:
      n, m: integers, the degree and the order, in arrays of one dimension or more.
      theta, phi: the polar and the azimuthal angle, in radians.
      diff_n: must be ``None``; derivatives come from ``grad`` and ``jvp``.
      n_max: the highest degree in ``n``, needed where ``n`` is traced.

    Returns:
      Complex numbers, of the shape that the arguments broadcast to.

    Raises:
      NotImplementedError: if ``diff_n`` is given.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import special
      >>> y = special.sph_harm_y(np.array([1]), np.array([0]), np.float32([0.0]), np.float32([0.0]))
      >>> round(float(y[0].real), 4)
      0.4886

    Source: DLMF 14.30.1.
    """
    if diff_n is not None:
        raise NotImplementedError(
            f"sph_harm_y: diff_n={diff_n!r} is not available. Differentiate with jvp or jacfwd."
        )
    if n_max is None:
        n_max = int(np.max(np.asarray(n)))
    return _harmonics(*map(jnp.asarray, (n, m, theta, phi)), n_max=index(n_max))


@inlined("sph_harm_y")
def _harmonics(n: Array, m: Array, theta: Array, phi: Array, *, n_max: int) -> Array:
    degree, signed_order, polar, azimuth = jnp.broadcast_arrays(n, m, theta, phi)
    if canonicalize_dtype(np.float64) == np.float64:
        polar, azimuth = polar.astype(np.float64), azimuth.astype(np.float64)
    order = jnp.abs(signed_order)
    table = _legendre_table(jnp.cos(polar * 1.0).ravel(), n=n_max, normalized=True)
    places = jnp.arange(table.shape[-1])
    legendre = table[order.ravel(), degree.ravel(), places].reshape(polar.shape)
    # A negative order gives the conjugate, times (-1)ᵐ.
    sign = jnp.where((signed_order < 0) & (order % 2 == 1), -1.0, 1.0).astype(legendre.dtype)
    azimuth = azimuth * 1.0
    angle = signed_order.astype(azimuth.dtype) * azimuth
    turn = jnp.exp(lax.complex(jnp.zeros_like(angle), angle))
    dtype = np.promote_types(legendre.dtype, turn.dtype)
    return (sign * legendre).astype(dtype) * turn.astype(dtype)
