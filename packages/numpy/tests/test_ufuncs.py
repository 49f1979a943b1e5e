"""Elementwise functions: jaxprs and types as JAX's, values as NumPy's."""

import inspect
from functools import partial

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import ShapeDtypeStruct, enable_x64, make_jaxpr

F = np.array([0.5, -1.5, 2.25, 0.0], np.float32)
G = np.array([2.0, 3.0, -0.5, 1.0], np.float32)
N = np.array([7, -3, 0, 12], np.int32)
K = np.array([2, 3, 5, -4], np.int32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


def test_types_are_jaxs(types, outcome):
    name, rows = types
    wrong = []
    for row in rows.splitlines():
        arguments, _, expected = row.rpartition(" -> ")
        found = outcome(f"jnp.{name}({arguments})")
        if expected not in (found if isinstance(found, list) else [found]):
            wrong.append(f"{name}({arguments}) gives {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


UNARY = (
    "abs absolute arcsinh arctan cbrt ceil conj cos cosh deg2rad degrees exp exp2 expm1 fabs floor "
    "frexp i0 imag iscomplex isfinite isinf isnan isneginf isposinf isreal logical_not modf "
    "nan_to_num negative positive rad2deg radians real reciprocal rint sign signbit sin sinc sinh "
    "square tan tanh trunc angle round spacing"
)
UNIT = "arccos arcsin"
POSITIVE = "log log10 log1p log2 sqrt arccosh"
BINARY = (
    "add arctan2 copysign divide equal float_power fmax fmin fmod greater greater_equal heaviside "
    "hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum "
    "mod multiply nextafter not_equal remainder subtract true_divide floor_divide divmod"
)
INTEGER = (
    "bitwise_and bitwise_or bitwise_xor floor_divide remainder fmod divmod add power "
    "maximum float_power"
)


def _compare(name, args, backend):
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*args)
    found = getattr(jnp, name)(*map(jnp.asarray, args))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", UNARY.split())
def test_value_is_numpys(name, backend):
    _compare(name, (F,), backend)


@pytest.mark.parametrize("name", [*UNIT.split(), "arctanh"])
def test_value_is_numpys_within_the_unit_interval(name, backend):
    _compare(name, (np.array([0.5, -0.25, 0.75], np.float32),), backend)


@pytest.mark.parametrize("name", POSITIVE.split())
def test_value_is_numpys_for_positive_numbers(name, backend):
    _compare(name, (np.array([1.0, 2.5, 8.0], np.float32),), backend)


@pytest.mark.parametrize("name", BINARY.split())
def test_value_of_two_is_numpys(name, backend):
    _compare(name, (F, G), backend)


@pytest.mark.parametrize("name", ["ldexp"])
def test_value_of_float_and_integer_is_numpys(name, backend):
    _compare(name, (F, K), backend)


@pytest.mark.parametrize("name", INTEGER.split())
def test_value_of_integers_is_numpys(name, backend):
    _compare(name, (N, np.abs(K)), backend)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_divisors_and_multiples_at_the_borders_of_integers_are_numpys(dtype, name, backend):
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = {least, least + 1, max(least, -1), 0, 1, 2, 3, greatest // 2 + 1, greatest}
    numbers = np.array(sorted(values), dtype)
    with np.errstate(over="ignore"), enable_x64(True):
        expected = getattr(np, name)(numbers[:, None], numbers)
        actual = getattr(jnp, name)(numbers[:, None], numbers)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_shift_is_numpys(name, backend):
    _compare(name, (N, np.array([1, 2, 3, 0], np.int32)), backend)


@pytest.mark.parametrize(
    "name", "isnan isinf isposinf isneginf isfinite signbit nan_to_num sign floor".split()
)
def test_special_values_are_numpys(name, backend):
    _compare(name, (SPECIAL,), backend)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "logaddexp", "hypot"])
def test_special_values_of_two_are_numpys(name, backend):
    _compare(name, (SPECIAL, SPECIAL[::-1].copy()), backend)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "divmod"])
