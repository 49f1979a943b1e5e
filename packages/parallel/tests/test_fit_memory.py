"""``fit_memory``: peaks under a limit, with the values of the function as it stands."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_autodiff import grad, value_and_grad
from ricci_batching import vmap
from ricci_lax import add, cond, cos, custom_jvp, dot, gt, mul, reduce_sum, scan, sin, tanh
from ricci_parallel.planning import MemoryLimitError, fit_memory, memory_plan
from ricci_xla import jit

N, ROWS, LAYERS = 16, 256, 5


def total(x):
    return reduce_sum(x, tuple(range(x.ndim)))


def layer(x, w):
    return add(tanh(mul(sin(dot(x, w)), cos(x))), x)


def unrolled(ws, x):
    for w in ws:
        x = layer(x, w)
    return total(x)


def scanned(stack, x):
    return total(scan(lambda x, w: (layer(x, w), None), x, stack)[0])


@custom_jvp
def ramp(x):
    return tanh(x)


ramp.defjvp(lambda primals, tangents: (ramp(*primals), mul(tangents[0], cos(primals[0]))))


def with_rules(ws, x):
    for w in ws:
        x = cond(gt(total(x), 0.0), lambda x, w: ramp(layer(x, w)), layer, x, w)
    return total(jit(lambda x: sin(sin(x)))(x))


STACK = 0.1 * np.random.default_rng(0).normal(size=(LAYERS, N, N)).astype(np.float32)
X = np.ones((ROWS, N), np.float32)
LIST = list(STACK)
PROGRAMS = {
    "layers in a Python loop": (grad(unrolled), LIST, X),
    "layers in a scan": (grad(scanned), STACK, X),
    "jitted, with the value": (jit(value_and_grad(unrolled)), LIST, X),
    "batched": (vmap(grad(scanned), (None, 0)), STACK, np.stack([X, -X])),
    "with rules and branches": (grad(with_rules), LIST, X),
    "differentiated twice": (
        grad(lambda w, x: total(grad(unrolled, 1)([w, w, w], x))),
        STACK[0],
        X,
    ),
}


def leaves(tree):
    return list(tree) if isinstance(tree, list | tuple) else [tree]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_under_the_limit_and_values_are_those_of_the_function(name):
    fun, *args = PROGRAMS[name]
    peak = memory_plan(fun)(*args).peak_bytes
    limit = int(0.8 * peak)
    fitted = fit_memory(fun, limit)
    fit = fitted.plan(*args)
    assert fit.unlimited == peak
    assert fit.peak_bytes <= limit
    assert fit.again > 0
    expected = [y for part in leaves(jit(fun)(*args)) for y in leaves(part)]
    results = [y for part in leaves(fitted(*args)) for y in leaves(part)]
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-3, atol=1e-3 * np.max(np.abs(value)))


def test_lower_limits_repeat_more():
    fun, *args = PROGRAMS["layers in a Python loop"]
    peak = memory_plan(fun)(*args).peak_bytes
    fits = [fit_memory(fun, int(share * peak)).plan(*args) for share in (0.85, 0.6)]
    assert fits[0].again < fits[1].again
    assert "of the forward pass runs twice" in str(fits[1])


def test_a_function_that_fits_is_left_as_it_is():
    fun, *args = PROGRAMS["layers in a Python loop"]
    fit = fit_memory(fun, "1GiB").plan(*args)
    assert fit.recomputation is None
    assert fit.compiled == 1
    assert "under 1.1 GB" in str(fit)


def test_a_plan_is_made_once_for_the_types_of_arguments(monkeypatch):
    traces = []

    def loss(w, x):
        traces.append(w.shape)
        return unrolled([w] * LAYERS, x)

    fitted = fit_memory(jit(grad(loss)), 250_000)
    fitted(STACK[0], X)
    count = len(traces)
    fitted(STACK[1], X)
    assert len(traces) == count
    assert fitted.plan(STACK[0], X) is fitted.plan(ir.ShapeDtypeStruct((N, N), np.float32), X)


def test_other_calls_of_the_function_are_not_rewritten():
    step = jit(grad(unrolled))
    peak = memory_plan(step)(LIST, X).peak_bytes
    text = jit(grad(unrolled)).lower(LIST, X).as_text()
    fit_memory(step, int(0.7 * peak))(LIST, X)
    assert memory_plan(step)(LIST, X).peak_bytes == peak
    assert step.lower(LIST, X).as_text() == text


def test_a_limit_below_every_choice_is_an_error_with_the_least_peak():
    with pytest.raises(
        MemoryLimitError, match="the least peak that recomputation reaches is .* kB"
    ):
        fit_memory(grad(unrolled), 1000)(LIST, X)


def test_a_function_without_derivatives_is_an_error():
    with pytest.raises(MemoryLimitError, match="differentiates nothing"):
        fit_memory(unrolled, 1000)(LIST, X)


@pytest.mark.parametrize(
    ("limit", "size"),
    [
        (1000, 1000),
        (np.int64(9), 9),
        (np.float32(9), 9),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("1.5 MB", 1_500_000),
        ("2G", 2 * 10**9),
    ],
)
def test_limits_are_numbers_of_bytes_or_texts(limit, size):
    assert fit_memory(unrolled, limit)._limit == size


@pytest.mark.parametrize(
    "limit", [0, -1, 0.5, "0.5", True, None, "", "8 apples", "GB", float("nan")]
)
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="must be a number of bytes, at least 1, or a text"):
        fit_memory(unrolled, limit)


def test_a_value_in_place_of_the_function_is_refused():
    with pytest.raises(TypeError, match="fit_memory expects a function, got 3 of type int"):
        fit_memory(3, "1GB")


def test_results_may_hold_the_leaves_of_a_model_that_are_not_arrays():
    def update(model, x):
        return {**model, "w": grad(lambda w: unrolled([w] * LAYERS, x))(model["w"])}

    plan = memory_plan(update)({"w": STACK[0], "activation": tanh}, X)
    assert plan.results == STACK[0].nbytes
