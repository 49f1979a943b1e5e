"""Types of values: interned, and found for everything an array can be made of."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import ricci_ir as ir

f32, i32 = np.dtype("float32"), np.dtype("int32")


@pytest.mark.parametrize(
    "other",
    [
        lambda a: ir.ShapedArray([2, 3], "float32"),
        lambda a: ir.ShapedArray((np.int64(2), 3), np.float32, False),
        lambda a: pickle.loads(pickle.dumps(a)),
        copy.copy,
        copy.deepcopy,
        lambda a: a.update(),
        lambda a: a.update(weak_type=True).strip_weak_type(),
        lambda a: a.update(shape=(1,)).update(shape=(2, 3)),
    ],
)
def test_equal_types_are_one_object(other):
    aval = ir.ShapedArray((2, 3), f32)
    assert other(aval) is aval


def test_different_types_differ():
    avals = {
        ir.ShapedArray((2,), f32),
        ir.ShapedArray((2,), i32),
        ir.ShapedArray((2, 1), f32),
        ir.ShapedArray((2,), f32, True),
    }
    assert len(avals) == 4


@pytest.mark.parametrize("shape", [(1.5,), ("a",), 3])
def test_a_shape_is_a_sequence_of_ints(shape):
    with pytest.raises(TypeError):
        ir.ShapedArray(shape, f32)


TEXTS = [
    (((2, 3), "float32", False), "float32[2,3]", "f32[2,3]", "ShapedArray(float32[2,3])"),
    (((), "int8", True), "~int8[]", "i8[]", "ShapedArray(int8[], weak_type=True)"),
    (((1,), ir.bfloat16, False), "bfloat16[1]", "bf16[1]", "ShapedArray(bfloat16[1])"),
    (((), "bool", False), "bool[]", "bool[]", "ShapedArray(bool[])"),
]


@pytest.mark.parametrize(("args", "long", "short", "representation"), TEXTS)
def test_texts(args, long, short, representation):
    aval = ir.ShapedArray(*args)
    assert (str(aval), aval.str_short(short_dtypes=True), repr(aval)) == (
        long,
        short,
        representation,
    )
    assert aval.str_short() == long.removeprefix("~")


def test_attributes():
    aval = ir.ShapedArray((2, 3), f32)
    assert (aval.ndim, aval.size, len(aval)) == (2, 6, 2)
    with pytest.raises(TypeError, match="unsized"):
        len(ir.ShapedArray((), f32))


class Meters(float):
    pass


VALUES = [
    (True, ir.ShapedArray((), bool)),
    (3, ir.ShapedArray((), i32, True)),
    (3.0, ir.ShapedArray((), f32, True)),
    (3j, ir.ShapedArray((), np.complex64, True)),
    (Meters(3), ir.ShapedArray((), f32, True)),
    (np.float32(3), ir.ShapedArray((), f32)),
    (np.float64(3), ir.ShapedArray((), f32)),
    (np.zeros((2, 0)), ir.ShapedArray((2, 0), f32)),
    (np.zeros(2, np.int64), ir.ShapedArray((2,), i32)),
    (np.zeros(2, np.int16), ir.ShapedArray((2,), np.int16)),
]


@pytest.mark.parametrize(("value", "aval"), VALUES, ids=lambda x: repr(x)[:30])
def test_get_aval(value, aval):
    assert ir.get_aval(value) is ir.typeof(value) is aval


@pytest.mark.parametrize(
    "value",
    ["abc", None, [1.0], object(), ir.ShapeDtypeStruct((2,), f32)],
    ids=lambda x: repr(x)[:9],
)
def test_get_aval_of_a_non_array_raises_type_error(value):
    with pytest.raises(TypeError, match="is not a valid array type"):
        ir.get_aval(value)


@pytest.mark.parametrize("weak", [False, True])
def test_unused_types_are_freed_by_reference_counting(weak):
    gc.disable()
    try:
        kind = weakref.ref(ir.ShapedArray((3, 1, 4, 1, 5), np.float32, weak))
        ir.clear_caches()
        assert kind() is None
    finally:
        gc.enable()
