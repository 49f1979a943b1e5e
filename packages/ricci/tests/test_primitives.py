"""``extend.core.primitives`` has every primitive that is registered."""

import ast
from pathlib import Path

import numpy as np
import pytest

from ricci.extend.core import primitives
from ricci_ir import primitives as registered
from ricci_lax import mul, scatter_add_p, sin_p
from ricci_lax.authoring import nary


def test_the_stub_for_editors_names_primitives_that_exist():
    tree = ast.parse(Path(primitives.__file__).with_suffix(".pyi").read_text())
    names = [node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)]
    assert len(names) > 190
    assert set(names) <= set(dir(primitives))


def test_names_are_those_that_are_printed():
    assert primitives.sin_p is sin_p
    assert primitives.scatter_add_p is scatter_add_p
    assert primitives.remat_p.name == "remat2"
    assert "sin_p" in primitives.__all__
    with pytest.raises(AttributeError, match="no primitive 'sinus_p'"):
        _ = primitives.sinus_p


def test_a_new_primitive_is_there_as_soon_as_its_block_has_run():
    tangle = nary("test.tangle", "stablehlo.sine", (np.floating,), lambda t, x: mul(t, x))
    try:
        assert getattr(primitives, "test.tangle_p") is tangle
    finally:
        del registered["test.tangle"]
