"""The search for an interpreter, on machines made of small scripts."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "dev.py"
_spec = importlib.util.spec_from_file_location("ricci_dev", FILE)
assert _spec is not None and _spec.loader is not None
dev = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(dev)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake interpreters are shell scripts")


def fake(path: Path, says: str, status: int = 0) -> Path:
    """Write a program that prints a line, whatever it is asked, and exits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an old interpreter, an empty PATH and an empty home."""
    monkeypatch.setattr(sys, "executable", str(fake(tmp_path / "own", "3 8")))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("says", "status", "supported"),
    [
        ("3 12", 0, True),
        ("3 13", 0, True),
        ("3 11", 0, False),
        ("2 7", 0, False),
        ("3 12", 127, False),
        ("command not found", 0, False),
        ("", 0, False),
    ],
)
def test_an_interpreter_is_judged_by_running_it(
    tmp_path: Path, says: str, status: int, supported: bool
) -> None:
    assert dev.is_supported(fake(tmp_path / "python", says, status)) is supported


def test_a_missing_interpreter_is_not_supported(tmp_path: Path) -> None:
    assert not dev.is_supported(tmp_path / "absent")


def test_its_own_interpreter_comes_first(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = fake(machine / "own", "3 14")
    fake(machine / "bin" / "python3.12", "3 12")
    assert dev.find_python() == str(own)


@pytest.mark.parametrize(
    "place", ["bin/python3.12", "bin/python3", "home/.pyenv/versions/3.13.0/bin/python"]
)
def test_finds_an_interpreter_behind_a_shim_that_fails(machine: Path, place: str) -> None:
    fake(machine / "bin" / "python3.13", "3 13", status=127)
    good = fake(machine / place, "3 13")
    assert dev.find_python() == str(good)


def test_asks_pyenv_for_its_root(machine: Path) -> None:
    fake(machine / "bin" / "pyenv", str(machine / "elsewhere"))
    good = fake(machine / "elsewhere" / "versions" / "3.12.1" / "bin" / "python", "3 12")
    assert dev.find_python() == str(good)


def test_asks_uv(machine: Path) -> None:
    good = fake(machine / "elsewhere" / "python", "3 12")
    fake(machine / "bin" / "uv", str(good))
    assert dev.find_python() == str(good)


def test_missing_python_error_says_what_to_install(machine: Path) -> None:
    with pytest.raises(SystemExit, match="Install one"):
        dev.find_python()
