"""Second derivatives in an optimizer."""

import ricci
import ricci.numpy as np
from ricci import Array


def rosenbrock(x: Array) -> Array:
    return (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


@ricci.jit
def newton_step(x: Array) -> Array:
    gradient: Array = ricci.jacrev(rosenbrock)(x)
    curvature: Array = ricci.hessian(rosenbrock)(x)
    direction: Array = np.linalg.solve(curvature, gradient)
    return x - direction


def squares(x: Array) -> Array:
    return x**2


def main() -> None:
    x = np.asarray([0.5, 0.5])
    for _ in range(10):
        x = newton_step(x)
    assert float(rosenbrock(x)) < 1e-6
    columns: Array = ricci.jacfwd(squares)(x)
    assert columns.shape == (2, 2)
