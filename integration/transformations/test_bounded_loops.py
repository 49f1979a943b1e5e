"""``while_loop(max_steps=)``: a loop with a condition that reverse mode differentiates."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import lax

WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["eager", "jit"])


def power(a, bound=20):
    """a ** 6 for a = 2, with the number of steps: the condition reads what the body changes."""
    return lax.while_loop(
        lambda c: c[0] < 50.0, lambda c: (c[0] * a, c[1] + 1), (a, 0), max_steps=bound
    )


@WRAPS
@pytest.mark.parametrize("wide", [False, True])
def test_derivatives_of_a_bounded_loop(wrap, wide):
    value = lambda a: power(a)[0]
    with ricci.enable_x64(wide):
        for _ in range(2):
            assert float(wrap(value)(2.0)) == 64.0
            assert float(wrap(ricci.grad(value))(2.0)) == 192.0
            assert float(wrap(ricci.jacfwd(value))(2.0)) == 192.0
            assert float(wrap(ricci.hessian(value))(2.0)) == 480.0
            ricci.clear_caches()


@WRAPS
def test_examples_of_a_batch_end_by_themselves(wrap):
    xs = jnp.array([2.0, 3.0])
    values, steps = wrap(ricci.vmap(power))(xs)
    assert (values.tolist(), steps.tolist()) == ([64.0, 81.0], [5, 3])
    slopes = wrap(ricci.vmap(ricci.grad(lambda a: power(a)[0])))(xs)
    assert slopes.tolist() == [192.0, 108.0]


@WRAPS
@pytest.mark.parametrize("bound", [0, 1, 3])
def test_a_loop_ends_at_its_bound(wrap, bound):
    value = lambda a: power(a, bound)[0]
    assert float(wrap(value)(2.0)) == 2.0 ** (bound + 1)
    assert float(wrap(ricci.grad(value))(2.0)) == (bound + 1) * 2.0**bound
    with ricci.disable_jit():
        assert float(value(2.0)) == 2.0 ** (bound + 1)


def test_keys_and_empty_arrays_are_carried():
    start = (ricci.random.key(0), jnp.zeros((0, 2)), 1.0)
    step = lambda c: (ricci.random.split(c[0])[0], c[1], c[2] * 2)
    _, empty, x = lax.while_loop(lambda c: c[2] < 5, step, start, max_steps=9)
    assert (empty.shape, float(x)) == ((0, 2), 8.0)


def test_values_closed_over_have_gradients():
    slope = ricci.grad(lambda w: lax.while_loop(lambda x: x < w, lambda x: x * w, 1.5, max_steps=5))
    np.testing.assert_allclose(slope(3.0), 1.5)


@pytest.mark.parametrize(
    ("bound", "error"), [(-1, ValueError), (2.5, TypeError), (jnp.ones(2), TypeError)]
)
def test_bounds_are_static_and_not_negative(bound, error):
    with pytest.raises(error, match="max_steps must be"):
        lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0, max_steps=bound)
