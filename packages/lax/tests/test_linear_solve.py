"""``custom_linear_solve``: derivatives, batches and programs of linear systems, and errors."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, linear_transpose, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, get_aval, make_jaxpr, trace_to_jaxpr
from ricci_lax import (
    add,
    custom_linear_solve,
    div,
    dot_general,
    fori_loop,
    hessian,
    jacfwd,
    jacrev,
    linear_solve_p,
    mul,
    reduce_sum,
    sin,
    slice_in_dim,
    sub,
)
from ricci_lax.staged_calls._staged_call import jit_p


def f32(values):
    return np.array(values, np.float32)


A = f32([[4.0, 1.0], [2.0, 3.0]])
B = f32([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])
D = f32([3.0, 4.0])


def of(*shape):
    return ShapeDtypeStruct(shape, np.dtype("float32"))


def matvec(a, x):
    return dot_general(a, x, (((1,), (0,)), ((), ())))


def diagonal(d, b, **options):
    return custom_linear_solve(lambda x: mul(d, x), b, lambda _, y: div(y, d), **options)


def symmetric(d, b):
    return diagonal(d, b, symmetric=True)


def iterated(a, b):
    """Solved by steps that are not differentiable in reverse mode: Richardson's iteration."""

    def solve(apply, y):
        step = lambda _, x: add(x, mul(sub(y, apply(x)), 0.2))
        return fori_loop(0, 100, step, y)

    return custom_linear_solve(lambda x: matvec(a, x), b, solve, transpose_solve=solve)


def head(x):
    return slice_in_dim(x, 0, 1)


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


