"""Promotion of dtypes, weak types and ranks by operators, as in JAX's jaxprs."""

import warnings

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ShapedArray, ShapeDtypeStruct, config, float0, make_jaxpr, numpy_rank_promotion
from ricci_numpy._promotion import promote_dtypes, promote_dtypes_inexact, promote_shapes


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.parametrize(
    ("dtype", "scalar", "expected"),
    [
        ("float32", 2.0, float),
        ("float32", 2, np.float32),
        ("bfloat16", 2.0, jnp.bfloat16.dtype.type),
        ("int8", 300, np.int8),
        ("int32", 2, np.int32),
    ],
)
def test_scalars_stay_scalars(dtype, scalar, expected):
    found = []

    def fun(x):
        found.append(promote_dtypes(x, scalar)[1])
        return x + scalar

    make_jaxpr(fun)(ShapeDtypeStruct((3,), np.dtype(dtype)))
    assert np.ndim(found[0]) == 0
    if expected is not float:
        assert type(found[0]) is expected


def test_python_int_wraps_in_a_short_dtype(printed):
    assert "44:u8[]" in printed("u8 + 300")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int32"])
def test_inexact_promotion_gives_floats(dtype):
    x = np.zeros(3, dtype)
    jaxpr = make_jaxpr(lambda x: promote_dtypes_inexact(x)[0])(x)
    assert jaxpr.outvars[0].aval == ShapedArray((3,), "float32")


def test_int_too_large_for_the_default_dtype():
    with pytest.raises(OverflowError):
        make_jaxpr(lambda x: x + 2**40)(np.ones(3, np.float32))


def test_vectorize_promotes_ranks_of_mapped_dimensions_only_where_allowed(backend):
    def shape(signature, *shapes):
        call = jnp.vectorize(lambda x, y: x, signature=signature)
        return call(*(jnp.ones(s) for s in shapes)).shape

    with numpy_rank_promotion("raise"):
        assert shape(None, (3, 2), ()) == (3, 2)
        assert shape("(n),(m)->(n)", (3, 2), (1, 4)) == (3, 2)
        assert shape("(n,m),(m)->(n,m)", (3, 2), (2,)) == (3, 2)
        for signature, *shapes in ((None, (2,), (1, 2)), ("(n),(m)->(n)", (3, 2), (2,))):
            with pytest.raises(ValueError, match="vectorize would promote operands of shapes"):
                shape(signature, *shapes)
    with numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="vectorize"):
        assert shape(None, (2,), (1, 2)) == (1, 2)


def test_rank_promotion_is_an_option():
    x, y = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    config.update("jax_numpy_rank_promotion", "raise")
    try:
        with pytest.raises(ValueError, match=r"\(2, 3\), \(3,\)"):
            make_jaxpr(jnp.add)(x, y)
        make_jaxpr(jnp.add)(x, 2.0)
    finally:
        config.update("jax_numpy_rank_promotion", "allow")


@pytest.mark.parametrize(
    ("shapes", "error"), [(((3,), (2, 2)), ValueError), (((3,), (2,)), TypeError)]
)
def test_shapes_that_do_not_broadcast_are_named(shapes, error):
    args = [ShapeDtypeStruct(shape, np.dtype("float32")) for shape in shapes]
    with pytest.raises(error) as caught:
        make_jaxpr(jnp.multiply)(*args)
    assert all(str(shape) in str(caught.value) for shape in shapes)


def test_scalars_are_not_reshaped():
    x = np.ones((2, 3), np.float32)
    found = promote_shapes("add", x, 2.0)
    assert found[0] is x
    assert found[1] == 2.0


def test_integers_below_8_bits_divide_to_floats(backend):
    found = jnp.int4(3) / jnp.int4(2)
    assert (found.dtype, float(found)) == (np.float32, 1.5)


@pytest.mark.parametrize("exponent", [2, np.int64(2), np.array(2), np.uint8(2)])
def test_concrete_integer_exponent_keeps_the_dtype(exponent, backend):
    for dtype in ("int8", "uint8", "float16"):
        assert (jnp.ones(2, dtype) ** exponent).dtype == dtype


def test_zeros_of_float0():
    assert jnp.zeros(2, float0).dtype == float0


@pytest.mark.parametrize("kind", [jnp.float64, jnp.int64, jnp.complex128, jnp.double, jnp.uint])
def test_result_type_of_unavailable_scalar_types_does_not_warn(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = jnp.result_type(kind)
    assert found == jnp.result_type(np.zeros(1, kind.dtype))
