"""Errors of programs that need more memory than a device has."""

import inspect
import resource

import numpy as np
import pytest

from ricci_lax import dot, iota, mul, reduce_sum, rev, sin, sort
from ricci_parallel import device_put
from ricci_xla import JaxRuntimeError, jit, memory_report

MANY = 2**34  # of more, some jaxlibs crash while they compile a sort


@pytest.fixture(autouse=True)
def limit():
    """Let allocations of a hundred gigabytes fail, also where the system promises any memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**36, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def much(x):
    ordered = sort(sin(iota(np.float32, MANY)))
    turned = sort(mul(rev(ordered, (0,)), x))
    return reduce_sum(mul(turned, ordered), (0,))


def lines_of(function, *texts):
    lines, first = inspect.getsourcelines(function)
    return [first + next(i for i, line in enumerate(lines) if text in line) for text in texts]


def test_the_error_names_the_lines_that_take_the_memory():
    f, x = jit(much), device_put(np.float32(2))
    for call in (f, f, f.lower(x).compile()):
        with pytest.raises(JaxRuntimeError) as caught:
            call(x)
        words = str(caught.value).splitlines()
        assert words[0].startswith("RESOURCE_EXHAUSTED: Out of memory allocating")
        assert words[1] == "much: 137.4 GB at its peak on each of 1 x cpu"
        assert len(words) <= 12
        for line in lines_of(much, "ordered =", "turned ="):
            assert any(f"68.7 GB  temporary  test_memory_reports.py:{line}" in x for x in words)
    y = np.ones((3, 3), np.float32)
    np.testing.assert_array_equal(jit(dot)(y, y), np.full((3, 3), 3.0))


@pytest.mark.parametrize("explain", [lambda *_: "", lambda *_: 1 / 0])
def test_without_a_report_the_error_is_the_runtimes(explain, monkeypatch):
    monkeypatch.setattr(memory_report, "call", explain)
    with pytest.raises(JaxRuntimeError, match="RESOURCE_EXHAUSTED") as caught:
        jit(much)(np.float32(2))
    assert len(str(caught.value).splitlines()) == 1
