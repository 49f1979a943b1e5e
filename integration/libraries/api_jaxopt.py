"""jaxopt: solvers, projections, proximal operators, losses, and derivatives through solutions."""

import jaxopt
import optax
from jaxopt import linear_solve, loss, projection, prox

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

A = jnp.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
B = jnp.array([1.0, -0.5, 0.3])
X = jnp.array([0.5, -0.2, 0.9])
START = jnp.zeros(3)


def quadratic(x, scale=1.0):
    return scale * 0.5 * x @ A @ x - B @ x + 0.1 * jnp.sum(jnp.cosh(x))


def residuals(x, scale=1.0):
    return scale * (A @ x - B) + 0.1 * x**3


SOLVERS = {
    "GradientDescent": jaxopt.GradientDescent(quadratic, maxiter=200, tol=1e-8),
    "plain GradientDescent": jaxopt.GradientDescent(quadratic, stepsize=0.2, acceleration=False),
    "LBFGS": jaxopt.LBFGS(quadratic, maxiter=50, tol=1e-9),
    "LBFGS, backtracking": jaxopt.LBFGS(quadratic, linesearch="backtracking", tol=1e-9),
    "LBFGS, hager-zhang": jaxopt.LBFGS(quadratic, linesearch="hager-zhang", tol=1e-9),
    "BFGS": jaxopt.BFGS(quadratic, maxiter=50, tol=1e-9),
    "NonlinearCG": jaxopt.NonlinearCG(quadratic, maxiter=100, tol=1e-9),
    "OptaxSolver": jaxopt.OptaxSolver(quadratic, optax.adam(0.1), maxiter=100),
    "PolyakSGD": jaxopt.PolyakSGD(quadratic, maxiter=50, fun_min=-0.5),
    "ArmijoSGD": jaxopt.ArmijoSGD(quadratic, maxiter=50),
    "GaussNewton": jaxopt.GaussNewton(residuals, maxiter=30, tol=1e-9),
    "LevenbergMarquardt": jaxopt.LevenbergMarquardt(residuals, maxiter=30, tol=1e-9),
    "FixedPointIteration": jaxopt.FixedPointIteration(lambda x, s=1.0: 0.5 * jnp.cos(s * x)),
    "AndersonAcceleration": jaxopt.AndersonAcceleration(lambda x, s=1.0: 0.5 * jnp.cos(s * x)),
    "Broyden": jaxopt.Broyden(residuals, maxiter=50, tol=1e-9),
    "ScipyMinimize": jaxopt.ScipyMinimize(fun=quadratic, method="BFGS"),
    "ScipyRootFinding": jaxopt.ScipyRootFinding(optimality_fun=residuals, method="hybr"),
    "CVXQP": jaxopt.EqualityConstrainedQP(),
    "OSQP": jaxopt.OSQP(tol=1e-7),
    "BoxOSQP": jaxopt.BoxOSQP(tol=1e-7),
}
PLAIN = [name for name in SOLVERS if not name.endswith("QP")]


def solved(name):
    found = SOLVERS[name].run(START, 1.1).params
    return jnp.round(found, 5)


def through(name):
    return jnp.round(jax.jacobian(lambda s: SOLVERS[name].run(START, s).params)(1.1), 4)


def bisection():
    find = jaxopt.Bisection(lambda x, c: x**3 - c, lower=0.0, upper=3.0, tol=1e-9)
    return jax.value_and_grad(lambda c: find.run(None, c).params)(2.0)


def proximal(solver, operator, **options):
    solver = solver(lambda x: quadratic(x), operator, maxiter=100, tol=1e-9, **options)
    return jnp.round(solver.run(START, 0.1).params, 5)


def projected(name, *hyper):
    solver = jaxopt.ProjectedGradient(quadratic, getattr(projection, name), maxiter=100, tol=1e-9)
    return jnp.round(solver.run(START + 0.1, *hyper).params, 5)


