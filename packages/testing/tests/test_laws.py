"""The laws, on every primitive of ``ricci_lax`` and its examples, with the reference backend."""

import pytest

import ricci_lax  # noqa: F401  (defines the primitives)
from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import (
    check_abstract_type,
    check_batching,
    check_derivatives,
    check_programs,
    examples,
)
from ricci_testing._examples import WITHOUT_EXAMPLES

CASES = [
    pytest.param(primitives[name], example, id=f"{name}-{i}")
    for name, found in sorted(examples().items())
    for i, example in enumerate(found)
]


@pytest.fixture(autouse=True)
def _reference():
    with use_backend(reference_backend):
        yield


def test_every_primitive_has_examples():
    defined = {
        name for name, p in primitives.items() if p.abstract_eval.__module__.startswith("ricci_lax")
    }
    assert defined - set(examples()) == set(WITHOUT_EXAMPLES)


@pytest.mark.parametrize(("primitive", "example"), CASES)
def test_the_abstract_type_is_the_type_computed(primitive, example):
    check_abstract_type(primitive, example)


@pytest.mark.parametrize(("primitive", "example"), CASES)
def test_derivatives_are_those_of_finite_differences(primitive, example):
    check_derivatives(primitive, example)


@pytest.mark.parametrize(("primitive", "example"), CASES)
def test_vmap_is_the_loop(primitive, example):
    check_batching(primitive, example)


@pytest.mark.parametrize(("primitive", "example"), CASES)
def test_programs_are_well_formed(primitive, example):
    check_programs(primitive, example)