@pytest.mark.usefixtures("backend")
class TestValues:
    def test_solution(self):
        np.testing.assert_allclose(iterated(A, B[0]), np.linalg.solve(A, B[0]), rtol=1e-5)

    def test_gradient_of_a_system_is_that_of_the_inverse(self):
        x = np.linalg.solve(A, B[0])
        adjoint = np.linalg.solve(A.T, np.ones(2))
        by_a, by_b = grad(lambda a, b: total(iterated(a, b)), (0, 1))(A, B[0])
        np.testing.assert_allclose(by_b, adjoint, rtol=1e-5)
        np.testing.assert_allclose(by_a, -np.outer(adjoint, x), rtol=1e-5)

    def test_tangents_of_all_operands(self):
        x = np.linalg.solve(A, B[0])
        found, tangent = jvp(iterated, (A, B[0]), (A.T, B[1]))
        np.testing.assert_allclose(found, x, rtol=1e-5)
        expected = np.linalg.solve(A, B[1] - A.T @ x)
        np.testing.assert_allclose(tangent, expected, rtol=1e-4)

    @pytest.mark.parametrize("outer", [jacfwd, jacrev], ids=["forward", "reverse"])
    @pytest.mark.parametrize("inner", [jacfwd, jacrev], ids=["forward", "reverse"])
    def test_second_derivatives(self, inner, outer):
        found = outer(inner(lambda d: symmetric(d, B[0])))(D)
        expected = np.zeros((2, 2, 2), np.float32)
        expected[[0, 1], [0, 1], [0, 1]] = 2 * B[0] / D**3
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)

    def test_third_derivative(self):
        cubic = lambda d: custom_linear_solve(
            lambda x: mul(d, x), np.float32(1.0), lambda _, y: div(y, d), symmetric=True
        )
        np.testing.assert_allclose(grad(grad(grad(cubic)))(2.0), -6 / 2.0**4, rtol=1e-5)

    @pytest.mark.parametrize("in_axes", [(0, 0), (None, 0), (0, None), (1, 0)])
    def test_vmap_is_the_loop(self, in_axes):
        matrices = np.stack([A, A + np.eye(2, dtype=np.float32), A.T])
        a = A if in_axes[0] is None else np.moveaxis(matrices, 0, in_axes[0])
        b = B[0] if in_axes[1] is None else B
        found = vmap(iterated, in_axes)(a, b)
        for i, x in enumerate(np.asarray(found)):
            expected = np.linalg.solve(
                A if in_axes[0] is None else matrices[i], B[0] if in_axes[1] is None else B[i]
            )
            np.testing.assert_allclose(x, expected, rtol=1e-4)

    def test_vmap_of_gradients_is_the_loop(self):
        gradient = grad(lambda d, b: total(sin(symmetric(d, b))), (0, 1))
        found = vmap(gradient, (None, 0))(D, B)
        for i, b in enumerate(B):
            for x, y in zip(found, gradient(D, b), strict=True):
                np.testing.assert_allclose(np.asarray(x)[i], y, rtol=1e-5)

    def test_pytrees(self):
        def solve(d, b):
            return custom_linear_solve(
                lambda x: {"p": mul(x["p"], 2.0), "q": mul(d, x["q"])},
                b,
                lambda _, y: {"p": div(y["p"], 2.0), "q": div(y["q"], d)},
                symmetric=True,
            )

        b = {"p": np.float32(6.0), "q": D}
        found, pull = vjp(solve, D, b)
        np.testing.assert_allclose(found["p"], 3.0)
        by_d, by_b = pull({"p": np.float32(1.0), "q": D})
        np.testing.assert_allclose(by_d, -D / D)
        np.testing.assert_allclose(by_b["p"], 0.5)
        np.testing.assert_allclose(by_b["q"], np.ones(2))

    def test_the_auxiliary_output_of_a_solver_has_no_derivative(self):
        def solve(d, b):
            with_aux = lambda _, y: (div(y, d), {"y": sin(y)})
            return custom_linear_solve(
                lambda x: mul(d, x), b, with_aux, symmetric=True, has_aux=True
            )

        (x, aux), (dx, daux) = jvp(solve, (D, D), (D, D * 0))
        np.testing.assert_allclose(x, np.ones(2))
        np.testing.assert_allclose(dx, -np.ones(2))
        np.testing.assert_allclose(aux["y"], np.sin(D), rtol=1e-6)
        np.testing.assert_array_equal(daux["y"], np.zeros(2))

    def test_gradient_by_one_of_several_right_hand_sides(self):
        def solve(b, c):
            twice = lambda x: (mul(x[0], 2.0), mul(x[1], 3.0))
            halves = lambda _, y: (div(y[0], 2.0), div(y[1], 3.0))
            return custom_linear_solve(twice, (b, c), halves, symmetric=True)

        np.testing.assert_allclose(grad(lambda b: solve(b, add(mul(b, 0.0), 1.0))[0])(5.0), 0.5)
        np.testing.assert_allclose(grad(lambda b: solve(b, 1.0)[0])(5.0), 0.5)

    def test_matvec_that_closes_over_traced_arrays_of_a_call(self):
        # The program of the call is differentiated after it was traced.
        program = trace_to_jaxpr(lambda d, b: [symmetric(sin(d), b)], [get_aval(D), get_aval(D)])
        call = lambda d: total(jit_p.bind(d, D, jaxpr=program, name="call")[0])
        np.testing.assert_allclose(grad(call)(D), -D * np.cos(D) / np.sin(D) ** 2, rtol=1e-4)

    def test_hessian_of_a_function_of_the_solution(self):
        f = lambda d: total(mul(symmetric(d, D), symmetric(d, D)))
        np.testing.assert_allclose(hessian(f)(D), np.diag(6 * D**2 / D**4), rtol=1e-5, atol=1e-6)


def test_constants_are_operands():
    jaxpr = make_jaxpr(symmetric)(of(2), of(2))
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is linear_solve_p
    assert tuple(eqn.params["const_lengths"]) == (1, 1, 1, 1)
    assert [atom is jaxpr.invars[0] for atom in eqn.invars] == [True] * 4 + [False]


