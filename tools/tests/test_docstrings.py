"""Missing parts of docstrings are found, and counted against the floors."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docstrings import (  # noqa: E402
    FLOORS,
    Docstring,
    Entry,
    Floor,
    Found,
    counted,
    kinds,
    lacks,
    members,
    problems,
    unbound,
)


def whole(a, b=1, *rest):
    """Add the arguments.

    Args:
      a, b: numbers.
      *rest: more of them.

    Returns:
      their sum.

    Raises:
      ValueError: if ``a`` is negative.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.add(1, 2).tolist()
      3
    """
    if a < 0:
        raise ValueError(a)
    return a + b + sum(rest)


def without(*parts: str):
    """`whole` with a docstring that lacks paragraphs which begin with some words."""

    def copy(a, b=1, *rest):
        if a < 0:
            raise ValueError(a)
        return a + b + sum(rest)

    paragraphs = Docstring(whole.__doc__ or "").text.split("\n\n")
    copy.__doc__ = "\n\n".join(part for part in paragraphs if not part.startswith(parts))
    return copy


def test_a_whole_docstring_lacks_nothing():
    assert list(lacks(whole)) == []


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("Args", "Args (a, b, rest)"),
        ("Returns", "Returns"),
        ("Raises", "Raises (ValueError)"),
        ("Example", "example"),
    ],
)
def test_missing_sections_are_found(part, found):
    assert list(lacks(without(part))) == [found]


def test_missing_docstring_lacks_a_summary():
    assert list(lacks(lambda: 0)) == ["summary"]


def test_the_docstring_of_an_object_is_not_that_of_its_class():
    class Called:
        """Calls."""

        def __call__(self):
            """Does nothing."""

    assert list(lacks(Called())) == ["summary"]


@pytest.mark.parametrize(
    ("example", "found"),
    [
        ("jnp.ones(3)", "imports of jnp in the example"),
        ("import ricci_numpy as jnp", "imports of ricci, as users write them, in the example"),
        ("import ricci.numpy as jnp", None),
    ],
)
def test_examples_import_what_they_use_as_users_do(example, found):
    def function():
        pass

    function.__doc__ = f"Return nothing.\n\nExample:\n  >>> {example}\n"
    assert next(lacks(function), None) == found


def test_names_that_a_program_makes_are_bound():
    source = "import a.b\nfrom c import d as e\ndef f(x):\n  return x\n[f(y) for y in (a, e)]\nz"
    assert unbound(source) == {"z"}


def test_a_class_needs_its_fields_and_its_methods_a_summary():
    class Pair:
        """Two numbers.

        Attributes:
          first: one of them.

        Example:
          >>> 1
          1
        """

        def __init__(self, first, second):
            pass

        def swap(self):
            pass

    assert list(lacks(Pair)) == ["Args (second)"]
    assert [name for name, _ in members(Pair)] == ["swap"]


ENTRIES = [Entry("p", "p.a", ()), Entry("p", "p.b", ("summary",)), Entry("p", "p.c", ("Args (x)",))]


def test_a_package_is_held_to_its_floor():
    found = counted(ENTRIES)
    assert found == Found(names=3, bare=1, complete=1) and found.percent == 33.3
    assert kinds(ENTRIES) == {"summary": 1, "Args": 1}
    assert problems("p", found, Floor(bare=1, complete=33.3)) == []
    assert len(problems("p", found, Floor(bare=0, complete=33.4))) == 2


def test_every_package_with_names_for_users_has_a_floor():
    packages = {folder.name for folder in (ROOT / "packages").glob("*/src/*") if folder.is_dir()}
    assert set(FLOORS) == packages - {"jax"}
