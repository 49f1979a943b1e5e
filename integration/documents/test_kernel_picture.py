"""The picture in the guide on kernels is what `kernels.draw` draws."""

from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="index maps are evaluated")

import numpy as np

import ricci
from ricci import kernels
from ricci.experimental import pallas as pl

GUIDE = Path(__file__).parents[2] / "docs" / "guides"


def test_the_picture_in_the_guide_is_current():
    def matmul_kernel(x, y, out):
        out[...] += x[...] @ y[...]

    matmul = pl.pallas_call(
        matmul_kernel,
        ricci.ShapeDtypeStruct((8, 8), np.float32),
        grid=(2, 2, 2),
        in_specs=[
            pl.BlockSpec((4, 4), lambda i, j, k: (i, k)),
            pl.BlockSpec((4, 4), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((4, 4), lambda i, j, k: (i, j)),
    )
    x = ricci.ShapeDtypeStruct((8, 8), np.float32)
    assert (GUIDE / "kernels.svg").read_text() == kernels.draw(matmul, x, x, step=1) + "\n"
