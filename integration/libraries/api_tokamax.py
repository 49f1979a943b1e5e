"""Tokamax: its operations by XLA, whole and in chunks, and their gradients."""

from functools import partial

import numpy as np
import tokamax

import jax
import jax.numpy as jnp

GENERATOR = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(GENERATOR.normal(size=shape), "float32")


QUERY, KEY, VALUE = normal(2, 16, 4, 8), normal(2, 16, 4, 8), normal(2, 16, 4, 8)
ROWS, WEIGHTS, EXPERTS = normal(12, 8), normal(8, 2, 16), normal(3, 8, 6)
SCALE, OFFSET = normal(8), normal(8)
SIZES = jnp.array([5, 0, 7], "int32")
LABELS = jnp.array([0, 3, 1, 7, 2, 2, 5, 4, 6, 0, 1, 3], "int32")
LOGITS = normal(8, 10)
PAIRS, MASK = normal(6, 6, 4), jnp.arange(36).reshape(6, 6) % 5 > 0


def attention(implementation="xla", **options):
    return tokamax.dot_product_attention(
        QUERY, KEY, VALUE, implementation=implementation, **options
    )


def slopes(f, *args):
    total = lambda *args: jnp.sum(jnp.sin(f(*args)))
    return jax.jit(jax.grad(total, argnums=tuple(range(len(args)))))(*args)


def triangles(kind):
    weights = (normal(4, 2, 3), normal(4, 2, 3), normal(3, 4), normal(4, 4))
    norms = (SCALE[:4], OFFSET[:4], SCALE[:3], OFFSET[:3])
    return tokamax.triangle_multiplication(PAIRS, MASK, *weights, *norms, kind)


xla_attention = partial(tokamax.dot_product_attention, implementation="xla")
chunked = partial(tokamax.dot_product_attention, implementation="xla_chunked")
unit = partial(tokamax.gated_linear_unit, implementation="xla")
layer = partial(tokamax.layer_norm, implementation="xla")
ragged = partial(tokamax.ragged_dot, implementation="xla")
loss = partial(tokamax.linear_softmax_cross_entropy_loss, labels=LABELS)

CASES = {
    "attention": attention,
    "attention, causal": lambda: attention(is_causal=True),
    "attention in a window": lambda: attention(local_window_size=(3, 0), logits_soft_cap=5.0),
    "attention of lengths": lambda: attention(key_value_seq_lengths=jnp.array([7, 16])),
    "attention in chunks": lambda: attention("xla_chunked", is_causal=True),
    "attention's slopes": lambda: slopes(xla_attention, QUERY, KEY, VALUE),
    "slopes of attention in chunks": lambda: slopes(chunked, QUERY, KEY, VALUE),
    "gated linear unit": lambda: unit(ROWS, WEIGHTS, activation=jax.nn.swish),
    "gated linear unit's slopes": lambda: slopes(unit, ROWS, WEIGHTS),
    "layer norm": lambda: layer(ROWS, SCALE, OFFSET),
    "root mean square norm": lambda: layer(ROWS, SCALE, None, subtract_mean=False),
    "layer norm's slopes": lambda: slopes(layer, ROWS, SCALE, OFFSET),
    "ragged product": lambda: ragged(ROWS, EXPERTS, SIZES),
    "ragged product's slopes": lambda: slopes(lambda x, w: ragged(x, w, SIZES), ROWS, EXPERTS),
    "loss": lambda: loss(ROWS, weights=LOGITS, implementation="xla"),
    "loss in chunks": lambda: loss(ROWS, weights=LOGITS, implementation="chunked_xla"),
    "loss's slopes": lambda: slopes(
        lambda x, w: loss(x, weights=w, implementation="xla"), ROWS, LOGITS
    ),
    "triangles, outgoing": lambda: triangles("outgoing"),
    "triangles, incoming": lambda: triangles("incoming"),
}
