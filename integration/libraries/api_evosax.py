"""Evosax: evolution strategies and populations, asked and told in a scan."""

from evosax.algorithms import algorithms
from evosax.problems import BBOBProblem

import jax
import jax.numpy as jnp

START = {"w": jnp.linspace(-1.0, 1.0, 4).reshape(2, 2), "b": jnp.full(2, 0.5)}
DISTRIBUTIONS = [
    "SimpleES",
    "Open_ES",
    "CMA_ES",
    "Sep_CMA_ES",
    "SNES",
    "xNES",
    "PGPE",
    "ARS",
    "LM_MA_ES",
    "iAMaLGaM_Full",
]
POPULATIONS = ["SimpleGA", "DifferentialEvolution", "PSO", "SAMR_GA", "DiffusionEvolution"]


def fitness(solution):
    return jnp.sum((solution["w"] - 0.3) ** 2) + jnp.sum(jnp.cos(solution["b"]))


def evolved(name, generations=10, size=8):
    algorithm = algorithms[name](population_size=size, solution=START)
    params = algorithm.default_params
    key = jax.random.key(0)
    if name in POPULATIONS:
        population = jax.vmap(
            lambda k: jax.tree.map(lambda x: x + 0.1 * jax.random.normal(k, x.shape), START)
        )(jax.random.split(key, size))
        state = algorithm.init(key, population, jax.vmap(fitness)(population), params)
    else:
        state = algorithm.init(key, START, params)

    def generation(state, key):
        asked, told = jax.random.split(key)
        population, state = algorithm.ask(asked, state, params)
        values = jax.vmap(fitness)(population)
        state, metrics = algorithm.tell(told, population, values, state, params)
        return state, (values, metrics["best_fitness"])

    keys = jax.random.split(jax.random.key(1), generations)
    state, record = jax.lax.scan(generation, state, keys)
    return record, state.best_solution


def benchmark():
    problem = BBOBProblem(fn_name="rastrigin", num_dims=3, seed=0)
    state = problem.init(jax.random.key(0))
    population = jnp.linspace(-3.0, 3.0, 12).reshape(4, 3)
    return problem.eval(jax.random.key(1), population, state)[0]


CASES = {
    **{name: lambda name=name: evolved(name) for name in DISTRIBUTIONS + POPULATIONS},
    "benchmark": benchmark,
}
