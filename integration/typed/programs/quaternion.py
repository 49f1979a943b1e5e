"""A class of one's own as a pytree, with operators."""

from collections.abc import Sequence
from typing import Self

import ricci
import ricci.numpy as np
from ricci import Array
from ricci.tree_util import register_pytree_node_class


@register_pytree_node_class
class Quaternion:
    def __init__(self, scalar: Array, vector: Array) -> None:
        self.scalar = scalar
        self.vector = vector

    def tree_flatten(self) -> tuple[tuple[Array, Array], None]:
        return (self.scalar, self.vector), None

    @classmethod
    def tree_unflatten(cls, static: None, children: Sequence[Array]) -> Self:
        return cls(*children)

    def __mul__(self, other: "Quaternion") -> "Quaternion":
        scalar = self.scalar * other.scalar - self.vector @ other.vector
        vector: Array = (
            self.scalar * other.vector
            + other.scalar * self.vector
            + np.cross(self.vector, other.vector)
        )
        return Quaternion(scalar, vector)

    @property
    def norm(self) -> Array:
        return np.sqrt(self.scalar**2 + (self.vector**2).sum())


@ricci.jit
def squared(q: Quaternion) -> Quaternion:
    return q * q


def main() -> None:
    q = Quaternion(np.asarray(1.0), np.asarray([0.0, 1.0, 0.0]))
    assert abs(float(squared(q).norm) - 2.0) < 1e-5
