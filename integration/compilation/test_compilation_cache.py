"""The compilation cache between processes: the next one finds what an earlier one compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hosts
import numpy as np
import pytest

import ricci

PROGRAM = """
import json, sys
import numpy as np
import ricci, ricci.numpy as jnp
{before}
events = []
ricci.monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))

def {name}(x, y):
    {comment}
    with ricci.named_scope({scope!r}):
        return {{"total": (jnp.sin(x) @ {operand}).sum()}}

out = ricci.jit({name}{options})(np.ones((3, 3), np.float32), np.ones((3, 3), np.float32))
loaded = [name for name in sys.modules if name.startswith(("ricci_xla.cache", "msgspec"))]
print(json.dumps([events, float(out["total"]), loaded]))
"""
FIELDS = {
    "before": "",
    "name": "step",
    "comment": "pass",
    "scope": "a",
    "operand": "y",
    "options": "",
}
HIT = ["tasks_using_cache", "compile_requests_use_cache", "cache_hits"]
MISS = ["tasks_using_cache", "compile_requests_use_cache", "cache_misses"]


def run(folder, path, variables=None, **fields):
    """The events of the cache in a process that runs the program from a file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(PROGRAM.format(**{**FIELDS, **fields}))
    env = {
        **os.environ,
        "PYTHONPATH": ":".join(sys.path),
        "JAX_PLATFORMS": "cpu",
        "RICCI_PLATFORMS": "cpu",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "XLA_FLAGS": "",
        **({} if folder is None else {"JAX_COMPILATION_CACHE_DIR": str(folder)}),
        **(variables or {}),
    }
    done = subprocess.run(
        [sys.executable, str(path)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    events, total, loaded = json.loads(done.stdout.splitlines()[-1])
    assert total == pytest.approx(22.719, abs=0.01)
    return events, loaded


SAME = {
    "the file's folder, lines above and the names of operations": {
        "folder": "elsewhere",
        "before": "\n\n# a comment\n\n",
        "scope": "b",
    },
    "the seed of hashes, the number of devices and what XLA would write to files": {
        "variables": {
            "PYTHONHASHSEED": "7",
            "RICCI_NUM_CPU_DEVICES": "3",
            "XLA_FLAGS": "--xla_dump_max_hlo_modules=2",
        }
    },
}
OTHER = {
    "what is computed": {"operand": "(y + 0)"},
    "the function's name": {"name": "other"},
    "options of the compiler": {"options": ", compiler_options={'xla_cpu_enable_fast_math': True}"},
    "flags of XLA": {"variables": {"XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}},
    "donation": {"options": ", donate_argnums=0"},
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    events, loaded = run(folder, folder / "script" / "first.py")
    assert events == MISS and loaded
    return folder


@pytest.mark.parametrize("what", SAME)
def test_the_next_process_finds_the_program(what, filled, tmp_path):
    fields = dict(SAME[what])
    path = tmp_path / fields.pop("folder", "script") / "first.py"
    events, _ = run(filled, path, **fields)
    assert events == HIT


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", OTHER)
def test_another_program_is_compiled(what, filled, tmp_path):
    events, _ = run(filled, tmp_path / "script" / "first.py", **OTHER[what])
    assert events == MISS


def test_without_a_folder_nothing_is_loaded(tmp_path):
    events, loaded = run(None, tmp_path / "script" / "first.py")
    assert (events, loaded) == ([], [])


def test_the_command_runs_as_a_module(filled):
    done = subprocess.run(
        [sys.executable, "-m", "ricci.cache", "list", str(filled)],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "jit_step" in done.stdout, done.stderr


SHARED = """
import json, os
import numpy as np
import ricci, ricci.numpy as jnp
events = []
ricci.monitoring.register_event_listener(lambda event, **_: events.append(event.rpartition("/")[2]))
ricci.distributed.initialize()
mesh = ricci.make_mesh((4,), ("x",), axis_types=(ricci.sharding.AxisType.Auto,))
where = ricci.NamedSharding(mesh, ricci.P("x"))
x = ricci.make_array_from_callback((8,), where, lambda index: np.arange(8, dtype=np.float32)[index])

@ricci.jit
def total(x):
    return (x * 3).sum()

def wrong(y):  # of the devices of this process alone
    return y - 1

result = float(total(x))
mine = ricci.jit(wrong)(np.ones(2, np.float32)).tolist()
hits, misses = (events.count(f"cache_{what}") for what in ("hits", "misses"))
print(json.dumps([result, mine, hits, misses]))
"""


def test_processes_share_a_cache(tmp_path):
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    found = []
    for _ in range(2):
        ended = hosts.run(SHARED, 2, variables=variables)
        assert [e.code for e in ended] == [0, 0], ended
        found.append([json.loads(e.out.splitlines()[-1]) for e in ended])
    for answers in found:
        assert [answer[:2] for answer in answers] == [[84.0, [0.0, 0.0]]] * 2
    assert all(misses == 0 and hits >= 2 for _, _, hits, misses in found[1])
    shared = [p for p in Path(tmp_path / "cache").iterdir() if p.name.startswith("jit_total")]
    assert len(shared) == 1


CONCURRENT = """
import sys, warnings
import numpy as np
warnings.simplefilter("error")
import ricci
for i in range(8):
    f = ricci.jit(lambda x: x * 2 + 1)
    assert f(np.full(i + 1, 4, np.float32)).tolist() == [9.0] * (i + 1)
"""


def test_many_processes_read_and_write_at_once(tmp_path):
    env = {
        **os.environ,
        "PYTHONPATH": ":".join(sys.path),
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_COMPILATION_CACHE_MAX_SIZE": "30000",  # so that they remove each other's files, too
        "RICCI_PLATFORMS": "cpu",
    }
    processes = [
        subprocess.Popen([sys.executable, "-c", CONCURRENT], env=env, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, errors
    sizes = [path.stat().st_size for path in tmp_path.iterdir() if path.suffix == ".program"]
    assert sizes and not list(tmp_path.glob("*.unfinished"))


def test_reports_have_their_lines_with_a_filled_cache(tmp_path, eight_devices):
    mesh = ricci.sharding.Mesh(np.array(eight_devices), ("x",))
    x = ricci.device_put(np.arange(16.0), ricci.NamedSharding(mesh, ricci.P("x")))
    fun = ricci.jit(lambda x: x - x.sum())
    with (
        ricci.config.state("jax_compilation_cache_dir")(str(tmp_path)),
        ricci.config.state("jax_persistent_cache_min_compile_time_secs")(0),
    ):
        fun(x)
        for _ in range(2):
            ricci.clear_caches()
            report = str(ricci.parallel.communication(fun)(x))
            assert "test_compilation_cache.py:" in report, report
