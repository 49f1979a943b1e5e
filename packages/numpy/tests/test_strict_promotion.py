"""Functions promote nothing by themselves where promotion of dtypes is refused."""

import pytest

import ricci_ir as ir
import ricci_numpy as jnp


@pytest.fixture(params=[False, True], ids=["32", "64"])
def strict(request):
    with ir.enable_x64(request.param), ir.numpy_dtype_promotion("strict"):
        yield


@pytest.mark.sampled(36)
@pytest.mark.usefixtures("strict", "backend")
@pytest.mark.parametrize("dtype", [None, "float32", "float16"])
@pytest.mark.parametrize("spacing", ["float16", "bfloat16", "float32", "int32", "uint8"])
@pytest.mark.parametrize("function", [jnp.fft.fftfreq, jnp.fft.rfftfreq])
def test_frequencies_do_not_promote_the_spacing(function, spacing, dtype):
    frequencies = function(4, d=jnp.asarray(2, spacing), dtype=dtype)
    assert frequencies.dtype == (dtype or ir.python_scalar_dtype(float))
    assert frequencies[1] == 0.125


@pytest.mark.sampled(7)
@pytest.mark.usefixtures("strict", "backend")
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
@pytest.mark.parametrize("fill", [None, 9])
def test_positions_of_an_intersection_are_not_promoted(dtype, fill):
    x, y = jnp.asarray([3, 1, 2], dtype), jnp.asarray([2, 4, 3, 5], dtype)
    values, in_x, in_y = jnp.intersect1d(x, y, return_indices=True, size=3, fill_value=fill)
    assert values[:2].tolist() == [2, 3]
    assert (in_x.tolist(), in_y.tolist()) == ([2, 0, 3], [0, 2, 4])
    assert in_x.dtype == in_y.dtype == ir.python_scalar_dtype(int)


@pytest.mark.usefixtures("strict", "backend")
@pytest.mark.parametrize("dtype", ["int8", "int32", "bool"])
@pytest.mark.parametrize("ufunc", [jnp.logaddexp, jnp.logaddexp2])
def test_loops_of_functions_with_float_results_take_integers(ufunc, dtype):
    x = jnp.asarray([1, 1, 2, 1]).astype(dtype)
    floats = x.astype(ufunc(x, x).dtype)
    assert (ufunc.accumulate(x) == ufunc.accumulate(floats)).all()
    places = jnp.asarray([0, 2, 0])
    updated = ufunc.at(x, places, x[:3], inplace=False)
    assert (updated == ufunc.at(floats, places, floats[:3], inplace=False)).all()


@pytest.mark.usefixtures("strict", "backend")
def test_loops_do_not_mix_operands_of_two_dtypes():
    x, places = jnp.asarray([1.0, 2.0], "float32"), jnp.asarray([0])
    with pytest.raises(ir.TypePromotionError):
        jnp.logaddexp.at(x, places, jnp.asarray([1], "int32"), inplace=False)
