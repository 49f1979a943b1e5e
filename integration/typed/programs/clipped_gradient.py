"""A custom backward rule: the identity, with a gradient that is clipped."""

from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array


@ricci.custom_vjp
def clipped(x: Array, limit: float) -> Array:
    return x


def clipped_fwd(x: Array, limit: float) -> tuple[Array, float]:
    return x, limit


def clipped_bwd(limit: float, ct: Array) -> tuple[Array, None]:
    return np.clip(ct, -limit, limit), None


clipped.defvjp(clipped_fwd, clipped_bwd)


@partial(ricci.custom_vjp, nondiff_argnums=(1,))
def scaled(x: Array, factor: float) -> Array:
    return x


def scaled_fwd(x: Array, factor: float) -> tuple[Array, tuple[()]]:
    return x, ()


def scaled_bwd(factor: float, residuals: tuple[()], ct: Array) -> tuple[Array]:
    return (ct * factor,)


scaled.defvjp(scaled_fwd, scaled_bwd)


def cubed(x: Array) -> Array:
    return clipped(x, 0.5) ** 3


def enlarged(x: Array) -> Array:
    result: Array = scaled(x, 10.0)
    return result


def main() -> None:
    x = np.asarray(2.0)
    assert_type(clipped(x, limit=1.0), Array)
    assert float(ricci.grad(cubed)(x)) == 0.5
    assert float(ricci.grad(enlarged)(x)) == 10.0
