"""``jax.profiler``: the content of profiles, and the errors, as in JAX."""

import gzip
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="profiles are recorded by the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci import profiler
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

X = np.ones((40, 40), np.float32)


def quiet():
    """Options by which Python's own calls are not recorded, which are many."""
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    return options


def layer(x):
    return jnp.tanh(x @ x)


def named_after_the_test(x):
    with jax.named_scope("block"):
        y = layer(x)
    return y.sum()


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """A profile of a function that is compiled and run in it."""
    folder = tmp_path_factory.mktemp("profile")
    with profiler.trace(folder, create_perfetto_trace=True, profiler_options=quiet()):
        with (
            profiler.StepTraceAnnotation("train", step_num=7),
            profiler.TraceAnnotation("load", file="a"),
        ):
            jax.jit(named_after_the_test)(X).block_until_ready()
        profiler.annotate_function(layer, name="my layer", size=3)(X)
        profiler.annotate_function(layer)(X)
    (run,) = folder.glob("plugins/profile/*")
    return run


@pytest.fixture(scope="module")
def events(profile):
    """For each name the events of that name: their facts."""
    found = {}
    (file,) = profile.glob("*.xplane.pb")
    for plane in profiler.ProfileData.from_file(str(file)).planes:
        for line in plane.lines:
            for event in line.events:
                found.setdefault(event.name, []).append(dict(event.stats))
    return found


def test_profile_has_the_files_that_viewers_read(profile):
    endings = {re.sub(r"^[^.]*\.", "", file.name) for file in profile.iterdir()}
    assert endings == {"xplane.pb", "trace.json.gz", "json.gz"}
    with gzip.open(profile / "perfetto_trace.json.gz") as file:
        names = {event.get("name") for event in json.load(file)["traceEvents"]}
    assert "load" in names


def test_blocks_and_functions_are_named(events):
    assert events["load"] == [{"file": "a"}]
    assert events["train"] == [{"step_num": 7, "_r": 1}]
    assert events["my layer"] == [{"size": 3}]
    assert "layer" in events


def test_functions_of_the_user_are_named_with_their_lines(events):
    line = rf"{re.escape(__file__)}:\d+(:\d+)? \(profile\)"
    name = "named_after_the_test"
    assert f"PjitFunction({name})" in events
    for step in (
        f"Tracing {name} for jit",
        f"Writing jit({name}) as StableHLO",
        f"Compiling jit({name}) with XLA",
    ):
        (facts,) = events[step]
        assert re.fullmatch(line, facts["line"]), facts


def test_operations_have_lines_in_programs_compiled_under_a_profile(tmp_path):
    def text():
        return jax.jit(lambda x: layer(x) + 1).lower(X).compile().as_text()

    assert "test_profiler.py" not in text()
    with profiler.trace(tmp_path, profiler_options=quiet()):
        assert '1 "' + __file__ + '"' in text()
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "cache"))
        try:
            assert "test_profiler.py" not in text()
        finally:
            jax.config.update("jax_compilation_cache_dir", None)
    assert "test_profiler.py" not in text()
    jax.clear_caches()


BAD = [
    "jax.profiler.stop_trace()",
    "jax.profiler.stop_server()",
    "jax.profiler.start_trace(folder)\ntry: jax.profiler.start_trace(folder)\n"
    "finally: jax.profiler.stop_trace()\n0",
    "with jax.profiler.trace(folder): 1 / 0\n0",
    "jax.profiler.start_trace(file)\njax.profiler.stop_trace()",
    "jax.profiler.start_server('a')",
    "jax.profiler.device_memory_profile('nope')",
    "jax.profiler.save_device_memory_profile(folder + '/no/such')",
    "import os\njax.profiler.register_subprocess(os.getpid(), 1234)",
]


@pytest.mark.parametrize("source", BAD)
def test_refused_as_by_jax(oracle, source, tmp_path):
    file = tmp_path / "file"
    file.touch()
    start = f"import jax.profiler\nfolder = {str(tmp_path / 'folder')!r}\nfile = {str(file)!r}\n"
    if "start_trace(file)" in source:  # JAX cannot profile any more after this
        program = f"import ricci as jax\n{start}{source}".replace("import jax.", "import ricci.")
        ours = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "file is not a directory" in ours.stderr
    else:
        assert_same(start + source)
    with profiler.trace(tmp_path / "after", profiler_options=quiet()):
        pass  # a session that was refused leaves none behind


@pytest.mark.parametrize("folder", [3, ["a"]])
def test_start_trace_refuses_a_non_path_before_starting(folder):
    with pytest.raises(TypeError, match="os.PathLike"):
        profiler.start_trace(folder)
    with pytest.raises(RuntimeError, match="no profile is running"):
        profiler.stop_trace()


def test_server_starts_and_stops_again():
    for _ in range(2):
        assert profiler.start_server(0) is not None
        with pytest.raises(ValueError, match="running already"):
            profiler.start_server(0)
        profiler.stop_server()


def test_memory_profile_is_compressed(tmp_path):
    kept = jnp.ones((100, 100)) + 0
    assert b"\x0a" in gzip.decompress(profiler.device_memory_profile())
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert (tmp_path / "memory.prof").read_bytes()[:2] == b"\x1f\x8b"
    assert kept.shape == (100, 100)


def test_link_is_printed_and_the_profile_is_read_from_here(tmp_path, capsys):
    found = {}

    def read():
        address = "http://127.0.0.1:9001/"
        for _ in range(200):
            time.sleep(0.05)
            try:
                urllib.request.urlopen(f"{address}other", timeout=5)
            except urllib.error.HTTPError as error:
                found["other"] = error.code
                break
            except OSError:
                continue
        with urllib.request.urlopen(f"{address}perfetto_trace.json.gz", timeout=5) as reply:
            found["allowed"] = reply.headers["Access-Control-Allow-Origin"]
            found["events"] = json.loads(gzip.decompress(reply.read()))["traceEvents"]

    reader = threading.Thread(target=read)
    profiler.start_trace(tmp_path, create_perfetto_link=True, profiler_options=quiet())
    with profiler.TraceAnnotation("linked"):
        reader.start()
    profiler.stop_trace()
    reader.join()
    assert found["other"] == 404
    assert found["allowed"] == "*"
    assert "linked" in {event.get("name") for event in found["events"]}
    said = capsys.readouterr().out
    assert "ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/perfetto_trace.json.gz" in said


def test_annotations_do_nothing_without_a_profile():
    assert not profiler.TraceAnnotation.is_enabled()
    f = jax.jit(lambda x: x * 2)
    with profiler.TraceAnnotation("nobody looks"), profiler.StepTraceAnnotation("s", step_num=1):
        np.testing.assert_array_equal(f(X), X * 2)
