"""Tools on functions of models: objects with functions, flags and numbers beside their arrays."""

import pytest

import ricci
import ricci.numpy as jnp
from ricci import parallel

SETTINGS = ("activation", "deterministic", "rate", "rank")


@ricci.tree_util.register_pytree_node_class
class Layer:
    """A layer whose settings are leaves, as those of an equinox module are."""

    def __init__(self, weights, *settings):
        self.weights = weights
        self.activation, self.deterministic, self.rate, self.rank = settings

    def tree_flatten(self):
        return (self.weights, *(getattr(self, name) for name in SETTINGS)), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)

    def __call__(self, x):
        if self.deterministic and self.rate < 1.0:
            x = self.activation(jnp.tile(x, self.rank)[: x.shape[0]] @ self.weights)
        return x / self.rate


def layer(deterministic=True, rate=0.5, activation=jnp.tanh):
    return Layer(jnp.full((2, 2), 0.3), activation, deterministic, rate, 1)


def step(model, x):
    """Return the model with other weights, and the loss."""
    loss = lambda w, x: jnp.sum(Layer(w, *(getattr(model, name) for name in SETTINGS))(x) ** 2)
    value, gradient = ricci.value_and_grad(loss)(model.weights, x)
    new = model.weights - 0.1 * gradient
    return Layer(new, *(getattr(model, name) for name in SETTINGS)), value


class JittedElsewhere:
    """A function that a library jitted: arrays are traced, and everything else is static."""

    def __init__(self, fun):
        self.fun = fun

    def __call__(self, *args):
        leaves, tree = ricci.tree.flatten(args)
        is_array = [isinstance(x, ricci.Array) for x in leaves]

        def run(arrays):
            values = iter(arrays)
            return self.fun(
                *tree.unflatten(
                    next(values) if a else x for a, x in zip(is_array, leaves, strict=True)
                )
            )[1]

        return ricci.jit(run)([x for a, x in zip(is_array, leaves, strict=True) if a])

    def lower(self, *args):
        """Mark this as jitted."""


X = jnp.ones((3, 2))
ANALYSES = [
    ricci.check,
    ricci.memory_plan,
    ricci.precision,
    parallel.plan,
    parallel.communication,
    lambda f: ricci.roll(f).report,
    lambda f: ricci.fit_memory(f, "1GB").plan,
]
REWRITES = [
    ricci.roll,
    lambda f: ricci.bucketed(f, axis=(None, 0), sizes=[8]),
    lambda f: ricci.fit_memory(f, "1GB"),
]


@pytest.mark.parametrize("tool", ANALYSES)
@pytest.mark.parametrize("fun", [step, JittedElsewhere(step)])
def test_settings_of_a_model_are_not_traced(tool, fun):
    report = tool(fun)(layer(), X)
    assert "TracerBool" not in str(report)
    assert report is not None


@pytest.mark.parametrize("tool", REWRITES)
def test_rewritten_functions_return_the_settings_of_a_model(tool):
    rewritten = tool(step)
    for model in (layer(), layer(rate=0.25), layer(False), layer(activation=jnp.sin)):
        new, value = rewritten(model, X)
        expected, expected_value = step(model, X)
        assert jnp.allclose(new.weights, expected.weights) and jnp.allclose(value, expected_value)
        assert [getattr(new, name) for name in SETTINGS] == [
            getattr(model, name) for name in SETTINGS
        ]
        assert type(new.deterministic) is bool and type(new.rate) is float


def change_in_place(model, x):
    y = model(x)
    model.weights = model.weights + 1.0
    return y


@pytest.mark.parametrize("tool", REWRITES)
def test_changes_of_a_copied_model_are_refused(tool):
    model = layer()
    with pytest.raises(TypeError, match="change_in_place changes its argument model in place"):
        tool(change_in_place)(model, X)
    assert jnp.array_equal(model.weights, layer().weights)


@pytest.mark.parametrize("tool", ANALYSES[:-2])
def test_analyses_restore_a_changed_model(tool):
    model = layer()
    tool(change_in_place)(model, X)
    assert jnp.array_equal(model.weights, layer().weights)


class Stateful:
    """A model whose step replaces its weights, as that of a keras model does."""

    def __init__(self):
        self.weights, self.calls = jnp.ones((2, 2)), 0

    def step(self, scale, x):
        self.calls += 1
        self.weights = self.weights * scale
        return x @ self.weights


@pytest.mark.parametrize("tool", REWRITES)
def test_changes_of_state_are_refused_and_undone(tool):
    model = Stateful()
    words = r"step changes arrays of objects that it refers to \('weights'\)"
    for _ in range(2):
        with pytest.raises(TypeError, match=words):
            tool(model.step)(0.5, X)
    assert model.calls == 0 and jnp.array_equal(model.step(1.0, X), 2 * X)


@pytest.mark.parametrize("tool", ANALYSES[:-2])
def test_analyses_restore_state(tool):
    model = Stateful()
    tool(model.step)(0.5, X)
    assert model.calls == 0 and jnp.array_equal(model.step(1.0, X), 2 * X)


@pytest.mark.parametrize("tool", REWRITES)
def test_changes_of_state_without_arrays_are_kept(tool):
    calls = []

    def count(_, x):
        calls.append(len(calls))
        return x + 1.0

    assert jnp.array_equal(tool(count)(0.5, X), X + 1.0)
    assert calls == [0]


@pytest.mark.parametrize("tool", REWRITES)
def test_changes_of_containers_are_no_changes_of_a_model(tool):
    def fill(model, batch):
        batch["y"] = 2 * batch["x"]
        return model(batch["y"])

    result = tool(fill)(layer(), {"x": X})
    assert jnp.allclose(result, layer()(2 * X))


@pytest.mark.parametrize("tool", REWRITES)
def test_numbers_among_the_arguments_are_traced(tool):
    seen = []

    def scaled(rate, x):
        seen.append(rate)
        return jnp.sum(x) * rate

    rewritten = tool(scaled)
    for rate in (1.0, 2.0):
        assert rewritten(rate, X) == 6 * rate
    assert len(seen) == 1


@pytest.mark.parametrize(
    "iterator", [iter, lambda items: (x for x in items), lambda x: map(abs, x)]
)
@pytest.mark.parametrize("tool", REWRITES)
def test_each_call_reads_on_in_an_iterator(tool, iterator):
    scaled = tool(lambda numbers, x: x * next(numbers))
    numbers = iterator([1.0, 2.0, 3.0])
    for expected in (1.0, 2.0, 3.0):
        assert jnp.array_equal(scaled(numbers, X), expected * X)
