"""``custom_vmap`` and ``sequential_vmap``: the rule, its derivatives, and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, linear_transpose, linearize, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, get_aval, make_jaxpr, trace_to_jaxpr
from ricci_lax import (
    add,
    broadcast_in_dim,
    custom_vmap,
    custom_vmap_p,
    full_like,
    gt,
    hessian,
    index_in_dim,
    jacrev,
    mul,
    reduce_sum,
    scan_p,
    select,
    sequential_vmap,
    sin,
    slice_in_dim,
)
from ricci_lax.staged_calls._staged_call import jit_p


def f32(values):
    return np.array(values, np.float32)


X = f32([1.0, 2.0])
Y = f32([3.0, 5.0])
M = f32([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])


def of(*shape):
    return ShapeDtypeStruct(shape, np.dtype("float32"))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def plain(x, y):
    return mul(sin(x), y)


def with_rule(fun, rule):
    custom = custom_vmap(fun)
    custom.def_vmap(rule)
    return custom


def grown(size, batched, args):
    return [
        x if flag else broadcast_in_dim(x, (size, *x.shape), range(1, len(x.shape) + 1))
        for x, flag in zip(args, batched, strict=True)
    ]


def branching(x, y):
    """A function with a call whose results are a sine, and a condition, which has no tangent."""
    program = trace_to_jaxpr(lambda x: [sin(x), gt(x, full_like(x, 1.5))], [get_aval(x)])
    sine, is_large = jit_p.bind(x, jaxpr=program, name="call")
    return select(is_large, mul(sine, y), sine)


def counted(scale=1.0, fun=plain):
    """A function with a rule that scales the result, and a list of what the rule was told."""
    calls = []

    def rule(size, batched, x, y):
        calls.append((size, batched))
        return mul(fun(*grown(size, batched, (x, y))), scale), True

    return with_rule(fun, rule), calls


TRANSFORMED = {
    "grad": lambda f: grad(lambda x, y: total(f(x, y)), (0, 1))(X, Y),
    "grad of grad": lambda f: grad(lambda x: total(mul(Y, grad(lambda x: total(f(x, Y)))(x))))(X),
    "hessian": lambda f: hessian(lambda x: total(f(x, Y)))(X),
    "jacrev of jacrev": lambda f: jacrev(jacrev(lambda x: total(f(x, Y))))(X),
    "jvp": lambda f: jvp(f, (X, Y), (Y, X)),
    "linearize": lambda f: linearize(f, X, Y)[1](Y, X),
    "vjp by one": lambda f: vjp(lambda y: f(X, y), Y)[1](X),
    "vmap": lambda f: vmap(f)(M, M),
    "vmap over rows": lambda f: vmap(f, (1, None))(M.T, Y),
    "vmap of vmap": lambda f: vmap(vmap(f, (0, None)), (None, 0))(M, M),
    "vmap of grad": lambda f: vmap(grad(lambda x, y: total(f(x, y)), (0, 1)))(M, M),
    "vmap of grad by what is no batch": lambda f: vmap(
        grad(lambda x, y: total(f(x, y)), (0, 1)), (None, 0)
    )(X, M),
    "grad of vmap": lambda f: grad(lambda x, y: total(vmap(f, (0, None))(x, y)), (0, 1))(M, Y),
    "vmap of jvp": lambda f: vmap(lambda x: jvp(f, (x, Y), (Y, x)))(M),
    "vmap of hessian": lambda f: vmap(hessian(lambda x: total(f(x, Y))))(M),
}


@pytest.mark.usefixtures("backend")
class TestValues:
    @pytest.mark.sampled(9)
    @pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
    @pytest.mark.parametrize("fun", [plain, branching], ids=["plain", "with a call"])
    def test_a_rule_that_computes_the_same_changes_nothing(self, transformed, fun):
        for ours, theirs in zip(
            _leaves(transformed(counted(fun=fun)[0])), _leaves(transformed(fun)), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)

    def test_the_rule_is_used(self):
        f, _ = counted(10.0)
        np.testing.assert_allclose(f(X, Y), np.sin(X) * Y, rtol=1e-6)
        np.testing.assert_allclose(vmap(f)(M, M), 10 * np.sin(M) * M, rtol=1e-6)

    @pytest.mark.parametrize(
        "gradient",
        [
            lambda f: grad(lambda x: total(vmap(f, (0, None))(x, Y)))(M),
            lambda f: vmap(grad(lambda x: total(f(x, Y))))(M),
            lambda f: vmap(lambda x: jvp(lambda x: f(x, Y), (x,), (X * 0 + 1,))[1])(M),
        ],
        ids=["grad of vmap", "vmap of grad", "vmap of jvp"],
    )
    def test_derivatives_of_a_batch_are_those_of_the_rule(self, gradient):
        np.testing.assert_allclose(gradient(counted(10.0)[0]), 10 * np.cos(M) * Y, rtol=1e-5)

    def test_a_result_that_is_the_same_for_all_examples(self):
        f = with_rule(
            lambda x: x, lambda size, batched, x: (index_in_dim(x, 1, keepdims=False), False)
        )
        np.testing.assert_allclose(vmap(f)(M), np.broadcast_to(M[1], M.shape))

    def test_transpose(self):
        def rule(size, batched, x):
            return mul(x, 20.0), batched[0]

        f = with_rule(lambda x: mul(x, 2.0), rule)
        transposed = lambda ct: linear_transpose(f, X)(ct)[0]
        np.testing.assert_allclose(transposed(Y), 2 * Y)
        np.testing.assert_allclose(vmap(transposed)(M), 20 * M)

    def test_inside_a_call(self):
        f, _ = counted(10.0)
        program = trace_to_jaxpr(lambda x: [f(sin(x), X)], [get_aval(X)])
        call = lambda x: total(jit_p.bind(x, jaxpr=program, name="call")[0])
        found = vmap(grad(call))(M)
        np.testing.assert_allclose(found, 10 * np.cos(np.sin(M)) * np.cos(M) * X, rtol=1e-4)

    def test_sequential(self):
        f = sequential_vmap(plain)
        for transformed in TRANSFORMED.values():
            for ours, theirs in zip(
                _leaves(transformed(f)), _leaves(transformed(plain)), strict=True
            ):
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def _leaves(x):
    return [leaf for part in x for leaf in _leaves(part)] if isinstance(x, tuple | list) else [x]


@pytest.mark.parametrize(
    ("in_axes", "batched"), [((0, 0), [True, True]), ((0, None), [True, False])]
)
def test_the_rule_gets_the_batched_flags(in_axes, batched):
    f, calls = counted()
    make_jaxpr(vmap(f, in_axes))(*(of(2) if d is None else of(3, 2) for d in in_axes))
    assert calls == [(3, batched)]


def test_the_rule_gets_a_batched_flag_for_each_leaf():
    calls = []

    def rule(size, batched, x, y):
        calls.append(batched)
        return x["a"], True

    f = with_rule(lambda x, y: x["a"], rule)
    make_jaxpr(vmap(f, ({"a": 0, "b": None}, None)))({"a": of(3, 2), "b": of(2)}, of(2))
    assert calls == [[{"a": True, "b": False}, False]]


def test_batches_come_along_the_first_axis():
    shapes = []
    f = with_rule(lambda x: x, lambda size, batched, x: (shapes.append(x.shape), (x, True))[1])
    make_jaxpr(vmap(f, 1))(of(2, 3))
    assert shapes == [(3, 2)]


def test_keyword_arguments_are_put_in_place():
    f, calls = counted()
    make_jaxpr(vmap(lambda x: f(y=x, x=x)))(of(3, 2))
    assert calls == [(3, [True, True])]


@pytest.mark.parametrize(
    "function",
    [
        lambda f: f,
        lambda f: grad(lambda x, y: total(f(x, y)), (0, 1)),
        lambda f: lambda x, y: jvp(f, (x, y), (y, x)),
    ],
    ids=["value", "gradient", "jvp"],
)
def test_programs_hold_one_step_and_check(function):
    jaxpr = make_jaxpr(function(counted()[0]))(of(2), of(2))
    check_jaxpr(jaxpr)
    assert any(eqn.primitive is custom_vmap_p for eqn in jaxpr.eqns)
    assert not any(eqn.primitive.name == "sin" for eqn in jaxpr.eqns)


def test_a_sequential_batch_is_a_loop():
    (eqn,) = make_jaxpr(vmap(sequential_vmap(plain), (0, None)))(of(3, 2), of(2)).eqns
    assert (eqn.primitive, eqn.params["length"]) == (scan_p, 3)


def _batched(fun, rule):
    return lambda x: vmap(with_rule(fun, rule))(x)


MISTAKES = {
    "no rule": (lambda x: custom_vmap(lambda x: x)(x), AttributeError, "def_vmap"),
    "no pair": (_batched(lambda x: x, lambda size, batched, x: x), ValueError, "pair"),
    "another structure": (
        _batched(lambda x: x, lambda size, batched, x: ((x, x), (True, True))),
        ValueError,
        "structure of",
    ),
    "another structure of out_batched": (
        _batched(lambda x: (x, x), lambda size, batched, x: ((x, x), True)),
        ValueError,
        "out_batched with the structure",
    ),
    "no batch": (
        _batched(lambda x: x, lambda size, batched, x: (slice_in_dim(x, 0, 1), True)),
        ValueError,
        "batch of 3",
    ),
    "a batch that is closed over": (
        lambda x: vmap(lambda c: with_rule(lambda y: mul(y, c), lambda *args: args)(X))(x),
        NotImplementedError,
        "as an argument",
    ),
    "keyword-only arguments": (
        lambda x: with_rule(lambda *, x: x, lambda *args: args)(x=x),
        TypeError,
        "positional",
    ),
}


@pytest.mark.parametrize(("mistake", "error", "mentions"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(mistake)(of(3, 2))


def test_closed_over_values_are_operands():
    c = np.float32(2.0)
    f = lambda x, c: with_rule(
        lambda x: mul(x, c), lambda size, batched, x: (add(mul(x, c), x), True)
    )(x)
    jaxpr = make_jaxpr(f)(of(), of())
    assert [
        atom is var for atom, var in zip(jaxpr.eqns[0].invars, jaxpr.invars[::-1], strict=True)
    ] == [True, True]
    assert make_jaxpr(vmap(f, (0, None)))(of(3), c).out_avals[0].shape == (3,)


@pytest.mark.parametrize(("number", "dtype"), [(2, "int32"), (2.5, "float32"), (True, "bool")])
def test_python_numbers_are_arrays_for_the_function(backend, number, dtype):
    seen = []
    plain = custom_vmap(lambda x: (seen.append(get_aval(x).weak_type), {"x": x, "three": 3})[1])
    plain.def_vmap(lambda size, batched, x: ({"x": x, "three": 3}, {"x": True, "three": False}))
    result = plain(number)
    assert {k: get_aval(v).dtype for k, v in result.items()} == {"x": dtype, "three": "int32"}
    assert all(hasattr(v, "aval") for v in result.values())
    assert seen == [number is not True]


def test_arguments_of_a_call_outside_of_traces_must_be_arrays(backend):
    plain = custom_vmap(lambda x: x)
    plain.def_vmap(lambda size, batched, x: (x, batched[0]))
    with pytest.raises(TypeError, match="argument x: Value 'a', of type str"):
        plain("a")
