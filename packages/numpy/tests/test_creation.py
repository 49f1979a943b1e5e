"""Creation of arrays: jaxprs as JAX's, types and values as NumPy's and JAX's, and errors."""

import warnings

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_ir import make_jaxpr
from ricci_lax import jacfwd

F = np.array([1.0, 2.0, 3.0], np.float32)


def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "~int32[]"),
        (1.5, "~float32[]"),
        (1j, "~complex64[]"),
        (True, "bool[]"),
        ([], "float32[0]"),
        ([1, 2], "int32[2]"),
        ([1.0, 2], "float32[2]"),
        ([1, 2.0, 3j], "complex64[3]"),
        ([True, 2], "int32[2]"),
        ([np.int8(1), 2], "int8[2]"),
        ([np.float16(1), 2], "float16[2]"),
        ([np.bool_(1), 2], "int32[2]"),
        ([np.ones(2), np.ones(2)], "float32[2,2]"),
        (((1, 2), [3, 4.0]), "float32[2,2]"),
        ([[], []], "float32[2,0]"),
        (np.float64(1), "float32[]"),
        (np.arange(3), "int32[3]"),
        (range(3), "int32[3]"),
        (memoryview(b"abc"), "uint8[3]"),
    ],
)
def test_types_of_arrays(value, expected, backend):
    for make in (jnp.array, jnp.asarray):
        assert str(make(value).aval) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda x: [x, x], "float32[2,3]"),
        (lambda x: [x, [1, 2, 3]], "float32[2,3]"),
        (lambda x: [x[0], 1.0, 2], "float32[3]"),
        (lambda x: [[x[0], 1], [2, x[1]]], "float32[2,2]"),
        (lambda x: [x.astype("int8"), [1, 2, 3]], "int8[2,3]"),
        (lambda x: [x, np.arange(3)], "float32[2,3]"),
        (lambda x: (x[0], jnp.asarray(1.0)), "float32[2]"),
    ],
)
def test_sequences_of_traced_arrays(value, expected):
    jaxpr = make_jaxpr(lambda x: jnp.array(value(x)))(F)
    assert str(jaxpr.outvars[0].aval) == expected


def test_value_of_a_mixed_sequence(backend):
    x = jnp.asarray(F)
    assert jnp.array([[x[0], 2], [3, x[2]]]).tolist() == [[1, 2], [3, 3]]
    assert jnp.array([x, [4, 5, 6]]).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_array_copies_and_asarray_does_not(backend):
    x = jnp.asarray(F)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x
    host = np.ones(3, np.float32)
    ours = jnp.asarray(host)
    host[0] = 7
    assert ours.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, ValueError, "None"),
        ([None, 1], ValueError, "None"),
        ("a", TypeError, "numbers.* np.unique"),
        (["a"], TypeError, "numbers"),
        ([1, {}], TypeError, "numbers"),
        (object(), TypeError, "numbers"),
        ({1, 2}, TypeError, "numbers"),
        (np.array(["a"]), TypeError, "numbers.* np.unique"),
        (np.array([1, None]), TypeError, "numbers.* stack"),
        (np.array(["2026-11-21"], "M8[D]"), TypeError, "numbers.*time since a date"),
        (np.array([5], "m8[s]"), TypeError, "numbers.*Divide by a unit"),
        (np.zeros(2, [("a", int)]), TypeError, "numbers.*each field"),
        (np.arange(3, dtype=">i4"), TypeError, "native byte order.*newbyteorder"),
        ([[1, 2], [3]], ValueError, r"ragged: element \[0\] has shape \(2,\) and \[1\] .* \(1,\)"),
        (2**31, OverflowError, "too large"),
        ([2**31], OverflowError, "out of bounds"),
    ],
)
def test_invalid_values_raise(value, error, message):
    with pytest.raises(error, match=message):
        jnp.array(value)


@pytest.mark.parametrize("dtype", ["str", object, "S", "datetime64[s]", np.dtype([("a", int)])])
def test_unsupported_dtypes_raise(dtype):
    for make in (lambda: jnp.zeros(3, dtype), lambda: jnp.array([1], dtype)):
        with pytest.raises(TypeError, match="numbers and booleans"):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.zeros(2, "float64"),
        lambda: jnp.array([1], np.float64),
        lambda: jnp.arange(3, dtype="int64"),
        lambda: jnp.float64(1),
        lambda: jnp.full_like(F, 1, dtype="complex128"),
    ],
)
def test_unavailable_wide_dtypes_warn(make, backend):
    with pytest.warns(UserWarning, match="not available"):
        assert make().dtype.itemsize <= 8


