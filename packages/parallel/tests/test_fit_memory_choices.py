"""Which residuals ``fit_memory`` recomputes and which it moves to the host, by the link's speed."""

import io
import math
import re
import sys
from functools import partial

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_autodiff import SymbolicZero, grad, rewrite_differentiated
from ricci_lax import (
    Differentiated,
    add,
    custom_jvp,
    dot,
    mul,
    reduce_sum,
    scan,
    sin,
    stop_gradient,
    tanh,
)
from ricci_parallel.planning import (
    MemoryLimitError,
    _fit_memory,
    _fit_planner,
    chips,
    fit_memory,
    memory_plan,
)
from ricci_parallel.planning._fit_planner import FitPlanner
from ricci_parallel.planning._memory_choices import host_operations, promising, recomputations
from ricci_xla import devices, jit

N, ROWS, LAYERS = 64, 512, 6
W = [0.1 * np.eye(N, dtype=np.float32)] * LAYERS
X = np.ones((ROWS, N), np.float32)


def layer(x, w):
    h = tanh(dot(x, w))
    return add(x, mul(sin(h), h))


def loss(ws, x):
    for w in ws:
        x = layer(x, w)
    return reduce_sum(mul(x, x), (0, 1))


def scanned(stack, x):
    x = scan(lambda x, w: (layer(x, w), None), x, stack)[0]
    return reduce_sum(mul(x, x), (0, 1))


def differentiated(fun, *args):
    seen = Differentiated()
    with rewrite_differentiated(seen.look):
        ir.make_jaxpr(grad(fun))(*args)
    return seen.jaxprs[0], seen.nonzeros[0]


def cheapest(host, bytes_at_most):
    _, _, choices = recomputations(*differentiated(loss, W, X), host)
    fitting = [choice for choice in promising(choices) if choice.bytes <= bytes_at_most]
    return min(fitting, key=lambda choice: choice.cost).rewrite


def test_rules_get_tangents_of_what_is_differentiated_alone():
    @custom_jvp
    def constant(x):
        return mul(x, 1.0)

    @partial(constant.defjvp, symbolic_zeros=True)
    def refuse(primals, tangents):
        assert isinstance(tangents[0], SymbolicZero)
        return constant(*primals), tangents[0]

    def stopped(ws, x):
        x = constant(x)
        for w in ws:
            x = layer(mul(x, constant(stop_gradient(sin(x)))), w)
        return reduce_sum(x, (0, 1))

    residuals, _, _ = recomputations(*differentiated(stopped, W, X))
    assert residuals > 0


def test_each_row_of_checkpoints_is_one_choice():
    jaxpr, nonzeros = differentiated(loss, W, X)
    _, _, choices = recomputations(jaxpr, nonzeros)
    lengths = {n: rc.SegmentedFunction(jaxpr, n).lengths for n in rc.segment_counts(jaxpr)}
    rows = [
        lengths[choice.rewrite.segments][: choice.rewrite.recomputed]
        for choice in choices
        if choice.rewrite.least == math.inf
    ]
    every = {of_count[:n] for of_count in lengths.values() for n in range(1, len(of_count) + 1)}
    assert len(rows) == len(every)
    assert {*rows} == every


def test_results_in_donated_arguments_need_no_memory():
    def step(ws, x):
        return [add(w, mul(g, 0.1)) for w, g in zip(ws, grad(loss)(ws, x), strict=True)]

    planners = [
        FitPlanner(call, (W, X), {}, int(0.8 * memory_plan(call)(W, X).peak_bytes))
        for call in (jit(step), jit(step, donate_argnums=0))
    ]
    for planner in planners:
        assert planner.fit().peak_bytes <= planner.limit
    estimates, of_donated = (planner._estimates for planner in planners)
    both = estimates.keys() & of_donated.keys()
    assert both
    assert {estimates[change] - of_donated[change] for change in both} == {LAYERS * W[0].nbytes}


def test_residuals_go_to_the_host_where_its_link_is_fast():
    at_most = 12 * X.nbytes
    assert cheapest(1.0, at_most).on_host
    assert not cheapest(1e6, at_most).on_host
    assert not cheapest(math.inf, at_most).on_host


def test_a_slow_link_serves_limits_that_no_recomputation_meets():
    _, _, here = recomputations(*differentiated(loss, W, X))
    _, _, there = recomputations(*differentiated(loss, W, X), 1e6)
    least, other = (min(choice.bytes for choice in choices) for choices in (here, there))
    assert other < least
    assert cheapest(1e6, other).on_host


def test_devices_without_a_memory_of_their_own_move_nothing():
    assert host_operations(devices("cpu")) == math.inf


@pytest.mark.parametrize("name", chips)
def test_chips_compute_while_they_move(name):
    class Described:
        platform = "tpu" if name.startswith("TPU") else "gpu"
        device_kind = name

    chip = chips[name]
    assert host_operations([Described()]) == 2 * chip.flops / chip.host_bandwidth > 1000


