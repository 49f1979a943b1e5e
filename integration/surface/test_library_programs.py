"""Primitives, interpreters and generators that libraries define work as in JAX.

Each program of `data/library_programs.txt` is evaluated by both sides, with 64-bit types off and
on. A run takes a sample, and with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, all.
"""

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

from oracle_programs import disagreements

from ricci_testing import Oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
TEXT = (Path(__file__).parents[1] / "data" / "library_programs.txt").read_text()
PROGRAMS = dict(block.split("\n", 1) for block in TEXT.split("\n## ")[1:])
START = """
import importlib
N = jax.__name__
ext = N + ".extend"
core = importlib.import_module(ext + ".core")
importlib.import_module(ext + ".core.primitives")
lu = importlib.import_module(ext + ".linear_util")
ad, batching, mlir, pe, xla = (
    importlib.import_module(f"{N}.interpreters.{name}")
    for name in ("ad", "batching", "mlir", "partial_eval", "xla")
)
api_util = importlib.import_module(N + ".api_util")
A = jnp.arange(4.0)
"""


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_library_programs_agree_with_jax(wide):
    names = list(PROGRAMS) if EVERYTHING else random.Random(f"{wide}").sample(list(PROGRAMS), 6)
    programs = {name: START + PROGRAMS[name].rstrip() for name in names}
    wrong = disagreements(programs, {"jax_enable_x64": wide})
    assert not wrong, "\n\n".join(wrong)
