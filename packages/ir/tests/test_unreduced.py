"""The operations that may be applied to unreduced values."""

from typing import ClassVar

import numpy as np
import pytest

from ricci_ir import (
    Primitive,
    ShapedArray,
    ShardingTypeError,
    SumsRule,
    linear_in_all,
    linear_in_each,
    make_type_sharding,
    sum_rules,
)
from ricci_ir.traces._unreduced import sums_of

F32 = np.dtype("float32")


class Mesh:
    """The attributes of a mesh that types read; ``z`` is not an explicit axis."""

    shape: ClassVar = {"x": 2, "y": 4, "z": 2}
    explicit_axes = ("x", "y")


MESH = Mesh()


def typed(*parts, **sums):
    sharding = make_type_sharding(MESH, parts, **sums)
    return ShapedArray((8,) * len(parts), F32, sharding=sharding)


PLAIN, DIVIDED = typed((), ()), typed((), ("y",))
TERMS, DONE = typed(("x",), (), unreduced={"y"}), typed(("x",), (), reduced={"y"})
SCALAR = ShapedArray((), F32)


def primitive(name, rule=None):
    """An elementwise operation; without a rule of kind ``sums`` if that is ``None``."""
    made = Primitive(name, lambda *avals, **params: max(avals, key=lambda aval: aval.ndim))
    if rule is not None:
        sum_rules[made] = rule
    return made


CURVE = primitive("curve")
SUM = primitive("sum", linear_in_all)
PRODUCT = primitive("product", linear_in_each)
QUOTIENT = primitive("quotient", SumsRule("none"))
CONTRACTION = primitive("contraction", SumsRule("none", keeps_reduced=False))
# Linear or not, as a parameter says.
SCALED = primitive("scaled", lambda *avals, cut: None if cut else linear_in_all)


def test_types_say_it_of_explicit_axes_only():
    assert sums_of(TERMS) == ({"y"}, frozenset())
    assert sums_of(typed((), unreduced={"z"})) == (frozenset(), frozenset())
    assert typed((), unreduced={"y"}).type_sharding.mesh is MESH
    assert typed((), unreduced={"z"}).type_sharding.mesh is None
    assert typed((), unreduced={"y"}) is not typed(())


@pytest.mark.parametrize(
    ("operation", "avals", "unreduced", "reduced"),
    [
        (SUM, [TERMS], "y", ""),
        (SUM, [TERMS, TERMS], "y", ""),
        (PRODUCT, [TERMS, DONE], "y", ""),
        (PRODUCT, [DONE, TERMS], "y", ""),
        (CURVE, [DONE], "", "y"),
        (PRODUCT, [DONE, DONE], "", "y"),
        (PRODUCT, [DONE, SCALAR], "", "y"),
        (PRODUCT, [TERMS, SCALAR], "y", ""),
        (PRODUCT, [DONE, DIVIDED], "", ""),
        (QUOTIENT, [DONE, DONE], "", "y"),
        (CONTRACTION, [DIVIDED, DONE], "", ""),
        (CONTRACTION, [DONE, DONE], "", ""),
        (SUM, [PLAIN, DIVIDED, SCALAR], "", ""),
    ],
)
def test_unreduced_and_reduced_axes_of_results(operation, avals, unreduced, reduced):
    result = operation.result_avals(tuple(avals), {})
    assert sums_of(result) == (frozenset(unreduced), frozenset(reduced))


@pytest.mark.parametrize(
    ("operation", "avals", "error"),
    [
        (CURVE, [TERMS], NotImplementedError),
        (CURVE, [TERMS, TERMS], NotImplementedError),
        (SUM, [TERMS, PLAIN], ShardingTypeError),
        (SUM, [TERMS, SCALAR], ShardingTypeError),
        (PRODUCT, [TERMS, TERMS], ShardingTypeError),
        (QUOTIENT, [TERMS, DONE], ShardingTypeError),
        (CONTRACTION, [TERMS, DONE], ShardingTypeError),
        (SUM, [DONE, PLAIN], ShardingTypeError),
    ],
)
def test_operations_that_change_a_partial_sum_raise(operation, avals, error):
    with pytest.raises(error, match="'y'") as found:
        operation.result_avals(tuple(avals), {})
    assert "reshard" in str(found.value)
    assert operation.name in str(found.value)


def test_a_rule_may_depend_on_the_parameters():
    assert sums_of(SCALED.result_avals((TERMS,), {"cut": False})) == ({"y"}, frozenset())
    with pytest.raises(NotImplementedError, match="scaled of f32"):
        SCALED.result_avals((TERMS,), {"cut": True})
