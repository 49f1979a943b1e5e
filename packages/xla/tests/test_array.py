"""Arrays: printing, conversion to Python and NumPy, pieces, deletion."""

import copy
import inspect
import pickle
import sys

import ml_dtypes
import numpy as np
import pytest

from ricci_ir import Array, ShapedArray, config
from ricci_xla import (
    Format,
    Mesh,
    NamedSharding,
    P,
    array_from_host,
    device_put,
    from_dlpack,
    make_array_from_single_device_arrays,
)


def weak(value):
    value = np.asarray(value)
    return array_from_host(value, ShapedArray(value.shape, value.dtype, weak_type=True))


PRINTED = [
    (np.float32(1.5), "Array(1.5, dtype=float32)", "1.5"),
    (np.arange(3, dtype="int32"), "Array([0, 1, 2], dtype=int32)", "[0 1 2]"),
    (np.array([True, False]), "Array([ True, False], dtype=bool)", "[ True False]"),
    (np.zeros((0, 3), "float32"), "Array([], shape=(0, 3), dtype=float32)", "[]"),
    (np.array([1 + 2j], "complex64"), "Array([1.+2.j], dtype=complex64)", "[1.+2.j]"),
    (np.ones((2,), ml_dtypes.bfloat16), "Array([1, 1], dtype=bfloat16)", "[1 1]"),
    (np.ones((2,), ml_dtypes.int4), "Array([1, 1], dtype=int4)", "[1 1]"),
    (
        np.arange(20, dtype="float32") * np.float32(1.23456789),
        "Array([ 0.       ,  1.2345679,  2.4691358,  3.7037036,  4.9382715,\n"
        "        6.172839 ,  7.4074073,  8.641975 ,  9.876543 , 11.111111 ,\n"
        "       12.345678 , 13.580247 , 14.814815 , 16.049383 , 17.28395  ,\n"
        "       18.518518 , 19.753086 , 20.987654 , 22.222221 , 23.456789 ],      dtype=float32)",
        None,
    ),
    (
        np.arange(2000, dtype="int32"),
        "Array([   0,    1,    2, ..., 1997, 1998, 1999], dtype=int32)",
        "[   0    1    2 ... 1997 1998 1999]",
    ),
]


@pytest.mark.parametrize(("value", "text", "short"), PRINTED, ids=lambda v: str(v)[:12])
def test_prints(value, text, short):
    x = device_put(value)
    assert repr(x) == text
    assert short is None or str(x) == short


def test_weak_type_is_printed():
    assert repr(weak(np.float32(2))) == "Array(2., dtype=float32, weak_type=True)"


@pytest.mark.parametrize(
    ("convert", "expected"),
    [
        (int, 3),
        (float, 3.0),
        (complex, 3 + 0j),
        (bool, True),
        (lambda x: "abcd"[x], "d"),
        (lambda x: x.item(), 3),
        (lambda x: x.tolist(), 3),
        (hex, "0x3"),
        (lambda x: f"{x:03d}", "003"),
    ],
)
def test_scalar_converts(convert, expected):
    found = convert(device_put(np.int32(3)))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("convert", "error", "text"),
    [
        (int, TypeError, "Take one element, or x"),
        (float, TypeError, "Take one element, or x"),
        (complex, TypeError, "Take one element, or x"),
        (bool, ValueError, "an array of several elements is neither"),
        (lambda x: [1, 2][x], TypeError, "cannot serve as a Python index, which is"),
        (lambda x: x.item(), ValueError, "without an index needs an array of one"),
        (hash, TypeError, "unhashable"),
        (lambda x: x.__setitem__(0, 1), TypeError, r"x\.at\[index\]\.set"),
        (lambda x: len(device_put(np.float32(0))), TypeError, "an array of rank"),
        (lambda x: iter(device_put(np.float32(0))), TypeError, "has no first axis to iterate over"),
        (lambda x: bool(device_put(np.zeros(0))), ValueError, "empty"),
        (
            lambda x: [1][device_put(np.float32(0))],
            TypeError,
            "cannot serve as a Python index, which is",
        ),
    ],
)
def test_vector_does_not_convert(convert, error, text):
    with pytest.raises(error, match=text):
        convert(device_put(np.arange(3)))


def test_attributes():
    x = device_put(np.ones((2, 3), "float32"))
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((2, 3), np.float32, 2, 6, 2)
    assert (x.nbytes, x.itemsize, x.weak_type) == (24, 4, False)
    assert x.aval is ShapedArray((2, 3), np.float32)
    assert x.devices() == {x.device}
    assert isinstance(x.format, Format)
    assert x.format.layout.major_to_minor == (0, 1)


