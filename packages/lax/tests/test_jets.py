"""Jets: programs, custom rules, arguments, and rules that users register.

The law of jets covers the single primitives: see ``ricci_testing``.
"""

from functools import partial
from math import factorial

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import grad, jvp, jvp_rules
from ricci_batching import vmap
from ricci_ir import Primitive, enable_x64, make_jaxpr, unsupported
from ricci_lax.jets import (
    def_comp,
    def_deriv,
    defzero,
    deriv_prop,
    fact,
    jet,
    jet2,
    jet_rules,
    linear_prop,
    zero_prop,
    zero_series,
    zero_term,
)

pytestmark = pytest.mark.usefixtures("backend")

X = np.array([0.3, 0.7])
SERIES = [np.array(t) for t in ([1.0, 0.5], [0.2, -0.4], [0.1, 0.6])]


def nested(fun, x, series):
    """The derivatives of ``fun`` along the curve by nested jvp."""

    def along(t):
        y, power = x, t
        for k, term in enumerate(series):
            y = lax.add(y, lax.mul(term / factorial(k + 1), lax.broadcast(power, x.shape)))
            power = lax.mul(power, t)
        return fun(y)

    found = [along(0.0)]
    for _ in series:
        along = partial(lambda f, t: jvp(f, (t,), (1.0,))[1], along)
        found.append(along(0.0))
    return found


@lax.custom_jvp
def tripled(x):
    return lax.mul(x, x)


@tripled.defjvp
def _tripled_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return tripled(x), lax.mul(lax.mul(t, x), lax.mul(tripled(x), 3.0))


@lax.custom_jvp
def root(x):
    """A square root by Newton's method, whose rule hands the result to a loop."""
    start = (0, lax.full_like(x, 1.0))
    step = lambda i, y: lax.div(lax.add(y, lax.div(x, y)), 2.0)
    count = lambda s: (lax.add(s[0], 1), step(*s))
    return lax.while_loop(lambda s: lax.lt(s[0], 30), count, start)[1]


@root.defjvp
def _root_jvp(primals, tangents):
    y = root(*primals)
    doubled = lax.fori_loop(0, 1, lambda i, c: lax.mul(c, 2.0), y)
    return y, lax.div(tangents[0], doubled)


def _scanned(x):
    rows = lax.mul(lax.broadcast(x, (3,)), np.array([[1.0], [2.0], [3.0]]))
    body = lambda c, row: (lax.add(lax.mul(c, lax.sin(x)), row), lax.mul(c, row))
    end, collected = lax.scan(body, np.ones(2), rows)
    return lax.add(end, lax.reduce_sum(collected, (0,)))


def _solved(x):
    matrix = lambda v: lax.mul(lax.add(x, 2.0), v)
    return lax.custom_linear_solve(matrix, lax.sin(x), lambda _, b: lax.div(b, lax.add(x, 2.0)))


