"""Concatenations of many arrays along a minor dimension, which XLA compiles slowly for CPUs."""

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax import concatenate, stack
from ricci_stablehlo import lower_jaxpr

JOINS = {
    "stack": (lambda *xs: stack(xs, 1), (40,)),
    "concatenate": (lambda *xs: concatenate(xs, 1), (40, 2)),
}


def text(name, count, platform):
    join, shape = JOINS[name]
    xs = [ShapeDtypeStruct(shape, np.dtype(np.float32))] * count
    return lower_jaxpr(make_jaxpr(join)(*xs), "f", platform=platform)


@pytest.mark.parametrize("name", JOINS)
def test_many_arrays_are_joined_along_the_first_dimension_on_cpus_only(name):
    assert "stablehlo.concatenate" in text(name, 200, "cpu")
    assert "dim = 0" in text(name, 200, "cpu") and "dim = 1" not in text(name, 200, "cpu")
    assert "dim = 1" in text(name, 200, "cuda") and "dim = 1" in text(name, 10, "cpu")
