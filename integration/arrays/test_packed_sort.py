"""Long sorts on a CPU go by packed integers: the order, every bit, as if compared one by one."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

LENGTH = 600
SHAPES = {0: (LENGTH, 2), 1: (2, LENGTH)}


def keys(dtype, shape):
    """Numbers with many ties; floats with zeros of both signs, infinities and NaNs among them."""
    x = np.random.RandomState(0).randint(0, 8, shape)
    if np.dtype(dtype).kind not in "fV":
        return (x - 4 * (np.dtype(dtype).kind == "i")).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.5, -2.0])
    return special[x].astype(dtype)


def positions(x, axis):
    """The order of the elements that a stable sort gives."""
    wide = x.astype(np.float64)
    wide[np.isnan(wide)] = np.nan  # of one sign
    return np.argsort(wide, axis, kind="stable")


@pytest.mark.parametrize("axis", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16", jnp.bfloat16.dtype, "int32", "uint8"])
def test_elements_come_in_numpys_order(dtype, axis):
    x = keys(dtype, SHAPES[axis])
    order = positions(x, axis)
    expected = np.take_along_axis(x, order, axis)
    found, places = ricci.jit(lambda x: (jnp.sort(x, axis), jnp.argsort(x, axis)))(x)
    assert np.asarray(found).tobytes() == expected.tobytes()
    np.testing.assert_array_equal(places, order)


def test_only_long_sorts_on_a_cpu_are_packed():
    text = lambda size: ricci.jit(lax.sort).lower(np.zeros(size, np.float32)).as_text()
    assert "ui64" in text(LENGTH)
    assert "ui64" not in text(8)


def test_gradient_follows_the_order():
    x = np.random.RandomState(0).randn(LENGTH).astype(np.float32)
    weights = np.arange(LENGTH, dtype=np.float32)
    found = ricci.grad(lambda x: (jnp.sort(x) * weights).sum())(x)
    np.testing.assert_array_equal(found, np.argsort(np.argsort(x)))
