"""Attention over a sequence in shares: keys and values go round the devices in a ring."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

LENGTH, HEADS, SIZE, STEPS = 64, 4, 8, 5


def attend(q, k, v):
    """Attention of the device's queries to all keys, with a running maximum and sum."""
    count, here = lax.axis_size("ring"), lax.axis_index("ring")
    ring = [(i, (i + 1) % count) for i in range(count)]
    rows = here * q.shape[0] + jnp.arange(q.shape[0])

    def meet(carry, round_):
        most, total, mixed, k, v = carry
        owner = (here - round_) % count
        columns = owner * k.shape[0] + jnp.arange(k.shape[0])
        scores = jnp.einsum("thd,shd->hts", q, k) / SIZE**0.5
        scores = jnp.where(rows[:, None] >= columns, scores, -1e9)
        new = jnp.maximum(most, scores.max(-1))
        weights = jnp.exp(scores - new[..., None])
        scale = jnp.exp(most - new)
        total = total * scale + weights.sum(-1)
        mixed = mixed * scale[..., None] + jnp.einsum("hts,shd->htd", weights, v)
        k, v = lax.ppermute((k, v), "ring", ring)
        return (new, total, mixed, k, v), None

    shape = (q.shape[1], q.shape[0])
    most = lax.pcast(jnp.full(shape, -1e9), "ring", to="varying")
    total = lax.pcast(jnp.zeros(shape), "ring", to="varying")
    mixed = lax.pcast(jnp.zeros((*shape, SIZE)), "ring", to="varying")
    carry, _ = lax.scan(meet, (most, total, mixed, k, v), jnp.arange(count))
    return jnp.swapaxes(carry[2] / carry[1][..., None], 0, 1)


ring_attention = jax.shard_map(attend, in_specs=P("ring"), out_specs=P("ring"))


def loss_of(weights, x, y):
    q, k, v = (jnp.einsum("td,dhk->thk", x, weights[name]) for name in "qkv")
    return jnp.mean((ring_attention(q, k, v).reshape(LENGTH, -1) - y) ** 2)


@partial(jax.jit, donate_argnums=0)
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, g: w - g, weights, gradient), loss


def run():
    mesh = jax.make_mesh((jax.device_count(),), ("ring",), axis_types=(AxisType.Auto,))
    divided = NamedSharding(mesh, P("ring"))
    kw, kx, ky = jax.random.split(jax.random.key(3), 3)
    with jax.set_mesh(mesh):
        weights = {
            name: jax.random.normal(key, (HEADS * SIZE, HEADS, SIZE)) / (HEADS * SIZE) ** 0.5
            for name, key in zip("qkv", jax.random.split(kw, 3), strict=True)
        }
        weights = jax.device_put(weights, NamedSharding(mesh, P()))
        x = jax.device_put(jax.random.normal(kx, (LENGTH, HEADS * SIZE)), divided)
        y = jax.device_put(jax.random.normal(ky, (LENGTH, HEADS * SIZE)), divided)
        q = jax.device_put(jax.random.normal(kx, (LENGTH, HEADS, SIZE)), divided)
        forward = jax.jit(ring_attention).lower(q, q, q).compile()
        compiled = step.lower(weights, x, y).compile()
        losses = []
        for _ in range(STEPS):
            weights, loss = step(weights, x, y)
            losses.append(loss)
    return losses, {"forward": forward, "step": compiled}
