"""Warm starts: a call is answered from a bundle if nothing changed, and else traced."""

import fnmatch
import functools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_xla.files import FileError, read_file, write_file
from ricci_xla.warm._records import BUNDLE

HERE = Path(__file__).parents[1] / "warm"
UNCHANGED = ("nothing", "an equal object", "an equal array", "an equal argument")


def run(folder, what):
    done = subprocess.run(
        [sys.executable, "program.py", "bundle", what],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The programs, with a bundle that one process has written."""
    found = tmp_path_factory.mktemp("warm")
    for name in ("program.py", "layers.py"):
        shutil.copy(HERE / name, found)
    run(found, "record")
    return found


@pytest.fixture(scope="module")
def rows(folder):
    """Outcomes of the bundle in another process, by the change."""
    return {row["name"]: row for row in run(folder, "check")}


@pytest.mark.parametrize("name", UNCHANGED)
def test_unchanged_functions_are_warm(rows, name):
    assert rows[name]["outcome"] == "warm"


CHANGED = {
    "a global value": "__main__.SCALE has changed",
    "a global of a module": "layers.SHIFT has changed",
    "an item of a global dict": "layers.WEIGHTS has changed",
    "a function of a module": "layers.activate has changed",
    "an attribute of a class": "a value that it closes over changed",
    "an attribute of an object": "a value that it closes over changed",
    "a closed-over value": "a value that it closes over changed",
    "its type": "a value that it closes over changed",
    "a closed-over array": "a value that it closes over changed",
    "a default": "a value that it closes over changed",
    "a static argument": "the static arguments changed",
    "the type of a static argument": "the static arguments changed",
    "the shape": "the types or the structure of the arguments changed",
    "the dtype": "the types or the structure of the arguments changed",
    "a weak type": "the types or the structure of the arguments changed",
    "the tree": "the types or the structure of the arguments",
    "a node's static data": "the types or the structure of the arguments changed",
    "x64": "a setting changed",
    "the precision of dots": "a setting changed",
    "an option of jit": "the arguments of jit changed",
    "donation": "the arguments of jit changed",
    "the device": "where the arguments are changed",
    "the sharding": "where the arguments are changed",
    "a mesh": "a setting changed",
}


@pytest.mark.parametrize("name", CHANGED)
def test_changed_functions_are_retraced_with_the_reason(rows, name):
    assert rows[name]["outcome"] == "kept"
    assert CHANGED[name] in rows[name]["reason"]


def test_every_change_was_tried(rows):
    assert set(rows) == {*UNCHANGED, *CHANGED}


def test_results_are_those_of_the_function_itself(rows):
    for row in rows.values():
        for found, expected in zip(row["found"], row["expected"], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=row["name"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("layers.py", "SHIFT = 0.5", "SHIFT = 0.75", "layers has changed"),
        ("layers.py", "return x * x", "return x + x", "layers has changed"),
        ("program.py", "total * weights", "total + weights", "a value that it closes over changed"),
    ],
)
def test_an_edited_file_is_seen(folder, tmp_path, file, old, new, reason):
    for name in ("program.py", "layers.py", "bundle"):
        shutil.copy(folder / name, tmp_path)
    source = (tmp_path / file).read_text()
    assert old in source
    (tmp_path / file).write_text(source.replace(old, new))
    row = run(tmp_path, "once")[0]
    assert (row["outcome"], reason in row["reason"]) == ("kept", True), row
    np.testing.assert_allclose(row["found"][1], row["expected"][1], rtol=1e-5)


def test_damaged_bundles_are_refused(folder):
    data = (folder / "bundle").read_bytes()
    draw = random.Random(3)
    for _ in range(int(os.environ.get("RICCI_ALTERATIONS", "100"))):
        altered = bytearray(data)
        at = draw.randrange(len(data))
        if draw.random() < 0.7:
            altered[at] ^= 1 << draw.randrange(8)
        else:
            del altered[at:]
        with pytest.raises(FileError, match=r"^bundle: "):
            read_file(BUNDLE, altered, "bundle")


def test_damaged_bundles_warn_and_are_rewritten(folder, tmp_path):
    damaged = tmp_path / "bundle"
    damaged.write_bytes((folder / "bundle").read_bytes()[:5000])
    with pytest.warns(UserWarning, match="was truncated"):
        start = ricci.warm_start(damaged)
    assert ricci.jit(lambda x: x + 1)(1.0) == 2.0
    start.end()
    assert len(read_file(BUNDLE, damaged.read_bytes(), damaged).calls) == 1


def test_another_environment_is_named(folder, tmp_path):
    record = read_file(BUNDLE, (folder / "bundle").read_bytes(), "bundle")
    record.environment["jaxlib"] = "0.0.1"
    other = tmp_path / "bundle"
    other.write_bytes(write_file(BUNDLE, record))
    with pytest.warns(UserWarning, match=r"another environment: jaxlib: 0\.0\.1, here "):
        ricci.warm_start(other, mode="read").end()


def outcome(path, function, *args, **options):
    """The bundle's outcome for a call, and the call's result."""
    ricci.clear_caches()  # functions that this process has traced are not looked up
    with ricci.warm_start(path, **options) as start:
        result = function(*args)
    return start.calls[0], result


def generated(x):
    """Stands for what the tests generate in its place."""
    raise NotImplementedError(x)


class Worker(Thread):
    """Calls ``generated`` in a thread, which is found by a detour."""

    def __init__(self, x):
        super().__init__()
        self.x, self.found = x, []

    def run(self):
        self.found.append(globals()["generated"](None))

    def result(self):
        self.start()
        self.join()
        return self.x * self.found[0]


def triple(x):
    return x * 3


def test_again_in_the_same_process(tmp_path):
    path = tmp_path / "bundle"
    assert outcome(path, ricci.jit(triple), 2.0)[0].outcome == "kept"
    for _ in range(2):
        call, result = outcome(path, ricci.jit(triple), 2.0)
        assert (call.outcome, result, result.weak_type) == ("warm", 6.0, True)


@pytest.mark.parametrize(
    "args",
    [(jnp.zeros((0, 2)),), (True,), (ricci.random.key(1),), (None,), ((1, {"a": np.uint8(3)}),)],
    ids=["empty", "bool", "key", "none", "tree"],
)
def test_arguments_of_all_kinds(tmp_path, args):
    def same(x):
        if isinstance(x, ricci.Array) and ricci.dtypes.issubdtype(x.dtype, ricci.dtypes.prng_key):
            return ricci.random.clone(x)
        return ricci.tree.map(lambda y: y + 0, x)

    path = tmp_path / "bundle"
    first = outcome(path, ricci.jit(same), *args)[1]
    call, second = outcome(path, ricci.jit(same), *args)
    assert call.outcome == "warm"
    assert ricci.tree.structure(first) == ricci.tree.structure(second)
    assert ricci.tree.map(ricci.typeof, first) == ricci.tree.map(ricci.typeof, second)


REFUSED = {
    "callback": (
        lambda x: ricci.lax.cond(x > 0, lambda: ricci.pure_callback(lambda y: y, x, x), lambda: x),
        r"calls Python functions \(.*test_warm_start.<lambda>.* by pure_callback at .*"
        r"test_warm_start.py:\d+.* which no other process has. Move the call out",
    ),
    "print": (lambda x: (ricci.debug.print("{}", x), x)[1], "side effects"),
}


class _Finder:
    """An import hook that reads the environment, as those of tools do."""

    def find_spec(self, name, path=None, target=None):
        os.path.expandvars(fnmatch.filter([name, "$HOME"], "$*")[0])


def test_reads_of_import_hooks_do_not_count(tmp_path, monkeypatch):
    (tmp_path / "imported_in_a_trace.py").write_text("FACTOR = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [_Finder(), *sys.meta_path])

    def scaled(x):
        import imported_in_a_trace  # noqa: PLC0415 - imported when it is traced

        return x * imported_in_a_trace.FACTOR

    call, result = outcome(tmp_path / "bundle", ricci.jit(scaled), np.float32(2))
    assert call.outcome == "kept", call.reason
    assert result == 6


@pytest.mark.parametrize("name", REFUSED)
def test_uncacheable_functions_say_why(tmp_path, name):
    function, reason = REFUSED[name]
    call, _ = outcome(tmp_path / "bundle", ricci.jit(function), np.float32(1))
    assert call.outcome == "not kept"
    assert re.search(reason, call.reason)


SEEN = []


@functools.cache
def register(kind):
    SEEN.append(kind)


@functools.cache
def scale():
    return 2.0 * len(SEEN)


def test_a_cached_result_that_is_none_hides_no_reads(tmp_path):
    register("a class")
    register("a class")
    call, _ = outcome(tmp_path / "bundle", ricci.jit(lambda x: (register("a class"), x)[1]), 1.0)
    assert call.outcome == "kept", call.reason
    scale()
    call, _ = outcome(tmp_path / "bundle", ricci.jit(lambda x: x * scale()), 1.0)
    assert call.outcome == "not kept"
    assert "it gave a result that was cached before" in call.reason


def test_generated_code_is_known_by_itself(tmp_path):
    path, text = tmp_path / "bundle", "def generated(x): return x + 1"
    calls = []
    for source in (text, text, text.replace("+", "-")):
        exec(source, globals())
        calls.append(outcome(path, ricci.jit(lambda x: generated(x)), 1.0))
    assert [(call.outcome, float(result)) for call, result in calls] == [
        ("kept", 2.0),
        ("warm", 2.0),
        ("kept", 0.0),
    ]


def test_generated_code_that_is_found_by_a_detour_is_known_by_itself(tmp_path):
    path, calls = tmp_path / "bundle", []
    for sign in "++-":
        exec(f"def generated(x): return x {sign} 1", globals())
        calls.append(outcome(path, ricci.jit(lambda x: globals()["generated"](x)), 1.0))
    assert [(call.outcome, float(result)) for call, result in calls] == [
        ("kept", 2.0),
        ("warm", 2.0),
        ("kept", 0.0),
    ]


def test_fingerprints_ignore_other_threads(tmp_path):
    names = {"__name__": "generated"}
    exec("def work(): pass", names)
    tracing, done, ended = Event(), Event(), Event()

    def run_meanwhile():
        tracing.wait()
        names["work"]()
        done.set()
        ended.wait()

    def function(x):
        tracing.set()
        done.wait()
        return x + 1

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run_meanwhile)
        call, _ = outcome(tmp_path / "bundle", ricci.jit(function), 1.0)
        ended.set()
    assert call.outcome == "kept", call.reason


def test_fingerprints_include_threads_that_tracing_starts(tmp_path):
    path, calls = tmp_path / "bundle", []
    for value in (2.0, 3.0):
        exec(f"def generated(x): return {value}", globals())
        calls.append(outcome(path, ricci.jit(lambda x: Worker(x).result()), 1.0))
    assert [(call.outcome, float(result)) for call, result in calls] == [
        ("kept", 2.0),
        ("kept", 3.0),
    ]


SESSION = """
import sys
import ricci
SCALE = 2.0
def f(x):
    return x * SCALE

with ricci.warm_start(sys.argv[1]) as start:
    _ = ricci.jit(f)(1.0)

print([(call.outcome, call.reason) for call in start.calls])
"""


def test_an_interactive_session_is_answered(tmp_path):
    told = []
    for text in (SESSION, SESSION, SESSION.replace("2.0", "3.0"), SESSION.replace("*", "+")):
        command = [sys.executable, "-i", "-", str(tmp_path / "bundle")]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
        told += done.stdout.splitlines()
    assert told == [
        "[('kept', 'it is new')]",
        "[('warm', '')]",
        "[('kept', '__main__.SCALE has changed')]",
        "[('kept', 'the function, or a value that it closes over changed')]",
    ]


def test_the_file_stays_as_it_is_when_it_is_only_read(tmp_path):
    path = tmp_path / "bundle"
    assert outcome(path, ricci.jit(triple), 2.0, mode="read")[0].outcome == "kept"
    assert not path.exists()


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot be written"):
        outcome(tmp_path / "file" / "bundle", ricci.jit(triple), 2.0)


def test_an_unknown_mode():
    with pytest.raises(ValueError, match="got 'write'"):
        ricci.warm_start("bundle", mode="write")  # pyright: ignore[reportArgumentType]


def test_threads_answer_from_one_bundle(tmp_path):
    path = tmp_path / "bundle"
    outcome(path, ricci.jit(triple), 2.0)
    ricci.clear_caches()
    with ricci.warm_start(path) as start, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: ricci.jit(triple)(float(i)), range(8)))
    assert results == [3.0 * i for i in range(8)]
    assert {call.outcome for call in start.calls} == {"warm"}