def hosted(jaxpr):
    """The bytes that a jaxpr and those in it move to the host."""
    moved = sum(
        v.aval.size * v.aval.dtype.itemsize
        for eqn in jaxpr.eqns
        if eqn.primitive.name == "device_put"
        for v in eqn.outvars
        if v in ir.values_on_host(jaxpr)
    )
    return moved + sum(hosted(i) for e in jaxpr.eqns for i in ir.jaxprs_in_params(e.params))


@pytest.mark.parametrize(("fun", "ws"), [(loss, W), (scanned, np.stack(W))])
def test_checkpoints_read_values_from_the_host(fun, ws):
    scans = fun is scanned
    change = rc.Recomputation(LAYERS, 0 if scans else LAYERS, math.inf, scans, on_host=True)
    with rewrite_differentiated(change):
        jaxpr = ir.make_jaxpr(grad(fun))(ws, X)
    # Of the carry of a scan, each iteration moves its own; of segments, the first reads arguments.
    assert hosted(jaxpr) == (X.nbytes if scans else (LAYERS - 1) * X.nbytes)
    with rewrite_differentiated(change.__class__(*change._values()[:-1], False)):
        plain = ir.make_jaxpr(grad(fun))(ws, X)
    assert rc.estimated_peak(jaxpr) < rc.estimated_peak(plain)


def test_costly_results_go_to_the_host_and_small_ones_stay():
    change = rc.Recomputation(LAYERS, LAYERS, 1.0, False, on_host=True)
    with rewrite_differentiated(change):
        jaxpr = ir.make_jaxpr(grad(loss))(W, X)
        small = ir.make_jaxpr(grad(loss))(W, X[:1])
    assert hosted(jaxpr) == (2 * LAYERS - 1) * X.nbytes
    assert hosted(small) == 0


@pytest.mark.parametrize("host", [1.0, 1e3])
def test_values_are_those_of_the_function(host, monkeypatch):
    monkeypatch.setattr(_fit_planner, "host_operations", lambda devices: host)
    peak = memory_plan(grad(loss))(W, X).peak_bytes
    fitted = fit_memory(grad(loss), int(0.75 * peak))
    fit = fitted.plan(W, X)
    assert fit.recomputation.on_host == (host == 1.0)
    assert ("of residuals are on the host" in str(fit)) == (host == 1.0)
    for result, value in zip(fitted(W, X), grad(loss)(W, X), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5)


class Counted(FitPlanner):
    """Counts what a planner traces and compiles."""

    traces = compilations = 0

    def _trace(self, rewrite):
        type(self).traces += 1
        return super()._trace(rewrite)

    def _memory(self, traced, name):
        type(self).compilations += 1
        return super()._memory(traced, name)


def batched(ws, x):
    return mul(loss(ws, x), 1.0 / len(x))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("share", [0.9, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.01])
@pytest.mark.parametrize("fun", [loss, scanned])
def test_planning_traces_and_compiles_few_programs(fun, share, monkeypatch):
    ws = np.stack(W) if fun is scanned else W
    peak = memory_plan(grad(fun))(ws, X).peak_bytes
    counted = type("Counted", (Counted,), {})
    monkeypatch.setattr(_fit_memory, "FitPlanner", counted)
    try:
        fit = fit_memory(grad(fun), int(share * peak)).plan(ws, X)
    except MemoryLimitError:
        assert counted.compilations <= 3
    else:
        assert fit.compiled == counted.compilations <= 4
        assert fit.peak_bytes <= fit.limit
    assert counted.traces <= 24


def test_the_least_peak_of_an_error_is_near_the_one_of_either_rewrite_alone():
    alone = {}
    for kind in (rc.Recomputation, rc.BatchPieces):
        changes = (
            [rc.Recomputation(n, n, math.inf, scans=False) for n in (2, 3, 6)]
            if kind is rc.Recomputation
            else [rc.BatchPieces(ROWS, n) for n in (2, 8, 512)]
        )
        peaks = []
        for change in changes:
            with rewrite_differentiated(change):
                peaks.append(memory_plan(grad(loss))(W, X).peak_bytes)
        alone[kind] = min(peaks)
    with pytest.raises(MemoryLimitError) as error:
        fit_memory(grad(loss), 1000)(W, X)
    least = int(re.search(r"\((\d+) bytes\)", str(error.value))[1])
    assert least <= 1.1 * min(alone.values())  # two choices are compiled, the least as estimated
    fit = fit_memory(grad(loss), least).plan(W, X)
    assert fit.pieces is not None


def test_a_terminal_shows_which_program_is_compiled(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    fit = fit_memory(grad(loss), int(0.7 * memory_plan(grad(loss))(W, X).peak_bytes)).plan(W, X)
    shown = terminal.getvalue()
    assert "fit_memory compiles 1 of 4 programs at most: the function as it stands" in shown
    assert shown.count("fit_memory compiles") == fit.compiled
    assert shown.endswith("\r\x1b[K")
