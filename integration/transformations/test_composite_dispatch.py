"""Functions of several operations, called again and again from C++: what must not be missed."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci.errors import UnexpectedTracerError
from ricci_ir import composite

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def counted():
    """A composite, and the types it was traced for."""
    traced = []

    @composite("counted")
    def step(x, y, *, scale=1):
        traced.append((x.aval, None if y is None else y.aval, scale))
        return x * scale, x if y is None else x + y

    return step, traced


def test_composites_are_traced_once_for_types_and_settings(counted):
    step, traced = counted
    x = jnp.asarray(X)
    for scale in 2, 3, 2:
        for y in x, None, 1.5:
            scaled, total = step(x, y, scale=scale)
            np.testing.assert_array_equal(scaled, X * scale)
            np.testing.assert_array_equal(total, X if y is None else X + np.asarray(y, np.float32))
    assert len(traced) == len(set(traced)) == 6


def test_the_result_has_its_form_after_the_program_served_a_transformation():
    take = lambda x: jnp.where(x > 2, x, 0.0)
    x = jnp.asarray(X)
    gradient = ricci.grad(lambda t: (t * take(x)).sum())(x)  # the composite on concrete values
    np.testing.assert_array_equal(gradient, np.where(X > 2, X, 0))
    for _ in range(3):
        assert isinstance(take(x), ricci.Array)
        assert isinstance(jnp.divmod(x, 2.0), tuple)


def test_composite_cache_keys_include_trace_settings():
    ints = np.arange(6)
    for _ in range(2):
        assert jnp.where(ints > 2, ints, 0).dtype == np.int32
        with ricci.enable_x64(True):
            assert jnp.where(ints > 2, ints, 0).dtype == np.int64


def test_composites_of_constants_are_recorded_while_tracing():
    x = jnp.asarray(X)
    jaxpr = ricci.make_jaxpr(lambda: jnp.where(x > 2, x, 0.0))()
    assert "_where" in str(jaxpr)


def test_composites_are_evaluated_under_compile_time_eval():
    @ricci.jit
    def f(x):
        with ricci.ensure_compile_time_eval():
            most = jnp.max(jnp.where(X > 2, X, 0.0))
        assert float(most) == 5.0
        return x + most

    np.testing.assert_array_equal(f(X), X + 5)


def test_without_jit_it_is_python():
    seen = []

    @composite("seen")
    def step(x):
        seen.append(isinstance(x, ricci.core.Tracer))
        return x + 1

    x = jnp.asarray(X)
    step(x)
    with ricci.disable_jit():
        np.testing.assert_array_equal(step(x), X + 1)
    np.testing.assert_array_equal(step(x), X + 1)
    assert seen == [True, False]


def test_a_nan_is_found_after_the_program_is_known():
    x = jnp.asarray(X)
    jnp.interp(x, x, x)
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jnp.interp(x * np.nan, x, x)
    np.testing.assert_array_equal(jnp.interp(x, x, x), X)


def test_an_escaped_tracer_is_named():
    kept = []
    ricci.jit(lambda x: kept.append(x) or x)(X)
    with pytest.raises(UnexpectedTracerError, match="escaped"):
        jnp.where(X > 2, kept[0], 0.0)


def test_composites_run_on_the_device_of_their_operands():
    device = ricci.devices()[-1]
    x = ricci.device_put(X, device)
    for _ in range(2):
        assert jnp.where(x > 2, x, 0.0).devices() == {device}
        assert jnp.where(X > 2, X, 0.0).devices() == {ricci.devices()[0]}


def test_an_error_leaves_it_usable():
    x = jnp.asarray(X)
    for _ in range(2):
        with pytest.raises(ValueError, match="where"):
            jnp.where(x > 2, x, jnp.ones(4))
        np.testing.assert_array_equal(jnp.where(x > 2, x, jnp.ones(6)), np.where(X > 2, X, 1))


class Holder:
    """A pytree with its array's attributes, as some libraries' variables are."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        return getattr(self.value, name)

    def __jax_array__(self):
        return self.value


ricci.tree_util.register_pytree_node(
    Holder, lambda h: ((h.value, h.value), None), lambda _, parts: Holder(parts[0])
)


def test_objects_with_jax_array_are_converted():
    x = jnp.asarray(X)
    for _ in range(3):
        np.testing.assert_array_equal(jnp.where(x > 2, Holder(x), 0.0), np.where(X > 2, X, 0))
        np.testing.assert_array_equal(ricci.nn.relu(Holder(x)), X)
        np.testing.assert_array_equal(jnp.matmul(Holder(x), x), 55)
        assert float(jnp.sum(Holder(x))) == 15
