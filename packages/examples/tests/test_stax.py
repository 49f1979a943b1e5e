"""Layers: output shapes, keys, and trained networks."""

import numpy as np
import pytest

import ricci_nn as nn
import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import value_and_grad
from ricci_batching import vmap
from ricci_examples import optimizers, stax
from ricci_pytree import tree_flatten

ricci_xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

KEY = random.key(0)
ONES = {"W_init": nn.initializers.ones, "b_init": nn.initializers.zeros}
SHAPES = {
    "Dense": (stax.Dense(5, **ONES), (-1, 3)),
    "Conv": (stax.Conv(4, (3, 2), (2, 1), "SAME", **ONES), (-1, 7, 8, 2)),
    "padded Conv": (stax.Conv(4, (3, 3), padding=[(1, 0), (2, 2)], **ONES), (-1, 7, 8, 2)),
    "GeneralConv": (stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (3, 3), **ONES), (-1, 2, 8, 8)),
    "Conv1DTranspose": (stax.Conv1DTranspose(4, (3,), (2,), "SAME", **ONES), (-1, 7, 2)),
    "ConvTranspose": (stax.ConvTranspose(4, (3, 3), (2, 2), **ONES), (-1, 5, 5, 2)),
    "MaxPool": (stax.MaxPool((2, 2), (2, 2)), (-1, 7, 8, 2)),
    "AvgPool": (stax.AvgPool((3,), padding="SAME"), (-1, 7, 2)),
    "SumPool": (stax.SumPool((2, 2), spec="NCHW"), (-1, 2, 7, 8)),
    "BatchNorm": (stax.BatchNorm(), (-1, 4, 4, 2)),
    "BatchNorm without scale": (stax.BatchNorm(axis=(0,), scale=False), (-1, 3)),
    "Flatten": (stax.Flatten, (-1, 2, 3)),
    "Softmax": (stax.Softmax, (-1, 3)),
    "FanInConcat": (stax.serial(stax.FanOut(2), stax.FanInConcat()), (-1, 3)),
    "shape_dependent": (
        stax.shape_dependent(lambda shape: stax.Dense(shape[-1] * 2, **ONES)),
        (-1, 3),
    ),
}


def filled(shape):
    return tuple(2 if n == -1 else n for n in shape)


@pytest.mark.parametrize("name", SHAPES)
def test_outputs_have_the_shape_of_init(name):
    (init, apply), shape = SHAPES[name]
    out_shape, params = init(KEY, shape)
    assert out_shape[0] == -1
    found = apply(params, jnp.ones(filled(shape)))
    assert found.shape == filled(out_shape)
    assert np.isfinite(found).all()


def test_serial_composes_layers():
    init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2))
    _, params = init(KEY, (-1, 3))
    (W1, b1), relu, (W2, b2) = params
    assert relu == ()
    x = random.normal(KEY, (5, 3))
    np.testing.assert_allclose(
        apply(params, x), nn.relu(x @ W1 + b1) @ W2 + b2, rtol=1e-5, atol=1e-6
    )


def test_parallel_branches_are_summed():
    init, apply = stax.serial(
        stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInSum
    )
    shape, params = init(KEY, (-1, 3))
    assert shape == (-1, 3)
    W, b = params[1][0]
    x = random.normal(KEY, (5, 3))
    np.testing.assert_allclose(apply(params, x), x @ W + b + x, rtol=1e-5, atol=1e-6)


def test_dropout_keeps_the_mean():
    _, apply = stax.Dropout(0.25)
    found = apply((), jnp.ones(4000), rng=KEY)
    assert set(np.unique(found)) == {0.0, 4.0}
    assert abs(float(found.mean()) - 1) < 0.1
    _, apply = stax.Dropout(0.25, mode="test")
    assert (apply((), jnp.ones(4), rng=KEY) == 1).all()


def test_dropout_inside_of_layers_gets_different_keys():
    _, apply = stax.parallel(stax.Dropout(0.5), stax.serial(stax.Dropout(0.5)))
    a, b = apply([(), [()]], [jnp.ones(100)] * 2, rng=KEY)
    assert (a != b).any()


def test_dropout_without_a_key_raises():
    _, apply = stax.serial(stax.Dropout(0.5))
    with pytest.raises(ValueError, match=r"Dropout: apply_fun needs a random key"):
        apply([()], jnp.ones(3))


def test_avg_pool_ignores_padding():
    _, apply = stax.AvgPool((3,), padding="SAME")
    np.testing.assert_allclose(apply((), jnp.ones((1, 5, 1))), np.ones((1, 5, 1)))


def test_a_convolutional_network_learns():
    """Classify images by their bright half."""
    init, apply = stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"),
        stax.Relu,
        stax.MaxPool((2, 2), (2, 2)),
        stax.Flatten,
        stax.Dense(2),
        stax.LogSoftmax,
    )
    _, params = init(KEY, (-1, 6, 6, 1))
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 32)
    images = rng.normal(size=(32, 6, 6, 1)).astype(np.float32)
    images[labels == 1, :3] += 1.0

    def loss(params):
        return -jnp.mean(apply(params, images)[jnp.arange(32), labels])

    opt = optimizers.adam(0.03)

    @ricci_xla.jit
    def step(i, state):
        value, grads = value_and_grad(loss)(opt.params_fn(state))
        return value, opt.update_fn(i, grads, state)

    state = opt.init_fn(params)
    losses = []
    for i in range(60):
        value, state = step(i, state)
        losses.append(float(value))
    assert losses[-1] < 0.1 < 0.5 < losses[0]
    single = vmap(lambda image: apply(opt.params_fn(state), image[None])[0])
    np.testing.assert_allclose(
        single(images[:3]), apply(opt.params_fn(state), images[:3]), rtol=1e-4, atol=1e-5
    )
    assert all(np.isfinite(x).all() for x in tree_flatten(state)[0])
