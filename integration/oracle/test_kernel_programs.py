"""Kernels compute what they do in JAX's interpreter: values, dtypes, and classes of errors.

Each program of `data/kernel_programs.txt` is evaluated by both sides, with 64-bit types off and on.
A run takes a sample, and with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, all. Those
under ERRORS must raise; JAX's error may be of another class where the row says which.
"""

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

from oracle_programs import disagreements

from ricci_testing import Oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
TEXT = (Path(__file__).parents[1] / "data" / "kernel_programs.txt").read_text()
PROGRAMS = dict(block.split("\n", 1) for block in TEXT.split("\n## ")[1:])
START = """
import functools, importlib
N = jax.__name__
pl, pltpu, plgpu = (
    importlib.import_module(f"{N}.experimental.pallas{part}") for part in ("", ".tpu", ".triton")
)
S = jax.ShapeDtypeStruct
f32 = jnp.float32
def call(kernel, shape=(8,), dtype=f32, **options):
    return pl.pallas_call(kernel, S(shape, dtype), interpret=True, **options)
def blocks(n, shape=(4,)):
    return dict(
        grid=(n,),
        in_specs=[pl.BlockSpec(shape, lambda i: (i,))],
        out_specs=pl.BlockSpec(shape, lambda i: (i,)),
    )
def copy(x, o):
    o[...] = x[...]
def double(x, o):
    o[...] = x[...] * 2
x = jnp.arange(8, dtype=f32)
M = (jnp.arange(256, dtype=f32) % 7 - 3).reshape(16, 16)
"""


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_kernel_programs_agree_with_jax(wide):
    names = list(PROGRAMS) if EVERYTHING else random.Random(f"{wide}").sample(list(PROGRAMS), 12)
    programs = {name: START + PROGRAMS[name].rstrip() for name in names}
    wrong = disagreements(programs, {"jax_enable_x64": wide})
    assert not wrong, "\n\n".join(wrong)
