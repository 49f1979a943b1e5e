"""Retracing of jitted functions: when it happens, and its explanation."""

import gc
import logging
import re
from functools import partial

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import jit
from ricci_ir import staged_call, trace_to_jaxpr


class Counter:
    """A function that counts how often it is traced."""

    def __init__(self):
        self.traces = 0

    def method(self, x, n=1):
        self.traces += 1
        return x * n

    def __call__(self, x, n=1):
        return self.method(x, n)


@pytest.fixture
def counter():
    return Counter()


WRAPS = {
    "a bound method": lambda c: c.method,
    "a partial": lambda c: partial(c.method, n=2),
    "a partial of a partial": lambda c: partial(partial(c.method), n=2),
    "a partial of functions": lambda c: partial(_applied, c.method, jnp.sin),
}


@pytest.fixture
def compilations():
    """The names of the functions that are compiled."""
    names = []

    def listener(event, seconds, **about):
        if event.endswith("backend_compile_duration"):
            names.append(about["fun_name"])

    ricci.monitoring.register_event_duration_secs_listener(listener)
    yield names
    ricci.monitoring.unregister_event_duration_listener(listener)


def test_jit_of_the_same_object_again_does_not_retrace(counter):
    for _ in range(3):
        jit(counter)(3.0)
        gc.collect()
    assert counter.traces == 1


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_jit_of_a_method_again_retraces_without_recompiling(counter, wrap, compilations):
    results = []
    for _ in range(3):
        results.append(jit(wrap(counter))(3.0))
        gc.collect()
    assert counter.traces == 3
    assert len(compilations) == 1
    assert len(set(map(float, results))) == 1


def test_jit_of_a_method_again_sees_the_current_attributes():
    class Scale:
        def __init__(self, factor, offset):
            self.factor, self.offset = factor, offset

        def __call__(self, x):
            return x * self.factor + self.offset

        def apply(self, x):
            return self(x)

    scale = Scale(2.0, jnp.ones(3))
    x = jnp.arange(3.0)
    found = [jit(scale.apply)(x).tolist()]
    scale.factor = 3.0
    found.append(jit(scale.apply)(x).tolist())
    scale.offset = jnp.zeros(3)
    found.append(jit(scale.apply)(x).tolist())
    scale.offset = np.ones(3, np.float32)
    found.append(jit(scale.apply)(x).tolist())
    scale.offset[:] = 5
    found.append(jit(scale.apply)(x).tolist())
    assert found == [[1, 3, 5], [1, 4, 7], [0, 3, 6], [1, 4, 7], [5, 8, 11]]


def test_jit_of_a_partial_again_sees_the_current_closure():
    factor = 2.0
    f = lambda n, x: x * factor + n
    found = [jit(partial(f, 1))(1.0)]
    factor = 3.0
    assert (*found, jit(partial(f, 1))(1.0)) == (3, 4)


def test_wrappers_of_one_method_share_its_programs(counter):
    wrappers = [jit(counter.method) for _ in range(3)]
    for f in wrappers * 2:
        f(1.0)
    assert counter.traces == 1


def _applied(f, g, x):
    return g(f(x))


@pytest.mark.parametrize(
    ("first", "second"),
    [((1,), (True,)), ((1,), (1.0,)), (((1, 2),), ((1, 2.0),)), (("a",), ("b",))],
)
def test_partials_of_other_values_are_traced_apart(first, second):
    seen = []

    def f(value, x):
        seen.append(value)
        return x

    for values in (first, second, first):
        jit(partial(f, *values))(1.0)
    assert list(map(repr, seen)) == list(map(repr, (*first, *second, *first)))


def test_partials_of_mutable_values_are_retraced():
    table = np.ones(3)
    f = lambda t, x: x * t.sum()
    first = jit(partial(f, table))(1.0)
    table[:] = 2
    assert (first, jit(partial(f, table))(1.0)) == (3, 6)


def test_other_objects_do_not_share_jaxprs():
    one, two = Counter(), Counter()
    jit(one.method)(1.0)
    jit(two.method)(1.0)
    assert (one.traces, two.traces) == (1, 1)


def test_programs_of_a_method_go_with_its_object():
    released = []

    class Owner(Counter):
        def __del__(self):
            released.append(True)

    owner = Owner()
    jit(owner.method)(1.0)
    del owner
    gc.collect()
    assert released


@pytest.mark.parametrize(
    ("calls", "traces"),
    [
        ([1.0, 2.0], 1),
        ([1.0, np.float32(2)], 2),
        ([1.0, 1], 2),
        ([np.ones(3), np.zeros(3)], 1),
        ([np.ones(3), np.ones(4)], 2),
        ([np.ones(3), jnp.ones(3)], 1),
        ([[1.0, 2.0], (1.0, 2.0)], 2),
    ],
)
def test_one_trace_for_each_type(calls, traces):
    seen = []
    f = jit(lambda x: (seen.append(1), x)[1])
    for x in calls * 2:
        f(x)
    assert len(seen) == traces


def test_static_values_are_compared_by_equality_and_type(counter):
    f = jit(counter, static_argnums=1)
    for n in (1, 1, 2, True, 1.0, 2):
        f(1.0, n)
    assert counter.traces == 4


def test_settings_that_affect_tracing_retrace(counter):
    f = jit(counter)
    f(1.0)
    with ricci.enable_x64(True):
        assert f(1.0).dtype == "float64"
    assert (f(1.0).dtype, counter.traces) == ("float32", 2)


def test_clear_cache(counter):
    f = jit(counter)
    f(1.0)
    f.clear_cache()
    f(1.0)
    assert counter.traces == 2


