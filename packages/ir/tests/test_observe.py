"""Observers: which are notified, and the retraced and the cached functions."""

import threading

import numpy as np
import pytest

from ricci_ir import (
    Cache,
    Composite,
    NotReversible,
    ShapedArray,
    ShapeDtypeStruct,
    Source,
    TraceAbandoned,
    active_cache,
    argument_aval,
    current_source,
    is_observed,
    note_rounding,
    notify,
    observing,
    trace_to_jaxpr,
)
from ricci_ir.types._dtypes import ExtendedDType

EVENT = NotReversible(Source(None, 0), "while_loop")


def test_observers_are_told_while_they_observe():
    outer, inner = [], []
    assert not is_observed()
    with observing(outer.append):
        with observing(inner.append):
            notify(EVENT)
        notify(EVENT)
        assert is_observed()
    notify(EVENT)
    assert (len(outer), len(inner)) == (2, 1)


def test_observers_end_with_an_exception():
    with pytest.raises(KeyError), observing(lambda event: None, anew=True):
        raise KeyError
    assert not is_observed()
    table = Cache("programs", 8)
    assert active_cache(table) is table


def test_other_threads_are_not_observed():
    found = []
    with observing(found.append):
        thread = threading.Thread(target=lambda: notify(EVENT))
        thread.start()
        thread.join()
    assert found == []


def test_retraced_entries_use_a_temporary_cache():
    table = Cache("programs", 8)
    table.add("f", 1)
    with observing(lambda event: None, anew=True):
        assert active_cache(table).entries == {}
        active_cache(table).add("f", 2)
        assert active_cache(table).entries == {"f": 2}
        with observing(lambda event: None):
            assert active_cache(table).entries == {"f": 2}
    assert active_cache(table) is table
    assert table.entries == {"f": 1}


def test_composites_are_retraced(toy):
    shifted = Composite(lambda x: note_rounding(0.1, x), "shifted")
    aval = ShapedArray((), np.dtype(np.float32))
    trace = lambda: trace_to_jaxpr(lambda x: [shifted(x)], [aval])
    trace()
    events = []
    for _ in range(2):
        with observing(events.append, anew=True):
            trace()
    assert [event.value for event in events] == [0.1, 0.1]
    with observing(events.append):
        trace()
    assert len(events) == 2


def test_abandoned_traces_report_their_recorded_variables():
    events = []

    def fail(x):
        raise ValueError("not traced")

    aval = ShapedArray((3,), np.float32)
    with pytest.raises(ValueError, match="not traced"), observing(events.append):
        trace_to_jaxpr(fail, [aval])
    (event,) = events
    assert isinstance(event, TraceAbandoned)
    assert [var.aval for var in event.trace.invars] == [aval]


def test_the_current_source_is_the_line_that_asks():
    source = current_source()
    assert source.file == __file__
    assert source.function == "test_the_current_source_is_the_line_that_asks"


def test_a_function_as_a_whole_is_where_its_definition_starts():
    free = 1

    def inner():
        return free

    code = inner.__code__
    assert Source(code, -1).line == code.co_firstlineno


def test_a_described_argument_may_have_an_extended_dtype():
    class Kind(ExtendedDType):
        type = np.generic
        name = "kind"
        itemsize = 4

    kind = Kind()
    assert argument_aval(ShapeDtypeStruct((2,), kind)).dtype is kind
