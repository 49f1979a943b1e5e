"""Diffrax, with 64-bit types: equations, solvers, step sizes, saving, adjoints and noise."""

import diffrax as dfx

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

Y0 = jnp.array([1.0, 0.5])


def field(t, y, args):
    return jnp.array([-0.5 * y[0] + args * y[1], -y[1]]) + 0.1 * jnp.sin(t)


TERM = dfx.ODETerm(field)
SOLVERS = ["Euler", "Heun", "Midpoint", "Ralston", "Bosh3", "Tsit5", "Dopri5", "Dopri8"]
IMPLICIT = ["ImplicitEuler", "Kvaerno3", "Kvaerno5"]
ADJOINTS = {
    "RecursiveCheckpointAdjoint": dfx.RecursiveCheckpointAdjoint,
    "DirectAdjoint": dfx.DirectAdjoint,
    "BacksolveAdjoint": dfx.BacksolveAdjoint,
}


def solution(solver, args=0.3, **options):
    options = {"dt0": 0.1, **options}
    return dfx.diffeqsolve(TERM, solver, 0.0, 1.0, y0=Y0, args=args, **options)


def adaptive(name, **options):
    controller = dfx.PIDController(rtol=1e-6, atol=1e-8)
    return solution(getattr(dfx, name)(), stepsize_controller=controller, **options).ys


def gradient(adjoint):
    loss = lambda args: jnp.sum(solution(dfx.Tsit5(), args, adjoint=adjoint()).ys)
    return jax.value_and_grad(loss)(0.3)


def forward():
    loss = lambda args: solution(dfx.Tsit5(), args, adjoint=dfx.ForwardMode()).ys
    return jax.jacfwd(loss)(0.3)


def batch():
    return jax.vmap(lambda args: solution(dfx.Dopri5(), args).ys)(jnp.array([0.1, 0.2, 0.3]))


def saved():
    found = solution(dfx.Tsit5(), saveat=dfx.SaveAt(ts=jnp.linspace(0.0, 1.0, 5)))
    return found.ts, found.ys, found.stats["num_steps"]


def dense():
    found = solution(dfx.Tsit5(), saveat=dfx.SaveAt(dense=True))
    return found.evaluate(0.37), found.derivative(0.37)


def every_step():
    found = solution(dfx.Euler(), saveat=dfx.SaveAt(t0=True, steps=True), max_steps=16)
    return found.ts, found.ys


def event():
    condition = dfx.Event(lambda t, y, args, **kwargs: y[0] - 0.9, None)
    return solution(dfx.Heun(), event=condition).ts


def too_many_steps():
    return solution(dfx.Euler(), dt0=1e-3, max_steps=10).ys


def too_many_steps_told():
    return solution(dfx.Euler(), dt0=1e-3, max_steps=10, throw=False).result


def stochastic(solver):
    path = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(2,), key=jax.random.key(0))
    noise = dfx.ControlTerm(lambda t, y, args: 0.1 * jnp.eye(2), path)
    terms = dfx.MultiTerm(TERM, noise)
    return dfx.diffeqsolve(terms, solver, 0.0, 1.0, dt0=0.05, y0=Y0, args=0.3).ys


def brownian():
    path = dfx.UnsafeBrownianPath(shape=(3,), key=jax.random.key(1))
    return path.evaluate(0.0, 0.5)


def interpolated():
    ts, ys = jnp.linspace(0.0, 1.0, 6), jnp.sin(jnp.arange(6.0))
    coefficients = dfx.backward_hermite_coefficients(ts, ys)
    cubic, linear = dfx.CubicInterpolation(ts, coefficients), dfx.LinearInterpolation(ts, ys)
    return cubic.evaluate(0.45), linear.evaluate(0.45), linear.derivative(0.45)


def jitted():
    return jax.jit(lambda args: solution(dfx.Tsit5(), args).ys)(0.3)


def trees():
    term = dfx.ODETerm(lambda t, y, args: {"a": -y["a"], "b": (y["a"] * y["b"][0],)})
    y0 = {"a": jnp.ones(2), "b": (jnp.full(2, 0.5),)}
    return dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 1.0, dt0=0.1, y0=y0).ys


CASES = {
    **{f"fixed {n}": (lambda n=n: solution(getattr(dfx, n)()).ys) for n in SOLVERS},
    **{f"adaptive {n}": (lambda n=n: adaptive(n)) for n in SOLVERS[4:]},
    **{f"implicit {n}": (lambda n=n: adaptive(n)) for n in IMPLICIT},
    **{f"gradient {n}": (lambda a=a: gradient(a)) for n, a in ADJOINTS.items()},
    "forward mode": forward,
    "vmap": batch,
    "jit": jitted,
    "SaveAt ts": saved,
    "SaveAt dense": dense,
    "SaveAt steps": every_step,
    "event": event,
    "too many steps": too_many_steps,
    "too many steps, told": too_many_steps_told,
    "Euler of noise": lambda: stochastic(dfx.Euler()),
    "Heun of noise": lambda: stochastic(dfx.Heun()),
    "Brownian path": brownian,
    "interpolation": interpolated,
    "trees": trees,
}