PROGRAMS = {
    "cond": lambda x: lax.cond(
        lax.gt(lax.reduce_sum(x, (0,)), 0.0),
        lambda x: lax.mul(x, lax.sin(x)),
        lambda x: lax.full_like(x, 1.0),
        x,
    ),
    "switch": lambda x: lax.switch(1, [lax.sin, lambda x: lax.full_like(x, 1.0), lax.exp], x),
    "scan": _scanned,
    "while": lambda x: lax.while_loop(
        lambda s: lax.lt(s[0], 3),
        lambda s: (lax.add(s[0], 1), lax.mul(lax.sin(x), s[1])),
        (0, lax.cos(x)),
    )[1],
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, c: lax.add(lax.mul(c, x), lax.cos(c)), x),
    "checkpoint": lax.checkpoint(lambda x: lax.mul(lax.tanh(x), x)),
    "custom_jvp": lambda x: lax.sin(tripled(x)),
    "a rule that hands the result to a loop": root,
    "custom_linear_solve": _solved,
    "of a gradient": grad(lambda x: lax.reduce_sum(lax.sin(lax.mul(x, x)), (0,))),
    "of vmap": vmap(lambda a: lax.mul(a, lax.sin(a))),
    "integer powers at zero": lambda x: lax.integer_pow(lax.sub(x, X), 3),
    "powers at zero": lambda x: lax.pow(lax.sub(x, X), 2.0),
    "negative powers": lambda x: lax.add(lax.integer_pow(x, -2), lax.pow(x, -0.5)),
    "quotients": lambda x: lax.div(lax.sin(x), lax.add(lax.exp(x), 1.0)),
    "special": lambda x: lax.add(lax.lgamma(x), lax.mul(lax.erf_inv(x), lax.digamma(x))),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_jets_are_nested_jvp(name):
    fun = PROGRAMS[name]
    with enable_x64(True):
        value, terms = jet(fun, (X,), (SERIES,))
        for found, expected in zip([value, *terms], nested(fun, X, SERIES), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


A = np.array([[3.0, 0.4, -0.2], [0.5, 2.0, 0.3], [0.1, -0.6, 4.0]])
B = np.array([[1.0, 0.5], [-2.0, 1.5], [0.3, -0.7]])


def moved(x, matrix):
    """A matrix that moves with a vector."""
    return lax.mul(matrix, lax.broadcast(lax.add(lax.reduce_sum(lax.mul(x, x), [0]), 1.0), (3, 3)))


def windows(x):
    combine = lambda a, b: lax.add(lax.add(a, b), lax.mul(a, b))  # (1 + a) (1 + b) - 1
    return lax.reduce_window(x, np.array(0.0, x.dtype), combine, (2,), padding="SAME")


SYSTEMS = {
    "left": lambda x: lax.linalg.triangular_solve(moved(x, A), B, left_side=True),
    "right": lambda x: lax.linalg.triangular_solve(moved(x, A), B.T, lower=True, transpose_a=True),
    "ones": lambda x: lax.linalg.triangular_solve(
        moved(x, A), B, left_side=True, lower=True, unit_diagonal=True
    ),
    "cholesky": lambda x: lax.linalg.cholesky(moved(x, A + A.T)),
    "lu": lambda x: lax.linalg.lu(moved(x, A))[0],
    "windows": windows,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_program_of_a_jet_grows_with_a_power_of_the_order(name):
    fun = SYSTEMS[name]
    with enable_x64(True):
        value, terms = jet(fun, (X,), (SERIES,))
        for k, expected in enumerate(nested(fun, X, SERIES)):
            np.testing.assert_allclose(terms[k - 1] if k else value, expected, rtol=1e-6, atol=1e-9)
        size = lambda order: len(
            make_jaxpr(lambda x: jet(fun, (x,), ([1.0] * order,)))(X).jaxpr.eqns
        )
        assert size(8) < 5 * size(4)


def test_jet_inlines_custom_vjp_functions():
    squared = lax.custom_vjp(lambda x: lax.mul(x, x))
    squared.defvjp(lambda x: (squared(x), x), lambda x, ct: (lax.mul(ct, x),))
    assert [float(t) for t in jet(squared, (3.0,), ([1.0, 0.0],))[1]] == [6.0, 2.0]


def test_jets_are_differentiated_batched_and_nested():
    second = lambda x: jet(lax.sin, (x,), ([1.0, 0.0],))[1][1]
    assert np.isclose(grad(second)(0.5), -np.cos(0.5))
    np.testing.assert_allclose(vmap(second)(X), -np.sin(X), rtol=1e-6)
    inner = lambda x: jet(lax.sin, (x,), ([1.0],))[1][0]
    assert np.isclose(jet(inner, (0.5,), ([1.0, 0.0],))[1][1], -np.cos(0.5))
    assert "sin" in str(make_jaxpr(second)(0.5))


def test_zero_terms_add_no_operations():
    program = make_jaxpr(lambda x: jet(lax.sin, (x,), ([1.0, zero_term, zero_term],)))(0.5)
    full = make_jaxpr(lambda x: jet(lax.sin, (x,), ([1.0, 0.0, 0.0],)))(0.5)
    assert len(program.eqns) < len(full.eqns)
    value, terms = jet(lax.mul, (2.0, 3.0), ([1.0, 0.0], zero_series))
    assert (float(value), [float(t) for t in terms]) == (6.0, [3.0, 0.0])


def test_results_keep_their_structure_and_discrete_ones_have_zeros():
    fun = lambda x: {"a": lax.exp(x), "b": (lax.gt(x, 0.0), 2)}
    value, terms = jet2(fun, (0.0,), ([1.0, 0.0],))
    assert [float(t) for t in terms["a"]] == [1.0, 0.5]
    assert value["b"][0].dtype == bool and [float(t) for t in terms["b"][0]] == [0.0, 0.0]
    assert [float(t) for t in terms["b"][1]] == [0.0, 0.0]


def test_integers_take_series_of_floats():
    fun = lambda x: lax.sin(lax.convert_element_type(x, np.float32))
    _, terms = jet(fun, (np.int32(0),), ([1.0, 0.0, 0.0],))
    assert [float(t) for t in terms] == [1.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (((1.0,), ([1.0], [1.0])), TypeError, "1 primals and 2 series"),
        (((1.0,), ()), ValueError, "1 primals and 0 series"),
        (((1.0, 2.0), ([1.0], [1.0, 2.0])), ValueError, "1 for argument 0, 2 for argument 1"),
        ((({"a": 1.0},), ([1.0],)), ValueError, "primal 0 is not an array but a dict"),
        (((1.0,), (1.0,)), TypeError, "series of argument 0 must be a list"),
        (((1.0,), ([None],)), TypeError, "term 0 of the series of argument 0 is not an array"),
        (((X,), ([np.ones(3)],)), TypeError, r"shape \(3,\), and its primal has the shape \(2,\)"),
        (((1.0,), ([1j],)), TypeError, "is complex"),
        ((1.0, ([1.0],)), TypeError, "primals must be a tuple or a list"),
        (((1.0,), 1.0), TypeError, "series must be a tuple or a list"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args, error, message):
    with pytest.raises(error, match=message):
        jet(lax.sin, *args)
    assert float(jet(lax.sin, (0.0,), ([1.0],))[1][0]) == 1.0


def _primitive(name, jvp):
    primitive = Primitive(name, lambda x: x)
    primitive.def_impl(lambda x: np.sin(np.asarray(x)))
    jvp_rules.define(primitive, jvp)
    return primitive


def test_a_primitive_with_a_derivative_has_all_and_one_without_is_named():
    cosine = lambda primals, tangents: (
        derived_p.bind(*primals),
        lax.mul(tangents[0], lax.cos(*primals)),
    )
    derived_p = _primitive("jet_test_derived", cosine)
    _, terms = jet(derived_p.bind, (np.float32(0),), ([1.0, 0.0, 0.0],))
    assert [float(t) for t in terms] == [1.0, 0.0, -1.0]
    refused_p = _primitive("jet_test_refused", unsupported("it is a secret"))
    with pytest.raises(NotImplementedError, match="jvp of jet_test_refused: it is a secret"):
        jet(refused_p.bind, (np.float32(0),), ([1.0],))


def test_rules_in_the_form_of_jax():
    own_p = Primitive("jet_test_own", lambda x, **_: x)
    own_p.def_impl(lambda x, **_: x)
    with pytest.raises(NotImplementedError, match="'jet_test_own' has no jet rule"):
        jet(own_p.bind, (1.0,), ([1.0],))
    given = []

    def rule(primals, series, **params):
        given.append((primals, series, params))
        return primals[0], [series[0][0], zero_term, series[0][2]]

    jet_rules[own_p] = rule
    assert jet_rules[own_p] is rule and own_p in jet_rules
    _, terms = jet(lambda x: own_p.bind(x, size=1), (1.0,), ([1.0, 2.0, 6.0],))
    ((primals, series, params),) = given
    assert [float(t) for t in series[0]] == [1.0, 1.0, 1.0] and params == {"size": 1}
    assert [float(t) for t in terms] == [1.0, 0.0, 6.0]
    jet_rules[own_p] = lambda primals, series: (primals[0], zero_series)
    assert [float(t) for t in jet(own_p.bind, (1.0,), ([1.0, 2.0],))[1]] == [0.0, 0.0]
    defzero(own_p)
    assert [float(t) for t in jet(own_p.bind, (1.0,), ([1.0],))[1]] == [0.0]
    def_comp(own_p, lambda x: lax.mul(x, x))
    assert [float(t) for t in jet(own_p.bind, (3.0,), ([1.0, 0.0],))[1]] == [6.0, 2.0]
    def_deriv(own_p, lax.cos)
    assert [float(t) for t in jet(own_p.bind, (0.0,), ([1.0, 0.0, 0.0],))[1]] == [1.0, 0.0, -1.0]
    del jet_rules[own_p]
    assert own_p not in jet_rules


def test_rules_are_applied_by_themselves():
    sine = lax.sin_p
    assert float(jet_rules[sine]((0.0,), [[1.0, 0.0, 0.0]])[1][2]) == np.float32(-1 / 6)
    assert [float(t) for t in deriv_prop(sine, lax.cos, (0.0,), [[1.0, 0.0]])[1]] == [1.0, 0.0]
    value, terms = linear_prop(lax.neg_p, (1.0,), [[2.0, 3.0]])
    assert (float(value), [float(t) for t in terms]) == (-1.0, [-2.0, -3.0])
    assert zero_prop(lax.floor_p, (1.5,), [[2.0]])[1] is zero_series
    assert float(fact(5)) == 120.0 and np.asarray(fact([0, 3])).tolist() == [1.0, 6.0]
    assert len(jet_rules) == len(list(jet_rules)) > 150
