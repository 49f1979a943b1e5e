"""Operators and methods of arrays and traced arrays."""

import math

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, make_jaxpr

X = np.array([[1.0, -2.5, 4.0], [0.5, 3.0, -1.0]], np.float32)


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


def test_types_of_operators_are_jaxs(types, outcome):
    symbol, rows = types
    wrong = []
    for row in rows.splitlines():
        arguments, _, expected = row.rpartition(" -> ")
        left, right = arguments.split(",")
        found = outcome(f"({left}) {symbol} ({right})")
        if expected not in (found if isinstance(found, list) else [found]):
            wrong.append(f"{left} {symbol} {right} gives {found}, not {expected}")
    assert not wrong, "\n".join(wrong)


SAME = """
x + x | x - 2 | 2 - x | x * x | x / 4 | 4 / x | x // 2 | 7 // x | x % 2 | 7 % x | x**2 | 2**x
-x | +x | abs(x) | x == x | x != 2 | x < 1 | x <= 1 | 1 < x | x >= x | divmod(x, 2)[0]
x.T | x.sum() | x.mean(0) | x.std(1) | x.max() | x.min(1) | x.prod() | x.cumsum(1) | x.argmax(0)
x.clip(0, 1) | x.real | x.imag | x.astype("int32") | x.round() | x.view("int32") | x.copy()
x.byteswap().view("uint32") | x.var(ddof=1) | x.conj() | x.all() | x.any(1) | x.cumprod(0)
"""
CASES = [case.strip() for line in SAME.strip().splitlines() for case in line.split(" | ")]


@pytest.mark.parametrize("expression", CASES)
def test_value_is_numpys(expression, backend):
    expected = eval(expression, {"x": X})
    found = eval(expression, {"x": jnp.asarray(X)})
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_numpy_arrays_on_the_left_defer(backend):
    ours = jnp.asarray(X)
    for left in (np.ones(3), np.float32(2), np.ones((2, 1))):
        for found in (left + ours, left * ours, left - ours, left / ours, left**ours):
            assert type(found) is type(ours)
        assert type(left == ours) is type(ours)


def test_numpy_arrays_on_the_left_defer_to_tracers():
    jaxpr = make_jaxpr(lambda x: np.ones(3) * x)(np.ones(3, np.float32))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]


@pytest.mark.parametrize("other", [[1.0], (1.0, 2.0)])
def test_operators_refuse_sequences(other):
    with pytest.raises(TypeError, match="asarray"):
        make_jaxpr(lambda x: x * other)(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="asarray"):
        make_jaxpr(lambda x: x == other)(np.ones(3, np.float32))


@pytest.mark.parametrize("other", [None, "a", object()])
def test_operators_leave_other_classes_to_python(other):
    def fun(x):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other
        with pytest.raises(TypeError, match="not supported between"):
            _ = x < other
        return x

    make_jaxpr(fun)(np.ones(3, np.float32))


def test_operators_defer_to_reflected_methods():
    class Other:
        def __radd__(self, x):
            return "taken"

    def fun(x):
        assert x + Other() == "taken"
        return x

    make_jaxpr(fun)(np.ones(3, np.float32))


def test_rows_are_one_operation():
    jaxpr = make_jaxpr(lambda x: list(x))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["unstack"]


def test_iteration(backend):
    x = jnp.asarray(X)
    assert [row.tolist() for row in x] == X.tolist()
    assert [row.tolist() for row in reversed(x)] == X[::-1].tolist()
    with pytest.raises(TypeError, match="rank 0"):
        iter(x[0, 0])
    assert X[0, 1] in x[0]
    assert 5.0 not in x[0]
    with pytest.raises(ValueError, match="one dimension"):
        4.0 in x  # noqa: B015


def test_rounding_gives_integers(backend):
    assert round(jnp.asarray([1.6, 2.5])).tolist() == [2, 2]
    assert round(jnp.asarray([1.6, 2.5])).dtype == np.dtype("int32")
    assert math.isclose(float(round(jnp.asarray(1.26), 1)), 1.3, rel_tol=1e-6)


def test_view_between_sizes(backend):
    x = jnp.arange(4, dtype="uint8")
    assert x.view("uint16").tolist() == np.arange(4, dtype="uint8").view("uint16").tolist()
    assert x.view("uint16").view("uint8").tolist() == [0, 1, 2, 3]
    c = np.array([1 + 2j, 3 - 1j], np.complex64)
    assert jnp.asarray(c).view("float32").tolist() == c.view("float32").tolist()
    assert jnp.asarray(c).view("float32").view("complex64").tolist() == c.tolist()
    with pytest.raises(ValueError, match="do not divide into elements"):
        x[:3].view("uint16")


def test_conversion_to_the_same_dtype_drops_the_weak_type(backend):
    weak = jnp.asarray(1.0)
    assert weak.weak_type
    assert not weak.astype("float32").weak_type
    assert not make_jaxpr(lambda x: x.astype("float32"))(X).eqns


def test_names_that_tracers_use_do_not_hide_methods():
    jaxpr = make_jaxpr(lambda x: x.var() + x.size + x.ndim)(X)
    assert jaxpr.outvars[0].aval.shape == ()


@pytest.mark.parametrize("name", ["flat"])
def test_writing_attributes_are_not_provided(name):
    with pytest.raises(NotImplementedError, match="arrays do not change"):
        make_jaxpr(lambda x: getattr(x, name))(X)


def test_array_namespace(monkeypatch):
    # Other packages, where they are imported, name themselves.
    monkeypatch.setattr("ricci_numpy.arrays._dtypes.array_namespaces", ["ricci_numpy"])
    found = []

    def fun(x):
        found.append(x.__array_namespace__())
        return x

    make_jaxpr(fun)(ShapeDtypeStruct((3,), np.dtype("float32")))
    assert found == [jnp]


def test_sizes_in_bytes():
    sizes = []

    def fun(x):
        sizes.extend([x.itemsize, x.nbytes])
        return x

    make_jaxpr(fun)(X)
    assert sizes == [4, 24]
