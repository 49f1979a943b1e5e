"""The reference backend, whatever else is imported."""

import pytest

from ricci_ir import use_backend
from ricci_reference import reference_backend


@pytest.fixture(autouse=True)
def _reference():
    with use_backend(reference_backend):
        yield
