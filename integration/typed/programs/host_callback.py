"""A function of NumPy called from a compiled program."""

import numpy

import ricci
import ricci.numpy as np
from ricci import Array, ShapeDtypeStruct


def sorted_on_host(x: numpy.ndarray) -> numpy.ndarray:
    return numpy.sort(numpy.asarray(x))


@ricci.jit
def median(x: Array) -> Array:
    described = ShapeDtypeStruct(x.shape, x.dtype)
    ordered: Array = ricci.pure_callback(sorted_on_host, described, x)
    return ordered[x.size // 2]


def main() -> None:
    assert float(median(np.asarray([3.0, 1.0, 2.0]))) == 2.0
    ricci.debug.print("median {m}", m=median(np.ones(3)))
    ricci.effects_barrier()
