"""The garbage collector while functions are traced."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir.traces._lifetimes import paused_collection

X = ir.ShapedArray((3,), np.float32)


@pytest.fixture(autouse=True)
def collector():
    """The collector, enabled; left as it was."""
    enabled, threshold = gc.isenabled(), gc.get_threshold()
    gc.enable()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def _trace(inside):
    ir.trace_to_jaxpr(lambda x: [inside(), x][1:], [X])


def _collections():
    return sum(generation["collections"] for generation in gc.get_stats())


def test_nothing_is_collected_while_a_function_is_traced():
    found = []

    def inside():
        before = _collections()
        made = [[] for _ in range(20_000)]
        found.append(_collections() - before)
        return made

    _trace(inside)
    assert found == [0]
    made = [[] for _ in range(20_000)]
    assert gc.isenabled() and len(made) == 20_000


def test_a_collector_that_the_function_disabled_stays_disabled():
    _trace(gc.disable)
    assert not gc.isenabled()


def test_a_collector_that_the_function_enabled_stays_enabled():
    gc.disable()
    _trace(gc.enable)
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled():
    gc.disable()
    _trace(lambda: None)
    assert not gc.isenabled()


@pytest.mark.parametrize("threshold", [(123, 4, 5), (0, 10, 10)])
def test_a_threshold_that_the_function_sets_stays(threshold):
    _trace(lambda: gc.set_threshold(*threshold))
    assert gc.get_threshold() == threshold


def test_the_threshold_comes_back_also_after_an_error():
    before = gc.get_threshold()

    def fail():
        raise ValueError("not traced")

    with pytest.raises(ValueError, match="not traced"):
        _trace(lambda: _trace(fail))
    assert gc.get_threshold() == before


def test_the_threshold_comes_back_when_threads_trace_at_once():
    before = gc.get_threshold()

    def run(_):
        for _ in range(200):
            with paused_collection, paused_collection:
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert gc.get_threshold() == before
