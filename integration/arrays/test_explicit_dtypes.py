"""64-bit dtypes asked for by name while those are off, under ``jax_explicit_x64_dtypes``.

Where they are allowed an array has the dtype and all of the value's bits, whatever the value is and
whether it is made eagerly or in a program; elsewhere the dtype is refused, or narrowed aloud.
"""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax, nn, random
from ricci.scipy import special

# Values that the narrow dtype of the same kind cannot hold.
VALUES = {"int64": 2**40 + 1, "uint64": 2**40 + 1, "float64": 1 + 2.0**-40}
FORMS = {
    "a Python scalar": lambda value, dtype: value,
    "a NumPy scalar": lambda value, dtype: np.dtype(dtype).type(value),
    "a NumPy array": lambda value, dtype: np.array([value], dtype),
    "a list": lambda value, dtype: [value],
    "a list of NumPy scalars": lambda value, dtype: [np.dtype(dtype).type(value)],
}
SCALARS = ("a Python scalar", "a NumPy scalar")
FUNCTIONS = {
    "array": jnp.array,
    "asarray": jnp.asarray,
    "the dtype itself": lambda x, dtype: getattr(jnp, dtype)(x),
    "convert_element_type": lax.convert_element_type,
    "numpy.full": lambda x, dtype: jnp.full(2, x, dtype),
    "numpy.full_like": lambda x, dtype: jnp.full_like(np.zeros(2, np.float32), x, dtype=dtype),
    "lax.full": lambda x, dtype: lax.full((2,), x, dtype),
    "lax.full_like": lambda x, dtype: lax.full_like(np.zeros(2, np.float32), x, dtype),
}
WAYS = {
    "eagerly": lambda f: f(),
    "in a program": lambda f: ricci.jit(f)(),
    "in a mapped function": lambda f: ricci.vmap(lambda _: f())(jnp.zeros(1))[0],
}
CASES = [
    (function, form)
    for function in FUNCTIONS
    for form in FORMS
    if form in SCALARS or function in ("array", "asarray")
]


@pytest.fixture
def mode():
    """Set the option, and restore its value afterwards."""
    previous = ricci.config.jax_explicit_x64_dtypes
    yield lambda value: ricci.config.update("jax_explicit_x64_dtypes", value)
    ricci.config.update("jax_explicit_x64_dtypes", previous)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize(("function", "form"), CASES)
def test_an_allowed_dtype_keeps_every_bit(function, form, dtype, mode):
    mode("allow")
    value = VALUES[dtype]
    make = lambda: FUNCTIONS[function](FORMS[form](value, dtype), dtype)
    for way in WAYS.values():
        for _ in range(2):
            result = way(make)
            assert result.dtype == dtype
            assert set(np.asarray(result).reshape(-1).tolist()) == {value}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_dtype_that_is_not_allowed_is_refused_or_narrowed_aloud(function, mode):
    make = lambda: FUNCTIONS[function](3, "int64")
    mode("warn")
    with pytest.warns(UserWarning, match="int64"):
        assert make().dtype == "int32"
    mode("error")
    with pytest.raises(ValueError, match="int64"):
        make()


def test_numpy_values_without_a_dtype_are_narrowed_where_wide_ones_are_allowed(mode):
    mode("allow")
    assert jnp.asarray(np.float64(1.5)).dtype == "float32"
    assert jnp.array(np.arange(3, dtype="int64")).dtype == "int32"