def test_linear_solve_without_transpose_has_no_transpose_jaxpr():
    (eqn,) = make_jaxpr(diagonal)(of(2), of(2)).eqns
    assert tuple(eqn.params["const_lengths"]) == (1, 0, 1, 0)
    assert eqn.params["jaxprs"].vecmat is None
    assert eqn.params["jaxprs"].transpose_solve is None


def test_transposing_swaps_the_jaxprs():
    solve = lambda b: custom_linear_solve(
        lambda x: matvec(A, x), b, lambda f, y: f(y), lambda f, y: f(sin(y))
    )
    (there,) = make_jaxpr(solve)(of(2)).eqns
    (back,) = make_jaxpr(lambda ct: linear_transpose(solve, of(2))(ct))(of(2)).eqns
    forward, transposed = ([str(j) for j in e.params["jaxprs"]] for e in (there, back))
    assert transposed == [forward[i] for i in (1, 0, 3, 2)]


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (1, 1)])
def test_batched_derivatives_check(in_axes):
    shapes = [of(2) if d is None else (of(3, 2) if d == 0 else of(2, 3)) for d in in_axes]
    f = lambda d, b: total(sin(symmetric(d, b)))
    jaxpr = make_jaxpr(vmap(grad(f, (0, 1)), in_axes))(*shapes)
    check_jaxpr(jaxpr)
    assert [aval.shape for aval in jaxpr.out_avals] == [(3, 2), (3, 2)]


def test_only_dependents_of_the_batch_are_batched():
    def solve(d, b):
        halves = lambda _, y: (div(y[0], d), div(y[1], 2.0))
        return custom_linear_solve(lambda x: (mul(d, x[0]), mul(x[1], 2.0)), (b, b), halves)

    jaxpr = make_jaxpr(vmap(solve, (0, None)))(of(3, 2), of(2))
    (eqn,) = [e for e in jaxpr.eqns if e.primitive is linear_solve_p]
    assert [v.aval.shape for v in eqn.outvars] == [(3, 2), (2,)]


SAME = lambda _, y: y
MISTAKES = {
    "matvec of another structure": (
        lambda b: custom_linear_solve(lambda x: (x, x), b, SAME),
        ValueError,
        "structure of b",
    ),
    "matvec of another shape": (
        lambda b: custom_linear_solve(lambda x: head(x), b, SAME),
        ValueError,
        r"float32\[1\]",
    ),
    "solve of another structure": (
        lambda b: custom_linear_solve(lambda x: x, b, lambda _, y: [y]),
        ValueError,
        "solve must",
    ),
    "solve of another shape": (
        lambda b: custom_linear_solve(lambda x: x, {"k": b}, lambda _, y: {"k": head(y["k"])}),
        ValueError,
        r"at output\['k'\]",
    ),
    "transpose_solve of another shape": (
        lambda b: custom_linear_solve(lambda x: x, b, SAME, lambda _, y: head(y)),
        ValueError,
        "transpose_solve must return",
    ),
    "has_aux without aux": (
        lambda b: custom_linear_solve(lambda x: x, b, SAME, has_aux=True),
        ValueError,
        "pair",
    ),
    "b that is no array": (
        lambda b: custom_linear_solve(lambda x: x, {"k": "a"}, SAME),
        TypeError,
        r"b\['k'\]",
    ),
    "matvec that is not linear": (
        lambda b: custom_linear_solve(lambda x: sin(x), b, SAME, SAME),
        NotImplementedError,
        "not linear",
    ),
    "gradient without transpose_solve": (
        grad(lambda b: total(custom_linear_solve(lambda x: x, b, SAME))),
        TypeError,
        "transpose_solve",
    ),
}


@pytest.mark.parametrize(("mistake", "error", "mentions"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, error, mentions):
    with pytest.raises(error, match=mentions):
        make_jaxpr(mistake)(of(2))
