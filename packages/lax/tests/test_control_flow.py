"""Control flow: tracing, caching, hoisting and packing; and errors."""

import gc
import weakref
from functools import reduce

import numpy as np
import pytest

from ricci_autodiff import grad, linear_transpose
from ricci_batching import vmap
from ricci_ir import (
    check_jaxpr,
    disable_jit,
    get_aval,
    make_jaxpr,
    staged_call,
    subjaxprs,
    trace_to_jaxpr,
)
from ricci_lax import (
    add,
    cond,
    convert_element_type,
    cos,
    dynamic_slice,
    dynamic_update_slice,
    fori_loop,
    full,
    gt,
    lt,
    map,
    mul,
    platform_dependent,
    reduce_sum,
    scan,
    sin,
    switch,
    tanh,
    while_loop,
)
from ricci_stablehlo import lower_jaxpr

X = np.array([0.5, -1.2, 2.0], np.float32)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7


F = np.float32


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def equation(jaxpr, name, position=0):
    return [eqn for eqn in jaxpr.eqns if eqn.primitive.name == name][position]


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def rows(step):
    return lambda x: scan(step, x, ROWS)


# Jaxprs and constants in equations


def test_branches_share_their_constants():
    fun = lambda p, x, y: cond(p, lambda x: mul(x, y), lambda x: sin(x), x)
    jaxpr = make_jaxpr(fun)(True, X, X)
    eqn = equation(jaxpr, "cond")
    assert [len(b.invars) for b in eqn.params["branches"]] == [2, 2]
    assert [len(b.consts) for b in eqn.params["branches"]] == [0, 0]
    check_jaxpr(jaxpr)


def test_an_unchanged_carry_is_closed_over():
    jaxpr = make_jaxpr(rows(lambda c, a: (c, mul(a, c))))(X)
    eqn = equation(jaxpr, "scan")
    assert (eqn.params["num_consts"], eqn.params["num_carry"]) == (1, 0)
    assert jaxpr.outvars[0] is jaxpr.invars[0]


def test_scan_does_not_stack_unchanged_inputs():
    jaxpr = make_jaxpr(lambda x, rows: scan(lambda c, a: (add(c, a), (a, c)), x, rows))(X, ROWS)
    assert len(equation(jaxpr, "scan").params["jaxpr"].outvars) == 2
    assert jaxpr.outvars[1] is jaxpr.invars[1]


def test_known_bounds_make_a_scan_and_others_a_while():
    loop = lambda n: fori_loop(0, n, lambda i, c: mul(c, np.float32(2)), np.float32(1))
    assert names(make_jaxpr(lambda: loop(3))()) == ["scan"]
    assert names(make_jaxpr(loop)(3)) == ["while"]


def test_the_body_of_a_function_is_traced_once():
    traced = []

    def step(c, a):
        traced.append(1)
        return add(c, a), None

    for _ in range(3):
        make_jaxpr(lambda x: scan(step, x, ROWS))(X)
    assert len(traced) == 1


def test_cached_traces_are_freed_with_their_function():
    def trace_one():
        def step(c, a):
            return add(c, a), None

        make_jaxpr(lambda x: scan(step, x, ROWS))(X)
        return weakref.ref(step)

    gone = trace_one()
    gc.collect()
    assert gone() is None


# Differentiating


def test_scan_saves_only_the_residuals_of_the_backward_pass():
    fun = rows(lambda c, a: (add(mul(c, 2.0), a), sin(add(c, a))))
    jaxpr = make_jaxpr(grad(lambda x: total(fun(x)[1])))(X)
    body = equation(jaxpr, "scan").params["jaxpr"]
    # The carry, the collected rows, and the cosine.
    assert len(body.outvars) == 3
    assert body.eqns[-1].primitive.name == "cos"


def test_scanned_residuals_are_not_stacked_again():
    jaxpr = make_jaxpr(grad(lambda x: total(rows(lambda c, a: (mul(c, a), None))(x)[0])))(X)
    assert len(equation(jaxpr, "scan").params["jaxpr"].outvars) == 1


