"""Pytest fixtures: `oracle`, real JAX in another process, and `compile_contract`.

A test module imports a fixture by name, or pytest loads all with `-p ricci_testing.pytest_plugin`,
which adds the option `--update-contracts`.
"""

import os
import re
from collections.abc import Callable

import pytest

from ._compile_contract import compile_contract as contract
from .oracle._client import Oracle, shared_oracle

_MISSING = "oracle environment missing: run nox -s oracle"


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """The oracle that this process shares; tests are skipped if it is not installed.

    On a build server (`CI` set) a missing oracle fails the test instead: there it must run.
    """
    if not Oracle.available():
        if os.environ.get("CI"):
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return shared_oracle()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites contracts."""
    parser.addoption(
        "--update-contracts",
        action="store_true",
        help="rewrite the contracts of tests from their compilations, instead of comparing",
    )


@pytest.fixture
def compile_contract(request: pytest.FixtureRequest) -> Callable[..., contract]:
    """The contract of this test, for a `with` block: `with compile_contract():`.

    It is in the folder `contracts` beside the test's module; its arguments are those of
    `ricci_testing.compile_contract` but for the file.
    """
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    file = request.path.parent / "contracts" / f"{request.path.stem}.{name}.json"
    update = True if request.config.getoption("--update-contracts", default=False) else None

    def of_this_test(*, update: bool | None = update, tolerance: float = 0.1) -> contract:
        return contract(file, update=update, tolerance=tolerance)

    return of_this_test
