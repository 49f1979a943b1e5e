"""A matrix product whose only choice is the size of its tiles, for `autotune`."""

import numpy as np

import ricci
from ricci.experimental import pallas as pl


def tiled_matmul(x, y, *, size, interpret=False):
    """Multiply square float32 matrices by tiles of whole rows and whole columns."""
    n = x.shape[0]
    return pl.pallas_call(
        lambda x, y, out: out.__setitem__(..., x[...] @ y[...]),
        ricci.ShapeDtypeStruct((n, n), np.float32),
        grid=(n // size, n // size),
        in_specs=[
            pl.BlockSpec((size, n), lambda i, j: (i, 0)),
            pl.BlockSpec((n, size), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((size, size), lambda i, j: (i, j)),
        interpret=interpret,
    )(x, y)
