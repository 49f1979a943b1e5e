"""Blocks that change what a thread is doing put it back there, wherever they are left."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ricci_ir import (
    JaxprTrace,
    axis_sizes,
    context,
    ensure_compile_time_eval,
    eval_context,
    eval_trace,
    extend_axes,
    named_scope,
    observing,
    set_trace,
)

BLOCKS = {
    "ensure_compile_time_eval": ensure_compile_time_eval,
    "named_scope": lambda: named_scope("a"),
    "observing": lambda: observing(lambda event: None, anew=True),
    "extend_axes": lambda: extend_axes([("i", 2)]),
    "set_trace": lambda: set_trace(JaxprTrace(eval_trace)),
    "eval_context": eval_context,
}


def _state():
    return (
        context.trace,
        context.name_stack,
        axis_sizes.value,
        context.observers,
        context.temporary_caches,
    )


@pytest.fixture(params=list(BLOCKS.values()), ids=list(BLOCKS))
def block(request):
    return request.param()


def test_entered_inside_itself(block):
    before = _state()
    with block:
        inside = _state()
        with block:
            pass
        assert _state() == inside
    assert _state() == before


def test_left_in_another_thread(block):
    before = _state()
    trace = JaxprTrace(eval_trace)

    def leave():
        with set_trace(trace), named_scope("other"):
            here = _state()
            block.__exit__(None, None, None)
            return _state() == here

    block.__enter__()
    inside = _state()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(leave).result()
    assert _state() == inside
    block.__exit__(None, None, None)
    assert _state() == before


def test_entered_by_several_threads(block):
    barrier = Barrier(2)

    def run(first):
        before = _state()
        if not first:
            barrier.wait()
        with block:
            if first:
                barrier.wait()
            barrier.wait()
            if not first:
                barrier.wait()
        if first:
            barrier.wait()
        return _state() == before

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(run, (True, False)))