def test_wide_values_are_narrowed_silently(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jnp.asarray(np.ones(2)).dtype == np.dtype("float32")
        assert jnp.zeros(2, float).dtype == np.dtype("float32")


@pytest.mark.parametrize("shape", [-1, (2, -1), 2.5, (2, 2.5), "a", None])
def test_invalid_shapes_raise(shape):
    with pytest.raises(TypeError):
        jnp.zeros(shape)


@pytest.mark.parametrize("shape", [3, (3,), [3], np.int64(3), np.array([3])])
def test_forms_of_shapes(shape, backend):
    assert jnp.ones(shape).shape == (3,)


def test_traced_shape_raises():
    with pytest.raises(TypeError, match="(?i)trace"):
        make_jaxpr(lambda n: jnp.zeros(n))(3)


SAME = """
np.arange(5) | np.arange(1, 7, 2) | np.arange(10, 0, -3) | np.arange(0, 1, 0.25) | np.arange(0)
np.arange(1.5, 4) | np.arange(3, dtype="float32") | np.linspace(0, 1, 5) | np.linspace(0, 1, 1)
np.linspace(0, 1, 4, endpoint=False) | np.linspace(F, 9, 3) | np.linspace(F, 9, 3, axis=-1)
np.linspace(0, 10, 4, dtype="int32") | np.linspace(0, 1, 0) | np.linspace(0, 8, 5, retstep=True)
np.logspace(0, 3, 4) | np.logspace(0, 3, 4, base=2) | np.geomspace(1, 1000, 4)
np.geomspace(-1, -100, 3) | np.eye(3) | np.eye(2, 4, k=1) | np.eye(3, k=-1, dtype="int8")
np.identity(2) | np.tri(3) | np.tri(2, 3, 1) | np.tril(np.ones((3, 3)))
np.triu(np.ones((3, 3)), 1)
np.tril(np.ones((2, 2, 3)), -1) | np.meshgrid(F, F[:2]) | np.meshgrid(F, F[:2], indexing="ij")
np.meshgrid(F, F, sparse=True) | np.indices((2, 3)) | np.indices((2, 3), sparse=True)
np.tril_indices(3) | np.triu_indices(3, 1, 4) | np.diag_indices(3) | np.full((2, 3), F)
np.full(2, 7) | np.zeros((2, 0)) | np.ones_like(F) | np.full_like(F, 2) | np.bartlett(5)
np.hanning(5) | np.hamming(4) | np.blackman(5) | np.kaiser(5, 3.0) | np.hanning(1)
np.frombuffer(b"abcd", "uint8") | np.fromstring("1 2", sep=" ") | np.array(F, ndmin=3)
"""
CASES = [case.strip() for line in SAME.strip().splitlines() for case in line.split(" | ")]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("expression", CASES)
def test_value_is_numpys(expression, backend):
    expected = eval(expression, {"np": np, "F": F})
    found = eval(expression.replace("np.", "jnp."), {"jnp": jnp, "F": jnp.asarray(F)})
    if not isinstance(expected, tuple | list):
        expected, found = [expected], [found]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
        assert a.shape == np.shape(b)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: jnp.arange(0, 1, 0), ZeroDivisionError),
        (lambda: jnp.arange(1j), ValueError),
        (lambda: jnp.arange(None), TypeError),
        (lambda: jnp.arange("a"), TypeError),
        (lambda: jnp.linspace(0, 1, -1), ValueError),
        (lambda: jnp.linspace(0, 1, 2.5), TypeError),
        (lambda: jnp.linspace([0], 1), TypeError),
        (lambda: jnp.eye(-1), ValueError),
        (lambda: jnp.eye(2.5), TypeError),
        (lambda: jnp.tril(F), ValueError),
        (lambda: jnp.full(2, [1, 2]), TypeError),
        (lambda: jnp.full(2, F), ValueError),
        (lambda: jnp.zeros_like([1]), TypeError),
        (lambda: jnp.meshgrid(np.ones((2, 2))), ValueError),
        (lambda: jnp.array([1], order="F"), NotImplementedError),
        (lambda: jnp.fromfile("x"), NotImplementedError),
        (lambda: jnp.fromiter(iter([1]), int), NotImplementedError),
    ],
)
def test_invalid_creation_raises(call, error, backend):
    with pytest.raises(error):
        call()


def test_scalar_types_are_dtypes_and_make_arrays(backend):
    assert jnp.float32 == np.float32
    assert np.float32 == jnp.float32
    assert jnp.float32 == np.dtype("float32")
    assert hash(jnp.float32) == hash(np.float32)
    assert np.dtype(jnp.bfloat16).name == "bfloat16"
    assert np.zeros(2, jnp.float32).dtype == np.float32
    assert isinstance(np.float32(1), jnp.float32)
    assert str(jnp.int8([1, 2]).aval) == "int8[2]"
    assert str(jnp.float32(1).aval) == "float32[]"
    with pytest.raises(OverflowError):
        jnp.int8(300)


@pytest.mark.parametrize(
    ("dtype", "kind", "expected"),
    [
        ("float32", "real floating", True),
        (jnp.bfloat16, "numeric", True),
        ("bool", "bool", True),
        ("int8", ("bool", "signed integer"), True),
        ("uint8", "signed integer", False),
        (jnp.float32, jnp.float32, True),
    ],
)
def test_kinds_of_dtypes(dtype, kind, expected):
    assert jnp.isdtype(dtype, kind) is expected


def test_unknown_kind_raises():
    with pytest.raises(ValueError, match="real floating"):
        jnp.isdtype("float32", "foo")


@pytest.mark.parametrize("kind", [float, np.float32, np.float16, lambda x: jnp.asarray(float(x))])
def test_arange_of_a_differentiated_bound_counts_its_value(kind, backend):
    f = lambda x: jnp.sum(jnp.arange(x) * x)
    for g in (grad(f), grad(lambda x: jvp(f, (x,), (x,))[0]), jacfwd(f)):
        assert float(g(kind(4))) == 6.0


def test_arange_has_derivatives_with_respect_to_start_and_step(backend):
    start, step = jnp.asarray(1.0), jnp.asarray(0.5)
    out, change = jvp(lambda a, d: jnp.arange(a, 3.0, d), (start, step), (1.0, 10.0))
    assert out.tolist() == [1.0, 1.5, 2.0, 2.5]
    assert change.tolist() == [1.0, 11.0, 21.0, 31.0]
    integers = jvp(lambda a: jnp.arange(a, 3.0, dtype=int) * a, (start,), (1.0,))[1]
    assert integers.tolist() == [1.0, 2.0]
