"""What the examples in docstrings have in scope, beside the names of their module."""

import numpy as np
import pytest

import ricci_random


@pytest.fixture(autouse=True)
def user_names(doctest_namespace):
    """The names that a user of these functions has imported."""
    names = {"np": np, **{name: getattr(ricci_random, name) for name in ricci_random.__all__}}
    doctest_namespace.update(names)
    yield
    for name in names:
        del doctest_namespace[name]
