"""Elementwise functions at zeros, infinities, NaN and the borders of their domains are JAX's.

Where JAX's value is another than SciPy's, SciPy's will do. A run takes a sample; with
RICCI_EDGE_CASES=all, as `nox -s edges-full` sets it, it takes all functions in all dtypes.
"""

import os
import random
from fnmatch import fnmatchcase

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
pytest.importorskip("scipy", reason="its values are accepted, too")
from edge_cases import CASES, EXPECTED, disagreements, reason_for

from ricci_testing import Oracle

EVERYTHING = os.environ.get("RICCI_EDGE_CASES") == "all"
CHOSEN = CASES if EVERYTHING else random.Random(3).sample(CASES, 12)
PARTS = [CHOSEN[i : i + 6] for i in range(0, len(CHOSEN), 6)]


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("cases", PARTS, ids=lambda cases: str(cases[0]))
def test_values_and_derivatives_at_the_edges(cases):
    wrong = [str(found) for found in disagreements(cases) if reason_for(found) is None]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row.function)
def test_an_expected_difference_is_one_of_a_function_in_the_table(row):
    assert row.reason and row.pairs
    assert any(fnmatchcase(case.function, row.function) for case in CASES)
