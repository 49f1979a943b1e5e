"""Orthax: orthogonal polynomials: series, their calculus, roots, quadrature and fits."""

import orthax

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

C, D = jnp.array([1.0, -2.0, 0.5, 3.0]), jnp.array([0.5, 1.0])
X = jnp.linspace(-0.9, 0.9, 7)
KINDS = {
    "chebyshev": ("cheb", orthax.chebyshev),
    "hermite": ("herm", orthax.hermite),
    "laguerre": ("lag", orthax.laguerre),
    "legendre": ("leg", orthax.legendre),
    "polynomial": ("poly", orthax.polynomial),
}


def series(kind):
    """Return calls of a kind of series by name."""
    prefix, module = KINDS[kind]
    call = lambda name: getattr(module, prefix + name)
    return {
        "value and gradient": lambda: jax.value_and_grad(lambda c: call("val")(X, c).sum())(C),
        "add": lambda: call("add")(C, D),
        "integers": lambda: call("add")(jnp.arange(3), D),
        "product": lambda: jax.jit(call("mul"))(C, D),
        "derivative and integral": lambda: (call("der")(C), call("int")(C)),
        "roots": lambda: call("roots")(C),
        "fit": lambda: call("fit")(X, jnp.sin(X), 3),
        "vander": lambda: jax.vmap(lambda x: call("vander")(x, 3))(X),
    }


CASES = {f"{kind} {name}": case for kind in KINDS for name, case in series(kind).items()} | {
    "quadrature": lambda: orthax.legendre.leggauss(5),
    "recurrence": lambda: orthax.orthvander(X, 3, orthax.recurrence.Legendre()),
}
