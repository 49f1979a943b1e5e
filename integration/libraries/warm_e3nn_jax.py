"""Equivariant products and spherical harmonics of e3nn, and a gradient of them."""

from typing import Any

import e3nn_jax as e3nn

import jax
import jax.numpy as jnp

POINTS = jnp.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 1, 0]])


def energy(points: Any) -> Any:
    """Return the sum of an equivariant product."""
    vectors = e3nn.IrrepsArray("1o", points[1:] - points[:-1])
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, normalize=True)
    return e3nn.tensor_square(harmonics).filter("0e").array.sum()


def harmonics(points: Any) -> Any:
    """Return spherical harmonics by Legendre polynomials."""
    vectors = e3nn.IrrepsArray("1o", points)
    return e3nn.spherical_harmonics("1o + 2e", vectors, normalize=False, algorithm=("legendre",))


def change_algorithm() -> None:
    """Change the scale of the harmonics by default."""
    e3nn.config("spherical_harmonics_normalization", "norm")


PROGRAMS = {
    "gradient": lambda: jax.jit(jax.grad(energy))(POINTS),
    "harmonics": lambda: jax.jit(harmonics)(POINTS),
}
VALUE = "harmonics", change_algorithm
REFUSED = {"gradient": "sympy"}  # the formulas of the products, which depend on all of sympy
LEGENDRE = "e3nn_jax/_src/spherical_harmonics/legendre.py"
EDIT = "harmonics", LEGENDRE, "y = y * jnp.sqrt(4 * jnp.pi)", "y = y * 2"
