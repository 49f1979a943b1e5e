"""The laws, on every primitive of ``ricci_lax`` and its cases, with the reference backend."""

import os

import pytest

import ricci_lax  # noqa: F401  (defines the primitives)
from ricci_ir import linear_in_all, linear_in_each, primitives, sum_rules, use_backend
from ricci_reference import missing_rule, reference_backend
from ricci_testing import LAWS, check_laws, examples

# Where tests take a sample, the laws run on so many cases of each primitive.
MOST = 2 if os.environ.get("RICCI_SAMPLE") else None
MISSING = {name: reason for name in examples() if (reason := missing_rule(primitives[name]))}


def test_the_reference_backend_computes_every_primitive():
    assert not MISSING, "\n".join(MISSING.values())


@pytest.mark.parametrize("name", sorted(examples()))
@pytest.mark.parametrize("law", LAWS)
def test_law(law, name):
    if name in MISSING:
        pytest.skip("see test_the_reference_backend_computes_every_primitive")
    with use_backend(reference_backend):
        check_laws(primitives[name], laws=[law], most=MOST)


@pytest.mark.parametrize(("name", "rule"), [("sin", linear_in_all), ("div", linear_in_each)])
def test_sums_rules_of_nonlinear_primitives_fail(monkeypatch, name, rule):
    monkeypatch.setitem(sum_rules, primitives[name], rule)
    laws = ["operations on unreduced operands are linear"]
    with use_backend(reference_backend), pytest.raises(AssertionError, match="results of terms"):
        check_laws(primitives[name], laws=laws)
