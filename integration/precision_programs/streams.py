"""Residual streams: a large value to which a narrow format adds small ones."""

import ricci
import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted


@planted(
    normal("bfloat16", 4, 32),
    normal("bfloat16", 24, 32, 32, scale=0.05, seed=1),
    runs="plain jit grad",
)
def scanned_stream(x, weights):
    def layer(x, w):
        h = nn.gelu(x @ w)
        x = x + 0.125 * h  # cause
        return x, None

    x, _ = lax.scan(layer, x * 8, weights)
    return (x - x.mean(1, keepdims=True)) * x


@planted(normal("bfloat16", 4, 32), normal("bfloat16", 12, 32, 32, scale=0.05, seed=2))
def looped_stream(x, weights):
    first = x
    for w in weights:
        h = jnp.tanh(x @ w)
        x = x + 0.03125 * h  # cause
    return x - first


@planted(normal("float32", 4, 16), normal("float32", 12, 16, 16, scale=0.1, seed=2))
def narrow_stream(x, weights):
    x = x.astype(jnp.bfloat16)
    for w in weights:
        h = nn.silu(x.astype(jnp.float32) @ w)
        x = (x.astype(jnp.float32) + 0.1 * h).astype(jnp.bfloat16)  # cause
    return x.astype(jnp.float32)


@planted(normal("bfloat16", 8, 16), normal("bfloat16", 16, 16, 16, scale=0.05, seed=5))
def remat_stream(x, weights):
    @ricci.checkpoint
    def block(x, w):
        normed = x * lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-3)
        h = nn.relu(normed @ w)
        return x + 0.0625 * h  # cause

    x = x * 4
    for w in weights:
        x = block(x, w)
    return x


@planted(normal("bfloat16", 4, 16), normal("bfloat16", 20, 16, scale=0.01, seed=1))
def bias_stream(x, biases):
    def layer(x, b):
        scaled = b * 0.5
        x = x + scaled  # cause
        return x, None

    x, _ = lax.scan(layer, x + 2, biases)
    return x


@planted(normal("bfloat16", 4, 16), normal("bfloat16", 24, 16, 16, scale=0.05, seed=7))
def highway(x, weights):
    def layer(x, w):
        gate = nn.sigmoid(x @ w) * 0.03125
        new = jnp.tanh(x @ w)
        x = gate * new + (1 - gate) * x  # cause
        return x, None

    return lax.scan(layer, x, weights)[0]
