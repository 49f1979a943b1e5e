"""Listeners are told of the events of their kind."""

import pytest

import ricci_ir as ir

KINDS = {
    "event": (ir.register_event_listener, ir.unregister_event_listener, ir.record_event, ()),
    "duration": (
        ir.register_event_duration_secs_listener,
        ir.unregister_event_duration_listener,
        ir.record_event_duration_secs,
        (0.5,),
    ),
    "span": (
        ir.register_event_time_span_listener,
        ir.unregister_event_time_span_listener,
        ir.record_event_time_span,
        (1.0, 2.0),
    ),
    "scalar": (ir.register_scalar_listener, ir.unregister_scalar_listener, ir.record_scalar, (7,)),
}


@pytest.fixture
def heard():
    yield []
    ir.clear_event_listeners()


@pytest.mark.parametrize("kind", KINDS)
def test_listening_until_removed(heard, kind):
    register, unregister, record, values = KINDS[kind]
    listener = lambda *args, **kwargs: heard.append((args, kwargs))
    register(listener)
    record("/here", *values, where="a")
    assert heard == [(("/here", *values), {"where": "a"})]
    unregister(listener)
    record("/here", *values)
    assert len(heard) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_removing_a_stranger(kind):
    with pytest.raises(ValueError, match="does not listen"):
        KINDS[kind][1](print)


def test_each_kind_of_event_has_separate_listeners(heard):
    ir.register_scalar_listener(lambda *args: heard.append(args))
    for _, _, record, values in KINDS.values():
        record("/here", *values)
    assert heard == [("/here", 7)]


def test_all_are_removed_together(heard):
    for register, *_ in KINDS.values():
        register(lambda *args: heard.append(args))
    ir.clear_event_listeners()
    for _, _, record, values in KINDS.values():
        record("/here", *values)
    assert heard == []


def test_an_error_of_a_listener_is_not_hidden(heard):
    ir.register_event_listener(lambda event: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ir.record_event("/here")
