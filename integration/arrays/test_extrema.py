"""Extrema and their indices beside NaNs, in arrays so large that CPUs compute them otherwise.

XLA's CPU backend hands reductions of 4096 elements and more to YNNPACK, whose maximum of a number
and a NaN is the number; JAX gives that.
"""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="what XLA computes is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

SHAPES = [((5000,), 0), ((64, 80), 0), ((70, 80), 1), ((9, 30, 20), 1), ((9, 30, 20), 0)]
DTYPES = ["float32", "float16", "bfloat16", "float64"]
INDICES = {"argmax": np.argmax, "argmin": np.argmin}
CALLS = {
    "max": jnp.max,
    "min": jnp.min,
    "max of rows": lambda x: jnp.max(x.reshape(-1, 100), 1).max(),
    "min over rows": lambda x: jnp.min(x.reshape(-1, 100), 0).min(),
    "over two axes": lambda x: jnp.max(x.reshape(50, 10, -1), (0, 2)).max(),
    "reduce": lambda x: lax.reduce(x, np.array(0, x.dtype), lax.max, (0,)),
    "a function of users": lambda x: lax.reduce(x, np.array(9, x.dtype), jnp.minimum, (0,)),
    "ptp": jnp.ptp,
    "norm": lambda x: jnp.linalg.norm(x, jnp.inf),
    "max of a sum": lambda x: jnp.max(x + 1),
    "vmap": lambda x: ricci.vmap(jnp.max)(jnp.stack([x, x])).min(),
    "scan": lambda x: lax.scan(lambda c, _: (jnp.maximum(c, jnp.max(x)), None), 0.0, None, 2)[0],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_the_extremum_beside_a_nan_is_nan(name, dtype):
    with ricci.enable_x64(dtype == "float64"):
        x = jnp.ones(5000, dtype)
        if name == "scan":
            x = x.astype("float32")
        for call in (CALLS[name], ricci.jit(CALLS[name])):
            assert not np.isnan(call(x))
            assert np.isnan(call(x.at[2500].set(jnp.nan)))


EXPONENTIALS: dict[str, Any] = {
    "softmax": ricci.nn.softmax,
    "log_softmax": ricci.nn.log_softmax,
    "logsumexp": lambda x: ricci.nn.logsumexp(x, -1),
    "its derivative": ricci.grad(lambda x: ricci.nn.logsumexp(x, -1).sum()),
}


@pytest.mark.parametrize("name", EXPONENTIALS)
def test_a_row_with_a_nan_is_nan_and_others_are_those_of_small_arrays(name):
    function = EXPONENTIALS[name]
    x = np.random.default_rng(0).normal(size=(64, 80)).astype(np.float32)
    x[3, 7] = x[5] = np.nan
    x[9], x[11, 3], x[13, 4:] = -np.inf, np.inf, -np.inf
    x[15, 3:5] = np.inf, np.nan
    large = np.asarray(ricci.jit(function)(x))
    assert np.isnan(large[[3, 5, 15]]).all()
    small = [np.asarray(function(row)) for row in np.split(x, 64)]
    np.testing.assert_allclose(large, np.concatenate(small), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("infinities", [[np.inf], [-np.inf], [np.inf, -np.inf]])
def test_infinities_are_no_nans(infinities):
    x = np.ones(5000, np.float32)
    x[7 : 7 + len(infinities)] = infinities
    assert (float(jnp.max(x)), float(jnp.min(x))) == (x.max(), x.min())


@pytest.mark.usefixtures("eight_devices")
@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_extremum_of_a_sharded_array_beside_a_nan_is_nan(axis):
    x = np.ones((64, 100), np.float32)
    x[33, 50] = np.nan
    mesh = ricci.make_mesh((8,), ("i",))
    sharded = ricci.device_put(x, ricci.NamedSharding(mesh, ricci.P("i")))
    np.testing.assert_array_equal(ricci.jit(lambda x: jnp.max(x, axis))(sharded), x.max(axis))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", [*DTYPES, "int32", "bool", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_the_index_is_that_of_the_first_nan_or_extremum(shape, axis, dtype, name):
    rng = np.random.default_rng(0)
    values = rng.integers(-3, 4, shape).astype("float32")
    samples = [values]
    if "float" in dtype:
        samples.append(np.where(rng.random(shape) < 0.05, -np.inf, values))
        samples.append(np.where(rng.random(shape) < 0.05, np.nan, samples[1]))
    index_dtypes = ["int32", "uint16", *(["int8"] if shape[axis] < 128 else [])]
    call = ricci.jit(lambda x: [getattr(lax, name)(x, axis, t) for t in index_dtypes])
    with ricci.enable_x64(dtype == "float64"):
        for sample in samples:
            x = jnp.asarray(sample).astype(dtype)
            expected = INDICES[name](np.asarray(x, "float32"), axis)
            for result, index_dtype in zip(call(x), index_dtypes, strict=True):
                assert result.dtype == index_dtype
                np.testing.assert_array_equal(result, expected)
