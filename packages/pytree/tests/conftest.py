"""The fixture `pt`: the package, loaded once for each engine, so that one suite tests both."""

import functools
import importlib
import importlib.util
import os
import sys
from types import ModuleType

import pytest

ENGINES = ("cpp", "python")


@functools.cache
def _load(engine: str) -> ModuleType:
    """A copy of ricci_pytree of its own; what the interpreter had loaded stays as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RICCI_PYTREE_ENGINE", engine)
        for name in [n for n in sys.modules if n.partition(".")[0] == "ricci_pytree"]:
            patch.delitem(sys.modules, name)
        before = set(sys.modules)
        package = importlib.import_module("ricci_pytree")
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "ricci_pytree":
                del sys.modules[name]
    return package


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "cpp" and importlib.util.find_spec("jaxlib") is None:
        pytest.skip("jaxlib is not installed, so there is no C++ engine")
    return request.param


@pytest.fixture(scope="session")
def pt(engine: str) -> ModuleType:
    package = _load(engine)
    assert package.engine_name == engine
    return package


@pytest.fixture(scope="session")
def engine_env(engine: str) -> dict[str, str]:
    return {**os.environ, "RICCI_PYTREE_ENGINE": engine}
