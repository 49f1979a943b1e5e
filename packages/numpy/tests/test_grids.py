"""Grids, rows, bits and arrays of other libraries: types, values and errors as JAX's."""

import io

import numpy as np
import pytest

import ricci_numpy as jnp


def test_result_is_jaxs(recorded, check):
    check(recorded)


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unpacking_undoes_packing(axis, bitorder, backend):
    bits = np.random.RandomState(0).randint(0, 2, (5, 11)).astype(np.uint8)
    count = bits.size if axis is None else bits.shape[axis]
    packed = jnp.packbits(bits, axis, bitorder)
    np.testing.assert_array_equal(packed, np.packbits(bits, axis, bitorder))
    found = jnp.unpackbits(packed, axis, count, bitorder)
    np.testing.assert_array_equal(found, bits.reshape(-1) if axis is None else bits)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_load_undoes_save(dtype, backend):
    x, file = jnp.arange(3).astype(dtype), io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    found = jnp.load(file)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found, "complex64"), np.asarray(x, "complex64"))


def test_from_dlpack(backend):
    found = jnp.from_dlpack(np.arange(3.0, dtype="float32"), copy=True)
    assert (found.tolist(), found.dtype) == ([0.0, 1.0, 2.0], "float32")


def test_array_namespace_info(backend):
    info = jnp.zeros(1).__array_namespace__().__array_namespace_info__()
    assert sorted(info.dtypes(kind="real floating")) == ["float32"]
    assert info.default_dtypes()["integral"] == "int32"
    with pytest.raises(ValueError, match="2021"):
        jnp.zeros(1).__array_namespace__(api_version="2021.12")
