"""``odeint``: solutions, their derivatives, and the functions of a Runge-Kutta step."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import enable_x64
from ricci_scipy.ode import (
    abs2,
    fit_4th_order_polynomial,
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    odeint,
    optimal_step_size,
    ravel_first_arg,
    runge_kutta_step,
)
from ricci_xla import jit

TIMES = np.linspace(0.0, 1.5, 4)


def decay(y, t, rate):
    return {"x": -rate * y["x"] * t, "v": y["x"] + t}


def solved(x, rate, times=TIMES, **options):
    state = {"x": x, "v": jnp.zeros((2,), x.dtype)}
    return odeint(decay, state, times, rate, **options)


def exact(x, rate, times):
    return x * np.exp(-rate * np.subtract(times, times[0])[:, None] ** 2 / 2)


@pytest.mark.parametrize("wide", [False, True])
def test_solutions_in_both_widths_eager_and_jitted(wide):
    tolerance = 1e-7 if wide else 2e-5
    with enable_x64(wide):
        x = jnp.array([1.0, -2.0])
        times = jnp.asarray(TIMES)
        for run in (solved, jit(solved)):
            found = run(x, 0.7, times)["x"]
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, exact(x, 0.7, TIMES), rtol=tolerance)


def test_times_may_decrease_and_repeat():
    found = odeint(lambda y, t: -y, 1.0, np.float32([1.0, 1.0, 0.5, 0.0, 0.0]))
    np.testing.assert_allclose(found, np.exp([0.0, 0.0, 0.5, 1.0, 1.0]), rtol=1e-5)
    assert odeint(lambda y, t: -y, 1.0, np.float32([2.0])).tolist() == [1.0]


def test_a_rotation_of_complex_numbers_and_batches():
    turn = lambda y: odeint(lambda y, t: 1j * y, y, np.float32([0.0, 2.0]))[-1]
    found = vmap(turn)(np.complex64([1.0, 2j]))
    np.testing.assert_allclose(found, np.exp(2j) * np.array([1.0, 2j]), rtol=1e-5)


def test_gradients_are_those_of_the_solution():
    with enable_x64(True):
        x, times = jnp.array([1.0, -2.0]), jnp.asarray(TIMES)
        loss = lambda x, rate, times: jnp.sum(solved(x, rate, times)["x"][1:] ** 2)
        outside = lambda x, rate, times: jnp.sum(
            jnp.square(x * jnp.exp(-rate * (times**2 - times[0] ** 2)[1:, None] / 2))
        )
        expected = grad(outside, (0, 1, 2))(x, 0.7, times)
        found = grad(loss, (0, 1, 2))(x, 0.7, times)
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-6)


def test_odeint_differentiates_closed_over_floats_and_skips_integers():
    end = lambda rate: odeint(lambda y, t, n: -rate * n * y, 1.0, np.float32([0.0, 1.0]), 2)[-1]
    assert np.isclose(grad(end)(0.5), -2 * np.exp(-1.0), rtol=1e-4)
    assert np.isclose(jit(grad(end))(0.5), -2 * np.exp(-1.0), rtol=1e-4)


def test_second_derivatives():
    with enable_x64(True):
        end = lambda rate: odeint(lambda y, t, r: -r * y, 1.0, np.array([0.0, 1.0]), rate)[-1]
        assert np.isclose(jit(grad(grad(end)))(0.5), np.exp(-0.5), rtol=1e-5)


def test_limits_of_steps():
    field = lambda y, t: -y
    many = odeint(field, 1.0, np.float32([0.0, 1.0]), hmax=0.01)
    assert np.isclose(many[-1], np.exp(-1.0), rtol=1e-4)
    few = odeint(field, 1.0, np.float32([0.0, 1.0]), mxstep=1)
    assert abs(few[-1] - np.exp(-1.0)) > 1e-3
    assert np.isnan(odeint(lambda y, t: jnp.sqrt(-y), 1.0, np.float32([0.0, 1.0]))[-1])


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_steps_that_leave_the_domain_are_shortened(wrap, wide):
    with enable_x64(wide):
        tolerances = {"rtol": 1e-4, "atol": 1e-5}
        times = np.array([0.0, 1.0, 1.9], "float64" if wide else "float32")
        run = wrap(lambda y: odeint(lambda y, t: -jnp.sqrt(y), y, times, **tolerances))
        np.testing.assert_allclose(run(1.0), (1 - times / 2) ** 2, atol=1e-3)
        pull = wrap(
            grad(lambda y: odeint(lambda y, t: -jnp.sqrt(y), y, times[:2], **tolerances)[1])
        )
        np.testing.assert_allclose(pull(1.0), 0.5, atol=1e-3)
        run = wrap(
            lambda y: odeint(lambda y, t: 1 / jnp.sqrt(1 - t), y, times * 0.525, **tolerances)
        )
        np.testing.assert_allclose(run(0.0), 2 - 2 * np.sqrt(1 - times * 0.525), atol=2e-3)


def test_no_state_is_returned_from_beyond_a_singularity():
    times = np.float32([0.0, 0.5, 2.0])
    found = odeint(lambda y, t: 1 / jnp.sqrt(1 - t), 0.0, times, rtol=1e-4, atol=1e-4)
    assert np.isclose(found[1], 2 - np.sqrt(2), atol=1e-3)
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: odeint(decay, 1, TIMES), TypeError, "y0 must hold floats"),
        (lambda: odeint(decay, 1.0, np.arange(3)), TypeError, "t must be a vector of floats"),
        (lambda: odeint(decay, 1.0, np.ones((2, 2))), TypeError, "t must be a vector of floats"),
        (lambda: odeint(decay, 1.0, np.ones(0)), IndexError, "t is empty"),
        (lambda: odeint(decay, 1.0, TIMES, {"a": "x"}), TypeError, r"args\[0\]\['a'\] is a str"),
        (lambda: odeint(lambda y, t: (y, y), 1.0, TIMES), ValueError, "structure of the state"),
        (lambda: odeint(lambda y, t: jnp.ones(3), 1.0, TIMES), ValueError, "shape of the state"),
        (
            lambda: jvp(lambda y: odeint(lambda y, t: -y, y, TIMES), (1.0,), (1.0,)),
            TypeError,
            "rule for reverse mode only",
        ),
    ],
)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_functions_of_the_runge_kutta_step():
    # The numbers are JAX's, up to the two small ones, which are rounding there.
    y0, f0, dt = np.float32([1.0, 2.0]), np.float32([0.0, 0.0]), np.float32(0.1)
    y1, f1, error, k = runge_kutta_step(lambda y, t: -y * t, y0, f0, np.float32(0.0), dt)
    np.testing.assert_allclose(y1, [0.99501246, 1.9900249], rtol=1e-6)
    np.testing.assert_allclose(f1, [-0.09950124, -0.19900249], rtol=1e-6)
    np.testing.assert_allclose(k[3], [-0.07974439, -0.15948878], rtol=1e-6)
    assert np.all(np.abs(error) < 1e-8) and k.shape == (7, 2)
    polynomial = interp_fit_dopri(y0, y1, k, dt)
    np.testing.assert_allclose(polynomial[2], [-4.9991608e-03, -9.9983215e-03], rtol=1e-4)
    values = map(np.float32, ([1.0], [2.0], [1.6], [0.5], [0.7]))
    found = fit_4th_order_polynomial(*map(jnp.asarray, values), dt)
    np.testing.assert_allclose(np.ravel(found), [1.64, -5.16, 4.47, 0.05, 1.0], rtol=1e-5)
    sizes = [float(optimal_step_size(dt, np.float32(r))) for r in (0.3, 0.7, 1.05, 5.0, 1e9, 0.0)]
    np.testing.assert_allclose(sizes, [0.1145034, 0.1, 0.089126, 0.0652302, 0.02, 1.0], rtol=1e-5)
    allowed = (1e-3, 1e-4)
    ratio = mean_error_ratio(jnp.array([1e-3, 2e-3]), *allowed, y0, np.float32([-3.0, 1.0]))
    assert np.isclose(ratio, 0.7110161)
    first = initial_step_size(lambda y, t: -y, 0.0, jnp.asarray(y0), 4, *allowed, jnp.asarray(-y0))
    assert np.isclose(first, 0.094647296, rtol=1e-5)
    assert float(abs2(3 + 4j)) == 25.0 and float(abs2(-3.0)) == 9.0
    raveled = ravel_first_arg(lambda d, t: {"a": d["a"] * t}, lambda v: {"a": v})
    assert raveled(jnp.ones(2), 3.0).tolist() == [3.0, 3.0]
