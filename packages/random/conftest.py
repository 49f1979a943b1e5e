"""What the examples in docstrings have in scope, beside the names of their module."""

import numpy as np
import pytest

import ricci_random


@pytest.fixture(autouse=True)
def user_names(doctest_namespace):
    """The names that a user of these functions has imported."""
    public = (ricci_random, ricci_random.generators)
    names = {name: getattr(module, name) for module in public for name in module.__all__}
    names["np"] = np
    doctest_namespace.update(names)
    yield
    for name in names:
        del doctest_namespace[name]
