"""First lines, names and messages that do not use the field's terms are counted, by package."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from plain_words import CEILINGS, Ceiling, broken_rules, flagged, problems  # noqa: E402


@pytest.mark.parametrize(
    "line",
    [
        "What a jaxpr holds.",
        "The cached jaxpr is no program.",
        "Return what is left.",
        "The rule says which axis.",
        "The operand is handed back.",
    ],
)
def test_first_lines_that_are_flagged(line):
    assert broken_rules(line)


@pytest.mark.parametrize(
    "line",
    [
        "Return the instruction that computes an update, or None.",
        "Propagation of unreduced shardings through linear primitives.",
        "There is no longer a trace.",
    ],
)
def test_first_lines_that_pass(line):
    assert not broken_rules(line)


def test_messages_count_and_docstrings_do_not_count_as_messages():
    source = 'def f(x):\n    """A shape is no list."""\n    raise TypeError(f"{x} is no shape")\n'
    assert [place.kind for place in flagged(source)] == ["docstrings", "messages"]


def test_assigned_names_count_and_read_names_do_not():
    assert [place.text for place in flagged("found = known(kept)")] == ["found"]


def test_parameters_count_except_those_of_numpy_and_of_tree_map():
    assert [place.text for place in flagged("def f(found, where, *rest): ...")] == ["found"]


@pytest.mark.parametrize(
    ("comment", "count"),
    [
        ("# What is stored.", 1),
        ("#: How often it ran.", 1),
        ("# The array, of\n# which the size is a power of two.", 0),
        ("# Where x is negative, the root is not a number.", 0),
        ("x = 1  # how often it ran", 0),
        ("# A seed is no key.", 1),
        ("# The length of what\n# is stored.", 1),
        ("x = 1  # the length of what is stored", 1),
        ("# There is no loop, and it is no slower.", 0),
        ("x = 1  # the length of what\n# is stored", 0),
    ],
)
def test_comments_that_begin_with_a_question_word_or_do_not_name_a_thing_count(comment, count):
    kinds = [place.kind for place in flagged(comment + "\n")]
    assert kinds == ["comments"] * count


def test_a_number_that_grows_fails():
    assert problems("x", Ceiling(1, 2, 3, 4), Ceiling(1, 2, 3, 4)) == []
    assert len(problems("x", Ceiling(2, 3, 4, 5), Ceiling(1, 2, 3, 4))) == 4


def test_every_package_has_a_ceiling():
    packages = {path.parent.name for path in ROOT.glob("packages/*/src")}
    assert CEILINGS.keys() == {*packages, "tools", "tests"}
