"""blackjax: a few steps of every sampler, adaptation, variational fits, particles, diagnostics."""

import blackjax
import optax

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

KEY = jax.random.key(0)
START = jnp.array([0.3, -0.2])
SCALES = jnp.array([1.0, 0.5])


def log_density(x):
    return -0.5 * jnp.sum((x / SCALES) ** 2) - 0.1 * jnp.sum(x**4)


def steps(algorithm, start=START, count=4, **options):
    state = algorithm.init(start, **options)
    step = jax.jit(algorithm.step)
    for key in jax.random.split(KEY, count):
        state, info = step(key, state)
    return state, info


ONES = jnp.ones(2)
SAMPLERS = {
    "hmc": lambda: steps(blackjax.hmc(log_density, 0.2, ONES, 5)),
    "nuts": lambda: steps(blackjax.nuts(log_density, 0.2, ONES)),
    "nuts, dense": lambda: steps(blackjax.nuts(log_density, 0.2, jnp.eye(2) + 0.1)),
    "dynamic_hmc": lambda: steps(
        blackjax.dynamic_hmc(log_density, 0.2, ONES), rng_key=jax.random.key(1)
    ),
    "mala": lambda: steps(blackjax.mala(log_density, 0.1)),
    "barker": lambda: steps(blackjax.barker_proposal(log_density, 0.1)),
    "rmh": lambda: steps(
        blackjax.rmh(log_density, lambda key, x: x + 0.3 * jax.random.normal(key, x.shape))
    ),
    "additive random walk": lambda: steps(
        blackjax.additive_step_random_walk(log_density, blackjax.mcmc.random_walk.normal(ONES))
    ),
    "elliptical_slice": lambda: steps(
        blackjax.elliptical_slice(log_density, mean=jnp.zeros(2), cov=jnp.eye(2))
    ),
    "ghmc": lambda: steps(
        blackjax.ghmc(log_density, 0.2, ONES, 0.3, 0.1), rng_key=jax.random.key(1)
    ),
    "mclmc": lambda: steps(
        blackjax.mclmc(log_density, L=1.0, step_size=0.2), rng_key=jax.random.key(1)
    ),
    "orbital_hmc": lambda: steps(blackjax.orbital_hmc(log_density, 0.2, ONES, 4)),
    "rmhmc": lambda: steps(blackjax.rmhmc(log_density, 0.1, lambda x: jnp.eye(2), 3)),
}


def minibatch(x, batch):
    return log_density(x - batch.mean(0))


def stochastic(name, **options):
    gradient = jax.grad(minibatch)
    algorithm = getattr(blackjax, name)(gradient, **options)
    state = algorithm.init(START)
    for key in jax.random.split(KEY, 3):
        state = algorithm.step(key, state, jnp.ones((4, 2)), 1e-2)
    return state


def variational(algorithm):
    state = algorithm.init(START)
    for key in jax.random.split(KEY, 3):
        state, info = algorithm.step(key, state)
    return state, info, algorithm.sample(KEY, state, 5)


def tempered():
    hmc = blackjax.hmc.build_kernel()
    smc = blackjax.adaptive_tempered_smc(
        lambda x: -0.5 * jnp.sum(x**2),
        log_density,
        hmc,
        blackjax.hmc.init,
        blackjax.smc.extend_params(
            {"step_size": 0.2, "inverse_mass_matrix": ONES, "num_integration_steps": 3}
        ),
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=2,
    )
    state = smc.init(jax.random.normal(KEY, (20, 2)))
    return jax.jit(smc.step)(KEY, state)


CHAINS = jax.random.normal(KEY, (4, 50, 2))
RESAMPLING = ("systematic", "stratified", "multinomial", "residual")

CASES = {
    **SAMPLERS,
    "window adaptation": lambda: blackjax.window_adaptation(blackjax.nuts, log_density).run(
        KEY, START, num_steps=30
    )[0],
    "dense window adaptation": lambda: blackjax.window_adaptation(
        blackjax.hmc, log_density, is_mass_matrix_diagonal=False, num_integration_steps=3
    ).run(KEY, START, num_steps=30)[0],
    "meads": lambda: blackjax.meads_adaptation(log_density, 4).run(KEY, CHAINS[:, 0], 6)[0],
    "chees": lambda: blackjax.chees_adaptation(log_density, 4).run(
        KEY, CHAINS[:, 0], 0.1, optax.adam(1e-2), num_steps=5
    )[0],
    "pathfinder": lambda: blackjax.vi.pathfinder.approximate(KEY, log_density, START, 20)[0],
    "sgld": lambda: stochastic("sgld"),
    "sghmc": lambda: stochastic("sghmc", num_integration_steps=3),
    "meanfield_vi": lambda: variational(blackjax.meanfield_vi(log_density, optax.sgd(1e-2), 4)),
    "fullrank_vi": lambda: variational(blackjax.fullrank_vi(log_density, optax.sgd(1e-2), 4)),
    "svgd": lambda: variational_svgd(),
    "tempered": tempered,
    "ess": lambda: blackjax.ess(CHAINS),
    "rhat": lambda: blackjax.rhat(CHAINS),
    "ess_bulk": lambda: blackjax.ess_bulk(CHAINS),
    "ess_tail": lambda: blackjax.ess_tail(CHAINS),
    **{
        f"resampling, {n}": (
            lambda n=n: getattr(blackjax.smc.resampling, n)(KEY, jnp.ones(6) / 6, 8)
        )
        for n in RESAMPLING
    },
    "inference algorithm": lambda: blackjax.util.run_inference_algorithm(
        rng_key=KEY,
        inference_algorithm=blackjax.hmc(log_density, 0.2, ONES, 3),
        num_steps=5,
        initial_position=START,
    )[1],
    "lbfgs": lambda: blackjax.optimizers.lbfgs.minimize_lbfgs(lambda x: -log_density(x), START)[0],
}


def variational_svgd():
    svgd = blackjax.svgd(jax.grad(log_density), optax.sgd(0.1))
    state = svgd.init(CHAINS[0])
    for _ in range(3):
        state = svgd.step(state)
    return state
