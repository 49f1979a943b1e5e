"""Files that are read to save work: one that cannot be used is a warning, and the work is done."""

import importlib
import os
import sys
import warnings
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the files hold compiled programs")

import ricci
from ricci import kernels
from ricci_xla.cache._folder import ENTRY_KIND
from ricci_xla.files import FileKind, read_file, write_file
from ricci_xla.tuning._choice import _KIND as CHOICE_KIND
from ricci_xla.warm._records import BUNDLE

X = np.arange(8, dtype=np.float32)
TOTAL = 28.0
CANDIDATES = [{"rows": 1}, {"rows": 2}]


def total(x):
    return x.sum()


def total_by_rows(x, *, rows):
    return x.reshape(rows, -1).sum(0).sum()


@pytest.fixture
def folder(tmp_path):
    """The folder of the compilation cache, without a least time of compiling."""
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    before = {name: getattr(ricci.config, name) for name in options}
    for name, value in options.items():
        ricci.config.update(name, value)
    yield tmp_path
    for name, value in before.items():
        ricci.config.update(name, value)


def use_compilation_cache(folder):
    return float(ricci.jit(total)(X))


def use_warm_start(folder):
    ricci.config.update("jax_compilation_cache_dir", "")  # the bundle alone saves the work
    with ricci.warm_start(folder / "bundle"):
        return float(ricci.jit(total)(X))


def use_autotune(folder):
    return float(kernels.autotune(total_by_rows, CANDIDATES, repeats=1)(X))


class Kind(NamedTuple):
    """A kind of file: a use of it, its name, and changes of a record that make no sense."""

    use: Any
    pattern: str
    kind: FileKind
    nonsense: dict[str, Any]


KINDS = {
    "compilation cache": Kind(
        use_compilation_cache,
        "*total*.program",
        ENTRY_KIND,
        {
            "no executable": lambda r: {"data": b"none", "compressed": False, "size": 4},
            "a size without end": lambda r: {"size": 2**62},
            "another module's": lambda r: {"parts": {**r.parts, "program": "0"}},
        },
    ),
    "warm start": Kind(
        use_warm_start,
        "bundle",
        BUNDLE,
        {
            "no modules": lambda r: {"modules": []},
            "another environment": lambda r: {"environment": {}},
        },
    ),
    "autotune": Kind(
        use_autotune,
        "*.tuning",
        CHOICE_KIND,
        {
            "no trials": lambda r: {"seconds": [], "transfers": [], "refusals": []},
            "more trials": lambda r: {"seconds": [1.0, 2.0, 3.0]},
            "a candidate that is not there": lambda r: {"chosen": 2},
            "a candidate from behind": lambda r: {"chosen": -1},
            "a refused candidate": lambda r: {"refusals": ["ValueError: no"] * 2},
        },
    ),
}

# By name: from the kind and a file's bytes to other bytes.
DAMAGE = {
    "empty": lambda kind, data: b"",
    "a head alone": lambda kind, data: data[:50],
    "truncated": lambda kind, data: data[: len(data) // 2],
    "one byte short": lambda kind, data: data[:-1],
    "altered": lambda kind, data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "zeros": lambda kind, data: bytes(len(data)),
    "text": lambda kind, data: b"{}\n" * 40,
    "another program's file": lambda kind, data: b"PK\x03\x04" + data,
    "another kind": lambda kind, data: rewritten(kind, data, name="note"),
    "a newer version": lambda kind, data: rewritten(kind, data, version=kind.version + 1),
    "an older version": lambda kind, data: rewritten(kind, data, version=0),
    "another record": lambda kind, data: write_file(
        kind._replace(record=_Note), _Note("of another version, by mistake")
    ),
}


class _Note(msgspec.Struct):
    note: str


def rewritten(kind, data, **changes):
    return write_file(kind._replace(**changes), read_file(kind, data, "here"))


def changed(changes):
    """The damage of a file whose record has other values, and the digest of these."""

    def damage(kind, data):
        record = read_file(kind, data, "here")
        return write_file(kind, msgspec.structs.replace(record, **changes(record)))

    return damage


CASES = [
    *[(kind, name, damage) for kind in KINDS for name, damage in DAMAGE.items()],
    *[(k, name, changed(f)) for k, case in KINDS.items() for name, f in case.nonsense.items()],
]


def used(case, folder):
    """The result of a use in a new process, as far as caches in memory go, and its warnings."""
    ricci.clear_caches()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = case.use(folder)
    return result, [str(w.message) for w in caught]


def written(case, folder):
    """The file that a first use writes."""
    assert used(case, folder) == (TOTAL, [])
    (path,) = folder.glob(case.pattern)
    return path


@pytest.mark.parametrize(
    ("kind", "damage"),
    [(kind, damage) for kind, _, damage in CASES],
    ids=[f"{kind}-{name}" for kind, name, _ in CASES],
)
def test_an_unusable_file_is_one_warning_and_is_written_again(kind, damage, folder):
    case = KINDS[kind]
    path = written(case, folder)
    path.write_bytes(damage(case.kind, path.read_bytes()))
    result, (warning,) = used(case, folder)
    assert result == TOTAL
    assert str(path) in warning and len(warning.splitlines()) == 1
    assert used(case, folder) == (TOTAL, [])
    assert read_file(case.kind, path.read_bytes(), path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_the_place_of_a_file_is_a_warning(kind, folder):
    case = KINDS[kind]
    path = written(case, folder)
    os.remove(path)
    path.mkdir()
    result, messages = used(case, folder)
    assert result == TOTAL
    assert 1 <= len(messages) <= 2 and all(str(folder) in message for message in messages)


@pytest.mark.parametrize(
    "changes", [{"out_types": []}, {"kept_args": []}, {"in_shardings": []}, {"devices": ()}]
)
def test_a_call_whose_record_is_inconsistent_is_traced(changes, folder):
    case = KINDS["warm start"]
    path = written(case, folder)
    record = read_file(BUNDLE, path.read_bytes(), path)
    (call,) = record.calls
    program = msgspec.structs.replace(call.program, **changes)
    record.calls = [msgspec.structs.replace(call, program=program)]
    path.write_bytes(write_file(BUNDLE, record))
    ricci.clear_caches()
    with ricci.warm_start(path) as start:
        assert float(ricci.jit(total)(X)) == TOTAL
    (call,) = start.calls
    assert call.outcome == "kept" and "cannot be loaded" in call.reason


@pytest.mark.parametrize("kind", ["compilation cache", "autotune"])
def test_an_unusable_file_is_an_error_where_that_is_asked(kind, folder):
    case = KINDS[kind]
    path = written(case, folder)
    path.write_bytes(b"")
    ricci.clear_caches()
    ricci.config.update("jax_raise_persistent_cache_errors", True)
    try:
        with pytest.raises(ValueError, match="is empty"):
            case.use(folder)
    finally:
        ricci.config.update("jax_raise_persistent_cache_errors", False)


def test_an_installation_without_a_list_of_files_is_known_by_its_files(folder, monkeypatch):
    for name in ("ricci_extra", "ricci_extra-1.0.egg-info"):
        (folder / name).mkdir()
    (folder / "ricci_extra" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(folder)
    importlib.import_module("ricci_extra")
    assert use_warm_start(folder) == TOTAL
    del sys.modules["ricci_extra"]