# What is computed from arrays of 64-bit dtypes, and what is made of such a dtype, as it is where
# 64-bit dtypes are on.
f64 = lambda *values: jnp.array(values, "float64")
i64 = lambda *values: jnp.array(values, "int64")
key = lambda: random.key(0)
square = lambda: f64(2.0, 1.0, 1.0, 3.0).reshape(2, 2)
COMPUTED = {
    "a Python scalar": lambda: f64(0.0, 1.0) + 0.1,
    "a NumPy scalar": lambda: f64(0.0, 1.0) * np.float64(0.1),
    "integers and floats": lambda: i64(1, 2) + f64(0.1, 0.2),
    "integers of two widths": lambda: i64(2**40) + jnp.uint32(1),
    "a root of integers": lambda: jnp.cbrt(i64(2**40)),
    "where": lambda: jnp.where(f64(1.0, 2.0) < 1.5, f64(0.1, 0.2), 0.5),
    "maximum": lambda: jnp.maximum(f64(0.0, 1.0), 0.1),
    "append": lambda: jnp.append(f64(0.1), 1),
    "at set": lambda: i64(0, 1).at[0].set(2**40),
    "at set of a float": lambda: f64(0.0, 1.0).at[0].set(0.5),
    "an index": lambda: f64(0.1, 0.2)[i64(1)],
    "a scalar index": lambda: f64(0.1, 0.2)[i64(-1)[0]],
    "a dynamic slice": lambda: lax.dynamic_slice(f64(0.1, 0.2), i64(1), (1,)),
    "searchsorted": lambda: f64(0.1, 0.2)[jnp.searchsorted(f64(0.1, 0.2), 0.15)],
    "eye": lambda: jnp.eye(2, dtype="float64"),
    "diag": lambda: jnp.diag(f64(0.1, 0.2)),
    "mean": lambda: jnp.mean(f64(0.1, 0.2)),
    "median": lambda: jnp.median(f64(0.1, 0.2)),
    "std": lambda: jnp.std(i64(1, 2, 4)),
    "linspace": lambda: jnp.linspace(0, 1, 4, dtype="float64"),
    "logspace": lambda: jnp.logspace(0, 1, 4, dtype="float64"),
    "arange": lambda: jnp.arange(0.0, 100000.0, 0.5, dtype="float64"),
    "histogram": lambda: jnp.histogram(f64(0.1, 0.2), bins=2)[1],
    "a product": lambda: f64(0.1, 0.2) @ f64(0.3, 0.4),
    "softmax": lambda: nn.softmax(f64(0.1, 0.2)),
    "a norm": lambda: jnp.linalg.norm(square()),
    "pinv": lambda: jnp.linalg.pinv(square()),
    "lstsq": lambda: jnp.linalg.lstsq(square(), f64(1.0, 2.0))[0],
    "an inverse FFT": lambda: jnp.fft.irfft(f64(1.0, 2.0, 3.0)),
    "a gradient": lambda: ricci.grad(lambda x: (x[1:] * 0.1).sum())(f64(0.1, 0.2)),
    "a gradient of an index": lambda: ricci.grad(lambda x: x[i64(1)].sum())(f64(0.1, 0.2)),
    "a running sum": lambda: lax.associative_scan(jnp.add, f64(0.1, 0.2, 0.3)),
    "a gamma function": lambda: special.gammainc(f64(1.0), f64(1.5)),
    "bits": lambda: random.bits(key(), (3,), "uint64"),
    "uniform": lambda: random.uniform(key(), (3,), "float64"),
    "normal": lambda: random.normal(key(), (3,), "float64"),
    "normal, complex": lambda: random.normal(key(), (3,), "complex128"),
    "truncated normal": lambda: random.truncated_normal(key(), -1.0, 1.0, (3,), "float64"),
    "gamma": lambda: random.gamma(key(), 2.0, (3,), "float64"),
    "randint": lambda: random.randint(key(), (3,), 0, 100, "int64"),
    "initializers": lambda: nn.initializers.he_normal()(key(), (2, 2), "float64"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", COMPUTED)
def test_results_of_wide_operands_are_those_where_wide_dtypes_are_on(name, mode):
    compute = COMPUTED[name]
    with ricci.enable_x64(True):
        expected = compute()
    mode("allow")
    for way in ("eagerly", "in a program"):
        for _ in range(2):
            result = WAYS[way](compute)
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-16)


USES = {
    "eval_shape": lambda x: ricci.eval_shape(lambda x: x + 1, x).dtype,
    "make_jaxpr": lambda x: ricci.make_jaxpr(lambda x: x + 1)(x).out_avals[0].dtype,
    "lower": lambda x: ricci.jit(lambda x: x + 1).lower(x).out_info.dtype,
    "typeof": lambda x: ricci.typeof(x).dtype,
}


@pytest.mark.parametrize("use", USES)
def test_described_arrays_follow_the_option(use, mode):
    wide = ricci.ShapeDtypeStruct((2,), "float64")
    mode("allow")
    assert USES[use](wide) == "float64"
    mode("error")
    with pytest.raises(ValueError, match="ShapeDtypeStruct"):
        USES[use](wide)
    mode("warn")
    with pytest.warns(UserWarning, match="ShapeDtypeStruct"):
        assert USES[use](wide) == "float32"
