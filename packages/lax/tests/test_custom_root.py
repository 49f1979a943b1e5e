"""``custom_root``: roots differentiated by the implicit function theorem, and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, linearize, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, get_aval, make_jaxpr, trace_to_jaxpr
from ricci_lax import (
    add,
    custom_linear_solve,
    custom_root,
    div,
    fori_loop,
    full_like,
    hessian,
    lt,
    mul,
    reduce_sum,
    sqrt,
    sub,
    tangent_map_p,
    while_loop,
)
from ricci_lax.staged_calls._staged_call import jit_p


def f32(values):
    return np.array(values, np.float32)


X = f32([1.0, 2.0, 3.0])


def of(*shape):
    return ShapeDtypeStruct(shape, np.dtype("float32"))


def newton(f, x):
    """Newton's method for functions that act on each element: not differentiable in reverse."""
    ones = full_like(x, 1.0)
    step = lambda _, x: sub(x, div(f(x), jvp(f, (x,), (ones,))[1]))
    return fori_loop(0, 20, step, x)


def elementwise_solve(g, y):
    return div(y, g(full_like(y, 1.0)))


def square_less(x, a):
    return sub(mul(x, x), a)


def root(a):
    return custom_root(lambda x: square_less(x, a), full_like(a, 1.0), newton, elementwise_solve)


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


@pytest.mark.usefixtures("backend")
class TestValues:
    def test_root(self):
        np.testing.assert_allclose(root(X), np.sqrt(X), rtol=1e-6)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_derivatives_are_those_of_the_root(self, order):
        ours, theirs = root, sqrt
        for _ in range(order):
            ours, theirs = grad(ours), grad(theirs)
        np.testing.assert_allclose(ours(2.0), theirs(2.0), rtol=1e-4)

    def test_jvp_linearize_and_vjp_agree(self):
        tangent = f32([1.0, -2.0, 0.5])
        expected = tangent / (2 * np.sqrt(X))
        np.testing.assert_allclose(jvp(root, (X,), (tangent,))[1], expected, rtol=1e-5)
        np.testing.assert_allclose(linearize(root, X)[1](tangent), expected, rtol=1e-5)
        np.testing.assert_allclose(vjp(root, X)[1](tangent)[0], expected, rtol=1e-5)

    def test_vmap_of_second_derivatives(self):
        np.testing.assert_allclose(vmap(grad(grad(root)))(X), -0.25 * X**-1.5, rtol=1e-4)

    def test_vmap_of_the_initial_guess(self):
        from_guess = lambda guess: custom_root(
            lambda x: square_less(x, np.float32(2.0)), guess, newton, elementwise_solve
        )
        np.testing.assert_allclose(vmap(from_guess)(X), np.full(3, np.sqrt(2.0)), rtol=1e-6)
        np.testing.assert_array_equal(grad(from_guess)(1.0), 0.0)

    def test_hessian(self):
        found = hessian(lambda a: total(root(a)))(X)
        np.testing.assert_allclose(found, np.diag(-0.25 * X**-1.5), rtol=1e-4, atol=1e-6)

    def test_pytrees_with_a_system_that_is_not_symmetric(self):
        def both(a):
            return custom_root(
                lambda x: {"u": square_less(x["u"], a), "v": sub(x["v"], mul(3.0, x["u"]))},
                {"u": 1.0, "v": 2.0},
                lambda f, x: {"u": sqrt(a), "v": mul(3.0, sqrt(a))},
                _solve_triangular,
            )

        np.testing.assert_allclose(grad(lambda a: both(a)["v"])(4.0), 0.75)
        np.testing.assert_allclose(grad(grad(lambda a: both(a)["v"]))(4.0), -3 / 32)

    def test_the_auxiliary_output_of_solve_has_no_derivative(self):
        def with_aux(a):
            return custom_root(
                lambda x: square_less(x, a),
                1.0,
                lambda f, x: (sqrt(a), {"steps": 3, "guess": mul(a, 5.0)}),
                lambda g, y: div(y, g(1.0)),
                has_aux=True,
            )

        (found, aux), (tangent, aux_tangent) = jvp(with_aux, (4.0,), (1.0,))
        np.testing.assert_allclose((found, tangent), (2.0, 0.25))
        assert (int(aux["steps"]), float(aux["guess"])) == (3, 20.0)
        assert float(aux_tangent["guess"]) == 0.0

    def test_functions_that_close_over_traced_arrays_of_a_call(self):
        # The program of the call is differentiated after it was traced.
        def inside(a):
            b = mul(a, 1.0)
            return [
                custom_root(
                    lambda x: square_less(x, b),
                    full_like(b, 1.0),
                    lambda f, x: sqrt(b),
                    lambda g, y: add(div(y, g(1.0)), mul(0.0, b)),
                )
            ]

        program = trace_to_jaxpr(inside, [get_aval(4.0)])
        call = lambda a: jit_p.bind(a, jaxpr=program, name="call")[0]
        np.testing.assert_allclose(grad(call)(4.0), 0.25)
        np.testing.assert_allclose(grad(grad(call))(4.0), -1 / 32)

    def test_tangent_solve_by_iteration(self):
        def solve(g, y):
            def iterate(apply, z):
                step = lambda _, x: add(x, mul(sub(z, apply(x)), 0.2))
                return fori_loop(0, 100, step, z)

            return custom_linear_solve(g, y, iterate, iterate)

        f = lambda a: custom_root(lambda x: square_less(x, a), 1.0, lambda f, x: sqrt(a), solve)
        np.testing.assert_allclose(grad(f)(4.0), 0.25, rtol=1e-5)


