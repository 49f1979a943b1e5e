"""The table of examples covers every primitive, dtype family, shape and mode."""

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import jvp
from ricci_batching import elementwise_primitives
from ricci_ir import defined_at, primitives, use_backend
from ricci_lax.authoring import singular_points
from ricci_reference import reference_backend
from ricci_testing import (
    Topic,
    cases,
    check_linear_transpose,
    examples,
    exempt_rules,
    without_examples,
)
from ricci_testing.examples._variants import (
    REFUSED_FAMILIES,
    accepted_families,
    exempt,
    families,
    is_empty,
    is_scalar,
)
from ricci_testing.laws._derivatives import is_always_linear

# Some modules that define primitives are imported by what uses them alone.
for module in pkgutil.walk_packages(lax.__path__, "ricci_lax."):
    import_module(module.name)
primitives.load_all()

NAMES = sorted(examples())


def test_every_primitive_has_examples():
    missing = [
        f"{name!r} ({defined_at(p)}) has no examples: give it an entry in example_rules, or "
        "a reason in without_examples"
        for name, p in list(primitives.items())
        if defined_at(p).startswith(str(Path(lax.__file__).parent))
        and name not in examples()
        and name not in without_examples
    ]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_cover_every_dtype_family_that_is_accepted(name):
    accepted = set(accepted_families(primitives[name], examples()[name]))
    refused = REFUSED_FAMILIES & set(exempt(primitives[name]))
    accepted = {(role, family) for role, family in accepted if family not in refused}
    assert {key for case in cases(name) for key in families(case)} == accepted


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_have_an_empty_array(name):
    assert any(map(is_empty, cases(name))) != ("empty" in exempt(primitives[name]))


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_have_a_scalar(name):
    assert any(map(is_scalar, cases(name))) != ("scalars" in exempt(primitives[name]))


def test_exemptions_have_a_topic_and_a_reason():
    topics = set(get_args(Topic))
    for primitive, reasons in exempt_rules.items():
        assert set(reasons) <= topics, primitive
        assert all(len(reason) > 10 for reason in reasons.values()), primitive
    assert all(len(reason) > 10 for reason in without_examples.values())
    assert not without_examples.keys() & examples().keys()


@pytest.mark.parametrize("name", NAMES)
def test_primitives_linear_in_all_examples_have_a_transpose(name):
    with use_backend(reference_backend):
        found = [e for e in examples()[name] if e.differentiable()]
        if is_always_linear(primitives[name], found):
            reasons = [check_linear_transpose(primitives[name], e) for e in found]
            assert (None in reasons) != ("transpose" in exempt(primitives[name])), reasons


def _functions_of_one_float():
    """Elementwise primitives of one operand that have a derivative, with their parameters."""
    for name in NAMES:
        given = examples()[name][0]
        single = len(given.args) == 1 and given.args[0].dtype == np.float32
        if single and given.smooth and primitives[name] in elementwise_primitives:
            yield pytest.param(primitives[name], given, id=name)


@pytest.mark.parametrize(("primitive", "example"), list(_functions_of_one_float()))
def test_find_nan_lists_points_without_a_finite_derivative(primitive, example):
    x = np.float32([-2, -1, -0.5, 0, 0.5, 1, 2])
    with use_backend(reference_backend):
        fun = lambda x: example.bind(primitive, x)[0]
        value, slope = map(np.asarray, jvp(fun, (x,), (np.ones_like(x),)))
        if slope.dtype == np.float32:
            singular = np.isfinite(value) & ~np.isfinite(slope)
            said = singular_points(primitive, (x,), x.shape)
            said = np.zeros(x.shape, bool) if said is None else said & np.isfinite(value)
            assert x[said].tolist() == x[singular].tolist()


def _params(name: str, key: str) -> list:
    return [case.params[key] for case in cases(name)]


@pytest.mark.parametrize("name", [n for n in NAMES if n == "gather" or n.startswith("scatter")])
def test_the_cases_index_in_every_mode(name):
    modes = lax.GatherScatterMode
    computed = {modes.CLIP, modes.FILL_OR_DROP, modes.PROMISE_IN_BOUNDS}
    assert set(_params(name, "mode")) == computed
    for mode in computed - {modes.PROMISE_IN_BOUNDS}:
        indices = [case.args[1] for case in cases(name) if case.params["mode"] is mode]
        assert any(np.any(i > 4) or np.any(i < 0) for i in indices), f"all in bounds for {mode}"
    numbers = _params(name, "dimension_numbers")
    assert any(n.operand_batching_dims for n in numbers)


def test_the_cases_pad_by_negative_and_interior_amounts():
    amounts = [amount for config in _params("pad", "padding_config") for amount in config]
    assert any(low < 0 for low, _, _ in amounts)
    assert any(high < 0 for _, high, _ in amounts)
    assert any(interior and low < 0 for low, _, interior in amounts)


@pytest.mark.parametrize("name", ["dynamic_slice", "gather"])
def test_the_cases_take_windows_of_no_elements(name):
    assert any(0 in sizes for sizes in _params(name, "slice_sizes"))


@pytest.mark.parametrize("name", [n for n in NAMES if "window" in n and "jaxpr" not in n])
def test_the_cases_slide_windows_past_every_edge(name):
    assert any(any(map(any, padding)) for padding in _params(name, "padding")), "no padding"
    assert any(max(strides) > 1 for strides in _params(name, "window_strides")), "no strides"
