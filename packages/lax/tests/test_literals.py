"""Staged values, empty arrays, repeating like another array, dtypes, shapes as values."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, bfloat16, make_jaxpr
from ricci_lax import add, broadcast_like, dtype, empty, mul, shape_as_value, stage


def of(*shape, dtype: Any = "float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def test_staged_scalars_are_variables_of_the_jaxpr():
    jaxpr = make_jaxpr(lambda: add(stage(2.0), stage(3.0)))()
    assert str(jaxpr) == "{ lambda ; . let a:f32[] = add 2.0:f32[] 3.0:f32[] in (a,) }"


def test_staging_adds_no_operation():
    assert str(make_jaxpr(stage)(of(3))) == "{ lambda ; a:f32[3]. let  in (a,) }"


def test_staged_values_pass_through_transformations(backend):
    assert float(grad(lambda x: mul(stage(x), stage(3.0)))(2.0)) == 3.0
    doubled = vmap(lambda x: mul(stage(x), stage(2.0)))(np.ones(2, np.float32))
    np.testing.assert_array_equal(np.asarray(doubled), [2, 2])


def test_only_arrays_are_staged():
    with pytest.raises(TypeError, match="not a valid array type"):
        stage([1])


@pytest.mark.parametrize(
    ("given", "printed"),
    [(np.float32, "<class 'numpy.float32'>"), ("float32", "float32"), (np.dtype("int8"), "int8")],
)
def test_empty_prints_the_dtype_as_given(given, printed):
    (eqn,) = make_jaxpr(lambda: empty((2,), given))().eqns
    assert str(eqn.params["dtype"]) == printed


@pytest.mark.parametrize("given", [np.float32, np.complex64, bool, bfloat16, np.uint8])
def test_empty_arrays_are_zeros(backend, given):
    found = empty((2, 0, 3), given), empty(2, given)
    assert [x.shape for x in found] == [(2, 0, 3), (2,)]
    assert found[1].dtype == given and not np.asarray(found[1]).any()


@pytest.mark.parametrize(
    ("own", "like", "dims"),
    [
        ((3,), (2, 3), (1,)),
        ((), (2, 3), ()),
        ((1, 3), (2, 3), (0, 1)),
        ((2, 1), (4, 2, 3), (1, 2)),
        ((1,), (2, 3), (1,)),
    ],
)
def test_dimensions_pair_up_from_the_last(own, like, dims):
    (eqn,) = make_jaxpr(broadcast_like)(of(*own), of(*like, dtype="int32")).eqns
    assert eqn.params["broadcast_dimensions"] == dims
    assert (eqn.outvars[0].aval.shape, eqn.outvars[0].aval.dtype) == (like, np.float32)


@pytest.mark.parametrize(("own", "like"), [((2,), (2, 3)), ((2, 3), (3,)), ((3,), (1,))])
def test_shapes_that_do_not_fit_are_refused(own, like):
    with pytest.raises(ValueError, match="broadcast_like: an array of shape"):
        make_jaxpr(broadcast_like)(of(*own), of(*like))


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (1, "int32"),
        (1.0, "float32"),
        (True, "bool"),
        (1j, "complex64"),
        (np.float64(2), "float32"),
        (np.ones(2), "float32"),
        (float, "float32"),
        (np.dtype("int64"), "int32"),
        (of(2, dtype=bfloat16), "bfloat16"),
    ],
)
def test_dtypes(x, name):
    assert dtype(x) == np.dtype(name)


@pytest.mark.parametrize(("error", "x"), [(ValueError, None), (TypeError, [1]), (TypeError, "a")])
def test_values_without_a_dtype_are_refused(error, x):
    with pytest.raises(error):
        dtype(x)


@pytest.mark.parametrize("shape", [(2, 3), [4], (1,)])
def test_shapes_are_int32_values(shape):
    found = shape_as_value(shape)
    np.testing.assert_array_equal(found, np.array(shape, np.int32))
    assert found.dtype == np.int32


def test_the_shape_of_a_scalar_is_empty():
    (aval,) = make_jaxpr(lambda: shape_as_value(()))().out_avals
    assert (aval.shape, aval.dtype) == ((0,), np.int32)


@pytest.mark.parametrize("shape", [5, ("a",), (1.5,)])
def test_invalid_shapes_are_refused(shape):
    with pytest.raises(TypeError):
        shape_as_value(shape)
