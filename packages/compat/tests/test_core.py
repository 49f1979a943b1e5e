"""Blocks and functions for the current trace, and types of slices."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ricci_compat.core import (
    concrete_or_error,
    get_opaque_trace_state,
    set_current_trace,
    take_current_trace,
    trace_state_clean,
)
from ricci_ir import ConcretizationTypeError, JaxprTrace, context, eval_trace, make_jaxpr

BLOCKS = {
    "set_current_trace": lambda: set_current_trace(JaxprTrace(eval_trace)),
    "take_current_trace": take_current_trace,
}


class OwnTrace:
    """A trace of a library, whose parent is in ``parent_trace``."""

    def __init__(self, parent_trace):
        self.parent_trace = parent_trace

    parent = None


@pytest.fixture(params=list(BLOCKS.values()), ids=list(BLOCKS))
def block(request):
    return request.param()


def test_a_block_entered_inside_itself_restores_the_trace(block):
    before = context.trace
    with block:
        inside = context.trace
        with block:
            pass
        assert context.trace is inside
    assert context.trace is before


def test_leaving_a_block_in_another_thread_changes_no_trace(block):
    before = context.trace
    block.__enter__()
    inside = context.trace
    with ThreadPoolExecutor(1) as pool:
        pool.submit(block.__exit__, None, None, None).result()
    assert context.trace is inside
    block.__exit__(None, None, None)
    assert context.trace is before


def test_take_current_trace_yields_the_trace_outside():
    outside = JaxprTrace(eval_trace)
    with set_current_trace(outside), take_current_trace() as taken:
        assert taken is outside
        assert context.trace is eval_trace


def test_set_current_trace_takes_the_parent_from_parent_trace():
    trace: Any = OwnTrace(eval_trace)
    with set_current_trace(trace):
        assert trace.parent is eval_trace


def test_the_state_is_clean_outside_of_traces_only():
    before = get_opaque_trace_state()
    states = []
    make_jaxpr(lambda x: [states.append((trace_state_clean(), get_opaque_trace_state())), x][1])(
        1.0
    )
    ((clean, inside),) = states
    assert trace_state_clean() and not clean
    assert before == get_opaque_trace_state() != inside


def test_concrete_or_error_refuses_tracers():
    assert concrete_or_error(int, np.float32(3.0)) == 3
    with pytest.raises(ConcretizationTypeError, match="the number of steps"):
        make_jaxpr(lambda n: concrete_or_error(int, n, "the number of steps"))(3.0)
