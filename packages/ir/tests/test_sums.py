"""Which operations may be applied to the terms of a sum that the devices have not done yet."""

import numpy as np
import pytest

from ricci_ir import ShapedArray, ShardingTypeError, make_type_sharding
from ricci_ir.traces._sums import sums_of, sums_of_result

F32 = np.dtype("float32")


class Mesh:
    """What types read of a mesh: ``z`` is no explicit axis."""

    shape = {"x": 2, "y": 4, "z": 2}
    explicit_axes = ("x", "y")


MESH = Mesh()


def typed(*parts, **sums):
    sharding = make_type_sharding(MESH, parts, **sums)
    return ShapedArray((8,) * len(parts), F32, sharding=sharding)


PLAIN, DIVIDED = typed((), ()), typed((), ("y",))
TERMS, DONE = typed(("x",), (), unreduced={"y"}), typed(("x",), (), reduced={"y"})
SCALAR = ShapedArray((), F32)


def test_types_say_it_of_explicit_axes_only():
    assert sums_of(TERMS) == ({"y"}, frozenset())
    assert sums_of(typed((), unreduced={"z"})) == (frozenset(), frozenset())
    assert typed((), unreduced={"y"}).type_sharding.mesh is MESH
    assert typed((), unreduced={"z"}).type_sharding.mesh is None
    assert typed((), unreduced={"y"}) is not typed(())


@pytest.mark.parametrize(
    ("name", "avals", "unreduced", "reduced"),
    [
        ("transpose", [TERMS], "y", ""),
        ("reduce_sum", [TERMS], "y", ""),
        ("add", [TERMS, TERMS], "y", ""),
        ("mul", [TERMS, DONE], "y", ""),
        ("mul", [DONE, TERMS], "y", ""),
        ("sin", [DONE], "", "y"),
        ("mul", [DONE, DONE], "", "y"),
        ("mul", [DONE, SCALAR], "", "y"),
        ("mul", [DONE, DIVIDED], "", ""),
        ("dot_general", [DIVIDED, DONE], "", ""),
    ],
)
def test_what_becomes_of_sums(name, avals, unreduced, reduced):
    assert sums_of_result(name, avals) == (frozenset(unreduced), frozenset(reduced))


def test_types_without_sums_need_no_rule():
    assert sums_of_result("anything", [PLAIN, DIVIDED, SCALAR]) is None


@pytest.mark.parametrize(
    ("name", "avals", "error"),
    [
        ("sin", [TERMS], NotImplementedError),
        ("max", [TERMS, TERMS], NotImplementedError),
        ("add", [TERMS, PLAIN], ShardingTypeError),
        ("add", [TERMS, SCALAR], ShardingTypeError),
        ("mul", [TERMS, TERMS], ShardingTypeError),
        ("mul", [TERMS, SCALAR], ShardingTypeError),
        ("dot_general", [TERMS, DONE], ShardingTypeError),
        ("add", [DONE, PLAIN], ShardingTypeError),
    ],
)
def test_what_would_be_another_value_is_refused(name, avals, error):
    with pytest.raises(error, match="'y'") as found:
        sums_of_result(name, avals)
    assert "reshard" in str(found.value)
    assert name in str(found.value)
