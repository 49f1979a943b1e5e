"""Qujax: quantum circuits as functions of their parameters: states, unitaries, expectations."""

import qujax

import jax
import jax.numpy as jnp

GATES = ["H", "Rx", "CX", "Ry", "CZ", "Rz"]
QUBITS = [[0], [1], [0, 1], [2], [1, 2], [0]]
PARAMETERS = [[], [0], [], [1], [], [2]]
ANGLES = jnp.array([0.3, 0.7, -0.2])

state = qujax.get_params_to_statetensor_func(GATES, QUBITS, PARAMETERS)
density = qujax.get_params_to_densitytensor_func(GATES, QUBITS, PARAMETERS)
expectation = qujax.get_statetensor_to_expectation_func(
    [["Z"], ["X", "X"]], [[0], [1, 2]], jnp.array([0.5, -1.0])
)


def energy(angles):
    return expectation(state(angles))


def sampled():
    sample = qujax.get_statetensor_to_sampled_expectation_func(
        [["Z"], ["Z", "Z"]], [[0], [1, 2]], jnp.array([0.5, -1.0])
    )
    return sample(state(ANGLES), jax.random.key(0), 1000)


CASES = {
    "state": lambda: state(ANGLES),
    "density": lambda: density(ANGLES),
    "unitary": lambda: qujax.get_params_to_unitarytensor_func(GATES, QUBITS, PARAMETERS)(ANGLES),
    "energy and gradient": lambda: jax.jit(jax.value_and_grad(energy))(ANGLES),
    "Hessian": lambda: jax.hessian(energy)(ANGLES),
    "batch": lambda: jax.vmap(energy)(jnp.stack([ANGLES, 2 * ANGLES])),
    "samples": lambda: qujax.sample_bitstrings(jax.random.key(0), state(ANGLES), 20),
    "sampled expectation": sampled,
    "partial trace": lambda: qujax.partial_trace(density(ANGLES), [1]),
    "print": lambda: "\n".join(qujax.print_circuit(GATES, QUBITS, PARAMETERS)),
}
