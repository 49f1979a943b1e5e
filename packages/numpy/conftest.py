"""Names that examples in docstrings have in scope, beside those of their module."""

import builtins

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def user_names(doctest_namespace):
    """The names of a user, for whom ``bool`` and ``round`` are Python's own."""
    names = {"np": np, **{n: v for n, v in vars(builtins).items() if not n.startswith("_")}}
    doctest_namespace.update(names)
    yield
    for name in names:
        del doctest_namespace[name]
