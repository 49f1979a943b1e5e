"""Values, dtypes and errors equal recorded ones.

Each file of ``data/recorded`` holds source text to set up names, and for each expression what JAX
computes on a CPU: the arrays in its result, or the class of the error it raises.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from ricci_testing import Leaf, Result, compare, evaluate_with, ricci_namespace

FILES = sorted((Path(__file__).parents[1] / "data" / "recorded").glob("*.json"))
RECORDED = {path.stem: json.loads(path.read_text()) for path in FILES}
CASES = [(name, source) for name, file in RECORDED.items() for source in file["cases"]]


@pytest.fixture(scope="module")
def namespace():
    return ricci_namespace()


def _array(recorded: dict) -> np.ndarray:
    dtype = np.dtype("complex128" if recorded["dtype"].startswith("complex") else "float64")
    values = np.array([float(v) for v in recorded["values"]], np.float64)
    return values.view(dtype).reshape(recorded["shape"])


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("name", "source"), CASES)
def test_results_are_as_recorded(name, source, namespace):
    file = RECORDED[name]
    expected = file["cases"][source]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate_with(namespace, "\n".join([*file["setup"], source]), {})
    if isinstance(expected, str):
        assert found.error is not None
        # An error of a narrower class will do.
        assert expected in (found.error.name, *found.error.bases)
        return
    assert found.error is None, found.error
    leaves = tuple(leaf for leaf in found.leaves if leaf.kind == "array")
    theirs = tuple(
        Leaf(ours.path, "array", leaf["dtype"], tuple(leaf["shape"]), ours.weak_type, _array(leaf))
        for ours, leaf in zip(leaves, expected, strict=True)
    )
    compare(Result(leaves, None), Result(theirs, None), source=source)
