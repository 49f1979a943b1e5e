"""The laws, on every collective, with the reference backend: named axes are those of ``vmap``."""

import pytest

import ricci_parallel  # noqa: F401  (defines the primitives)
from ricci_batching import axis_name_rules
from ricci_ir import unsupported, use_backend
from ricci_lax.authoring import example_rules
from ricci_reference import reference_backend
from ricci_testing import LAWS, check_laws, examples

COLLECTIVES = {
    p.name: p
    for p in axis_name_rules
    if p.name in examples() and not isinstance(example_rules[p], unsupported)
}


def test_every_collective_has_examples_or_says_why_not():
    assert {p.name for p in axis_name_rules} >= {"psum", "all_gather", "axis_index"}
    assert all(p in example_rules for p in axis_name_rules)


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("law", LAWS)
def test_law(law, name):
    with use_backend(reference_backend):
        check_laws(COLLECTIVES[name], laws=[law])