def quadratic_program(solver, **options):
    a, b = jnp.array([[1.0, 1.0, 1.0]]), jnp.array([1.0])
    found = SOLVERS[solver].run(params_obj=(A, -B), params_eq=(a, b), **options).params
    return jnp.round(found.primal, 4)


def boxed():
    found = SOLVERS["BoxOSQP"].run(params_obj=(A, -B), params_eq=jnp.eye(3), params_ineq=(-X, X))
    return jnp.round(found.params.primal[0], 3)


HYPER = {
    "non_negative": (),
    "box": ((-1.0, 0.5),),
    "simplex": (1.0,),
    "l1_sphere": (1.0,),
    "l1_ball": (1.0,),
    "l2_sphere": (1.0,),
    "l2_ball": (1.0,),
    "linf_ball": (0.4,),
    "hyperplane": ((B, 0.3),),
    "halfspace": ((B, 0.3),),
    "box_section": ((-1.0 * jnp.ones(3), jnp.ones(3), jnp.ones(3), 0.5),),
}
PROXIMAL = {
    "none": (),
    "lasso": (0.2,),
    "elastic_net": ((0.2, 0.1),),
    "group_lasso": (0.2,),
    "ridge": (0.2,),
    "non_negative_ridge": (0.2,),
    "non_negative_lasso": (0.2,),
}
LOSSES = {
    "binary_logistic_loss": (1, 0.3),
    "multiclass_logistic_loss": (1, X),
    "huber_loss": (0.2, 1.8),
    "binary_sparsemax_loss": (1, 0.3),
    "multiclass_sparsemax_loss": (1, X),
    "binary_hinge_loss": (1, 0.3),
    "binary_perceptron_loss": (0, 0.3),
    "multiclass_hinge_loss": (1, X),
    "multiclass_perceptron_loss": (1, X),
}
LINEAR = ("solve_cg", "solve_gmres", "solve_bicgstab", "solve_lu", "solve_cholesky")


def both_ways(function, at, *rest):
    jacobian = jax.jacobian(lambda x: function(x, *rest))
    return function(at, *rest), jacobian(at), jax.jit(jax.vmap(jacobian))(jnp.stack([at, -at]))


def lossy(name):
    label, logits = LOSSES[name]
    return jax.value_and_grad(getattr(loss, name), argnums=1)(label, jnp.asarray(logits))


CASES = {
    **{name: (lambda n=name: solved(n)) for name in PLAIN},
    **{f"through {n}": (lambda n=n: through(n)) for n in PLAIN if n[:8] not in ("PolyakSG",)},
    **{
        f"projection {n}": (
            lambda n=n, h=h: both_ways(getattr(projection, f"projection_{n}"), X, *h)
        )
        for n, h in HYPER.items()
    },
    **{
        f"projected gradient {n}": (lambda n=n, h=h: projected(f"projection_{n}", *h))
        for n, h in HYPER.items()
    },
    **{
        f"prox {n}": (lambda n=n, h=h: both_ways(getattr(prox, f"prox_{n}"), X, *h))
        for n, h in PROXIMAL.items()
    },
    **{name: (lambda n=name: lossy(n)) for name in LOSSES},
    **{name: (lambda n=name: getattr(linear_solve, n)(lambda x: A @ x, B)) for name in LINEAR},
    "bisection": bisection,
    "proximal gradient": lambda: proximal(jaxopt.ProximalGradient, prox.prox_lasso),
    "block coordinate descent": lambda: jnp.round(
        jaxopt.BlockCoordinateDescent(
            jaxopt.objective.least_squares, prox.prox_lasso, maxiter=100, tol=1e-9
        )
        .run(START, 0.05, (A, B))
        .params,
        5,
    ),
    "equality QP": lambda: quadratic_program("CVXQP"),
    "OSQP": lambda: quadratic_program("OSQP", params_ineq=(jnp.eye(3), jnp.ones(3))),
    "BoxOSQP": boxed,
    "perspective": lambda: jax.grad(lambda v: SOLVERS["LBFGS"].run(v).params.sum())(START),
}
