"""Types with the sharding of arrays on a mesh, and its propagation through operations."""

import copy
import pickle
from collections import namedtuple

import numpy as np
import pytest

from ricci_ir import (
    FactorMap,
    Primitive,
    ShapedArray,
    ShardingTypeError,
    TypeSharding,
    VaryingMismatch,
    factors,
    lenient_sharding,
    make_type_sharding,
    sharding_rules,
    unsharded,
)


class Mesh(namedtuple("Mesh", "sizes")):
    """The attributes of a mesh that rules read."""

    @property
    def shape(self):
        return dict(self.sizes)

    @property
    def explicit_axes(self):
        return ("x", "y")


mesh = Mesh((("x", 2), ("y", 4)))
f32 = np.dtype("float32")


def typed(shape, *parts, **manual):
    return ShapedArray(shape, f32, sharding=make_type_sharding(mesh, parts, **manual))


def test_types_with_shardings_are_interned_and_copied():
    one = typed((8, 4), ("x",), ())
    assert one is typed((8, 4), ("x",), ())
    assert one is not typed((8, 4), (), ("x",))
    assert one.plain is ShapedArray((8, 4), f32)
    assert copy.deepcopy(one) is one
    assert pickle.loads(pickle.dumps(one)) is one


@pytest.mark.parametrize(
    ("aval", "text"),
    [
        (typed((8, 4), ("x",), ()), "f32[8@x,4]"),
        (typed((8,), ("x", "y")), "f32[8@(x,y)]"),
        (typed((3,), (), varying={"x"}), "f32[3]{V:x}"),
        (typed((3,), (), varying={"y", "x"}), "f32[3]{V:(x,y)}"),
        (typed((3,), (), reduced={"x"}), "f32[3]{R:x}"),
        (typed((3, 2), (), ()), "f32[3,2]"),
    ],
)
def test_printed_types(aval, text):
    assert aval.str_short(short_dtypes=True) == text


def test_a_resized_type_is_not_sharded_but_varies_as_before():
    aval = typed((8, 4), ("x",), (), varying={"y"})
    assert aval.resized((3,)).str_short(True) == "f32[3]{V:y}"
    assert aval.resized((8, 4)) is aval
    assert aval.resized((8,), np.dtype("int32"), True).weak_type


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((16, 5), "f32[16@x,5]{V:y}"),
        ((8, 4, 2), "f32[8@x,4,2]{V:y}"),
        ((8, 4), "f32[8@x,4]{V:y}"),
        ((3, 4), "dimension 0"),
        ((8,), "is for 2 dimensions"),
    ],
)
def test_update_of_the_shape_keeps_the_sharding_or_refuses(shape, text):
    aval = typed((8, 4), ("x",), (), varying={"y"})
    if text[0] == "f":
        assert aval.update(shape=shape).str_short(True) == text
    else:
        with pytest.raises(ValueError, match=text):
            aval.update(shape=shape)


def test_update_without_a_shape_keeps_the_sharding():
    aval = typed((8, 4), ("x",), (), varying={"y"})
    assert typed((8,), (), varying={"y"}).update(shape=(3, 5)).str_short(True) == "f32[3,5]{V:y}"
    assert aval.update(dtype=np.dtype("int32")).str_short(True) == "i32[8@x,4]{V:y}"


def _dot(rule):
    def evaluate(a, b):
        return ShapedArray((a.shape[0], b.shape[1]), f32)

    primitive = Primitive("dot", evaluate)
    sharding_rules[primitive] = rule
    return primitive


matmul = factors(lambda a, b: FactorMap(((0, 1), (1, 2)), ((0, 2),), advice="Pass out_sharding."))


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        ((("x",), ()), ((), ("y",)), "f32[8@x,8@y]"),
        ((("x",), ()), ((), ()), "f32[8@x,8]"),
        (((), ()), ((), ("x", "y")), "f32[8,8@(x,y)]"),
    ],
)
def test_axes_follow_factors(left, right, text):
    result = _dot(matmul).result_avals((typed((8, 8), *left), typed((8, 8), *right)), {})
    assert result.str_short(True) == text


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (((), ("x",)), (("x",), ()), "sums over a dimension that is sharded over x"),
        ((("x",), ()), ((), ("x",)), "would use a mesh axis twice"),
        (((), ("x",)), (("y",), ()), "sharded over"),
    ],
)
def test_ambiguous_shardings_raise_unless_lenient(left, right, words):
    dot = _dot(matmul)
    avals = (typed((8, 8), *left), typed((8, 8), *right))
    with pytest.raises(ShardingTypeError, match=words):
        dot.result_avals(avals, {})
    with lenient_sharding(True):
        assert dot.result_avals(avals, {}).shape == (8, 8)
    with pytest.raises(ShardingTypeError):  # nothing was kept from that
        dot.result_avals(avals, {})


def test_operands_that_vary_differently_are_reported():
    with pytest.raises(VaryingMismatch) as found:
        _dot(matmul).result_avals((typed((8, 8), (), (), varying={"x"}), typed((8, 8), (), ())), {})
    assert found.value.axes == {"x"}


def test_leading_dimensions_of_an_unsharded_operation_may_be_divided():
    primitive = Primitive("sort", lambda a: a)
    sharding_rules[primitive] = unsharded(lambda a: a.ndim - 1)
    assert primitive.result_avals((typed((8, 4), ("x",), ()),), {}).str_short(True) == "f32[8@x,4]"
    with pytest.raises(ShardingTypeError, match="dimension 1 of f32"):
        primitive.result_avals((typed((8, 4), (), ("x",)),), {})


def test_fully_replicated_type_shardings_are_none():
    assert make_type_sharding(mesh, ((), ())) is None
    assert TypeSharding(mesh, (("x",), ())).update(parts=((), ())) is None
