"""Spherical harmonics of e3nn of vectors between points, two of which coincide."""

from typing import Any

import e3nn_jax as e3nn
import numpy as np
from planted_cases import cases

import jax.numpy as jnp


def directions(points: Any) -> Any:
    """Return the directions between neighbours."""
    between = points[1:] - points[:-1]
    return between / jnp.linalg.norm(between, axis=-1, keepdims=True)  # cause


def energy(points: Any) -> Any:
    """Return the sum of an equivariant product."""
    vectors = e3nn.IrrepsArray("1o", directions(points))
    harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", vectors, normalize=False)
    return e3nn.tensor_square(harmonics).filter("0e").array.sum()


POINTS = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], np.float32)
PROGRAMS = cases(energy, directions, "div", healthy=(POINTS,), planted=(POINTS[[0, 0, 1]],))
