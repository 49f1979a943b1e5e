"""Optimizers: convergence, schedules, states as pytrees, and errors."""

import pickle

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_examples import optimizers
from ricci_pytree import tree_flatten, tree_map, tree_structure

ricci_xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

METHODS = {
    "sgd": optimizers.sgd(0.1),
    "momentum": optimizers.momentum(0.05, 0.5),
    "nesterov": optimizers.nesterov(0.05, 0.5),
    "adagrad": optimizers.adagrad(0.5),
    "rmsprop": optimizers.rmsprop(0.05),
    "rmsprop_momentum": optimizers.rmsprop_momentum(0.03, momentum=0.5),
    "adam": optimizers.adam(0.1),
    "adamax": optimizers.adamax(0.1),
    "sm3": optimizers.sm3(0.5),
}
TARGET = {"a": np.float32([[1.0, -2.0], [0.5, 3.0]]), "b": (np.float32([2.0]),)}


def loss(params):
    return sum(jnp.sum((x - y) ** 2) for x, y in _pairs(params))


def _pairs(params):
    return zip(tree_flatten(params)[0], tree_flatten(TARGET)[0], strict=True)


@pytest.mark.parametrize("name", METHODS)
def test_optimizer_converges_to_the_minimum(name):
    init, update, params = METHODS[name]
    step = ricci_xla.jit(lambda i, state: update(i, grad(loss)(params(state)), state))
    state = init(tree_map(np.zeros_like, TARGET))
    for i in range(150):
        state = step(i, state)
    assert tree_structure(params(state)) == tree_structure(TARGET)
    for found, expected in _pairs(params(state)):
        np.testing.assert_allclose(found, expected, atol=0.1)


def test_a_state_is_a_pytree_of_its_arrays():
    init, _, params = optimizers.adam(0.1)
    state = init(TARGET)
    leaves, tree = tree_flatten(state)
    assert len(leaves) == 6
    again = tree.unflatten(leaves)
    assert isinstance(again, optimizers.OptimizerState)
    assert again.tree_def == tree_structure(TARGET)
    np.testing.assert_array_equal(params(again)["a"], TARGET["a"])


def test_a_state_is_unpacked_and_packed():
    init, update, _ = optimizers.momentum(0.1, 0.9)
    state = update(0, TARGET, init(TARGET))
    marked = optimizers.unpack_optimizer_state(state)
    assert tree_structure(marked) == tree_structure(TARGET)
    assert isinstance(marked["b"][0], optimizers.JoinPoint)
    np.testing.assert_array_equal(marked["b"][0].subtree[1], [2.0])
    saved = pickle.loads(pickle.dumps(tree_map(lambda m: tree_map(np.asarray, m.subtree), marked)))
    again = optimizers.pack_optimizer_state(
        {"a": optimizers.JoinPoint(saved["a"]), "b": (optimizers.JoinPoint(saved["b"][0]),)}
    )
    assert again.subtree_defs == state.subtree_defs
    np.testing.assert_array_equal(tree_flatten(again)[0][1], tree_flatten(state)[0][1])


def test_gradients_of_another_structure_raise():
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match=r"update_fn: gradients must have the structure"):
        update(0, [1.0], init((1.0,)))


def test_an_update_that_changes_the_structure_raises():
    @optimizers.optimizer
    def forgetful():
        return lambda x: (x,), lambda i, g, state: state[0], lambda state: state[0]

    init, update, _ = forgetful()
    with pytest.raises(TypeError, match="must not change the structure of the state"):
        update(0, 1.0, init(1.0))


def test_an_optimizer_keeps_its_name_and_parameters():
    assert optimizers.adam.__name__ == "adam"
    with pytest.raises(TypeError, match="momentun"):
        optimizers.adagrad(0.1, momentun=0.9)


@pytest.mark.parametrize("step_size", [np.ones(2), [0.1]])
def test_invalid_step_sizes_raise(step_size):
    with pytest.raises(TypeError, match="step_size must be a number or a function"):
        optimizers.sgd(step_size)


@pytest.mark.parametrize(
    ("boundaries", "values", "message"),
    [([[1]], [1.0, 2.0], "one-dimensional"), ([1], [1.0], "1 values and 1 boundaries")],
)
def test_invalid_boundaries_raise(boundaries, values, message):
    with pytest.raises(ValueError, match=message):
        optimizers.piecewise_constant(boundaries, values)


def test_clip_grads_does_not_change_smaller_gradients():
    grads = {"a": jnp.array([3.0, 0.0]), "b": jnp.array(4.0)}
    np.testing.assert_array_equal(optimizers.clip_grads(grads, 6.0)["a"], grads["a"])
    assert abs(float(optimizers.l2_norm(optimizers.clip_grads(grads, 2.0))) - 2.0) < 1e-6
