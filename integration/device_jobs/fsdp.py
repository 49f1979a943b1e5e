"""Weights and moments in shares on all devices, gathered layer by layer, gradients scattered."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

LAYERS, WIDTH, STEPS = 3, 32, 8


def loss_of(shares, x, y):
    for share in shares:
        # The transpose of the gathering scatters the sum of the gradients.
        weight = lax.all_gather(share, "fsdp", tiled=True)
        x = jnp.tanh(x @ weight)
    return lax.pmean(jnp.mean((x - y) ** 2), "fsdp")


@jax.jit
@partial(
    jax.shard_map,
    in_specs=(P("fsdp"), P("fsdp"), P("fsdp"), P("fsdp"), P()),
    out_specs=(P("fsdp"), P("fsdp"), P("fsdp"), P()),
)
def step(shares, first, second, batch, count):
    x, y = batch
    loss, gradient = jax.value_and_grad(loss_of)(shares, x, y)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, second, gradient)

    def moved(w, m, v):
        m, v = m / (1 - 0.9**count), v / (1 - 0.99**count)
        return w - 0.01 * m / (jnp.sqrt(v) + 1e-8)

    return jax.tree.map(moved, shares, first, second), first, second, loss


def run():
    mesh = jax.make_mesh((jax.device_count(),), ("fsdp",), axis_types=(AxisType.Auto,))
    divided = NamedSharding(mesh, P("fsdp"))
    kw, kx, ky = jax.random.split(jax.random.key(2), 3)
    with jax.set_mesh(mesh):
        weights = [
            jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH**0.5
            for key in jax.random.split(kw, LAYERS)
        ]
        shares = jax.device_put(weights, divided)
        first = jax.tree.map(jnp.zeros_like, shares)
        second = jax.tree.map(jnp.zeros_like, shares)
        batch = jax.device_put(
            (jax.random.normal(kx, (64, WIDTH)), jnp.tanh(jax.random.normal(ky, (64, WIDTH)))),
            divided,
        )
        compiled = step.lower(shares, first, second, batch, jnp.float32(1)).compile()
        losses = []
        for index in range(STEPS):
            count = jnp.float32(index + 1)
            shares, first, second, loss = step(shares, first, second, batch, count)
            losses.append(loss)
    assert shares[0].sharding.shard_shape(shares[0].shape) == (WIDTH // jax.device_count(), WIDTH)
    return losses, {"step": compiled}
