"""Options: the list is the oracle's, and each one that is honoured changes what can be observed.

`option_cases` has a row for every option of that status: what is observed with the default, and
with another value. An option that nobody reads gives the same twice, and fails.
"""

import json  # noqa: I001
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import ricci
import ricci.numpy as jnp
from ricci import config, jit
from ricci_ir import OPTIONS, Status
from ricci_xla.devices import _client

import options_table
from option_cases.observers import Tools, outcome, run_python
from option_cases.table import DEMONSTRATIONS

ROOT = Path(__file__).resolve().parents[2]

oracle_only = pytest.mark.skipif(
    "RICCI_ORACLE_PYTHON" not in os.environ, reason="no oracle: RICCI_ORACLE_PYTHON is not set"
)


# Set by the tests' own configuration; their demonstrations start from the default all the same.
_SET_BY_TESTS = ("jax_platforms", "jax_num_cpu_devices")


def test_every_honoured_option_is_demonstrated():
    honoured = [name for name, option in OPTIONS.items() if option.status is Status.HONOURED]
    assert set(DEMONSTRATIONS) == set(honoured)


@pytest.fixture
def tools(monkeypatch, tmp_path, capfd, request):
    ricci.devices()  # made with what the tests' configuration sets
    for name in _SET_BY_TESTS:
        monkeypatch.setattr(config.state(name), "_global", OPTIONS[name].default)
    if request.node.callspec.params["name"] in _client._CLIENT_OPTIONS:
        monkeypatch.setattr(_client._clients, "by_platform", None)  # as before there are devices
    return Tools(monkeypatch, tmp_path, capfd)


@pytest.mark.sampled(19)
@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_honoured_options_have_the_documented_effect(name, tools):
    row = DEMONSTRATIONS[name]
    assert row.default != row.changed
    value = ricci.devices()[1] if name == "jax_default_device" else row.value
    assert row.observe(tools) == row.default
    config.update(name, value)
    try:
        assert row.observe(tools) == row.changed
    finally:
        config.update(name, OPTIONS[name].default)
    assert row.observe(tools) == row.default  # and the process goes on


STRICT = [name for name, strict in _client._CLIENT_OPTIONS.items() if strict]
LATE = {"jax_platforms": "tpu", "jax_cuda_visible_devices": "0"}


@pytest.mark.parametrize("name", STRICT)
def test_device_counts_cannot_change_after_initialization(name):
    """As in the oracle, whose class of error this is."""
    ricci.devices()
    before = config.read(name)
    with pytest.raises(RuntimeError, match=f"{name}=77 comes too late"):
        config.update(name, 77)
    assert config.read(name) == before
    config.update(name, before)


@pytest.mark.parametrize("name", LATE)
def test_platforms_are_chosen_before_there_are_devices(name):
    ricci.devices()
    before = config.read(name)
    with pytest.warns(UserWarning, match=f"{name}='{LATE[name]}' comes too late"):
        config.update(name, LATE[name])
    config.update(name, before)


def test_the_platform_in_use_may_be_chosen_again():
    platform = next(iter(_client.backends()))
    before = config.jax_platforms
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.update("jax_platforms", platform)
        config.update("jax_platforms", before)


def test_an_override_is_of_its_thread():
    seen = []
    with config.state("jax_debug_nans")(True):
        thread = threading.Thread(target=lambda: seen.append(outcome(lambda: jnp.log(-1.0))))
        thread.start()
        thread.join()
        seen.append(outcome(lambda: jnp.log(-1.0)))
    assert seen == ["ok", "FloatingPointError"]


def test_fatal_garbage_collection_ends_the_process():
    code = (
        "import gc, ricci.numpy as jnp\n"
        "from ricci import array_garbage_collection_guard\n"
        "cycle = [jnp.ones(3) + 1]\ncycle.append(cycle)\ndel cycle\n"
        "with array_garbage_collection_guard('fatal'):\n    gc.collect()\nprint('alive')"
    )
    done = run_python(code)
    assert done.returncode != 0 and "alive" not in done.stdout


def test_unsupported_dump_modes_warn(tmp_path):
    config.update("jax_dump_ir_to", str(tmp_path))
    config.update("jax_dump_ir_modes", "eqn_count_pprof")
    try:
        with pytest.warns(UserWarning, match="'eqn_count_pprof', which is not supported"):
            jit(lambda x: x * 9)(1.0)
    finally:
        config.update("jax_dump_ir_modes", "stablehlo")
        config.update("jax_dump_ir_to", "")


