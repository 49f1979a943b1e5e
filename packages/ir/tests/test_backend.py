"""The backend that evaluates primitives: none, one, another for a while."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir import eval_trace
from ricci_ir.traces import _backend


class Named:
    def __init__(self, name):
        self.name = name

    def evaluate(self, primitive, args, params):
        return self.name, primitive.name, args, params

    def array(self, value, aval):
        return self.name, value.dtype, aval


p = ir.Primitive("p", lambda x: x)


def test_missing_backend_error_names_the_package_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with ir.use_backend(_backend._Missing()):
        assert not ir.has_backend()
        with pytest.raises(RuntimeError, match="'p'.*\nInstall ricci_xla"):
            p.bind(1.0)


def test_use_backend_restores_the_last_one_even_after_an_error():
    with ir.use_backend(Named("outer")):
        with pytest.raises(KeyError), ir.use_backend(Named("inner")):
            assert p.bind(1.0)[0] == "inner"
            raise KeyError
        assert ir.has_backend() and ir.backend().name == "outer"
        assert p.bind(1.0, n=2) == ("outer", "p", (1.0,), {"n": 2})


def test_as_array_converts_values_to_their_type():
    with ir.use_backend(Named("b")):
        aval = ir.ShapedArray((), np.float32, True)
        assert ir.as_array(2.0) == ("b", np.dtype("float32"), aval)


def test_as_array_leaves_float0_and_tracers_alone():
    zeros = np.zeros(3, ir.float0)
    with ir.use_backend(Named("b")):
        assert ir.as_array(zeros) is zeros
        kept = []
        ir.trace_to_jaxpr(lambda x: kept.append(ir.as_array(x) is x) or [], [ir.get_aval(1.0)])
        assert kept == [True]


# Threads


class Dispatching(Named):
    """A backend that applies operations and composites by functions that name it."""

    def __init__(self, name):
        super().__init__(name)
        self.asked = []

    def operation(self, primitive, params):
        self.asked.append("operation")
        return lambda *args: (self.name, primitive.name)

    def dispatcher(self, composite):
        self.asked.append("dispatcher")
        return lambda settings, *args: (self.name, composite.name)


operation = ir.Operation(p)
step = ir.Composite(lambda x: p.bind(x), "step")
USES = {
    "bind": lambda: p.bind(1.0)[0],
    "operation": lambda: operation(1.0)[0],
    "composite": lambda: step(1.0)[0],
    "as_array": lambda: ir.as_array(1.0)[0],
    "backend": lambda: ir.backend().name,
}


@pytest.fixture
def shared():
    backend = Dispatching("shared")
    old = ir.set_backend(backend)
    yield backend
    ir.set_backend(old)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_backend_is_used_by_the_thread_that_chose_it(use, shared):
    assert use() == "shared"
    with ir.use_backend(Dispatching("mine")):
        assert use() == "mine"
        with ThreadPoolExecutor(1) as other:
            assert other.submit(use).result() == "shared"
            with ir.use_backend(Dispatching("inner")):
                assert (use(), other.submit(use).result()) == ("inner", "shared")
        assert use() == "mine"
    assert use() == "shared"


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_backends_are_local_to_their_thread(use, shared):
    barrier = Barrier(3)

    def run(name):
        for _ in range(20):
            with ir.use_backend(Dispatching(name)):
                barrier.wait()
                assert use() == name
                barrier.wait()
                assert use() == name
        return True

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(run, "abc"))
    assert use() == "shared"


def test_the_backend_of_all_threads_is_asked_once_whatever_a_thread_uses_meanwhile(shared):
    own = Dispatching("own")
    for _ in range(3):
        USES["operation"](), USES["composite"]()
        with ir.use_backend(own):
            USES["operation"](), USES["composite"]()
    assert sorted(shared.asked) == sorted(own.asked) == ["dispatcher", "operation"]


def test_threads_without_an_override_call_the_shared_backend_directly(shared):
    assert eval_trace.process == shared.evaluate
    with ir.use_backend(Named("mine")):
        assert eval_trace.process != shared.evaluate
    assert eval_trace.process == shared.evaluate
