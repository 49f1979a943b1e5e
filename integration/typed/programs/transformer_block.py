"""Layers of attention in a scan, each recomputed in the backward pass, in mixed precision."""

from functools import partial
from typing import NamedTuple

import ricci
import ricci.numpy as jnp
from ricci import Array, checkpoint_policies, lax, nn, random, tree


class Block(NamedTuple):
    qkv: Array
    out: Array
    up: Array
    down: Array


def make_blocks(key: Array, depth: int, width: int) -> Block:
    def one(key: Array) -> Block:
        keys = random.split(key, 4)
        shapes = [(width, 3 * width), (width, width), (width, 2 * width), (2 * width, width)]
        scale = width**-0.5
        weights = [scale * random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
        return Block(*weights)

    return ricci.vmap(one)(random.split(key, depth))


def attention(x: Array, block: Block, heads: int) -> Array:
    length, width = x.shape
    q, k, v = jnp.split(x @ block.qkv, 3, axis=-1)
    q, k, v = (a.reshape(length, heads, width // heads) for a in (q, k, v))
    mixed = nn.dot_product_attention(q, k, v, is_causal=True)
    return mixed.reshape(length, width) @ block.out


@partial(ricci.checkpoint, policy=checkpoint_policies.dots_with_no_batch_dims_saveable)
def layer(x: Array, block: Block) -> Array:
    x = x + attention(nn.standardize(x), block, heads=2)
    return x + nn.gelu(nn.standardize(x) @ block.up) @ block.down


def forward(blocks: Block, x: Array) -> Array:
    half: Block = tree.map(lambda a: a.astype(jnp.bfloat16), blocks)

    def body(carry: Array, block: Block) -> tuple[Array, None]:
        return layer(carry, block), None

    last, _ = lax.scan(body, x.astype(jnp.bfloat16), half)
    return last.astype(jnp.float32)


def loss(blocks: Block, x: Array) -> Array:
    return jnp.mean(forward(blocks, x) ** 2)


def main() -> None:
    blocks = ricci.jit(make_blocks, static_argnums=(1, 2))(random.key(0), 3, 8)
    x = random.normal(random.key(1), (5, 8))
    value, gradient = ricci.jit(ricci.value_and_grad(loss))(blocks, x)
    assert value.dtype == jnp.float32
    assert gradient.qkv.shape == (3, 8, 24)
    assert ricci.eval_shape(forward, blocks, x).shape == x.shape
