"""The parts of `ricci.profile`: lines, spans of time, operations and their runs, the page."""

import json
import re
import sys

import numpy as np

from ricci._profile import _lines
from ricci._profile._lines import MOST_HITS, LineRecorder
from ricci._profile._page import page
from ricci._profile._runtime import Run, _Event, _operations, _runs
from ricci._profile._spans import Span, disjoint, seconds_of

ORDER = ("compile", "trace", "launch")


def brute(spans, order, end):
    """The kind at each moment, asked of every span."""
    found = []
    for t in range(end):
        here = [s.kind for s in spans if s.start <= t < s.end]
        found.append(min(here, key=order.index) if here else None)
    return found


def test_overlapping_spans_are_cut_by_the_order_of_kinds():
    rng = np.random.default_rng(0)
    for _ in range(200):
        spans = []
        for _ in range(rng.integers(0, 8)):
            start = int(rng.integers(0, 30))
            spans.append(Span(start, start + int(rng.integers(0, 12)), str(rng.choice(ORDER))))
        found = disjoint(spans, ORDER)
        assert all(a.end <= b.start for a, b in zip(found, found[1:], strict=False))
        assert brute(found, ORDER, 45) == brute(spans, ORDER, 45)
        for kind in ORDER:
            edges = np.sort(rng.integers(-5, 50, 6))
            between = seconds_of([s for s in found if s.kind == kind]).between(edges) * 1e9
            moments = [
                sum(kind == k for k in brute(spans, ORDER, 50)[max(0, a) : max(0, b)])
                for a, b in zip(edges, edges[1:], strict=False)
            ]
            np.testing.assert_allclose(between, moments, atol=1e-6)


# A clock that the tests set, in milliseconds: while the thread works, or rests. It is not a
# file of the user's.
CLOCK = """
now = used = 0
def work(milliseconds):
    global now, used
    now += milliseconds * 1_000_000
    used += milliseconds * 1_000_000
def rest(milliseconds):
    global now
    now += milliseconds * 1_000_000
"""
SCRIPT = """\
def inner(n):
    rest(n)
    return n
def outer():
    x = inner(20)
    rest(10); work(3)
    return x
def each(n):
    for i in range(n):
        try:
            work(1); yield i
        finally:
            work(2)
def fails():
    work(4); raise ValueError
outer()
total = sum(each(3))
try:
    fails()
except ValueError:
    work(7)
list(map(lambda i: inner(5), range(2)))
closed = each(2); next(closed); closed.close(); work(6)
for i in range(10):
    work(0)
"""


def record(monkeypatch, script, **names):
    """The milliseconds, of them waited, and the hits of each line of a script."""
    clock = {}
    exec(compile(CLOCK, "<clock>", "exec"), clock)
    monkeypatch.setattr(_lines, "perf_counter_ns", lambda: clock["now"])
    monkeypatch.setattr(_lines, "thread_time_ns", lambda: clock["used"])
    lines = LineRecorder()
    code = compile(script, "/home/user/script.py", "exec")
    lines.start()
    try:
        exec(code, {"work": clock["work"], "rest": clock["rest"], **names})
    finally:
        lines.stop()
    assert lines.keys[-1] == 0
    assert lines.current_line == 0
    spans = np.diff(np.array(lines.times)) / 1e6
    keys = np.array(lines.keys)[:-1]
    found = {}
    for key, place in enumerate(lines.places):
        if place.file:
            waited = np.array(lines.waits)[keys == key].sum() / 1e6
            found[place.line] = (spans[keys == key].sum(), waited, lines.hits[key])
    return found


def test_nothing_is_recorded_after_the_end():
    names = {}
    code = compile("def work():\n    x = 1\n    return x\nwork()", "/home/user/script.py", "exec")
    lines = LineRecorder()
    lines.start()
    try:
        exec(code, names)
    finally:
        lines.stop()
    before = len(lines.times), len(lines.waits), list(lines.hits)
    names["work"]()  # as a method that the report calls
    assert (len(lines.times), len(lines.waits), list(lines.hits)) == before
    assert len(lines.waits) == len(lines.times) - 1


def test_packages_of_other_environments_on_the_path_are_not_the_users(monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path, "/home/user/.local/lib/site-packages"])
    lines = LineRecorder()
    lines._libraries = _lines._library_folders()
    assert not lines.is_users("/home/user/.local/lib/site-packages/library.py")
    assert lines.is_users("/home/user/library.py")


def test_line_times_exclude_called_functions(monkeypatch):
    found = record(monkeypatch, SCRIPT)
    timed = {line: row for line, row in found.items() if row[0] or line == 25}
    assert timed == {
        2: (30, 30, 3),  # inner: from outer, and twice from the lambda
        6: (13, 10, 1),
        11: (4, 0, 4),
        13: (8, 0, 4),
        15: (4, 0, 1),
        21: (7, 0, 1),
        23: (6, 0, 1),
        25: (0, 0, 10),
    }


def test_a_line_that_is_reached_too_often_is_watched_no_longer(monkeypatch):
    found = record(monkeypatch, "for i in range(N):\n    x = i\n", N=3 * MOST_HITS)
    assert found[2][2] == MOST_HITS


def test_libraries_and_other_threads_are_not_the_users_lines(monkeypatch):
    script = "import json, threading\njson.dumps([1])\nt = threading.Thread(target=other)\n"
    script += "t.start()\nt.join()\n"
    names = {}
    exec(compile("def other():\n    list(range(3))\n", "/home/user/other.py", "exec"), names)
    assert set(record(monkeypatch, script, other=names["other"])) == {1, 2, 3, 4, 5}


def op(name, start, end, module="jit_f", run=1):
    return _Event(name, start, end, {"hlo_op": name, "hlo_module": module, "run_id": run})


def test_an_operation_has_the_time_that_is_not_of_those_inside():
    events = [op("while", 0, 100), op("dot", 10, 40), op("dot", 50, 80), op("add", 60, 70)]
    found = _operations([*events, op("copy", 100, 110)], offset=5)
    assert [(o.name, o.self_time) for o in found] == [
        ("while", 40),
        ("dot", 30),
        ("dot", 20),
        ("add", 10),
        ("copy", 10),
    ]
    assert found[0].start == 5


def test_runs_belong_to_the_launches_of_their_program_in_order():
    ops = _operations(
        [
            op("a", 20, 25, "jit_f", 1),
            op("b", 30, 40, "jit_g", 2),
            op("a", 50, 55, "jit_f", 3),
            op("a", 90, 95, "jit_f", 4),
        ],
        offset=0,
    )
    calls = [(1, 5, "f"), (6, 9, "g"), (10, 15, "f")]
    found = _runs(ops, calls, launches=[2, 7, 11])
    assert found == [
        Run("jit_f", 20, 25, 2),
        Run("jit_g", 30, 40, 7),
        Run("jit_f", 50, 55, 11),
        Run("jit_f", 90, 95, 0),
    ]


def test_scripts_cannot_break_out_of_the_data_of_the_page():
    found = {"script": "<b>&.py", "files": [{"text": ["</script><!-- <script>", "\u2028"]}]}
    text = page(found)
    assert "<title>&lt;b>&amp;.py" in text
    assert text.count("</script>") == 1
    (data,) = re.findall(r"const D = (.*);\n", text)
    assert json.loads(data) == found
