"""``checkify``: errors as values, their combination, and their places in the user's code."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import grad, value_and_grad
from ricci_batching import vmap
from ricci_ir import check_jaxpr, make_jaxpr, subjaxprs
from ricci_lax import (
    add,
    cond,
    custom_jvp,
    custom_vjp,
    div,
    dynamic_index_in_dim,
    dynamic_slice,
    fori_loop,
    gt,
    log,
    lt,
    mul,
    reduce_sum,
    scan,
    switch,
    while_loop,
)
from ricci_lax import checkpoint as remat
from ricci_lax.checkify import (
    BatchedError,
    DivisionByZeroError,
    Error,
    FailedCheckError,
    JaxRuntimeError,
    NaNError,
    OOBError,
    all_checks,
    automatic_checks,
    check,
    check_error,
    checkify,
    debug_check,
    div_checks,
    float_checks,
    index_checks,
    init_error,
    nan_checks,
    user_checks,
)
from ricci_lax.custom._jvp import custom_jvp_call_p
from ricci_pytree import tree_leaves, tree_map, tree_structure
from ricci_stablehlo import lower_jaxpr

f32 = np.float32


def vector(*values):
    return np.array(values, f32)


def positive(x):
    check(gt(x, f32(0)), "{} is not positive", x)
    return mul(x, x)


def message(fun, *args, errors=all_checks):
    return checkify(fun, errors=errors)(*args)[0].get()


# The sets of checks


def test_sets_of_checks_hold_classes():
    assert user_checks == {FailedCheckError}
    assert float_checks == nan_checks | div_checks == {NaNError, DivisionByZeroError}
    assert automatic_checks == float_checks | index_checks
    assert all_checks == automatic_checks | user_checks
    assert index_checks == {OOBError}


# Places of errors

NESTED = {
    "plain": positive,
    "checkpoint": remat(positive),
    "cond": lambda x: cond(lt(x, f32(0)), positive, lambda x: x, x),
    "switch": lambda x: switch(1, [lambda x: x, positive, log], x),
    "scan": lambda x: scan(lambda c, _: (c, positive(x)), f32(1), None, 2),
    "carry": lambda x: scan(lambda c, _: (add(positive(c), f32(5)), None), x, None, 2),
    "fori": lambda x: fori_loop(0, 2, lambda i, c: positive(c), x),
    "while body": lambda x: while_loop(lambda c: lt(c, f32(0)), positive, x),
    "loop in loop": lambda x: fori_loop(
        0, 2, lambda i, c: while_loop(lambda d: lt(d, f32(0)), positive, c), x
    ),
    "checkify": lambda x: check_error(checkify(positive)(x)[0]),
    "throw": lambda x: checkify(positive)(x)[0].throw(),
    "grad": grad(positive),
    "grad of checkpoint": grad(remat(positive)),
    "vmap": lambda x: vmap(lambda y: positive(mul(x, y)))(vector(1, 1)),
}


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("fun", NESTED.values(), ids=NESTED)
def test_checks_are_found_in_every_kind_of_program(fun):
    assert message(fun, f32(-1)) == "-1.0 is not positive (`check` failed)"


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("fun", NESTED.values(), ids=NESTED)
def test_checks_report_no_error_in_valid_functions(fun):
    assert message(fun, f32(1)) is None


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("fun", NESTED.values(), ids=NESTED)
def test_disabled_checks_are_left_out(fun):
    assert message(fun, f32(-1), errors=automatic_checks) is None


@pytest.mark.parametrize("fun", NESTED.values(), ids=NESTED)
def test_checked_programs_check_and_can_be_lowered(fun):
    jaxpr = make_jaxpr(checkify(fun, errors=all_checks))(f32(1))
    check_jaxpr(jaxpr)
    assert "stablehlo" in lower_jaxpr(jaxpr, "f")


def bound(x):
    check(lt(x, f32(3)), "{} in the condition", x)
    return lt(x, f32(5))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(("start", "found"), [(0, 3), (3, 3), (9, 9)])
def test_a_condition_is_checked_each_time_it_is_computed(start, found):
    fun = lambda x: while_loop(bound, lambda x: add(x, f32(1)), x)
    assert message(fun, f32(start)) == f"{found}.0 in the condition (`check` failed)"


AUTOMATIC = [
    (log, (f32(-1),), NaNError, nan_checks),
    (div, (f32(1), f32(0)), DivisionByZeroError, div_checks),
    (div, (f32(0), f32(0)), NaNError, nan_checks),
    (lambda x, i: dynamic_slice(x, (i,), (2,)), (vector(1, 2, 3), 2), OOBError, index_checks),
]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(("fun", "args", "error", "errors"), AUTOMATIC)
def test_each_automatic_check_is_made_only_if_asked_for(fun, args, error, errors):
    assert type(checkify(fun, errors=errors)(*args)[0].get_exception()) is error
    assert message(fun, *args, errors=all_checks - {error} - float_checks) is None


@pytest.mark.usefixtures("backend")
def test_the_first_error_in_program_order_is_reported():
    both = lambda x, y: (log(x), div(f32(1), y))
    assert "log" in message(both, f32(-1), f32(0))
    assert "division" in message(lambda x, y: both(x, y)[::-1], f32(1), f32(0))
    swapped = lambda x, y: (div(f32(1), y), log(x))
    assert "division" in message(swapped, f32(-1), f32(0))


@pytest.mark.usefixtures("backend")
def test_execution_continues_after_an_error():
    error, out = checkify(positive)(f32(-3))
    assert error.get() is not None
    assert float(out) == 9


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("i", [1, 5, 6])
def test_an_index_is_checked_in_a_call_each_time_it_runs(i):
    found = message(lambda x, i: dynamic_index_in_dim(x, i), vector(1, 2, 3), i)
    assert (found is None) == (i < 3)
    assert i < 3 or f"index {i} is out of bounds for axis 0 with size 3" in found


@pytest.mark.usefixtures("backend")
def test_an_index_out_of_bounds_is_described_as_numpy_does():
    with pytest.raises(IndexError) as of_numpy:
        np.arange(3)[7]
    found = message(lambda x, i: dynamic_index_in_dim(x, i), vector(1, 2, 3), 7)
    assert found is not None and f"of shape (3,): {of_numpy.value}" in found


def test_programs_inside_of_a_checked_one_hold_no_constants():
    fun = lambda x: dynamic_index_in_dim(x, 1)
    jaxpr = make_jaxpr(checkify(fun, errors=all_checks))(vector(1, 2, 3))
    inner = list(subjaxprs(jaxpr))
    assert inner
    assert not any(program.consts for program in inner)


# Where it is


@pytest.mark.usefixtures("backend")
def test_an_error_names_the_line_of_the_users_code():
    def fun(x):
        y = add(x, f32(1))
        return log(y)

    line = fun.__code__.co_firstlineno + 2
    (note,) = checkify(fun, errors=nan_checks)(f32(-3))[0].get_exception().__notes__
    assert f"test_checkify.py:{line}:" in note


@pytest.mark.usefixtures("backend")
def test_throw_chains_the_error_as_its_cause():
    error, _ = checkify(positive)(f32(-1))
    with pytest.raises(JaxRuntimeError, match="not positive") as raised:
        error.throw()
    assert isinstance(raised.value.__cause__, FailedCheckError)


# Errors as values


@pytest.mark.usefixtures("backend")
def test_an_error_is_a_pytree_of_arrays():
    error, _ = checkify(positive)(f32(-1))
    assert all(isinstance(np.asarray(x), np.ndarray) for x in tree_leaves(error))
    assert tree_map(lambda x: x, error).get() == error.get()


@pytest.mark.usefixtures("backend")
def test_two_calls_give_errors_of_the_same_structure():
    checked = checkify(positive)
    one, other = (tree_structure(checked(f32(x))[0]) for x in (-1, 1))
    assert one == other
    assert hash(one) == hash(other)


def test_init_error_has_no_error_and_no_leaves():
    assert init_error.get() is None
    assert init_error.throw() is None
    assert tree_leaves(init_error) == []
    assert isinstance(init_error, Error)


@pytest.mark.usefixtures("backend")
def test_a_batch_of_errors_names_each_example():
    error, _ = vmap(checkify(positive))(vector(1, -1, -2))
    assert isinstance(error.get_exception(), BatchedError)
    assert error.get().splitlines() == [
        "at mapped index 1: -1.0 is not positive (`check` failed)",
        "at mapped index 2: -2.0 is not positive (`check` failed)",
    ]


# Custom rules


@custom_jvp
def own_jvp(x):
    return log(x)


own_jvp.defjvps(lambda t, out, x: mul(t, f32(7)))


@custom_vjp
def own_vjp(x):
    return log(x)


own_vjp.defvjp(lambda x: (log(x), x), lambda x, ct: (mul(ct, f32(7)),))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("fun", [own_jvp, own_vjp])
def test_custom_rules_stay_and_errors_are_those_of_the_function(fun):
    checked = checkify(fun, errors=all_checks)
    (_, error), slope = value_and_grad(lambda x: checked(x)[::-1], has_aux=True)(f32(-1))
    assert float(slope) == 7
    assert error.get() == "nan generated by primitive: log."
    slopes = grad(lambda x: reduce_sum(vmap(checked)(x)[1], (0,)))(vector(1, -1))
    assert slopes.tolist() == [7, 7]


def test_a_custom_function_is_still_one_in_the_checked_program():
    jaxpr = make_jaxpr(checkify(own_jvp, errors=all_checks))(f32(1))
    assert custom_jvp_call_p in {eqn.primitive for eqn in jaxpr.eqns}


# Checks outside of checkify


@pytest.mark.usefixtures("backend")
def test_a_check_of_concrete_values_raises_at_once():
    assert float(positive(f32(2))) == 4
    with pytest.raises(JaxRuntimeError, match="-2.0 is not positive"):
        positive(f32(-2))


def test_a_program_with_checks_cannot_be_lowered():
    with pytest.raises(ValueError, match="checkify.checkify"):
        lower_jaxpr(make_jaxpr(positive)(f32(1)), "f")


def test_debug_checks_are_left_out_of_programs():
    jaxpr = make_jaxpr(lambda x: debug_check(gt(x, f32(0)), "{}", x))(f32(1))
    assert str(jaxpr).count("check[debug=True]") == 1
    assert "custom_call" not in lower_jaxpr(jaxpr, "f")


# Bad usage

BAD: list[Any] = [
    (lambda: check(3, "a"), TypeError, "boolean scalar, got int32"),
    (lambda: check("a", "a"), TypeError, "boolean scalar, got 'a' of type str"),
    (lambda: check(np.zeros(2, bool), "a"), TypeError, r"got bool\[2\]"),
    (lambda: debug_check(1.0, "a"), TypeError, "debug_check: pred"),
    (lambda: check(True, 3), TypeError, "msg must be a format string, got int"),
    (lambda: check(True, "{}", 3), TypeError, r"args\[0\] is 3, of type int"),
    (lambda: check(True, "{x}", x=[1.0]), TypeError, r"kwargs\['x'\]\[0\] is 1.0"),
    (lambda: check_error(3), TypeError, "must be an Error.*got int"),
    (lambda: checkify(3), TypeError, "f must be a function, got 3"),
    (lambda: checkify(log, errors=NaNError), TypeError, "errors must be a set of classes"),
    (lambda: checkify(lambda: "a")(), TypeError, "not an array"),
    (
        lambda: checkify(vmap(lambda x: while_loop(lambda c: lt(c, f32(0)), positive, x)))(
            vector(1, 2)
        ),
        ValueError,
        r"vmap\(checkify\(f\)\)",
    ),
]


@pytest.mark.parametrize(("use", "error", "match"), BAD)
def test_bad_usage_is_explained(use, error, match):
    with pytest.raises(error, match=match) as raised:
        use()
    assert len(str(raised.value).splitlines()) <= 12


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(("msg", "error"), [("{} {}", IndexError), ("{x}", KeyError)])
def test_a_message_with_a_missing_value_names_the_available_ones(msg, error):
    failed, _ = checkify(lambda x: check(gt(x, f32(0)), msg, x))(f32(-1))
    with pytest.raises(error, match="given: 0"):
        failed.get()
