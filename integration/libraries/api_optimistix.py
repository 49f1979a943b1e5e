"""Optimistix, with 64-bit types: roots, fixed points, minima, least squares, and derivatives."""

import optimistix as optx

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

START = jnp.array([0.5, -0.5])


def rosenbrock(x, _):
    return (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2


def residuals(x, scale):
    return jnp.array([1 - x[0], jnp.sqrt(5.0) * (x[1] - x[0] ** 2)]) * scale


def equations(x, shift):
    return jnp.array([x[0] ** 2 + x[1] - shift, x[0] - x[1] / 3])


def contraction(x, shift):
    return 0.5 * jnp.cos(x) + shift


LIMITS = {"rtol": 1e-8, "atol": 1e-8}
MINIMISERS = {
    "BFGS": optx.BFGS(**LIMITS),
    "NelderMead": optx.NelderMead(1e-6, 1e-6),
    "NonlinearCG": optx.NonlinearCG(**LIMITS),
    "GradientDescent": optx.GradientDescent(0.02, 1e-5, 1e-5),
}
SOLVERS = {
    "GaussNewton": optx.GaussNewton(**LIMITS),
    "LevenbergMarquardt": optx.LevenbergMarquardt(**LIMITS),
    "Dogleg": optx.Dogleg(**LIMITS),
    "IndirectLevenbergMarquardt": optx.IndirectLevenbergMarquardt(**LIMITS),
}
ROOTS = {"Newton": optx.Newton(**LIMITS), "Chord": optx.Chord(**LIMITS)}


def minimum(solver):
    found = optx.minimise(rosenbrock, solver, START, max_steps=5000)
    return jnp.round(found.value, 3), found.result == optx.RESULTS.successful


def fitted(solver):
    found = optx.least_squares(residuals, solver, START, args=1.0)
    return jnp.round(found.value, 6), found.result == optx.RESULTS.successful


def root(solver):
    return optx.root_find(equations, solver, START, args=2.0).value


def implicit(transform):
    find = lambda shift: optx.root_find(equations, ROOTS["Newton"], START, args=shift).value
    return transform(find)(2.0)


def fixed_point_gradient():
    solver = optx.FixedPointIteration(**LIMITS)
    find = lambda shift: optx.fixed_point(contraction, solver, jnp.array(0.3), args=shift).value
    return jax.value_and_grad(find)(0.2)


def unrolled_gradient():
    def find(shift):
        solver, adjoint = ROOTS["Newton"], optx.RecursiveCheckpointAdjoint()
        return optx.root_find(equations, solver, START, args=shift, adjoint=adjoint).value[0]

    return jax.grad(find)(2.0)


def bisection():
    solver = optx.Bisection(1e-9, 1e-9)
    options = {"lower": 0.0, "upper": 2.0}
    return optx.root_find(lambda x, _: x**3 - 2, solver, 1.0, options=options).value


def stopped():
    return optx.minimise(rosenbrock, MINIMISERS["BFGS"], START, max_steps=2, throw=False).result


def raised():
    return optx.minimise(rosenbrock, MINIMISERS["BFGS"], START, max_steps=2).value


def steps_by_hand():
    solver, y = ROOTS["Newton"], START
    structure = jax.eval_shape(lambda: equations(START, 2.0))
    function = lambda y, args: (equations(y, args), None)
    f_struct, aux = structure, None
    state = solver.init(function, y, 2.0, {}, f_struct, aux, frozenset())
    for _ in range(3):
        y, state, _ = solver.step(function, y, 2.0, {}, state, frozenset())
    return y


CASES = {
    **{f"minimise {n}": (lambda s=s: minimum(s)) for n, s in MINIMISERS.items()},
    **{f"least squares {n}": (lambda s=s: fitted(s)) for n, s in SOLVERS.items()},
    **{f"root {n}": (lambda s=s: root(s)) for n, s in ROOTS.items()},
    "bisection": bisection,
    "jit": lambda: implicit(jax.jit),
    "gradient": lambda: implicit(jax.jacrev),
    "jvp": lambda: implicit(jax.jacfwd),
    "vmap": lambda: implicit(lambda f: lambda x: jax.vmap(f)(jnp.array([x, 3.0]))),
    "second order": lambda: implicit(lambda f: jax.jacfwd(jax.jacrev(f))),
    "fixed point": fixed_point_gradient,
    "unrolled gradient": unrolled_gradient,
    "stopped": stopped,
    "stopped, raised": raised,
    "steps": steps_by_hand,
    "least squares as minimise": lambda: jnp.round(
        optx.minimise(rosenbrock, optx.BestSoFarMinimiser(MINIMISERS["BFGS"]), START).value, 4
    ),
    "root as least squares": lambda: jnp.round(
        optx.root_find(equations, SOLVERS["LevenbergMarquardt"], START, args=2.0).value, 6
    ),
}
