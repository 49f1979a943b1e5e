"""The table of examples leaves nothing out: no primitive, dtype family, shape or mode."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import cases, check_linear_transpose, examples
from ricci_testing._examples import WITHOUT_EXAMPLES
from ricci_testing._law_derivatives import NOT_TRANSPOSED, is_always_linear
from ricci_testing._variants import (
    NOT_COMPUTED,
    WITHOUT_EMPTY,
    WITHOUT_SCALARS,
    accepted_families,
    families,
    is_empty,
    is_scalar,
)

NAMES = sorted(examples())


def test_every_primitive_has_examples():
    defined = {
        name for name, p in primitives.items() if p.abstract_eval.__module__.startswith("ricci_lax")
    }
    assert defined - set(examples()) == set(WITHOUT_EXAMPLES)


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_cover_every_dtype_family_that_is_accepted(name):
    accepted = set(accepted_families(primitives[name], examples()[name]))
    refused = {key for key in accepted if (name, key[1]) in NOT_COMPUTED}
    assert {key for case in cases(name) for key in families(case)} == accepted - refused


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_have_an_empty_array(name):
    assert any(map(is_empty, cases(name))) != (name in WITHOUT_EMPTY)


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_have_a_scalar(name):
    assert any(map(is_scalar, cases(name))) != (name in WITHOUT_SCALARS)


@pytest.mark.parametrize("table", [NOT_COMPUTED, WITHOUT_EMPTY, WITHOUT_SCALARS, WITHOUT_EXAMPLES])
def test_what_is_left_out_exists_and_has_a_reason(table):
    for key, reason in table.items():
        assert (key if isinstance(key, str) else key[0]) in primitives
        assert len(reason) > 10


@pytest.mark.parametrize("name", NAMES)
def test_what_is_linear_in_all_examples_has_a_transpose(name):
    with use_backend(reference_backend):
        found = [e for e in examples()[name] if e.differentiable()]
        if is_always_linear(primitives[name], found):
            reasons = [check_linear_transpose(primitives[name], e) for e in found]
            assert (None in reasons) != (name in NOT_TRANSPOSED), reasons


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
