"""The thread on which functions are compiled in the background."""

import gc
import weakref
from threading import Event

import pytest

from ricci_xla.compile._background import Background


class Result:
    """An object that can be referred to weakly, in place of an executable."""


@pytest.fixture
def background():
    background = Background("of a test")
    yield background
    background.end()


def test_a_result_is_freed_while_the_thread_waits_for_the_next_function(background):
    future = background.submit(Result)
    result = weakref.ref(future.result(60))
    freed = Event()
    weakref.finalize(result(), freed.set)
    del future
    gc.collect()
    assert freed.wait(60)
    assert result() is None


def test_a_function_is_freed_when_it_has_failed(background):
    def fail(text):
        raise RuntimeError(text)

    text = Result()
    freed = Event()
    weakref.finalize(text, freed.set)
    future = background.submit(lambda text=text: fail(text))
    assert type(future.exception(60)) is RuntimeError
    del future, text
    gc.collect()
    assert freed.wait(60)


def test_functions_that_have_not_started_are_cancelled_at_the_end():
    background, started, may_end = Background("of a test"), Event(), Event()
    first = background.submit(lambda: started.set() or may_end.wait(60))
    second = background.submit(Result)
    assert started.wait(60)
    may_end.set()
    background.end()
    assert first.result(60)
    assert second.cancelled() or type(second.result(60)) is Result
