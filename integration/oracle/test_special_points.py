"""Special functions at the edges of their domains are SciPy's, at both widths.

A run takes a sample; with RICCI_SPECIAL_CASES=all, as `nox -s special-edges` sets it, all rows.
"""

import os
import random

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
pytest.importorskip("scipy", reason="its values are the reference")

from special_cases import TABLE, disagreements

EVERYTHING = os.environ.get("RICCI_SPECIAL_CASES") == "all"
ROWS = TABLE if EVERYTHING else random.Random(4).sample(TABLE, 6)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_at_the_edges_are_scipys(row, dtype):
    wrong = disagreements(row, dtype)
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:40])


def test_exceptions_have_reasons():
    rows = [exception for row in TABLE for exception in (*row.right, *row.accepted)]
    assert all(exception.reason for exception in rows)
