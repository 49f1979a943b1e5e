"""JAX MD: energies, forces, neighbour lists and simulations of particles."""

from jax_md import energy, minimize, partition, quantity, simulate, space

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

BOX, COUNT = 4.0, 16
PLACES = jax.random.uniform(jax.random.key(0), (COUNT, 2), maxval=BOX, dtype=float)
displacement, shift = space.periodic(BOX)
soft = energy.soft_sphere_pair(displacement)


def forces(build, **options):
    potential = build(displacement, **options)
    return potential(PLACES), quantity.force(potential)(PLACES)


def neighbours():
    find, potential = energy.lennard_jones_neighbor_list(
        displacement, BOX, sigma=0.5, r_cutoff=2.0, format=partition.Dense
    )
    found = find.allocate(PLACES)
    return potential(PLACES, neighbor=found.update(PLACES + 0.01)), found.idx


def simulated(make, steps=20):
    init, apply = make
    state = init(jax.random.key(1), PLACES)
    return jax.lax.fori_loop(0, steps, lambda _, s: apply(s), state).position


CASES = {
    "soft spheres": lambda: forces(energy.soft_sphere_pair),
    "Lennard-Jones": lambda: forces(energy.lennard_jones_pair, sigma=0.5),
    "Morse": lambda: forces(energy.morse_pair, sigma=0.5),
    "neighbours": neighbours,
    "constant temperature": lambda: simulated(simulate.nvt_nose_hoover(soft, shift, 1e-2, 0.1)),
    "Langevin": lambda: simulated(simulate.nvt_langevin(soft, shift, 1e-2, 0.1)),
    "pressure": lambda: quantity.stress(soft, PLACES, BOX * jnp.eye(2)),
}


def minimized():
    init, apply = minimize.fire_descent(soft, shift)
    return jax.lax.fori_loop(0, 30, lambda _, s: apply(s), init(PLACES)).position


CASES["minimized"] = minimized
