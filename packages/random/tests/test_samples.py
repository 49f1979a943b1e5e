"""Samples equal recorded ones, in both layouts of the generator, with and without 64-bit dtypes.

``data/samples.json`` holds, for each expression and mode, what JAX computes on a CPU.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_random as random
from ricci_ir import Array, config, enable_x64

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

RECORDED = json.loads((Path(__file__).parent / "data" / "samples.json").read_text())
ROUNDING = {
    "float16": 5e-3,
    "float32": 2e-5,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}
# Made of random bits by exact operations only; bounds are a product and a sum, which may be fused.
EXACT = ("random.uniform", "random.bits", "random.permutation", "random.choice")
BOUNDS = "minval="


@pytest.fixture(params=["partitionable,x32", "partitionable,x64", "original,x32", "original,x64"])
def mode(request):
    layout, width = request.param.split(",")
    options = {
        "jax_threefry_partitionable": layout == "partitionable",
        "jax_enable_x64": width == "x64",
    }
    before = {name: config.read(name) for name in options}
    for name, value in options.items():
        config.update(name, value)
    yield request.param
    for name, value in before.items():
        config.update(name, value)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("source", RECORDED)
def test_samples_are_as_recorded(mode, source):
    expected = RECORDED[source][mode]
    scope = {"random": random, "jnp": jnp, "K": random.PRNGKey(42)}
    found = np.asarray(eval(source, scope))
    assert found.dtype.name == expected["dtype"]
    assert list(found.shape) == expected["shape"]
    real = found.real.dtype
    values = np.asarray(expected["values"], real)
    flat = found.ravel().view(real)
    exact = source.startswith(EXACT) and BOUNDS not in source
    if found.dtype.name in ROUNDING and not exact:
        np.testing.assert_allclose(flat, values, ROUNDING[found.dtype.name], 1e-6)
    else:
        np.testing.assert_array_equal(flat, values)


@pytest.mark.parametrize(("original", "expected"), [(True, 0.02251327), (False, 0.49067247)])
def test_the_layout_option_is_read_at_the_call(original, expected):
    before = config.read("jax_threefry_partitionable")
    config.update("jax_threefry_partitionable", not original)
    try:
        assert float(random.uniform(random.PRNGKey(1337))) == pytest.approx(expected, abs=1e-8)
    finally:
        config.update("jax_threefry_partitionable", before)


@pytest.mark.parametrize("x", [0, 1, 1000, np.arange(12).reshape(4, 3)], ids=np.shape)
def test_permutations_have_one_order_at_both_widths(x):
    narrow, wide = (np.asarray(permutation_at(is_wide, x)) for is_wide in (False, True))
    np.testing.assert_array_equal(narrow, wide)


def permutation_at(is_wide: bool, x: int | np.ndarray) -> Array:
    with enable_x64(is_wide):
        result = random.permutation(random.key(3), x)
        assert result.dtype == (np.int64 if is_wide else np.int32)
        return result