def called(fun):
    """Apply a function as a staged call."""

    def call(*args):
        jaxpr = trace_to_jaxpr(lambda *xs: fun(*xs), [get_aval(x) for x in args])
        return staged_call.bind(jaxpr, "called", args)

    return call


def _scaled(x, w):
    return [mul(x, sin(w))]


def _scaled_twice(call):
    return lambda x, w: [tanh(call(_scaled)(x, w)[0])]


def _scale_and_value(x, w):
    return [mul(x, cos(w)), sin(w)]


# Functions of the carry and a constant, some of whose residuals are functions of the constant.
FUNCTIONS_WITH_INVARIANTS = {
    "a call": lambda call: lambda x, w: call(_scaled)(x, w)[0],
    "a nested call": lambda call: lambda x, w: call(_scaled_twice(call))(x, w)[0],
    "two results": lambda call: lambda x, w: mul(*call(_scale_and_value)(x, w)),
}


def _derivative_of_loop(name, call):
    fun = FUNCTIONS_WITH_INVARIANTS[name](call)
    return grad(lambda x: total(scan(lambda c, a: (mul(fun(c, X), a), None), x, ROWS)[0]))


@pytest.mark.parametrize("name", FUNCTIONS_WITH_INVARIANTS)
def test_scan_does_not_stack_loop_invariant_residuals_of_calls(name):
    counts = []
    for call in (lambda fun: fun, called):
        jaxpr = make_jaxpr(_derivative_of_loop(name, call))(X)
        check_jaxpr(jaxpr)
        counts.append(len(equation(jaxpr, "scan").params["jaxpr"].outvars))
    assert counts[0] == counts[1]


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", FUNCTIONS_WITH_INVARIANTS)
def test_derivatives_of_calls_with_loop_invariant_residuals(name):
    expected, result = (_derivative_of_loop(name, call)(X) for call in (lambda fun: fun, called))
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_loop_invariant_residuals_are_computed_once():
    def fun(w, x):
        return total(scan(lambda c, a: (mul(c, sin(w)), None), x, ROWS)[0])

    jaxpr = make_jaxpr(grad(fun, (0, 1)))(X, X)
    forward, backward = (equation(jaxpr, "scan", i) for i in range(2))
    shapes = [v.aval.shape for v in forward.outvars]
    # The carry is kept for the product; sin(w) and cos(w) come from outside the loop.
    assert shapes == [(3,), (4, 3)]
    assert backward.params["num_consts"] == 2
    assert [v.aval.shape for v in backward.invars[:2]] == [(3,), (3,)]


def test_an_integer_carry_has_no_tangent():
    step = lambda c, a: ((add(c[0], 1), mul(c[1], a)), None)
    jaxpr = make_jaxpr(grad(lambda x: total(scan(step, (0, x), ROWS)[0][1])))(X)
    assert equation(jaxpr, "scan", 1).params["num_carry"] == 1


def test_branches_share_residual_slots():
    fun = lambda p, x: total(cond(p, sin, lambda x: mul(tanh(x), 2.0), x))
    jaxpr = make_jaxpr(grad(fun, 1))(True, X)
    assert len(equation(jaxpr, "cond").outvars) == 2
    check_jaxpr(jaxpr)


def test_residuals_in_another_order_match_their_slots():
    inner = lambda x: cond(gt(total(x), F(0)), lambda x: (sin(x), tanh(x)), lambda x: (x, x), x)
    outer = lambda x: cond(gt(total(x), F(1)), inner, lambda x: (x, tanh(x)), x)
    for result in range(2):
        jaxpr = make_jaxpr(grad(lambda x, i=result: total(outer(x)[i])))(X)
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "cond":
                first, second = eqn.params["branches"]
                assert first.out_avals == second.out_avals == [v.aval for v in eqn.outvars]


