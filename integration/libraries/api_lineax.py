"""Lineax, with 64-bit types: operators, solvers, least squares, derivatives and batches."""

import lineax as lx
import numpy as np

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
B = np.array([1.0, -2.0, 0.5])
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25], [1.5, 1.0]])
SPD = lx.MatrixLinearOperator(jnp.asarray(A), lx.positive_semidefinite_tag)
FULL = lx.MatrixLinearOperator(jnp.asarray(A))

SOLVERS = {
    "AutoLinearSolver": (FULL, lx.AutoLinearSolver(well_posed=True)),
    "LU": (FULL, lx.LU()),
    "QR": (FULL, lx.QR()),
    "SVD": (FULL, lx.SVD()),
    "Cholesky": (SPD, lx.Cholesky()),
    "CG": (SPD, lx.CG(rtol=1e-9, atol=1e-9)),
    "GMRES": (FULL, lx.GMRES(rtol=1e-9, atol=1e-9)),
    "BiCGStab": (FULL, lx.BiCGStab(rtol=1e-9, atol=1e-9)),
    "NormalCG": (FULL, lx.Normal(lx.CG(rtol=1e-9, atol=1e-9))),
    "Triangular": (lx.MatrixLinearOperator(jnp.tril(A), lx.lower_triangular_tag), lx.Triangular()),
    "Diagonal": (lx.DiagonalLinearOperator(jnp.arange(1.0, 4.0)), lx.Diagonal()),
    "Tridiagonal": (
        lx.TridiagonalLinearOperator(jnp.full(3, 4.0), jnp.ones(2), jnp.full(2, 0.5)),
        lx.Tridiagonal(),
    ),
}


def solved(operator, solver):
    solution = lx.linear_solve(operator, jnp.asarray(B), solver)
    return solution.value, solution.result == lx.RESULTS.successful


def gradient(operator, solver):
    loss = lambda b: jnp.sum(jnp.sin(lx.linear_solve(operator, b, solver).value))
    return jax.grad(loss)(jnp.asarray(B)), jax.jit(jax.hessian(loss))(jnp.asarray(B))


def batch(operator, solver):
    return jax.vmap(lambda b: lx.linear_solve(operator, b, solver).value)(jnp.stack([B, 2 * B]))


def matrix_gradient():
    def loss(a):
        operator = lx.MatrixLinearOperator(a)
        return jnp.sum(lx.linear_solve(operator, jnp.asarray(B)).value ** 2)

    return jax.grad(loss)(jnp.asarray(A)), jax.jacfwd(loss)(jnp.asarray(A))


def function_operator():
    operator = lx.FunctionLinearOperator(
        lambda x: jnp.asarray(A) @ x, jax.ShapeDtypeStruct((3,), jnp.float64)
    )
    return operator.as_matrix(), operator.mv(jnp.asarray(B)), operator.T.mv(jnp.asarray(B))


def jacobian_operator():
    operator = lx.JacobianLinearOperator(lambda x, _: jnp.tanh(jnp.asarray(A) @ x), jnp.asarray(B))
    return operator.as_matrix(), lx.linear_solve(operator, jnp.asarray(B)).value


def trees():
    x = {"a": jnp.ones(2), "b": jnp.ones(1)}
    blocks = {
        "a": {"a": 2 * jnp.eye(2), "b": jnp.ones((2, 1))},
        "b": {"a": jnp.ones((1, 2)), "b": 3 * jnp.eye(1)},
    }
    operator = lx.PyTreeLinearOperator(blocks, jax.eval_shape(lambda: x))
    return operator.mv(x), lx.linear_solve(operator, x).value


def failing():
    return lx.linear_solve(
        SPD, jnp.asarray(B), lx.CG(rtol=1e-12, atol=1e-12, max_steps=1), throw=False
    ).result


def raising():
    solver = lx.CG(rtol=1e-12, atol=1e-12, max_steps=1)
    return lx.linear_solve(SPD, jnp.asarray(B), solver).value


def state_used_again():
    state = lx.LU().init(FULL, {})
    return [lx.linear_solve(FULL, b, lx.LU(), state=state).value for b in (B, 2 * B)]


def least_squares(solver):
    operator = lx.MatrixLinearOperator(jnp.asarray(TALL))
    return lx.linear_solve(operator, jnp.ones(4), solver).value


def composed():
    operator = 2 * FULL + lx.IdentityLinearOperator(jax.eval_shape(lambda: jnp.asarray(B)))
    operator = operator @ FULL.T
    return operator.as_matrix(), lx.diagonal(operator), operator.mv(jnp.asarray(B))


CASES = {
    **{f"solve {n}": (lambda c=c: solved(*c)) for n, c in SOLVERS.items()},
    **{f"gradient {n}": (lambda c=c: gradient(*c)) for n, c in SOLVERS.items()},
    **{f"vmap {n}": (lambda c=c: batch(*c)) for n, c in SOLVERS.items()},
    "gradient of a matrix": matrix_gradient,
    "function operator": function_operator,
    "Jacobian operator": jacobian_operator,
    "trees": trees,
    "not converged": failing,
    "not converged, raised": raising,
    "one factorisation": state_used_again,
    "least squares QR": lambda: least_squares(lx.QR()),
    "least squares SVD": lambda: least_squares(lx.SVD()),
    "least squares Auto": lambda: least_squares(lx.AutoLinearSolver(well_posed=None)),
    "composed": composed,
    "tags": lambda: [lx.is_symmetric(SPD), lx.is_diagonal(FULL), lx.has_unit_diagonal(FULL)],
    "materialise": lambda: lx.materialise(FULL).as_matrix(),
    "conj": lambda: lx.conj(FULL).as_matrix(),
}
