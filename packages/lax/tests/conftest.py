"""What tests of values need: a backend."""

import importlib
from importlib.util import find_spec

import pytest

from ricci_ir import has_backend

# Whichever is installed; the package itself needs none.
BACKENDS = ("ricci_xla", "ricci_reference")


@pytest.fixture(scope="session")
def backend() -> None:
    """A backend to compute values with."""
    for name in BACKENDS:
        if not has_backend() and find_spec(name) is not None:
            importlib.import_module(name)
    if not has_backend():
        pytest.skip("values need a backend: install ricci-xla or ricci-reference")