def test_a_loop_with_a_nonlinear_part_is_transposed():
    loop = lambda x: fori_loop(0, 3, lambda i, c: mul(c, convert_element_type(i, np.float32)), x)
    jaxpr = make_jaxpr(lambda ct: linear_transpose(loop, X)(ct))(X)
    assert names(jaxpr) == ["scan", "scan"]
    check_jaxpr(jaxpr)


def test_split_transpose_sums_constants_in_a_second_loop():
    fun = lambda w, x: total(
        scan(lambda c, a: (mul(sin(c), w), mul(a, w)), x, ROWS, _split_transpose=True)[0]
    )
    jaxpr = make_jaxpr(grad(fun, (0, 1)))(X, X)
    check_jaxpr(jaxpr)
    _, first, rest = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan")
    assert [first.params["num_carry"], rest.params["num_carry"]] == [1, 1]
    assert "add_any" not in names(first.params["jaxpr"])


# Batching


def test_a_shared_predicate_keeps_a_branch():
    fun = lambda p, x: cond(p, sin, cos, x)
    assert "cond" in names(make_jaxpr(vmap(fun, (None, 0)))(True, ROWS))
    assert "cond" not in names(make_jaxpr(vmap(fun, (0, None)))(np.array([True, False]), X))


def test_a_batched_condition_ends_each_example_separately():
    loop = lambda x: while_loop(lambda c: gt(total(c), np.float32(1)), lambda c: mul(c, 0.5), x)
    jaxpr = make_jaxpr(vmap(loop))(ROWS)
    (shape,) = [v.aval.shape for v in equation(jaxpr, "while").params["cond_jaxpr"].outvars]
    assert shape == (4,)
    assert "stablehlo.select" in lower_jaxpr(jaxpr, "f")


# Lowering


@pytest.mark.parametrize(
    ("unroll", "loops", "copies"), [(1, 1, 1), (3, 1, 4), (4, 0, 4), (True, 0, 4), (0, 1, 1)]
)
def test_unrolling(unroll, loops, copies):
    step = lambda c, a: (tanh(add(c, a)), None)
    text = lower_jaxpr(make_jaxpr(lambda x: scan(step, x, ROWS, unroll=unroll))(X), "f")
    assert text.count("stablehlo.while") == loops
    assert text.count("stablehlo.tanh") == copies


def test_scalars_are_packed():
    def fun(x):
        carry = [mul(x, np.float32(i)) for i in range(20)]
        step = lambda cs, a: ([mul(sin(c), a) for c in cs], None)
        last, _ = scan(step, carry, np.ones(5, np.float32))
        return reduce(add, last)

    for program in (make_jaxpr(fun)(np.float32(1)), make_jaxpr(grad(fun))(np.float32(1))):
        text = lower_jaxpr(program, "f")
        assert text.count("stablehlo.sine") == 1
        assert text.count("stablehlo.dynamic_slice") <= 6


def test_scalars_with_different_uses_are_not_packed():
    functions = [sin, cos, tanh]

    def fun(x):
        step = lambda cs, a: (
            [functions[i % 3](mul(cs[i], cs[(5 * i + 1) % 9])) for i in range(9)],
            None,
        )
        return scan(step, [x] * 9, np.ones(5, np.float32))[0]

    text = lower_jaxpr(make_jaxpr(fun)(np.float32(1)), "f")
    assert text.count("stablehlo.sine") <= 3


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("joined", [False, True])
def test_a_body_is_packed_at_most_once(joined, length):
    """Scalars that index arrays stay by themselves, so that there are as many after packing."""

    def fun(x, *positions):
        def step(cs, indices):
            x, *scalars = cs
            for i in indices:
                x = dynamic_update_slice(
                    x, mul(dynamic_slice(x, (i,), (1,)), dynamic_slice(x, (0,), (1,))), (i,)
                )
            return [x, *(sin(s) if joined else s for s in scalars)], None

        return scan(step, [x, *[F(1)] * 9], positions)[0]

    program = make_jaxpr(fun)(X, *[np.zeros(length, np.int32)] * 9)
    assert lower_jaxpr(program, "f").count("stablehlo.while") == (length > 1)


# Without jit