def test_division_by_zero_is_numpys_for_floats(name, backend):
    _compare(name, (F, np.zeros(4, np.float32)), backend)


@pytest.mark.parametrize("decimals", [0, 1, -1])
def test_rounding_is_numpys(decimals, backend):
    x = np.array([0.5, 1.5, 12.25, -17.0], np.float32)
    np.testing.assert_allclose(jnp.round(x, decimals), np.round(x, decimals), rtol=1e-6)


@pytest.mark.parametrize("bounds", [(0, 1), (None, 1.5), (-1, None), (2, 1)])
def test_clip_is_numpys(bounds, backend):
    np.testing.assert_allclose(jnp.clip(jnp.asarray(F), *bounds), np.clip(F, *bounds))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16])
@pytest.mark.parametrize("tolerance", [{}, {"atol": 1}, {"rtol": 1}, {"rtol": 0.5, "atol": 0.5}])
def test_tolerances_count_for_booleans_too(dtype, tolerance, backend):
    a, b = (np.array(x, dtype) for x in ([0, 1, 0, 1], [1, 1, 0, 0]))
    expected = np.isclose(a, b, **tolerance)
    assert jnp.isclose(a, b, **tolerance).tolist() == expected.tolist()
    assert bool(jnp.allclose(a, b, **tolerance)) == expected.all()
    assert jnp.isclose(a[:0], b[:0], **tolerance).shape == (0,)


def test_isclose_is_numpys(backend):
    a = np.array([1.0, 1.0 + 1e-6, 1.1, np.nan, np.inf], np.float32)
    b = np.array([1.0, 1.0, 1.0, np.nan, np.inf], np.float32)
    for equal_nan in (False, True):
        expected = np.isclose(a, b, equal_nan=equal_nan)
        assert jnp.isclose(a, b, equal_nan=equal_nan).tolist() == expected.tolist()
    assert not bool(jnp.allclose(a, b))
    assert bool(jnp.array_equal(b, b, equal_nan=True))


def test_unwrap_is_numpys(backend):
    x = np.array([0.0, 4.0, -2.0, 9.0], np.float32)
    np.testing.assert_allclose(jnp.unwrap(jnp.asarray(x)), np.unwrap(x), rtol=1e-6)
    assert jnp.unwrap(jnp.asarray([0, 4, 0]), period=5).tolist() == [0, -1, 0]


@pytest.mark.parametrize("value", [[1.0], (1.0,), None, "a", object()])
@pytest.mark.parametrize("position", [0, 1])
def test_errors_name_invalid_operands(value, position):
    args = [2.0, 2.0]
    args[position] = value
    with pytest.raises(TypeError, match=rf"^add takes .* at position {position}\."):
        jnp.add(*args)


def test_array_of_objects_raises():
    with pytest.raises(TypeError, match="object"):
        jnp.sin(np.array([1, 2], object))


def test_duck_arrays_are_operands():
    class Duck:
        def __jax_array__(self):
            return np.ones(3, np.float32)

    jaxpr = make_jaxpr(lambda x: jnp.add(x, Duck()))(ShapeDtypeStruct((3,), np.dtype("float32")))
    assert jaxpr.outvars[0].aval.shape == (3,)


class Shown:
    """Wrapper of an array that forwards its attributes."""

    def __init__(self, held):
        self.held = held

    def __jax_array__(self):
        return self.held

    def __getattr__(self, name):
        return getattr(self.held, name)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: jnp.matmul(x, x),
        lambda x: jnp.add(x, 1),
        lambda x: jnp.prod(x, initial=2.0),
        lambda x: jnp.where(jnp.greater(x, 0), x, 0),
        lambda x: jnp.concatenate([x, jnp.ones((1, 2))]),
        lambda x: jnp.asarray(x),
        lambda x: jnp.stack([x, x]),
        lambda x: jnp.linalg.norm(x),
        lambda x: jnp.power(x, 3),
        lambda x: jnp.ones((2, 2, 2)).at[0].set(x),
    ],
)
def test_array_wrappers_differentiate_as_their_arrays(fun, backend):
    x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    expected = grad(lambda x: jnp.sum(fun(x)))(x)
    np.testing.assert_allclose(grad(lambda x: jnp.sum(fun(Shown(x))))(x), expected)


