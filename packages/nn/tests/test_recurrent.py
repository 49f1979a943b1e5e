"""LSTM layers: values equal to JAX's, derivatives, layouts of weights, errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import clear_caches, make_jaxpr
from ricci_nn.recurrent import (
    get_num_params_in_lstm,
    init_lstm_weight,
    lstm,
    lstm_bwd,
    lstm_fwd,
    lstm_ref,
    swap_lstm_gates,
    unpack_lstm_weights,
)
from ricci_pytree import tree_leaves as leaves
from ricci_random import key
from ricci_stablehlo import kernel_descriptors
from ricci_xla import jit

# For layers, directions and lengths: the sums of the outputs, the hidden states and the cells, and
# of the squares of the outputs, as JAX's lstm_ref has them for the arguments below.
JAX = {
    (1, False, (4, 4)): (-1.24305213, -0.68188781, -0.85330296, 1.23462796),
    (1, True, (2, 4)): (0.65667826, 0.24321517, 1.83159506, 1.68799329),
    (2, False, (2, 4)): (-1.59688842, -0.83914709, -0.34126765, 0.96335965),
    (2, True, (2, 4)): (1.35202491, 0.66144305, 4.28303432, 1.09071922),
}


def arguments(layers, both, lengths):
    rows = layers * (2 if both else 1)
    count = get_num_params_in_lstm(2, 3, layers, both)
    numbers = lambda n: np.arange(n, dtype=np.float32)
    return (
        np.cos(numbers(16)).reshape(2, 4, 2),
        np.sin(numbers(6 * rows) + 1).reshape(rows, 2, 3),
        np.cos(numbers(6 * rows) + 2).reshape(rows, 2, 3),
        np.sin(numbers(count)) * np.float32(0.5),
        np.array(lengths, np.int32),
    )


@pytest.mark.parametrize("case", JAX, ids=str)
def test_values_equal_those_of_jax(case):
    layers, both, _ = case
    given = arguments(*case)
    found = jit(lambda *args: lstm(*args, 2, 3, layers, 0.0, both))(*given)
    sums = [*(float(jnp.sum(x)) for x in found), float(jnp.sum(found[0] ** 2))]
    np.testing.assert_allclose(sums, JAX[case], rtol=2e-5)


def test_lstm_ref_agrees_with_lstm():
    x, h, c, w, lengths = arguments(1, True, (2, 4))
    parts = unpack_lstm_weights(w, 2, 3, 1, True)
    found = lstm_ref(x, h, c, *parts, lengths, 2, 3, 1, 0.0, True)
    for one, other in zip(found, lstm(x, h, c, w, lengths, 2, 3, 1, 0.0, True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="got 0.5"):
        lstm_ref(x, h, c, *parts, lengths, 2, 3, 1, 0.5, True)


def test_elements_after_the_end_of_a_sequence_are_not_used():
    x, h, c, w, lengths = arguments(1, True, (2, 0))
    x[:, 2:] = np.nan
    y, hidden, cells = lstm(x, h, c, w, lengths, 2, 3, 1, 0.0, True)
    assert np.all(np.isfinite(y)) and not np.any(np.asarray(y)[:, 2:])
    np.testing.assert_array_equal(hidden[:, 1], h[:, 1])
    np.testing.assert_array_equal(cells[:, 1], c[:, 1])


def test_derivatives_agree_with_finite_differences():
    x, h, c, w, lengths = arguments(1, False, (2, 4))
    run = lambda w: lstm(x, h, c, w, lengths, 2, 3, 1, 0.0, False)
    loss = lambda w: jnp.sum(run(w)[0] ** 2) + jnp.sum(run(w)[2])
    slope = grad(loss)(w)
    direction = np.cos(np.arange(w.size, dtype=np.float32))
    loss = jit(loss)
    difference = (loss(w + 1e-2 * direction) - loss(w - 1e-2 * direction)) / 2e-2
    np.testing.assert_allclose(jnp.sum(slope * direction), difference, rtol=1e-2)
    results, residuals = lstm_fwd(x, h, c, w, lengths, 2, 3, 1, 0.0, False, None)
    cts = (2 * results[0], jnp.zeros_like(results[1]), jnp.ones_like(results[2]))
    *_, found, none = lstm_bwd(2, 3, 1, 0.0, False, None, residuals, cts)
    assert none is None
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)


def test_dropout_is_between_layers_and_the_same_in_each_call():
    x, h, c, w, lengths = arguments(2, False, (4, 4))
    run = lambda rate: np.asarray(lstm(x, h, c, w, lengths, 2, 3, 2, rate, False)[0])
    assert np.array_equal(run(0.5), run(0.5)) and not np.allclose(run(0.5), run(0.0))


def test_weights_have_the_layout_of_cudnn():
    assert [get_num_params_in_lstm(2, 3, n, b) for n in (1, 2) for b in (False, True)] == [
        *(84, 168, 180, 432)
    ]
    w_ih, w_hh, b_ih, b_hh = unpack_lstm_weights(np.arange(432.0), 2, 3, 2, True)
    assert {i: (w.shape, float(w[0, 0])) for i, w in w_ih.items()} == {
        0: ((12, 2), 0.0),
        1: ((12, 2), 60.0),
        2: ((12, 6), 120.0),
        3: ((12, 6), 228.0),
    }
    assert (float(w_hh[3][0, 0]), float(b_ih[1][0]), float(b_hh[3][-1])) == (300.0, 360.0, 431.0)
    swapped = swap_lstm_gates(np.arange(16.0), 1, 1, 1, False)
    assert swapped.tolist() == [0, 1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14]
    weights = init_lstm_weight(key(0), 2, 3, 2, True)
    np.testing.assert_allclose(weights[:3], [0.51692134, 0.5526164, -0.1936531], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.ones((2, 4, 3))}, r"x must have the shape \(batch, length, 2\)"),
        ({1: np.ones((2, 2, 3))}, r"h_0 must have the shape \(1, 2, 3\)"),
        ({3: np.ones(83)}, "has 84 weights in one vector"),
        ({4: np.ones(2)}, "seq_lengths must be 2 integers"),
    ],
)
def test_invalid_arguments_are_named(change, message):
    given = list(arguments(1, False, (4, 4)))
    for i, value in change.items():
        given[i] = value
    with pytest.raises(ValueError, match=message):
        lstm(*given, 2, 3, 1, 0.0, False)


class Descriptors:
    """A plugin's descriptions of cuDNN's layers, without those of calls."""

    @classmethod
    def of(cls, platform, library):
        return cls if platform == "cuda" else None

    @staticmethod
    def compute_rnn_workspace_reserve_space_sizes(*arguments):
        return 5, 7


def loss(x, h, c, w, lengths):
    y, hidden, cells = lstm(x, h, c, w, lengths, 2, 3, 1, 0.0, False)
    return jnp.sum(y**2) + jnp.sum(hidden * 0.5) + jnp.sum(jnp.sin(cells))


PROGRAMS = {
    "value": loss,
    "gradient": grad(loss, argnums=(0, 1, 2, 3)),
    "jvp": lambda *args: jvp(lambda x: loss(x, *args[1:]), (args[0],), (jnp.cos(args[0]),)),
    "second derivative": grad(
        lambda *args: jnp.sum(jnp.sin(grad(loss, argnums=3)(*args))), argnums=(0, 3)
    ),
    "derivative of the gradient": lambda *args: jvp(
        lambda h: grad(loss, argnums=(0, 3))(args[0], h, *args[2:]), (args[1],), (args[2],)
    ),
    "batch of inputs": lambda x, *args: vmap(lambda x: loss(x, *args))(jnp.stack([x, -x])),
    "batch of weights": lambda x, h, c, w, lengths: vmap(
        grad(loss, argnums=(0, 3)), in_axes=(None, None, None, 0, None)
    )(x, h, c, jnp.stack([w, 2 * w]), lengths),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_primitives_of_cudnn_are_the_loops_on_other_platforms(name, monkeypatch):
    operands = arguments(1, False, (2, 4))
    expected = jit(PROGRAMS[name])(*operands)
    monkeypatch.setattr(kernel_descriptors, "call", Descriptors.of)
    clear_caches()
    assert "lstm_forward" in str(make_jaxpr(PROGRAMS[name])(*operands))
    found = jit(PROGRAMS[name])(*operands)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    clear_caches()


def test_cudnn_computes_neither_dropout_nor_other_dtypes(monkeypatch):
    monkeypatch.setattr(kernel_descriptors, "call", Descriptors.of)
    x, h, c, w, lengths = arguments(2, True, (2, 4))
    half = [v.astype(np.float16) for v in (x, h, c, w)]
    settings = [((x, h, c, w), 0.5, None), (half, 0.0, None), ((x, h, c, w), 0.0, "default")]
    for operands, dropout, precision in settings:
        run = lambda *args, d=dropout, p=precision: lstm(*args, 2, 3, 2, d, True, p)
        assert "lstm_forward" not in str(make_jaxpr(run)(*operands, lengths))