def test_loops_run_in_python_with_jit_disabled(backend):
    seen = []
    with disable_jit():
        last, ys = scan(lambda c, a: (seen.append(float(c)), (add(c, a), c))[1], 0.0, ROWS[:, 0])
        assert int(while_loop(lambda c: lt(c, F(3)), lambda c: add(c, F(1)), F(0))) == 3
        assert int(fori_loop(0, 3, lambda i, c: add(c, i), np.int32(0))) == 3
        assert cond(True, lambda: 1, lambda: 1 / 0) == 1
    assert seen == [0.0, *np.cumsum(ROWS[:, 0])[:3].tolist()]
    assert np.asarray(ys).tolist() == pytest.approx(seen)


# Errors

ERRORS = [
    # scan
    (lambda: scan(1, X, ROWS), TypeError, "scan: f must be a function"),
    (lambda: scan(lambda c, a: c, X, ROWS), TypeError, "must return a pair"),
    (lambda: scan(lambda c, a: {"a": c, "b": a}, X, ROWS), TypeError, "must return a pair"),
    (lambda: scan(lambda c, a: ((c, c), a), X, ROWS), TypeError, "carry of the pytree structure"),
    (
        lambda: scan(
            lambda c, a: ({"h": a, "n": c["n"]}, a), {"h": full((2,), 0.0), "n": F(0)}, ROWS
        ),
        TypeError,
        r"c\['h'\] is given as float32\[2\] and returned as float32\[3\]: another shape",
    ),
    (
        lambda: scan(lambda c, a: (convert_element_type(c, np.int32), a), F(0), ROWS),
        TypeError,
        r"given as float32\[\] and returned as int32\[\](?s:.*)astype\('float32'\)",
    ),
    (
        lambda: scan(lambda c, a: (c, c), X, (ROWS, ROWS[:2])),
        ValueError,
        r"a\[0\] has 4, a\[1\] has 2",
    ),
    (lambda: scan(lambda c, a: (c, c), X, None), ValueError, "Pass length="),
    (lambda: scan(lambda c, a: (c, c), X, ROWS, length=3), ValueError, "length=3, but"),
    (lambda: scan(lambda c, a: (c, c), X, F(1)), IndexError, "no leading axis"),
    (lambda: scan(lambda c, a: (c, c), X, ROWS, unroll=-1), ValueError, "unroll must be"),
    (lambda: scan(lambda c, a: (c, c), "s", ROWS), TypeError, "scan: c is 's', of type str"),
    (lambda: scan(lambda c, a: (c, "s"), X, ROWS), TypeError, r"at output\[1\], which is not"),
    # while_loop
    (lambda: while_loop(1, 2, X), TypeError, "must be functions"),
    (
        lambda: while_loop(lambda c: True, lambda c: (c, c), X),
        TypeError,
        "carry of the pytree structure",
    ),
    (
        lambda: while_loop(lambda c: gt(c, c), lambda c: c, X),
        TypeError,
        r"boolean scalar.*bool\[3\]",
    ),
    (lambda: while_loop(lambda c: 1.0, lambda c: c, X), TypeError, r"boolean scalar.*float32\[\]"),
    (lambda: while_loop(lambda c: (True, True), lambda c: c, X), TypeError, "boolean scalar"),
    (
        lambda: grad(lambda x: while_loop(lambda c: lt(c, F(3)), lambda c: mul(c, x), F(1)))(F(2)),
        ValueError,
        "reverse mode(?s:.*)scan, or fori_loop",
    ),
    # fori_loop
    (lambda: fori_loop(0.5, 3, lambda i, c: c, X), TypeError, "must have one dtype"),
    (lambda: fori_loop(0, ROWS, lambda i, c: c, X), TypeError, "upper must be a real scalar"),
    (lambda: fori_loop("a", 3, lambda i, c: c, X), TypeError, "lower must be a real scalar"),
    (lambda: fori_loop(np.int8(0), np.int16(3), lambda i, c: c, X), TypeError, "int8 and int16"),
    (lambda: fori_loop(0, 3, 1, X), TypeError, "body_fun must be a function"),
    (lambda: fori_loop(0, 3, lambda i, c: (c, c), X), TypeError, "carry of the pytree structure"),
    (
        lambda: make_jaxpr(lambda n: fori_loop(0, n, lambda i, c: c, X, unroll=2))(3),
        ValueError,
        "unroll needs bounds",
    ),
    # cond and switch
    (lambda: cond(True, 1, sin, X), TypeError, "must be functions"),
    (lambda: cond(X, sin, cos, X), TypeError, r"predicate must be a scalar, got float32\[3\]"),
    (lambda: cond("a", sin, cos, X), TypeError, "predicate must be a scalar"),
    (lambda: cond(True, sin, cos, "s"), TypeError, "is 's', of type str"),
    (lambda: cond(True, lambda x: x, lambda x: (x, x), X), TypeError, "same structure"),
    (
        lambda: cond(True, lambda x: {"a": x}, lambda x: {"a": F(1)}, X),
        TypeError,
        r"output\['a'\] of true_fun.*float32\[3\].*false_fun.*float32\[\]",
    ),
    (lambda: cond(True, sin, lambda x: gt(x, x), X), TypeError, "another dtype"),
    (lambda: cond(True, sin, cos, X, operand=X), TypeError, "not both"),
    (lambda: switch(0, [], X), ValueError, "branches is empty"),
    (lambda: switch(0, [1, 2], X), TypeError, "must be functions"),
    (lambda: switch(0.5, [sin, cos], X), TypeError, "index must be an integer"),
    (lambda: switch(np.arange(3), [sin, cos], X), TypeError, "index must be a scalar"),
    (lambda: switch(0, [sin, lambda x: (x, x)], X), TypeError, r"branches\[1\]"),
    # map and platforms
    (lambda: map(sin, ()), ValueError, "holds no arrays"),
    (lambda: map(sin, F(1)), ValueError, "no leading axis"),
    (lambda: map(1, X), TypeError, "must be a function"),
    (lambda: platform_dependent(X, gpu=sin), ValueError, "'gpu' is not a platform"),
    (lambda: platform_dependent(X, cpu=1), TypeError, "must be a function"),
    (lambda: platform_dependent(X), NotImplementedError, "no function is given"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text) as info:
        make_jaxpr(call)()
    assert len(str(info.value).splitlines()) <= 12
    assert names(make_jaxpr(lambda x: sin(x))(X)) == ["sin"]


def test_a_platform_without_a_function():
    jaxpr = make_jaxpr(lambda x: platform_dependent(x, tpu=sin))(X)
    assert "stablehlo.sine" in lower_jaxpr(jaxpr, "f", platform="tpu")
    with pytest.raises(NotImplementedError, match="runs on cpu"):
        lower_jaxpr(jaxpr, "f", platform="cpu")


def test_only_the_platforms_own_branch_is_lowered():
    jaxpr = make_jaxpr(lambda x: platform_dependent(x, tpu=sin, default=cos))(X)
    for platform, kept, left in (("tpu", "sine", "cosine"), ("cuda", "cosine", "sine")):
        text = lower_jaxpr(jaxpr, "f", platform=platform)
        assert f"stablehlo.{kept}" in text
        assert f"stablehlo.{left}" not in text


def test_inner_jaxprs_are_well_formed():
    fun = lambda x: total(
        scan(lambda c, a: (cond(gt(total(c), F(0)), sin, tanh, c), c), x, ROWS)[1]
    )
    jaxpr = make_jaxpr(vmap(grad(fun)))(ROWS)
    check_jaxpr(jaxpr)
    assert len(list(subjaxprs(jaxpr))) == 2


@pytest.mark.parametrize("unroll", [None, False, True, 1])
def test_a_loop_of_traced_length_takes_an_unrolling_of_one(unroll):
    program = make_jaxpr(lambda n: fori_loop(0, n, lambda i, c: c, X, unroll=unroll))(3)
    assert "while" in [eqn.primitive.name for eqn in program.eqns]