def test_numpy_view_is_shared_and_cannot_be_written():
    x = device_put(np.arange(1000.0))
    a, b = np.asarray(x), np.asarray(x)
    assert not a.flags.writeable
    if x.devices().pop().platform == "cpu":
        assert a.ctypes.data == b.ctypes.data == x.unsafe_buffer_pointer()


def test_numpy_copy_can_be_written():
    assert np.array(device_put(np.arange(3.0))).flags.writeable
    assert np.asarray(device_put(np.arange(3.0)), np.float64).dtype == np.float64


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal_and_apart(clone):
    x = weak(np.arange(3, dtype="float32"))
    y = clone(x)
    assert repr(y) == repr(x)
    x.delete()
    assert y.tolist() == [0, 1, 2]


def test_dlpack_shares_memory():
    x = device_put(np.arange(1000, dtype="float32"))
    np.testing.assert_array_equal(np.from_dlpack(x), np.arange(1000))
    y = from_dlpack(np.arange(4, dtype="int32"))
    assert y.aval is ShapedArray((4,), np.int32)
    assert y.tolist() == [0, 1, 2, 3]


def test_from_dlpack_copies_memory_that_its_owner_does_not_share():
    x = np.arange(4, dtype="int32")
    x.flags.writeable = False
    for copies in (None, True):
        np.testing.assert_array_equal(from_dlpack(x, copy=copies), x)
    assert from_dlpack(x[:0]).shape == (0,)
    with pytest.raises(ValueError, match="copy=False forbids a copy"):
        from_dlpack(x, copy=False)


def test_from_dlpack_raises_on_other_objects():
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1, 2])


@pytest.mark.parametrize(
    "use",
    [
        repr,
        np.asarray,
        lambda x: x.devices(),
        lambda x: x.addressable_shards,
        lambda x: x.addressable_data(0),
        lambda x: x.__dlpack__(),
        lambda x: x.copy_to_host_async(),
        copy.copy,
        device_put,
    ],
)
def test_deleted_array_is_named(use):
    x = device_put(np.zeros(6, "float32"))
    x.delete()
    assert x.is_deleted()
    assert x.shape == (6,)
    with pytest.raises(RuntimeError, match="This array was deleted: float"):
        use(x)


def test_addressable_shards_of_a_sharded_array(eight_devices):
    mesh = Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y"))
    value = np.arange(32, dtype="float32").reshape(8, 4)
    x = device_put(value, NamedSharding(mesh, P("x")))
    shards = x.addressable_shards
    assert [shard.device for shard in shards] == eight_devices
    assert [shard.replica_id for shard in shards] == [0, 1] * 4
    for shard in shards:
        np.testing.assert_array_equal(shard.data, value[shard.index])
        assert shard.data.aval is ShapedArray((2, 4), np.float32)
        assert shard.data.devices() == {shard.device}
    np.testing.assert_array_equal(np.asarray(x), value)
    assert not x.is_fully_replicated
    assert x.is_fully_addressable


def test_single_device_arrays_are_assembled_in_any_order(eight_devices):
    sharding = NamedSharding(Mesh(eight_devices, "x"), P("x"))
    x = device_put(np.arange(16, dtype="int32"), sharding)
    pieces = [shard.data for shard in x.addressable_shards]
    y = make_array_from_single_device_arrays((16,), sharding, pieces[::-1])
    assert y.tolist() == list(range(16))
    with pytest.raises(ValueError, match="Give one array for each device"):
        make_array_from_single_device_arrays((16,), sharding, pieces[:3])


def test_jax_is_not_imported(monkeypatch):
    tried = []

    class Finder:
        def find_spec(self, name, path, target=None):
            tried.extend([name] if name.split(".")[0] == "jax" else [])

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    x = device_put(np.arange(4.0))
    repr(x), x.addressable_shards, copy.copy(x), x.copy_to_host_async()
    x.unsafe_buffer_pointer(), x.unsafe_raw_buffer(), hasattr(x, "__cuda_array_interface__")
    assert tried == []


def test_wide_dtypes_follow_the_option():
    assert device_put(np.arange(3)).dtype == np.int32
    with config.state("jax_enable_x64")(True):
        assert device_put(np.arange(3)).dtype == np.int64


def test_help_of_an_array_describes_arrays():
    x = weak(1.5)
    assert inspect.getdoc(x) == inspect.getdoc(Array)
    assert inspect.getdoc(type(x)) == inspect.getdoc(Array)