def test_a_jitted_function_is_released_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        f = jit(lambda x: x)
        watch = f.__wrapped__
        f(1.0)
        before = len(gc.get_referrers(watch))
        del f
        assert len(gc.get_referrers(watch)) < before
    finally:
        gc.enable()


def logged(caplog, logger):
    return [r.getMessage() for r in caplog.records if r.name == logger]


@pytest.mark.parametrize("switch", [ricci.log_compiles, ricci.config.update])
def test_log_compiles(caplog, switch):
    def first_layer(x):
        return x + 1

    f = jit(first_layer)
    caplog.set_level(logging.WARNING)
    if switch is ricci.log_compiles:
        with ricci.log_compiles():
            f(np.ones(3))
            f(np.ones(3))
    else:
        ricci.config.update("jax_log_compiles", True)
        try:
            f(np.ones(3))
            f(np.ones(3))
        finally:
            ricci.config.update("jax_log_compiles", False)
    f(np.ones(4))
    assert logged(caplog, "ricci.compile") == [
        "Compiling jit(first_layer) for arguments: float32[3]"
    ]
    times = [re.sub(r"[\d.]+ sec", "T", m) for m in logged(caplog, "ricci.dispatch")]
    assert times == [
        "Tracing first_layer for jit took T",
        "Writing jit(first_layer) as StableHLO took T",
        "Compiling jit(first_layer) with XLA took T",
    ]


def test_compiles_are_logged_for_those_who_ask(caplog):
    caplog.set_level(logging.DEBUG, "ricci.compile")
    jit(lambda x: x - 1)(np.ones(3))
    (record,) = [r for r in caplog.records if r.name == "ricci.compile"]
    assert record.levelno == logging.DEBUG


def weights(w, x, n=1):
    return x


MISSES = {
    "shape": (
        (({"a": np.ones(3)}, 1.0), {}),
        (({"a": np.ones(4)}, 1.0), {}),
        "argument w['a'] is float32[4] now and was float32[3]",
    ),
    "dtype": (
        ((1.0, np.ones(3)), {}),
        ((1.0, np.ones(3, np.int32)), {}),
        "argument x is int32[3] now and was float32[3]",
    ),
    "weak type": (
        ((1.0, 1.0), {}),
        ((1.0, np.float32(1)), {}),
        "argument x is float32[] now and was float32[] (weakly typed before",
    ),
    "new key": (
        (({"a": 1.0}, 1.0), {}),
        (({"a": 1.0, "b": 1.0}, 1.0), {}),
        "argument w['b'] is there now and was not",
    ),
    "container": ((([1.0], 1.0), {}), (((1.0,), 1.0), {}), "argument w is (*,) now and was [*]"),
    "static": (((1.0, 1.0, 2), {}), ((1.0, 1.0, 3), {}), "static argument n is 3 now and was 2"),
    "static type": (
        ((1.0, 1.0, 1), {}),
        ((1.0, 1.0, True), {}),
        "static argument n is True now and was 1",
    ),
}


@pytest.mark.parametrize("case", MISSES)
def test_miss_explanations_name_the_change(caplog, case):
    before, now, text = MISSES[case]
    f = jit(lambda w, x, n=1: weights(w, x, n), static_argnames="n")
    f(*before[0], **before[1])
    with ricci.explain_cache_misses():
        f(*now[0], **now[1])
        f(*now[0], **now[1])
    (message,) = logged(caplog, "ricci.tracing")
    assert text in message
    assert __file__ in message
    assert re.search(r"It cost \d+\.\d+ sec", message)


def test_a_miss_names_the_setting(caplog):
    f = jit(lambda x: x)
    f(1.0)
    with ricci.explain_cache_misses(), ricci.enable_x64(True):
        f(1.0)
    (message,) = logged(caplog, "ricci.tracing")
    assert "jax_enable_x64 is True now and was False" in message


def test_the_nearest_call_is_the_one_compared_with(caplog):
    f = jit(lambda x, y: x)
    f(1.0, 1.0)
    f(np.ones(3), np.ones(4))
    with ricci.explain_cache_misses():
        f(np.ones(3), np.ones(5))
    (message,) = logged(caplog, "ricci.tracing")
    assert "argument y" in message
    assert "argument x" not in message


def test_miss_explanations_notice_redefined_functions(caplog):
    with ricci.explain_cache_misses():
        for _ in range(2):
            jit(lambda x: x)(1.0)
    first, second = logged(caplog, "ricci.tracing")
    assert "has not been traced before" in first
    assert "defined again" not in first
    assert "defined again" in second


def test_durations_are_recorded():
    heard = []
    listener = lambda event, seconds, **about: heard.append((event, seconds >= 0, about))
    ricci.monitoring.register_event_duration_secs_listener(listener)
    try:

        def third_layer(x):
            return x

        f = jit(third_layer)
        f(1.0)
        f(1.0)
    finally:
        ricci.monitoring.unregister_event_duration_listener(listener)
    assert heard == [
        ("/jax/core/compile/jaxpr_trace_duration", True, {"fun_name": "third_layer"}),
        ("/jax/core/compile/jaxpr_to_mlir_module_duration", True, {"fun_name": "jit(third_layer)"}),
        ("/jax/core/compile/backend_compile_duration", True, {"fun_name": "jit(third_layer)"}),
    ]


def test_a_program_closed_over_arrays_is_called_again():
    constant = jnp.arange(3.0)
    program = trace_to_jaxpr(lambda x: [x * constant], [constant.aval])
    for _ in range(3):
        (result,) = staged_call.bind(program, "closed", [constant])
        assert result.tolist() == [0.0, 1.0, 4.0]
