"""The typed programs run; `nox -s types` checks their types."""

import importlib.util
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parents[1] / "typed" / "programs").glob("*.py"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_typed_programs_run(program, monkeypatch):
    spec = importlib.util.spec_from_file_location(program.stem, program)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As for imported modules: dataclasses look their own module up.
    monkeypatch.setitem(sys.modules, program.stem, module)
    spec.loader.exec_module(module)
    module.main()
