"""A logistic regression of iris sampled with blackjax: NUTS, its step size and scale adapted."""

import blackjax

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS = 150
QUALITY = {"accuracy": 0.9, "acceptance": 0.6, "effective_share": 0.1}


def train(data):
    features = jnp.asarray(data["flowers"], float)
    is_last = jnp.asarray(data["species"] == 2)
    warm, sampling = jax.random.split(jax.random.key(3))

    def log_density(position):
        logits = features @ position["weights"] + position["shift"]
        # Not `log_sigmoid`: its derivative is rounded in other ways here, and a chain that differs
        # by a rounding is soon another one.
        fit = -jnp.log1p(jnp.exp(jnp.where(is_last, -logits, logits))).sum()
        return fit - 0.5 * jnp.sum(position["weights"] ** 2) - 0.5 * position["shift"] ** 2

    start = {"weights": jnp.zeros(4), "shift": jnp.zeros(())}
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = adaptation.run(warm, start, num_steps=200)
    step = jax.jit(blackjax.nuts(log_density, **parameters).step)

    positions, rates = [], []
    for key in jax.random.split(sampling, STEPS):
        state, info = step(key, state)
        positions.append(state.position)
        rates.append(info.acceptance_rate)
        yield -state.logdensity
    samples = jax.tree.map(lambda *draws: jnp.stack(draws), *positions)
    logits = samples["weights"] @ features.T + samples["shift"][:, None]
    predicted = jax.nn.sigmoid(logits).mean(0) > 0.5
    size = blackjax.ess(samples["weights"][None]).min()
    return {
        "accuracy": (predicted == is_last).mean(),
        "acceptance": jnp.stack(rates).mean(),
        "effective_share": size / STEPS,
    }
