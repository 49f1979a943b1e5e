"""A mixture of experts, one on each device: tokens go to their expert and back by all_to_all."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

EXPERTS, TOKENS, CAPACITY, WIDTH, HIDDEN, STEPS = 8, 16, 6, 16, 32, 6


def mixture(weights, x):
    """Each device's tokens through the expert that their gate chooses, as far as it has room."""
    scores = jax.nn.softmax(x @ weights["gate"])
    chosen = jnp.argmax(scores, axis=-1)
    mask = jax.nn.one_hot(chosen, EXPERTS)
    place = (jnp.cumsum(mask, axis=0) - 1) * mask
    fits = mask * (place < CAPACITY)
    slots = jax.nn.one_hot(jnp.sum(place, -1).astype(int), CAPACITY)
    route = jnp.einsum("te,tc->tec", fits, slots)
    sent = jnp.einsum("tec,td->ecd", route, x)
    received = lax.all_to_all(sent, "expert", split_axis=0, concat_axis=1, tiled=True)
    hidden = jax.nn.relu(received[0] @ weights["up"][0])
    answer = (hidden @ weights["down"][0])[None]
    back = lax.all_to_all(answer, "expert", split_axis=1, concat_axis=0, tiled=True)
    gate = jnp.sum(scores * mask, axis=-1)
    out = jnp.einsum("tec,ecd->td", route, back) * gate[:, None]
    share, probability = lax.pmean((mask.mean(0), scores.mean(0)), "expert")
    return out, EXPERTS * jnp.sum(share * probability)


def loss_of(weights, x, y):
    out, balance = mixture(weights, x)
    return lax.pmean(jnp.mean((x + out - y) ** 2), "expert") + 0.01 * balance


SPECS = {"gate": P(), "up": P("expert"), "down": P("expert")}


@partial(jax.jit, donate_argnums=0)
@partial(jax.shard_map, in_specs=(SPECS, P("expert"), P("expert")), out_specs=(SPECS, P()))
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.3 * g, weights, gradient), loss


def run():
    mesh = jax.make_mesh((8,), ("expert",), axis_types=(AxisType.Auto,))
    kg, ku, kd, kx = jax.random.split(jax.random.key(4), 4)
    with jax.set_mesh(mesh):
        weights = {
            "gate": jax.random.normal(kg, (WIDTH, EXPERTS)) / WIDTH**0.5,
            "up": jax.random.normal(ku, (EXPERTS, WIDTH, HIDDEN)) / WIDTH**0.5,
            "down": jax.random.normal(kd, (EXPERTS, HIDDEN, WIDTH)) / HIDDEN**0.5,
        }
        places = {name: NamedSharding(mesh, spec) for name, spec in SPECS.items()}
        weights = jax.device_put(weights, places)
        divided = NamedSharding(mesh, P("expert"))
        x = jax.device_put(jax.random.normal(kx, (EXPERTS * TOKENS, WIDTH)), divided)
        y = jax.device_put(jnp.roll(x, 1, axis=1) * 0.5, divided)
        compiled = step.lower(weights, x, y).compile()
        losses = []
        for _ in range(STEPS):
            weights, loss = step(weights, x, y)
            losses.append(loss)
    return losses, {"step": compiled}
