"""Mctx: Monte Carlo tree search with a model of an environment, in batches under jit."""

import mctx

import jax
import jax.numpy as jnp

ACTIONS = 4
LOGITS = jnp.array([[0.3, -0.2, 0.1, 0.0], [-1.0, 0.5, 0.2, 0.7]])
VALUE = jnp.array([0.1, -0.3])


def root():
    return mctx.RootFnOutput(prior_logits=LOGITS, value=VALUE, embedding=jnp.array([0.5, 2.0]))


def step(params, key, action, embedding):
    following = jnp.sin(embedding * params + action)
    logits = jnp.cos(following[:, None] * jnp.arange(1.0, 1.0 + ACTIONS))
    out = mctx.RecurrentFnOutput(
        reward=0.3 * following,
        discount=jnp.full_like(following, 0.95),
        prior_logits=logits,
        value=jnp.tanh(following),
    )
    return out, following


def stochastic_decision(params, key, action, embedding):
    out, following = step(params, key, action, embedding)
    chances = mctx.DecisionRecurrentFnOutput(
        chance_logits=jnp.sin(following[:, None] * jnp.arange(1.0, 3.0)), afterstate_value=out.value
    )
    return chances, following


def stochastic_chance(params, key, chance, afterstate):
    out, following = step(params, key, chance, afterstate)
    return mctx.ChanceRecurrentFnOutput(
        action_logits=out.prior_logits, value=out.value, reward=out.reward, discount=out.discount
    ), following


def searched(policy, simulations=16, **options):
    return policy(
        params=1.5,
        rng_key=jax.random.PRNGKey(3),
        root=root(),
        recurrent_fn=step,
        num_simulations=simulations,
        **options,
    )


def of_search(out):
    return out.action, out.action_weights, out.search_tree.summary()


def muzero():
    return of_search(searched(mctx.muzero_policy, dirichlet_fraction=0.25))


def gumbel():
    return of_search(searched(mctx.gumbel_muzero_policy))


def stochastic():
    out = mctx.stochastic_muzero_policy(
        params=1.5,
        rng_key=jax.random.PRNGKey(5),
        root=root(),
        decision_recurrent_fn=stochastic_decision,
        chance_recurrent_fn=stochastic_chance,
        num_simulations=8,
    )
    return out.action, out.action_weights


def transformed(qtransform):
    out = searched(mctx.muzero_policy, qtransform=qtransform)
    return out.action_weights


def invalid():
    masked = jnp.array([[1, 0, 0, 0], [0, 0, 1, 1]])
    return of_search(searched(mctx.gumbel_muzero_policy, invalid_actions=masked))


CASES = {
    "MuZero": muzero,
    "MuZero, jitted": lambda: jax.jit(muzero)(),
    "MuZero, of bounded depth": lambda: of_search(searched(mctx.muzero_policy, max_depth=3)),
    "Gumbel MuZero": gumbel,
    "Gumbel MuZero, jitted": lambda: jax.jit(gumbel)(),
    "Gumbel MuZero, invalid actions": invalid,
    "stochastic MuZero": stochastic,
    "values by parent and siblings": lambda: transformed(mctx.qtransform_by_parent_and_siblings),
    "values completed by mixing": lambda: transformed(mctx.qtransform_completed_by_mix_value),
    "values by minimum and maximum": lambda: transformed(
        lambda tree, node: mctx.qtransform_by_min_max(tree, node, min_value=-1.0, max_value=1.0)
    ),
    "tree": lambda: jax.tree.leaves(searched(mctx.muzero_policy, 8).search_tree),
}
