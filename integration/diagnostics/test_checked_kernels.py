"""Mistakes of kernels' blocks among the findings of `ricci.check`: RC502.

What is a mistake, `packages/kernels/tests/test_checking.py` tests.
"""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="index maps are evaluated")

import ricci
import ricci.numpy as jnp
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

X = ricci.ShapeDtypeStruct((8, 4), np.float32)


def rows(index_map):
    return pl.BlockSpec((2, 4), index_map)


IDENTITY = rows(lambda i: (i, 0))


def copy(*refs):
    refs[-1][...] = refs[0][...]


def accumulate(x, out, total):
    total[...] += x[...]
    out[...] = total[...]


def call(body=copy, inputs=IDENTITY, outputs=IDENTITY, **options):
    return pl.pallas_call(
        body, X, grid=4, in_specs=[inputs], out_specs=outputs, interpret=True, **options
    )


SCRATCH = [pltpu.VMEM((2, 4), np.float32)]
WRONG = {
    "negative index": (call(inputs=rows(lambda i: (i - 1, 0))), "begins at"),
    "past the end": (call(inputs=rows(lambda i: (i + 1, 0))), "begins at"),
    "not written": (call(outputs=rows(lambda i: (i // 2, 0))), "no step of the grid"),
    "read before written": (call(accumulate, scratch_shapes=SCRATCH), "nothing was written to it"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["eager", "jitted"])
def test_mistakes_of_kernels_are_reported(name, wrap):
    run, message = WRONG[name]
    report = ricci.check(wrap(lambda x: run(x)))(X)
    assert any(f.code == "RC502" and re.search(message, f.message) for f in report), str(report)
    assert all(f.file == __file__ for f in report)
    assert ricci.check(wrap(lambda x: run(x)), ignore="RC502")(X).findings == ()


def test_kernels_that_are_right_have_no_findings():
    assert not ricci.check(call())(X)


def test_constant_scalars_are_followed_and_unknown_ones_left_out():
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=4,
        in_specs=[pl.BlockSpec((2, 4), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((2, 4), lambda i, order: (i, 0)),
    )
    run = pl.pallas_call(lambda order, x, o: None, X, grid_spec=spec, interpret=True)
    (finding,) = ricci.check(lambda x: run(jnp.array([3, 2, 9, 0]), x))(X)
    assert finding.code == "RC502"
    assert "in step (2,) the block begins at (18, 0)" in finding.message
    assert not ricci.check(run)(ricci.ShapeDtypeStruct((4,), np.int32), X)
