"""Arrays made of parts: arguments that contradict the parts."""

from collections.abc import Callable

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P
from ricci.sharding import SingleDeviceSharding

assemble = ricci.make_array_from_single_device_arrays
call_back = ricci.make_array_from_callback


def _rows() -> NamedSharding:
    return NamedSharding(ricci.make_mesh((2,), ("x",), devices=ricci.devices()[:2]), P("x"))


def _all() -> NamedSharding:
    return NamedSharding(ricci.make_mesh((2,), ("x",), devices=ricci.devices()[:2]), P())


def _one() -> SingleDeviceSharding:
    return SingleDeviceSharding(ricci.devices()[0])


def _part(device: int = 0, size: int = 2, dtype: str = "float32") -> ricci.Array:
    return ricci.device_put(np.ones(size, dtype), ricci.devices()[device])


def _parts(**options) -> list[ricci.Array]:
    return [_part(0, **options), _part(1, **options)]


def _keys(device: int) -> ricci.Array:
    return ricci.device_put(ricci.random.split(ricci.random.key(0), 1), ricci.devices()[device])


CONTRADICTIONS: dict[str, Callable[[], object]] = {
    "callback: dtype": lambda: call_back((4,), _rows(), lambda i: np.ones(2, "f4"), dtype="int32"),
    "callback: dtype of keys": lambda: call_back((2,), _rows(), lambda i: _keys(0), dtype="uint32"),
    "callback: shape": lambda: call_back((4,), _rows(), lambda i: np.ones(3, "f4")),
    "device of one": lambda: assemble((2,), _one(), [_part(1)]),
    "device twice": lambda: assemble((4,), _rows(), [_part(0), _part(0)]),
    "dtype": lambda: assemble((4,), _rows(), _parts(), dtype="int32"),
    "dtype of keys": lambda: assemble((2,), _rows(), [_keys(0), _keys(1)], dtype="uint32"),
    "dtype of one": lambda: assemble((2,), _one(), [_part()], dtype="int32"),
    "dtype of one key": lambda: assemble((1,), _one(), [_keys(0)], dtype="uint32"),
    "dtype, of keys for numbers": lambda: assemble((4,), _rows(), _parts(), dtype=_keys(0).dtype),
    "dtype, the same kind": lambda: assemble((2,), _one(), [_part()], dtype="float16"),
    "dtypes": lambda: assemble((4,), _rows(), [_part(0), _part(1, dtype="int32")]),
    "missing": lambda: assemble((4,), _rows(), [_part()]),
    "other device": lambda: assemble((4,), _rows(), [_part(0), _part(2)]),
    "part over several devices": lambda: assemble(
        (4,), _rows(), [assemble((4,), _rows(), _parts())] * 2
    ),
    "shape": lambda: assemble((8,), _rows(), _parts()),
    "shape of one": lambda: assemble((3,), _one(), [_part()]),
    "shape of one: rank": lambda: assemble((2, 1), _one(), [_part()]),
    "shapes": lambda: assemble((4,), _rows(), [_part(0), _part(1, size=3)]),
    "too many": lambda: assemble((4,), _rows(), [*_parts(), _part(2)]),
    "too many for one": lambda: assemble((2,), _one(), _parts()),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_argument_that_contradicts_the_parts_is_refused(name):
    with pytest.raises(ValueError):
        CONTRADICTIONS[name]()


@pytest.mark.parametrize("x64", [False, True])
def test_dtype_may_name_the_dtype_of_the_parts(x64):
    with ricci.enable_x64(x64):
        for dtype in ("float32", np.float32, jnp.float32):
            assert assemble((2,), _one(), [_part()], dtype=dtype).dtype == np.float32
            assert assemble((4,), _rows(), _parts(), dtype=dtype).dtype == np.float32
        assert assemble((2,), _rows(), [_keys(0), _keys(1)], dtype=_keys(0).dtype).shape == (2,)


def test_dtype_of_64_bits_stands_for_that_of_32_bits_while_those_are_off():
    assert assemble((2,), _one(), [_part()], dtype="float64").dtype == np.float32
    with ricci.enable_x64(True), pytest.raises(ValueError, match="dtype=float64 was given"):
        assemble((2,), _one(), [_part()], dtype="float64")


def test_array_of_weakly_typed_parts_is_not_weakly_typed():
    weak = [ricci.device_put(jnp.asarray(1.0), device) for device in ricci.devices()[:2]]
    assert weak[0].weak_type
    assert not assemble((), _all(), weak).weak_type
    assert not assemble((), _one(), weak[:1]).weak_type
    assert not assemble(
        (), _all(), [weak[0], ricci.device_put(np.float32(1), weak[1].device)]
    ).weak_type


def test_shape_is_an_int_or_ints():
    assert assemble(4, _rows(), _parts()).shape == (4,)  # pyright: ignore[reportArgumentType]
    assert assemble(np.array([4]), _rows(), _parts()).shape == (4,)  # pyright: ignore
    for make in (
        lambda shape: assemble(shape, _rows(), _parts()),
        lambda s: call_back(s, _rows(), len),
    ):
        with pytest.raises(TypeError, match="a shape is an int or a sequence of ints"):
            make((4.0,))


def test_array_without_parts_is_refused_on_devices_of_this_process():
    with pytest.raises(ValueError):
        assemble((4,), _rows(), [], dtype="float32")
