"""A transformer's block with heads and hidden units sharded over the devices, by explicit types."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

BATCH, LENGTH, WIDTH, HEADS, HIDDEN, STEPS = 4, 16, 32, 8, 64, 6


def init(key):
    kq, kk, kv, ko, k1, k2 = jax.random.split(key, 6)
    by_head, normal = P(None, "model", None), jax.random.normal
    inner = (WIDTH, HEADS, WIDTH // HEADS)
    return {
        "q": normal(kq, inner, out_sharding=by_head) / WIDTH**0.5,
        "k": normal(kk, inner, out_sharding=by_head) / WIDTH**0.5,
        "v": normal(kv, inner, out_sharding=by_head) / WIDTH**0.5,
        "o": normal(ko, (HEADS, WIDTH // HEADS, WIDTH), out_sharding=P("model")) / WIDTH**0.5,
        "up": normal(k1, (WIDTH, HIDDEN), out_sharding=P(None, "model")) / WIDTH**0.5,
        "down": normal(k2, (HIDDEN, WIDTH), out_sharding=P("model", None)) / HIDDEN**0.5,
    }


def normalize(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.mean(centered**2, -1, keepdims=True) + 1e-6)


def block(weights, x):
    h = normalize(x)
    q = jnp.einsum("btd,dhk->bthk", h, weights["q"])
    k = jnp.einsum("btd,dhk->bthk", h, weights["k"])
    v = jnp.einsum("btd,dhk->bthk", h, weights["v"])
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jnp.einsum("bhts,bshk->bthk", jax.nn.softmax(scores), v)
    # The products over sharded axes specify where their sum is: on every device.
    x = x + jnp.einsum("bthk,hkd->btd", mixed, weights["o"], out_sharding=P())
    h = jax.nn.gelu(normalize(x) @ weights["up"])
    return x + jnp.matmul(h, weights["down"], out_sharding=P())


def loss_of(weights, x, y):
    return jnp.mean((block(weights, x) - y) ** 2)


@jax.jit
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.5 * g, weights, gradient), loss


def run():
    mesh = jax.make_mesh((jax.device_count(),), ("model",))
    with jax.set_mesh(mesh):
        key, kx, ky = jax.random.split(jax.random.key(1), 3)
        weights = jax.jit(init)(key)
        x = jax.random.normal(kx, (BATCH, LENGTH, WIDTH))
        y = jax.random.normal(ky, (BATCH, LENGTH, WIDTH))
        forward = jax.jit(block).lower(weights, x).compile()
        compiled = step.lower(weights, x, y).compile()
        losses = []
        for _ in range(STEPS):
            weights, loss = step(weights, x, y)
            losses.append(loss)
    assert weights["up"].sharding.spec == P(None, "model")
    return losses, {"forward": forward, "step": compiled}
