"""The pytest fixture `oracle`: real JAX in another process, for tests that compare with it."""

import os

import pytest

from ._oracle import Oracle, shared_oracle

_MISSING = "oracle environment missing: run nox -s oracle"


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """The oracle that this process shares; its tests are skipped where there is none.

    On a build server (`CI` set) a missing oracle fails the test instead: there it must run.
    """
    if not Oracle.available():
        if os.environ.get("CI"):
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return shared_oracle()
