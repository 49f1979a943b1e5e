"""Sums of several layers' results are computed once on CPUs, not in each of their uses."""

import re

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.sharding import NamedSharding
from ricci.sharding import PartitionSpec as P

WIDTH = 32
BATCH = 64


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-6)


def residual(weights, x):
    for w in weights:
        x = x + normalized(x) @ w
    return jnp.sum(normalized(x) ** 3)


def weights_of(depth, width=WIDTH):
    return list(np.random.default_rng(0).normal(size=(depth, width, width)).astype("float32"))


def inputs(batch=BATCH, width=WIDTH):
    return np.random.default_rng(1).normal(size=(batch, width)).astype("float32")


def instructions(depth):
    compiled = ricci.jit(ricci.grad(residual)).lower(weights_of(depth), inputs()).compile()
    return compiled.as_text().count(" = ")


def barriers(function, *args):
    return ricci.jit(function).lower(*args).as_text().count("stablehlo.optimization_barrier")


def test_instructions_grow_linearly_with_layers():
    few, more, most = instructions(8), instructions(16), instructions(24)
    assert abs((most - more) - (more - few)) <= 0.1 * (more - few)


@pytest.mark.parametrize("transformed", [residual, ricci.grad(residual)], ids=["value", "grad"])
def test_sums_of_several_layers_have_barriers(transformed):
    assert barriers(transformed, weights_of(12), inputs()) >= 4


def test_results_are_equal_to_rounding():
    weights, x = weights_of(12), inputs()
    # Operation by operation, without a module of several layers.
    with ricci.disable_jit():
        expected = ricci.value_and_grad(residual)(weights, x)
    value, slopes = ricci.jit(ricci.value_and_grad(residual))(weights, x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-4)
    for slope, other in zip(slopes, expected[1], strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-3, atol=1e-4)


def test_a_sum_that_is_a_result_is_stored_once():
    def layers(weights, x):
        sums = []
        for w in weights:
            x = x + x @ w
            sums.append(x)
        return sums

    weights, x = weights_of(9), inputs()
    assert barriers(layers, weights, x) >= 2
    for result, w in zip(ricci.jit(layers)(weights, x), weights, strict=True):
        x = x + x @ w
        np.testing.assert_allclose(result, x, rtol=1e-3, atol=1e-3 * np.abs(x).max())


def test_bodies_of_loops_and_batches_are_lowered_alike():
    def step(x, _):
        for w in weights_of(8):
            x = x + 0.01 * normalized(x) @ w
        return x, x.sum()

    x = inputs()
    assert barriers(lambda x: lax.scan(step, x, None, 3), x) >= 2
    batched = np.stack([x, 2 * x])
    assert barriers(ricci.vmap(lambda x: step(x, None)), batched) >= 2
    expected = [step(each, None)[0] for each in batched]
    result = ricci.jit(ricci.vmap(lambda x: step(x, None)[0]))(batched)
    np.testing.assert_allclose(result, np.stack(expected), rtol=1e-4, atol=1e-4)


def one_use(weights, x):
    return sum(x @ w for w in weights)


def elementwise(weights, x):
    for w in weights:
        x = x + jnp.sin(x) * w[0]
    return x


@pytest.mark.parametrize(
    ("function", "depth", "batch"),
    [(one_use, 12, BATCH), (elementwise, 12, BATCH), (residual, 2, BATCH), (residual, 12, 4)],
    ids=["one use", "no products", "two layers", "small arrays"],
)
def test_other_programs_have_no_barriers(function, depth, batch):
    assert not barriers(function, weights_of(depth), inputs(batch))


def test_arrays_over_several_devices_have_no_barriers():
    mesh = ricci.make_mesh((8,), ("data",))
    x = ricci.device_put(inputs(), NamedSharding(mesh, P("data")))
    assert not barriers(residual, weights_of(12), x)
    np.testing.assert_allclose(
        ricci.jit(residual)(weights_of(12), x), ricci.jit(residual)(weights_of(12), inputs()), 1e-4
    )


def test_modules_for_other_platforms_have_no_barriers():
    exported = ricci.export.export(ricci.jit(residual), platforms=["tpu"])(weights_of(12), inputs())
    assert not re.search("optimization_barrier", exported.mlir_module())


def test_64_bit_sums_have_barriers():
    with ricci.enable_x64(True):
        weights = [w.astype("float64") for w in weights_of(12)]
        assert barriers(residual, weights, inputs().astype("float64")) >= 4
