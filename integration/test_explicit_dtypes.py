"""64-bit dtypes asked for by name while those are off, under ``jax_explicit_x64_dtypes``.

Where they are allowed an array has the dtype and all of the value's bits, whatever the value is and
whether it is made eagerly or in a program; elsewhere the dtype is refused, or narrowed aloud.
"""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

# What the narrow dtype of the same kind cannot hold.
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
    """Set the option, and afterwards what it was."""
    previous = ricci.config.jax_explicit_x64_dtypes
    yield lambda value: ricci.config.update("jax_explicit_x64_dtypes", value)
    ricci.config.update("jax_explicit_x64_dtypes", previous)


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
