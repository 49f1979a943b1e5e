"""Programs in which other values are not finite first, and reach nothing."""

from functools import partial

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import nn
from ricci import random as jr

from .table import EVERY, FORWARD, PROGRAMS, Program, f32, planted

# Decoys: another operation makes an infinity or a NaN first, which reaches nothing.


@planted("dot_general", "above 3.4", f32(1e25, 1e25), run=EVERY)
def decoy_overflow(x):
    gate = jnp.tanh(x**3)
    m = (x[:, None] * gate[:, None]) @ (x[None, :] * 1e4)  # cause
    return (m - m).sum()


@planted("sqrt", "below 0", f32(-1, 4), run=EVERY)
def decoy_nan(x):
    logs = jnp.where(x > 0, x, jnp.log(x))
    safe = jnp.where(jnp.isnan(logs), 1.0, logs)
    y = jnp.sqrt(safe - 2.0)  # cause
    return y.sum() + safe.sum()


@planted("log", "below 0", f32(1e20, 2), run=EVERY)
def decoy_in_the_same_array(x):
    squares = x * x
    kept = jnp.stack([squares[1], 1 / squares[0]])
    return jnp.log(kept - 3.0)  # cause


@planted("exp", "subtract the maximum", f32(500, 2), f32(1, 2), run=EVERY)
def decoy_in_another_element(x, y):
    large = jnp.exp(x)  # cause
    other = jnp.exp(y * 100)
    return large[0] * 0.0 + other[0] * 0.0


def attention(q, k, v, keep, fill):
    scores = jnp.where(keep, q @ k.T, fill)  # cause
    return nn.softmax(scores, axis=-1) @ v


KEEP = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1]], bool)
MATRIX = np.eye(3, dtype=np.float32)
for title, transform in EVERY.items():
    PROGRAMS.append(
        Program(
            f"attention {title}",
            transform(partial(attention, keep=KEEP, fill=-np.inf)),
            attention,
            (MATRIX, MATRIX, MATRIX),
            "select_n",
            "all elements are -inf",
        )
    )


@planted("select_n", "all elements are -inf", np.ones((2, 3), np.float32), run=EVERY)
def masked_softmax(scores):
    keep = np.array([[1, 0, 1], [0, 0, 0]], bool)
    scores = jnp.where(keep, scores, -jnp.inf)  # cause
    exponents = scores - scores.max(axis=-1, keepdims=True)
    weights = jnp.exp(exponents)
    return weights / weights.sum(axis=-1, keepdims=True)


@planted("log", "below 0", jr.key(0), f32(-1, 1), run=FORWARD)
def with_keys(key, x):
    noise = jr.normal(key, (2,))
    return jnp.log(x * jnp.abs(noise))  # cause


@planted("log", "below 0", -1.0, run=FORWARD)
def in_a_reference(x):
    ref = ricci.new_ref(jnp.zeros(3))
    ref[1] = jnp.log(x)  # cause
    ref[0] = 5.0
    return ref[...] * 2
