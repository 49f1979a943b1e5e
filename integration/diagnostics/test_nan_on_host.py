"""A NaN that NumPy makes, before an operation sees it or in a callback, is reported as such.

The report names the line that takes it, or the call that returned it; never another operation.
"""

import inspect

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci.experimental import io_callback

X = np.array([1.0, -1.0], np.float32)
TYPE = ricci.ShapeDtypeStruct((2,), jnp.float32)
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|divide by zero)")


def computed_before(x):
    y = np.log(x)
    z = jnp.sin(y)  # here
    return jnp.sum(z)


def converted_before(x):
    y = jnp.asarray(np.log(x))
    return jnp.sum(y * 2)  # here


def weighted(weights, x):
    return jnp.sum(jnp.exp(weights) * np.log(x))  # here


def differentiated(x):
    return ricci.grad(weighted)(np.ones(2, np.float32), x)


def called_back(x):
    y = ricci.pure_callback(np.log, TYPE, x)  # here
    return jnp.sum(y * 2)


def called_back_in_order(x):
    y = io_callback(np.log, TYPE, x, ordered=True)  # here
    return jnp.sum(y * 2)


def called_back_in_loop(x):
    def body(y, _):
        y = ricci.pure_callback(np.log, TYPE, y)  # here
        return y * 2, None

    return ricci.lax.scan(body, x, length=2)[0]


def line_of(function):
    lines, start = inspect.getsourcelines(inspect.unwrap(function))
    return next(start + i for i, line in enumerate(lines) if "# here" in line)


BEFORE = {computed_before: "sin", converted_before: "mul", differentiated: "mul"}
CALLED = [called_back, called_back_in_order, called_back_in_loop]


@pytest.mark.parametrize("function", BEFORE)
def test_a_nan_made_before_goes_into_the_line_that_takes_it(function):
    report = ricci.find_nan(function)(X)
    assert report.came_in and report.operation == BEFORE[function]
    assert report.line == line_of(weighted if function is differentiated else function)
    assert "no operation made it" in str(report)


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit])
@pytest.mark.parametrize("function", CALLED)
def test_a_nan_of_a_callback_is_that_of_its_call(function, transform):
    report = ricci.find_nan(transform(function))(X)
    assert not report.came_in and report.operation.endswith("_callback")
    assert report.line == line_of(function)
    assert "the Python function that it calls returned it" in str(report)


def test_a_result_of_numpy_has_no_line():
    report = ricci.find_nan(np.log)(X)
    assert report.operation == "argument" and not report.line
    assert "as by NumPy" in str(report)


@pytest.mark.parametrize("function", [computed_before, converted_before])
def test_debug_nans_names_the_line_that_a_nan_goes_into(function):
    with ricci.debug_nans(True), pytest.raises(FloatingPointError) as error:
        function(X)
    assert f"goes into {BEFORE[function]}, at " in str(error.value)
    assert f"test_nan_on_host.py:{line_of(function)} " in str(error.value)


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit])
@pytest.mark.parametrize("function", CALLED)
def test_debug_nans_names_the_call_of_a_callback(function, transform):
    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="_callback") as error:
        transform(function)(X)
    assert f"test_nan_on_host.py:{line_of(function)} " in str(error.value)


def test_debug_nans_calls_an_eager_callback_once():
    calls = []

    def log(x):
        calls.append(x)
        return np.log(x)

    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="returned it"):
        io_callback(log, TYPE, X)
    assert len(calls) == 1
    with ricci.debug_nans(True):
        assert jnp.array_equal(io_callback(log, TYPE, abs(X)), jnp.zeros(2))


def test_debug_nans_names_the_call_that_a_nan_is_passed_to():
    def total(y):
        return jnp.sum(y * 2)

    def passes(x):
        y = np.log(x)
        return ricci.jit(total)(y)  # here

    with ricci.debug_nans(True), pytest.raises(FloatingPointError, match="argument y") as error:
        passes(X)
    assert "in the call at " in str(error.value)
    assert f"test_nan_on_host.py:{line_of(passes)} (" in str(error.value)
