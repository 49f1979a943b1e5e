"""jaxwt, interpax and jaxkd: wavelets, interpolation, nearest neighbours."""

import interpax
import jaxkd
import jaxwt

import jax
import jax.numpy as jnp

X = jnp.linspace(0, 1, 20)
F = jnp.sin(5 * X)
AT = jnp.array([0.13, 0.5, 0.87])
SIGNAL = jnp.sin(jnp.arange(64.0))
METHODS = ["linear", "cubic", "cubic2", "catmull-rom", "monotonic", "akima"]


def transformed(wavelet):
    parts = jaxwt.wavedec(SIGNAL, wavelet, level=2)
    return parts, jaxwt.waverec(parts, wavelet)


def energy(signal):
    return jnp.sum(jaxwt.wavedec(signal, "db3", level=2)[0] ** 2)


def neighbours():
    points = jax.random.normal(jax.random.PRNGKey(0), (100, 3))
    return jaxkd.query_neighbors(jaxkd.build_tree(points), points[:5], k=4)


def spline():
    pieces = interpax.CubicSpline(X, F)
    return pieces(AT), pieces.derivative()(0.2)


CASES = {
    **{m: lambda m=m: interpax.interp1d(AT, X, F, method=m) for m in METHODS},
    "two dimensions": lambda: interpax.interp2d(AT, AT, X, X, F[:, None] * F, method="cubic"),
    "slope": lambda: jax.vmap(jax.grad(lambda q: interpax.interp1d(q, X, F, method="cubic")))(AT),
    "spline": spline,
    "haar": lambda: transformed("haar"),
    "db2": lambda: transformed("db2"),
    "wavedec2": lambda: jaxwt.wavedec2(jnp.ones((1, 16, 16)), "db2", level=1),
    "gradient": lambda: jax.grad(energy)(SIGNAL),
    "neighbours": neighbours,
}
