"""Laws of activations: batching, staging, derivatives at kinks, errors."""

import numpy as np
import pytest

import ricci_nn as nn
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import config, make_jaxpr

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

X = np.linspace(-4.0, 7.0, 12, dtype=np.float32).reshape(3, 4)
ELEMENTWISE = (
    "relu relu6 sigmoid softplus silu log_sigmoid elu leaky_relu hard_tanh hard_sigmoid hard_silu "
    "celu selu gelu squareplus mish sparse_plus sparse_sigmoid soft_sign tanh identity"
).split()
REDUCING = "softmax log_softmax logsumexp logmeanexp standardize glu".split()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", ELEMENTWISE + REDUCING)
def test_vmap_is_the_loop(name):
    fun = getattr(nn, name)
    np.testing.assert_allclose(vmap(fun)(X), np.stack([fun(x) for x in X]), rtol=1e-6)


@pytest.mark.sampled(17)
@pytest.mark.parametrize("name", ELEMENTWISE + REDUCING)
def test_jit_agrees_up_to_rounding(name):
    fun = getattr(nn, name)
    np.testing.assert_allclose(xla.jit(fun)(X), fun(X), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if n not in ("relu6", "hard_tanh")])
def test_gradients_are_finite_far_out(name):
    for x in (-1e4, 1e4):
        assert np.isfinite(grad(getattr(nn, name))(x))


@pytest.mark.parametrize(("name", "x"), [("relu", 0.0), ("relu6", 0.0), ("relu6", 6.0)])
def test_derivative_is_zero_at_the_kinks(name, x):
    assert float(grad(getattr(nn, name))(x)) == 0.0


@pytest.mark.parametrize("option", [False, True])
def test_softmax_has_the_same_derivative_with_and_without_a_custom_rule(option):
    before = config.jax_softmax_custom_jvp
    config.update("jax_softmax_custom_jvp", option)
    try:
        found = grad(lambda x: (nn.softmax(x) ** 2).sum())(X)
    finally:
        config.update("jax_softmax_custom_jvp", before)
    y = np.asarray(nn.softmax(X))
    expected = 2 * y * (y - (y * y).sum(-1, keepdims=True))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_softmax_sums_to_one_over_the_chosen_axes():
    for axis in (0, 1, (0, 1), None):
        np.testing.assert_allclose(nn.softmax(X, axis).sum(axis), 1.0, rtol=1e-6)


def test_a_custom_rule_is_part_of_the_jaxpr():
    text = str(make_jaxpr(nn.relu)(X[0]))
    assert "custom_jvp_call" in text
    assert "name=relu" in text


def test_one_hot_of_indices_out_of_range_is_zero():
    assert not np.asarray(nn.one_hot(jnp.array([-1, 3]), 3)).any()


REFUSED = [
    (lambda: nn.sigmoid(1), TypeError, "logistic"),
    (lambda: nn.glu(np.ones(3, np.float32)), AssertionError, "axis"),
    (lambda: nn.identity([1]), TypeError, "list"),
    (lambda: nn.one_hot(np.arange(3), 3.0), TypeError, "integer"),
    (lambda: nn.one_hot(np.arange(3), 3, axis=5), ValueError, "axis"),
    (lambda: nn.standardize(X, algorithm="x"), ValueError, "'x'"),
    (lambda: nn.softmax(X, axis=2), ValueError, "axis 2"),
    (lambda: nn.dot_product_attention(X, X, X), ValueError, "dimensions"),
    (
        lambda: nn.dot_product_attention(*[np.ones((2, 3, n, 5)) for n in (4, 3, 3)]),
        ValueError,
        "multiple",
    ),
    (
        lambda: nn.dot_product_attention(*[np.ones((2, 3, 4, h)) for h in (5, 6, 6)]),
        ValueError,
        "H = 5",
    ),
    (
        lambda: nn.dot_product_attention(*[np.ones((3, 4, 5))] * 3, implementation="cudnn"),
        NotImplementedError,
        "cuDNN takes bfloat16",
    ),
    (
        lambda: nn.initializers.variance_scaling(1.0, "x", "normal")(None, (4, 2)),
        ValueError,
        "mode",
    ),
    (
        lambda: nn.initializers.variance_scaling(1.0, "fan_in", "x")(None, (4, 2)),
        ValueError,
        "distribution",
    ),
    (lambda: nn.initializers.glorot_normal()(None, (3,)), ValueError, "axis"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_initializers_accept_typed_and_raw_keys_and_any_dtype():
    init = nn.initializers.he_normal(dtype="bfloat16")
    assert isinstance(init, nn.initializers.Initializer)
    assert str(init(np.array([0, 1], np.uint32), (4, 2)).dtype) == "bfloat16"
    assert str(init(np.array([0, 1], np.uint32), (4, 2), "float16").dtype) == "float16"
