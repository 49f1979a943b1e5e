"""Calls with odd operands do what JAX's do: scalars out of range, empty and traced sizes, edges.

Each line of `data/calls.txt` is evaluated as it stands by both sides, with 64-bit types off and on.
A run takes a sample; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, it takes all.
"""

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci.scipy as jsp
from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
LINES = (Path(__file__).parents[1] / "data" / "calls.txt").read_text().splitlines()[1:]
RTOL = {"float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9}
IMPORTS = "import jax.scipy as jsp\n"


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_calls_agree_with_jax(wide):
    lines = LINES if EVERYTHING else random.Random(f"{wide}").sample(LINES, 14)
    config = {"jax_enable_x64": wide}
    requests = [Request(IMPORTS + line.replace(" ;; ", "\n"), {}, config) for line in lines]
    theirs = shared_oracle().run_many(requests, timeout=900.0)
    space = {**ricci_namespace(), "jsp": jsp}
    wrong = []
    for line, their in zip(lines, theirs, strict=True):
        our = evaluate_with(space, line.replace(" ;; ", "\n"), {}, config=config)
        accepted = {our.error.name, *our.error.bases} if our.error else {None}
        if their.error and their.error.name in accepted:
            continue
        try:
            compare(our, their, rtol=RTOL)
        except AssertionError as error:
            wrong.append(f"{line}\n{error}")
    assert not wrong, "\n\n".join(wrong)
