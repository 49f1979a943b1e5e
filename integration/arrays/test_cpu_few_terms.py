"""Reductions that are written as operations on slices for CPUs.

They are of few elements each, or of an axis with few elements behind it.
"""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

FLOATS = ("float16", "bfloat16", "float32", "float64")
REDUCTIONS = ("sum", "prod", "max", "min")
# Shapes and the axes that are reduced: of 2 to 8 elements, or one with as many behind it.
CASES = [
    ((3000, 3), (1,)),
    ((8, 1000), (0,)),
    ((50, 5, 30), (1,)),
    ((20, 2, 30, 4, 2), (1, 3)),
    ((1500, 3, 1), (1, 2)),
    ((30, 71, 3), (1,)),
    ((2600, 2), (0,)),
    ((40, 64, 2, 4), (1,)),
]


def _text(function, x):
    return ricci.jit(function).lower(x).as_text()


@pytest.fixture(autouse=True)
def _wide():
    with ricci.enable_x64(True):
        yield


@pytest.mark.sampled(43)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axes"), CASES)
def test_reductions_are_those_of_numpy(shape, axes, name, dtype):
    dtype = jnp.dtype(dtype)
    x = np.random.default_rng(0).normal(size=shape)
    x = (1 + x / 50 if name == "prod" else x).astype(dtype)  # no product is 0
    x.flat[7], x.flat[31], x.flat[100] = np.nan, np.inf, -np.inf
    reduce = lambda x: getattr(jnp, name)(x, axes)
    assert "stablehlo.reduce(" not in _text(reduce, x)
    result = np.asarray(ricci.jit(reduce)(x))
    assert result.dtype == dtype
    exact = getattr(np, name)(x.astype(np.float64), axes)
    size = np.prod([shape[d] for d in axes])
    bound = np.sum(abs(x.astype(np.float64)), axes) * float(jnp.finfo(dtype).eps) * size
    if name in ("max", "min"):
        bound = 0
    elif name == "prod":
        limits = jnp.finfo(dtype)
        bound = 2 * size * float(limits.eps) * abs(exact) + float(limits.tiny) * float(limits.eps)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(result.astype(np.float64)), np.isnan(exact))
    error = abs(np.where(finite, result.astype(np.float64) - np.where(finite, exact, 0), 0))
    assert (error <= bound)[finite].all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_narrow_floats_are_rounded_once(dtype):
    dtype = jnp.dtype(dtype)
    x = np.random.default_rng(0).normal(size=(2000, 8)).astype(dtype)
    total = np.zeros(2000, np.float32)
    for column in x.T:
        total += column.astype(np.float32)
    np.testing.assert_array_equal(np.asarray(jnp.sum(x, 1)), total.astype(dtype))


def test_derivatives_and_batches():
    x = np.random.default_rng(0).normal(size=(40, 50, 3))
    lengths = lambda x: jnp.sqrt(jnp.sum(x**2, -1))
    exact = x / np.linalg.norm(x, axis=-1, keepdims=True)
    gradient = ricci.grad(lambda x: jnp.sum(lengths(x)))
    np.testing.assert_allclose(np.asarray(gradient(x)), exact, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(ricci.vmap(gradient)(x)), exact, rtol=1e-14)
    largest = ricci.grad(lambda x: jnp.sum(jnp.max(x, 2)))
    np.testing.assert_array_equal(np.asarray(largest(x)), x == x.max(2, keepdims=True))


def test_a_tree_of_sums_rounds_less_than_a_row_of_them():
    x = np.random.default_rng(0).uniform(1, 2, (1, 100_000, 2)).astype(np.float32)
    exact = x.astype(np.float64).sum(1)
    error = abs(np.asarray(jnp.sum(x, 1)) - exact) / exact
    assert error.max() < 48 * np.finfo(np.float32).eps  # eight in each of six steps


def test_other_reductions_are_one_operation():
    for shape, axis, dtype in (
        ((10, 100, 9), 1, "float32"),
        ((1000, 9), 1, "float32"),
        ((300, 3), 1, "float32"),
        ((3000, 3), 1, "int32"),
        ((3000, 3), 1, "complex64"),
    ):
        x = np.ones(shape, dtype)
        assert "stablehlo.reduce(" in _text(lambda x, axis=axis: jnp.sum(x, axis), x)


def test_shards_are_reduced_by_slices():
    mesh = ricci.make_mesh((8,), ("i",))
    spec = ricci.sharding.PartitionSpec("i")
    x = np.random.default_rng(0).normal(size=(80, 100, 3))
    reduce = lambda x: jnp.sum(x, -1)
    placed = ricci.device_put(x, ricci.sharding.NamedSharding(mesh, spec))
    sharded = ricci.shard_map(reduce, mesh=mesh, in_specs=spec, out_specs=spec)
    for function in (sharded, reduce):
        result = np.asarray(ricci.jit(function)(placed))
        np.testing.assert_allclose(result, x.sum(-1), rtol=1e-13, atol=1e-15)