def _solve_triangular(g, y):
    diagonal = g({"u": 1.0, "v": 0.0})["u"]
    u = div(y["u"], diagonal)
    return {"u": u, "v": sub(y["v"], g({"u": u, "v": 0.0})["v"])}


def test_a_map_is_transposed_on_demand():
    # The function has no transpose, which does not matter for tangents.
    doubled = lambda s: (mul(s[0], 2.0), add(s[1], 1))
    f = lambda x: while_loop(lambda s: lt(s[1], 1), doubled, (x, 0))[0]
    found = lambda a: custom_root(
        lambda x: sub(f(x), a), 1.0, lambda _, x: x, lambda g, y: div(y, g(1.0))
    )
    jaxpr = make_jaxpr(lambda a: jvp(found, (a,), (1.0,)))(of())
    check_jaxpr(jaxpr)
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is tangent_map_p]
    assert not eqn.params["transposed"]


@pytest.mark.parametrize(
    ("function", "shape"),
    [(grad(root), ()), (grad(grad(root)), ()), (vmap(grad(root)), (3,))],
    ids=["gradient", "second derivative", "batch of gradients"],
)
def test_programs_check(function, shape):
    check_jaxpr(make_jaxpr(function)(of(*shape)))


MISTAKES = {
    "f of another structure": (
        lambda a: custom_root(lambda x: (x, x), a, lambda f, x: x, lambda g, y: y),
        TypeError,
        "f must return",
    ),
    "solve of another structure": (
        lambda a: custom_root(lambda x: x, a, lambda f, x: [x], lambda g, y: y),
        TypeError,
        "solve must return",
    ),
    "tangent_solve of another structure": (
        lambda a: custom_root(lambda x: x, a, lambda f, x: x, lambda g, y: (y, y)),
        TypeError,
        "tangent_solve must return",
    ),
    "tangent_solve of another shape": (
        lambda a: custom_root(lambda x: x, a, lambda f, x: x, lambda g, y: X[:2]),
        TypeError,
        r"float32\[2\]",
    ),
    "g of another shape": (
        lambda a: custom_root(lambda x: x, a, lambda f, x: x, lambda g, y: g(X[:2])),
        TypeError,
        "g takes",
    ),
    "has_aux without aux": (
        lambda a: custom_root(lambda x: x, a, lambda f, x: x, lambda g, y: y, has_aux=True),
        ValueError,
        "pair",
    ),
    "a guess that is no array": (
        lambda a: custom_root(lambda x: x, {"k": "a"}, lambda f, x: x, lambda g, y: y),
        TypeError,
        r"initial_guess\['k'\]",
    ),
}


@pytest.mark.parametrize(("mistake", "error", "mentions"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(mistake)(of())