@pytest.mark.parametrize("name", ["sin", "add", "arctan2", "acos", "isfinite", "power", "equal"])
def test_ufuncs_have_names_signatures_and_documentation(name):
    function = getattr(jnp, name)
    assert function.__name__ == name
    assert function.__module__.startswith("ricci_numpy")
    assert f"numpy.{name}" in function.__doc__ or "Source" in function.__doc__
    assert inspect.signature(function)


def test_ufuncs_reduce_accumulate_and_combine(backend):
    x = jnp.asarray([1.0, 2.0, 3.0])
    assert float(jnp.add.reduce(x)) == 6
    assert jnp.multiply.accumulate(x).tolist() == [1, 2, 6]
    assert jnp.maximum.accumulate(jnp.asarray([1, 3, 2])).tolist() == [1, 3, 3]
    assert jnp.subtract.outer(x, x[:2]).tolist() == [[0, -1], [1, 0], [2, 1]]
    assert jnp.subtract.reduce(x).tolist() == -4
    assert jnp.add.at(x, 1, 5.0, inplace=False).tolist() == [1, 7, 3]
    assert jnp.add.reduceat(x, jnp.asarray([0, 2])).tolist() == [3, 3]
    larger = jnp.frompyfunc(lambda a, b: jnp.where(a > b, a, b), 2, 1)
    assert float(larger.reduce(x)) == 3
    assert isinstance(jnp.add, jnp.ufunc)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_log_sums_reduce(name, backend):
    found = getattr(jnp, name).reduce(jnp.asarray(F))
    np.testing.assert_allclose(found, getattr(np, name).reduce(F), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_a_reduction_of_no_rows_is_the_identity(dtype, backend):
    total = jnp.frompyfunc(lambda a, b: a + b, 2, 1, identity=3)
    result = total.reduce(jnp.ones((0, 4), dtype))
    assert result.dtype == dtype and result.tolist() == [3, 3, 3, 3]
    (aval,) = make_jaxpr(total.reduce)(np.ones((0, 4), np.float32)).out_avals
    assert aval.shape == (4,)
    assert total.reduce(jnp.ones((2, 0), dtype)).shape == (0,)
    with pytest.raises(ValueError, match="no identity"):
        jnp.frompyfunc(lambda a, b: a + b, 2, 1).reduce(jnp.ones((0, 4), dtype))


def test_ufunc_of_a_function_without_a_name(backend):
    scaled = jnp.frompyfunc(partial(lambda k, a, b: k * a + b, 2), 2, 1)
    assert repr(scaled) == "<jnp.ufunc 'partial'>"
    assert scaled.reduce(jnp.array([1, 2, 3])).tolist() == 11


def test_ufunc_at_inplace_raises():
    with pytest.raises(NotImplementedError, match="inplace"):
        jnp.add.at(np.ones(3), 0, 1.0)
    with pytest.raises(NotImplementedError, match="out"):
        jnp.add(1, 2, out=np.ones(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sinc_loses_nothing_at_large_arguments(dtype, backend):
    with enable_x64():
        x = np.array([2.5, -7.5, 1000000.5, 3.0, -4.0], dtype)
        values = [2 / (5 * np.pi), -2 / (15 * np.pi), 1 / (1000000.5 * np.pi), 0.0, 0.0]
        np.testing.assert_allclose(
            jnp.sinc(x), np.array(values, dtype), rtol=4 * np.finfo(dtype).eps
        )
        assert not np.signbit(jnp.sinc(np.arange(-3, 4, dtype=dtype))).any()
