"""``jax.interpreters.partial_eval``: programs split, pruned and freed of dead code."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.extend.core.primitives import jit_p, scan_p
from jax.interpreters import partial_eval as pe

TWO = jax.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y) * x))(1.0, 2.0)
SIN, PRODUCT = np.sin(1.0), np.cos(2.0)

# For each choice of unknown arguments and of results that count as unknown: which do, and how many
# residuals there are, as in JAX.
SPLITS = {
    "the second argument": ([False, True], False, [False, True], 1),
    "all results": ([False, True], True, [True, True], 2),
    "one result": ([False, True], [False, True], [False, True], 1),
    "a result of known arguments": ([False, False], [True, False], [True, False], 1),
    "everything": ([True, True], False, [True, True], 0),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("case", SPLITS)
def test_a_jaxpr_is_split_by_known_arguments(case, x64):
    unknowns, instantiate, out_unknowns, residuals = SPLITS[case]
    with jax.enable_x64(x64):
        known, unknown, found, types = pe.partial_eval_jaxpr_nounits(TWO, unknowns, instantiate)
        assert (found, len(types)) == (out_unknowns, residuals)
        given = [x for x, u in zip((1.0, 2.0), unknowns, strict=True) if not u]
        late = [x for x, u in zip((1.0, 2.0), unknowns, strict=True) if u]
        first = jaxpr_as_fun(known)(*given)
        count = len(first) - residuals
        rest = iter(jaxpr_as_fun(unknown)(*first[count:], *late))
        early = iter(first[:count])
        results = [next(rest) if u else next(early) for u in found]
    np.testing.assert_allclose(results, [SIN, PRODUCT], rtol=1e-6)


def test_arguments_in_another_order():
    moved = pe.move_binders_to_back(TWO, [True, False])
    np.testing.assert_allclose(jaxpr_as_fun(moved)(2.0, 1.0), [SIN, PRODUCT], rtol=1e-6)


def test_results_that_are_left_out():
    pruned = pe.prune_closed_jaxpr_outputs(TWO, [False, True])
    assert (len(pruned.eqns), len(pruned.outvars)) == (3, 1)
    smaller, consts, used = pe.dce_jaxpr_consts(TWO, [True, False])
    assert ([e.primitive.name for e in smaller.eqns], consts, used) == (["sin"], [], [True, False])


def test_remaining_constants():
    three, four = np.arange(3.0), np.arange(4.0)
    jaxpr = jax.make_jaxpr(lambda x, y: (x + three, y * four))(1.0, 2.0)
    assert pe.dce_jaxpr_consts(jaxpr, [True, False])[1:] == ([True, False], [True, False])


def test_programs_that_are_closed_and_of_plain_types_already():
    assert pe.close_jaxpr(TWO) is TWO
    assert pe.lower_jaxpr2(TWO) is TWO


def test_types_of_results():
    vector = ShapedArray((3,), np.float32)
    assert pe.abstract_eval_fun(lambda x, *, k: [x * k], vector, k=2.0) == [vector]


def equation(fun, *args):
    (eqn,) = jax.make_jaxpr(fun)(*args).eqns
    return eqn


INNER = jax.jit(lambda x, y: (x + 1, y * 2))


def test_the_rules_of_ricci_in_the_form_of_a_library():
    eqn = equation(INNER, 1.0, 2.0)
    used, smaller = pe.dce_rules[jit_p]([True, False], eqn)
    assert (used, len(smaller.invars)) == ([True, False], 1)
    assert [e.primitive.name for e in smaller.params["jaxpr"].eqns] == ["add"]
    assert pe.dce_rules[jit_p]([False, False], eqn) == ([False, False], None)
    same = equation(lambda x: INNER(x, x), 1.0)
    assert pe.dce_rules[jit_p]([True, True], same)[0] == [True, True]
    assert scan_p in pe.dce_rules
    with pytest.raises(KeyError):
        pe.dce_rules[Primitive("unknown")]


def make_sines(seen):
    """Any number of sines; its rule notes which of them are needed."""
    sines = Primitive("sines")
    sines.multiple_results = True
    sines.def_impl(lambda *xs: [jnp.sin(x) for x in xs])
    sines.def_abstract_eval(lambda *xs: list(xs))

    def rule(used, eqn):
        seen.append(used)
        left = lambda atoms: [a for a, u in zip(atoms, used, strict=True) if u]
        return used, eqn.replace(invars=left(eqn.invars), outvars=left(eqn.outvars))

    pe.dce_rules[sines] = rule
    assert pe.dce_rules[sines] is rule
    return sines


def test_a_rule_of_a_library_removes_dead_code():
    seen: list[list[bool]] = []
    sines = make_sines(seen)
    trace = lambda: jax.make_jaxpr(lambda x, y: sines.bind(x, y)[1])(1.0, 2.0)
    smaller, used = pe.dce_jaxpr(trace(), [True])
    assert (seen, used, len(smaller.eqns[0].invars)) == ([[False, True]], [False, True], 1)
    del pe.dce_rules[sines]
    assert len(pe.dce_jaxpr(trace(), [True])[0].eqns[0].invars) == 2


def test_a_rule_that_leaves_nothing():
    sines = make_sines([])
    pe.dce_rules[sines] = lambda used, eqn: ([False] * len(eqn.invars), None)
    jaxpr = jax.make_jaxpr(lambda x: (x, sines.bind(x)[0]))(1.0)
    assert pe.dce_jaxpr(jaxpr, [True, False])[0].eqns == []


def test_the_rule_of_a_primitive_that_calls_a_program():
    call = Primitive("call")
    call.multiple_results = True
    call.def_abstract_eval(lambda *xs, call_jaxpr: list(call_jaxpr.out_avals))
    eqn = equation(lambda x, y: call.bind(x, y, call_jaxpr=TWO), 1.0, 2.0)
    for rule in (pe.dce_jaxpr_call_rule, pe.dce_jaxpr_closed_call_rule):
        used, smaller = rule([True, False], eqn)
        assert (used, len(smaller.outvars)) == ([True, False], 1)
        assert len(smaller.params["call_jaxpr"].eqns) == 1
        assert rule([False, False], eqn) == ([False, False], None)
        with pytest.raises(KeyError):
            rule([True, False], equation(INNER, 1.0, 2.0))


def test_rules_for_splitting_can_be_registered_and_read():
    primitive, rule = Primitive("split"), lambda *args: None
    for table in (pe.custom_partial_eval_rules, pe.partial_eval_jaxpr_custom_rules):
        table[primitive] = rule
        assert table[primitive] is rule
