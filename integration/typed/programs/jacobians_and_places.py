"""Jacobians of arrays are arrays; placed and scanned values have the types of the operands."""

from typing import Any, assert_type

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import Array, lax


def energy(x: Array, scale: float = 1.0) -> Array:
    return scale * jnp.sum(x**3)


def of_dict(params: dict[str, Array], x: Array) -> Array:
    return params["w"] * x


def main() -> None:
    x = jnp.array([1.0, 2.0])
    assert_type(ricci.hessian(energy)(x, scale=2.0), Array)
    assert_type(ricci.jacrev(energy)(x), Array)
    assert_type(ricci.jacfwd(ricci.jacrev(energy))(np.ones(2)), Array)
    assert_type(ricci.vmap(ricci.jacrev(energy))(jnp.ones((3, 2))), Array)
    by_name: Any = ricci.jacrev(of_dict)({"w": x}, x)
    assert by_name["w"].shape == (2, 2)

    assert_type(ricci.device_put(1.0), Array)
    assert_type(ricci.device_put({"w": x}), dict[str, Array])
    on_host: np.ndarray = ricci.device_get(x)
    assert on_host.tolist() == [1.0, 2.0]

    assert_type(lax.associative_scan(jnp.add, x), Array)
    firsts, sums = lax.associative_scan(lambda a, b: (a[0], a[1] + b[1]), (x, x))
    assert_type(sums, Array)
    assert firsts.tolist() == [1.0, 1.0] and sums.tolist() == [1.0, 3.0]


if __name__ == "__main__":
    main()
