"""The examples by the table of rules, and the errors for missing or invalid ones."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_ir import primitives, unsupported, use_backend
from ricci_lax.authoring import nary, nary_aval
from ricci_reference import reference_backend
from ricci_stablehlo import traced
from ricci_testing import ANY, POSITIVE, UNIT, cases, check_laws, example_rules, examples, samples

F32 = np.float32
FLOATS = (np.floating,)


@pytest.fixture(autouse=True)
def _reference():
    with use_backend(reference_backend):
        yield


@pytest.fixture
def block(request):
    """Define an elementwise primitive with examples during a test."""
    name = request.node.name

    def define(*args, examples=None, **rules):
        if examples is not None:
            example_rules[name] = examples
        return nary(name, *args, **rules)

    yield define
    primitives.pop(name, None)
    example_rules.pop(name, None)


def _types(primitive):
    return [tuple(f"{x.dtype}{list(x.shape)}" for x in e.args) for e in cases(primitive.name)]


def test_operands_are_of_all_dtypes_that_are_accepted(block):
    numbers = (np.floating, np.integer)
    triple = block(
        traced(lambda x: lax.add(x, lax.add(x, x))),
        numbers,
        lambda t, x: 3 * t,
        examples=samples(ANY),
    )
    found = {types[0].partition("[")[0] for types in _types(triple)}
    assert {"float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8"} <= found
    assert not {"complex64", "bool"} & found


def test_operands_lie_in_their_domains(block):
    p = block(traced(lax.mul), FLOATS, None, None, examples=samples(POSITIVE, UNIT))
    x, y = examples()[p.name][0].args
    assert (x > 0).all() and (abs(y) < 1).all() and (y < 0).any()


def test_each_dictionary_of_parameters_is_tried(block):
    power = block(
        lambda ctx, x, *, n: x,
        FLOATS,
        abstract_eval=lambda x, *, n: x,
        jvp=unsupported("not needed here"),
        examples=samples(ANY, params=({"n": 2}, {"n": 3})),
    )
    assert {e.params["n"] for e in examples()[power.name]} == {2, 3}


def test_a_function_can_return_operands_and_parameters(block):
    given = lambda: [((np.arange(3, dtype=F32),), {}), (([1.0, 2.0],), {})]
    p = block(traced(lax.sin), FLOATS, lambda t, x: lax.mul(t, lax.cos(x)), examples=given)
    assert _types(p)[:2] == [("float32[3]",), ("float64[2]",)]


def test_a_broken_law_names_itself_and_the_example(block):
    p = block(traced(lax.sin), FLOATS, lambda t, x: t, examples=samples(ANY))
    with pytest.raises(AssertionError) as caught:
        check_laws(p)
    assert "the law 'derivatives are those of finite differences'" in caught.value.__notes__[0]


def test_too_many_domains_are_explained(block):
    aval = nary_aval("one", FLOATS)
    one = lambda x: aval(x)
    p = block("stablehlo.sine", FLOATS, abstract_eval=one, examples=samples(ANY, ANY))
    with pytest.raises(ValueError, match=r"accepts no example of 2 operand\(s\)"):
        cases(p.name)


def test_missing_examples_are_explained(block):
    p = block("stablehlo.floor", FLOATS)
    with pytest.raises(KeyError, match=r"example_rules\[.*\] = samples\(...\)"):
        cases(p.name)