# Sets each option that is not honoured to another value twice, in a process of its own.
_SETTING = """
import json, warnings
from ricci import config
from ricci_ir import OPTIONS, Status, trace_key

def another(option):
    kind, default = option.kind, option.default
    # The text of a choice, or a number or a text of the option's type.
    for value in (*kind.described().split(", "), not default, 7, "7", 0.5):
        try:
            parsed = kind.parse("an option", value)
        except (TypeError, ValueError):
            continue
        if parsed != default and parsed is not None:
            return value

def messages(name, value):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config.update(name, value)
    return [str(warning.message) for warning in caught]

told = {}
for name, option in OPTIONS.items():
    if option.status is not Status.HONOURED:
        key, value = trace_key(), another(option)
        assert value is not None, name
        told[name] = [messages(name, value), messages(name, value), trace_key() is key]
        config.update(name, option.default)
print(json.dumps(told))
"""


def test_options_that_are_not_honoured_change_nothing_and_say_so_once():
    done = run_python(_SETTING)
    assert not done.returncode, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) > 60
    for name, (first, second, keeps_traces) in told.items():
        option = OPTIONS[name]
        assert keeps_traces and not second, name
        if option.status is Status.MEANINGLESS:
            assert not first, name
        else:
            assert len(first) == 1 and name in first[0] and option.note in first[0], (name, first)


def test_the_document_is_the_table():
    assert (ROOT / "docs" / "guides" / "options.md").read_text() == options_table.text()


# Beside the oracle.

WRONG = ["zz", 3, None, [1], 2.5]

# Run with each library's namespace; gives what JSON can hold.
_DESCRIPTION = """
import enum, warnings
config = namespace.config

def plain(value):
    return [type(value).__name__, value.name] if isinstance(value, enum.Enum) else value

def refused(name, wrong):
    before = config.values[name]
    try:
        config.update(name, wrong)
    except Exception as error:
        return type(error).__name__
    config.update(name, before)
    return None

warnings.simplefilter("ignore")
described = {
    "defaults": {name: plain(value) for name, value in config.values.items()},
    "values": {name: config.meta[name][2].get("enum_values") for name in config.values},
    "types": {name: str(config.meta[name][0]) for name in config.values},
    "contexts": sorted(n for n, x in vars(namespace).items() if type(x).__name__ == "State"),
    "refused": {name: [refused(name, wrong) for wrong in WRONG] for name in config.values},
}
"""


def described(python: str, module: str, path: str) -> dict[str, Any]:
    """A library's descriptions of its options, from another process."""
    code = (
        f"import {module} as namespace, json\nWRONG = {WRONG!r}\n{_DESCRIPTION}\n"
        "print(json.dumps(described))"
    )
    ours = ("JAX_", "RICCI_", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [python, "-c", code], env={**env, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, Any], dict[str, Any]]:
    """The descriptions of both sides."""
    ours = described(sys.executable, "ricci", ":".join(sys.path))
    return ours, described(os.environ["RICCI_ORACLE_PYTHON"], "jax", "")


OWN_CONTEXTS = {"two_stage_compilation"}  # those that JAX does not have
# The differences: ours, JAX's.
OWN_OPTIONS = {
    "defaults": {"jax_error_checking_behavior_oob": ("kernels", "ignore")},
    "values": {
        "jax_error_checking_behavior_oob": (["kernels", "ignore", "raise"], ["ignore", "raise"])
    },
}


@oracle_only
@pytest.mark.parametrize("what", ["defaults", "values", "contexts"])
def test_options_are_the_oracles(both, what):
    ours, theirs = both
    if what == "contexts":
        assert set(ours[what]) - OWN_CONTEXTS == set(theirs[what])
    else:
        for name, pair in OWN_OPTIONS[what].items():
            assert (ours[what][name], theirs[what][name]) == pair
            theirs[what][name] = pair[0]
        assert ours[what] == theirs[what]
        assert list(ours[what]) == list(theirs[what])


@oracle_only
def test_wrong_values_are_refused_as_by_the_oracle(both):
    """The oracle takes any value where we may refuse one; never the other way round."""
    ours, theirs = both
    differ = {
        (name, str(wrong)): (mine, other)
        for name in ours["refused"]
        for wrong, mine, other in zip(
            WRONG, ours["refused"][name], theirs["refused"][name], strict=True
        )
        if other is not None and mine != other
    }
    assert not differ


@oracle_only
def test_values_refused_beyond_jax_are_listed(both):
    ours, theirs = both
    stricter = {
        OPTIONS[name].kind.described()
        for name in ours["refused"]
        if any(
            mine and not other
            for mine, other in zip(ours["refused"][name], theirs["refused"][name], strict=True)
        )
    }
    # A switch takes a truth value's name alone, and a text takes no number.
    assert stricter <= {"true, false", "true, false, none", "str, none", "int, none"}
