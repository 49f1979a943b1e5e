"""Python's `abs`, `pow` and `round` are not used where a package has functions of these names."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from builtin_names import code_of_examples, problems, unbound  # noqa: E402

BLOCK = """
from ricci_lax.authoring import floating, nary

root_p = nary(
    "root", traced(lambda x: mul(sign(x), sqrt(abs(x)))), floating, lambda t, x: div(t, round(x))
)
"""


def test_builtins_in_the_block_of_a_primitive_are_refused():
    assert unbound(BLOCK) == [(5, "abs"), (5, "round")]


def test_builtins_that_are_passed_on_are_refused():
    assert unbound("y = list(map(abs, xs))") == [(1, "abs")]


def test_functions_that_are_imported_or_defined_are_accepted():
    assert not unbound("from ._arithmetic import abs\n" + BLOCK.replace("round", "abs"))
    assert not unbound("abs = unary_function(abs_p)\ny = abs(x)")
    assert not unbound("def pow(x, y): ...\ny = pow(x, 2)")
    assert not unbound("import builtins\ny = builtins.abs(x)")


def test_examples_of_documents_are_read_at_their_lines():
    text = "Text about abs(x).\n\n>>> f = (\n...     abs\n... )\n\n>>> f(-1)\n1\n"
    assert unbound(code_of_examples(text)) == [(4, "abs")]


def test_packages_and_guide_are_free_of_them():
    assert list(problems()) == []
