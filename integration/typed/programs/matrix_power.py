"""A loop with a known number of steps."""

from functools import partial

import ricci
import ricci.numpy as np
from ricci import Array, lax


@partial(ricci.jit, static_argnames=("power",))
def matrix_power(m: Array, power: int) -> Array:
    def body(i: Array, product: Array) -> Array:
        return product @ m

    result: Array = lax.fori_loop(0, power, body, np.eye(m.shape[0]))
    return result


def main() -> None:
    m = np.asarray([[1.0, 1.0], [1.0, 0.0]])
    assert matrix_power(m, 10)[0, 1].item() == 55.0
    assert matrix_power(m, power=3).shape == (2, 2)
