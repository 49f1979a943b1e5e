"""HTML of arrays for notebooks."""

from xml.etree import ElementTree

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import make_jaxpr

pytestmark = pytest.mark.usefixtures("backend")


def shown(x):
    """The line above the elements, and the table or the text under it."""
    caption, body = ElementTree.fromstring(x._repr_html_())
    if body.tag == "pre":
        return caption.text, body.text
    return caption.text, [[cell.text for cell in row] for row in body]


@pytest.mark.parametrize(
    ("value", "caption", "rows"),
    [
        (np.int32(3), "int32[], 4 bytes", [["3"]]),
        (np.float32([1, 2.5]), "float32[2], 8 bytes", [["1.0", "2.5"]]),
        ([[True], [False]], "bool[2,1], 2 bytes", [["True"], ["False"]]),
        (2.0, "float32[], weak type, 4 bytes", [["2.0"]]),
    ],
)
def test_small_arrays_are_shown_as_tables_with_captions(value, caption, rows):
    line, found = shown(jnp.asarray(value) if np.ndim(value) == 0 else jnp.array(value))
    assert line.rpartition(", ")[0] == caption and found == rows


def test_long_dimensions_are_elided():
    _, rows = shown(jnp.arange(3000, dtype=np.int32).reshape(100, 30))
    edges = [*range(4), None, *range(26, 30)]
    assert len(rows) == 9 and rows[4] == ["…"] * 9
    assert rows[-1] == ["…" if j is None else str(2970 + j) for j in edges]


def test_other_ranks_and_empty_arrays_are_text():
    assert shown(jnp.ones((1, 1, 2)))[1] == "[[[1. 1.]]]"
    assert shown(jnp.ones((0, 3)))[1] == "[]"


def test_tracers_have_no_html():
    found = []
    make_jaxpr(lambda x: found.append(x._repr_html_()) or x)(1.0)
    assert found == [None]
