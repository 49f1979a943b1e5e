"""Dynamiqs: quantum states and operators, dense and sparse, and their evolution with gradients."""

import dynamiqs as dq

import jax
import jax.numpy as jnp

dq.set_precision("double")

N = 8
TIMES = jnp.linspace(0.0, 1.0, 5)


def operators(layout):
    with_layout = {"layout": layout}
    return dq.destroy(N, **with_layout), dq.number(N, **with_layout)


def closed(layout):
    a, n = operators(layout)
    solved = dq.sesolve(n + 0.3 * (a + a.dag()), dq.coherent(N, 0.5), TIMES, exp_ops=[n])
    return solved.states.to_jax(), solved.expects


def opened(layout):
    a, n = operators(layout)
    solved = dq.mesolve(n, [0.4 * a], dq.fock(N, 3), TIMES, exp_ops=[n])
    return solved.states.to_jax(), solved.expects


def gradient(layout):
    a, n = operators(layout)

    def energy(rate):
        return dq.mesolve(n, [rate * a], dq.fock(N, 3), TIMES, exp_ops=[n]).expects.real[0, -1]

    return jax.value_and_grad(energy)(0.4)


def unfinished():
    a, n = operators(dq.dense)
    method = dq.method.Tsit5(max_steps=2)
    return dq.mesolve(n, [0.4 * a], dq.fock(N, 3), TIMES, method=method)


CASES = {
    f"{case.__name__} {layout}": lambda c=case, k=layout: c(k)
    for case in (closed, opened, gradient)
    for layout in (dq.dense, dq.dia)
} | {
    "batch": lambda: dq.sesolve(
        [dq.number(N), 2 * dq.number(N)], dq.coherent(N, 0.5), TIMES
    ).states.to_jax(),
    "propagator": lambda: dq.sepropagator(dq.number(N), TIMES).propagators.to_jax(),
    "wigner": lambda: dq.wigner(dq.coherent(N, 0.5), npixels=9),
    "entropy": lambda: dq.entropy_vn(dq.todm(dq.coherent(N, 0.5))),
    "unfinished": unfinished,
}
