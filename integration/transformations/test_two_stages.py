"""Compiling in two stages: first calls run a quickly compiled executable, later ones another."""

import gc
import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_xla.compile import _call, _compile

X = np.linspace(-2, 2, 64, dtype="float32").reshape(8, 8)


def model(x):
    return jnp.tanh(x @ x.T).sum(0) + jnp.exp(-x).mean()


@pytest.fixture(autouse=True)
def python_calls(monkeypatch):
    """The calls of compiled programs that came to Python."""
    found, call = [], _call.CompiledProgram.call

    def counting(self, leaves):
        found.append(self)
        return call(self, leaves)

    monkeypatch.setattr(_call.CompiledProgram, "call", counting)
    return found


@pytest.fixture
def settle(python_calls):
    """Calls a function until its second stage has taken over, for at most a minute."""

    def settle(jitted, *args):
        for _ in range(600):
            before = len(python_calls)
            result = jitted(*args)
            if len(python_calls) == before:
                return result
            time.sleep(0.1)
        raise AssertionError("the second stage never took over")

    return settle


@pytest.fixture
def second_stage(monkeypatch):
    """Sets a function that is called before the second stage of a compilation."""
    stages = _compile.compile_in_stages

    def use(before):
        def compile_in_stages(compile, options):
            def once(flags, cached):
                if cached:
                    before()
                return compile(flags, cached)

            return stages(once, options)

        monkeypatch.setattr(_compile, "compile_in_stages", compile_in_stages)

    return use


def test_the_second_stage_takes_over_and_gives_the_same(second_stage, settle, python_calls):
    expected = ricci.jit(model)(X)
    ricci.clear_caches()
    python_calls.clear()
    may_begin = threading.Event()
    second_stage(lambda: may_begin.wait(60))
    with ricci.two_stage_compilation(True):
        jitted = ricci.jit(model)
        first = jitted(X)
        assert [len(python_calls) for _ in range(3) if jitted(X) is not None] == [2, 3, 4]
        may_begin.set()
        second = settle(jitted, X)
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    np.testing.assert_array_equal(second, expected)


def test_clearing_frees_the_second_stage(settle, python_calls):
    def executables():
        gc.collect()
        return len(ricci.devices()[0].client.live_executables())

    ricci.clear_caches()
    before = executables()
    with ricci.two_stage_compilation(True):
        jitted = ricci.jit(lambda x: model(x) * 3)
        settle(jitted, X)
    assert executables() > 0
    python_calls.clear()  # refers to the executables
    ricci.clear_caches()
    assert executables() <= before


def test_gradients_and_other_types(settle):
    with ricci.two_stage_compilation(True):
        jitted: Any = ricci.jit(ricci.grad(lambda x: model(x).sum()))
        for x in (X, X[:4, :4]):
            np.testing.assert_allclose(jitted(x), settle(jitted, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ricci.pure_callback(lambda y: y + 1, x, x),
        lambda x: (ricci.debug.callback(lambda y: None, x), x + 1)[1],
    ],
    ids=["callback", "effect"],
)
def test_functions_that_call_python_are_compiled_once(function, second_stage):
    def refuse():
        raise AssertionError("compiled in two stages")

    second_stage(refuse)
    with ricci.two_stage_compilation(True):
        jitted: Any = ricci.jit(function)
        for _ in range(2):
            np.testing.assert_array_equal(jitted(X), X + 1)


def test_a_failed_second_stage_keeps_the_first_executable(second_stage, settle):
    def fail():
        raise RuntimeError("out of registers")

    second_stage(fail)
    with ricci.two_stage_compilation(True):
        jitted = ricci.jit(lambda x: x * 5)
        with pytest.warns(UserWarning, match="the quick one stays in use: out of registers"):
            np.testing.assert_array_equal(settle(jitted, X), X * 5)


def test_a_process_may_end_meanwhile():
    program = (
        "import ricci, ricci.numpy as jnp\n"
        "f = ricci.jit(lambda x: jnp.tanh(x @ x).sum())\n"
        "print(f(jnp.ones((8, 8))) > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "RICCI_TWO_STAGE_COMPILATION": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "True", "")
