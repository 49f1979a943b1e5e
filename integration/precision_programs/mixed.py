"""Mixed-precision training whose statistics one line stores narrowly."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(normal("float32", 8, 32, scale=6), normal("float32", 24, 32, scale=2, seed=1))
def narrow_attention(q, k):
    scores = (q @ k.T).astype(jnp.bfloat16)  # cause
    weights = nn.softmax(scores.astype(jnp.float32))
    return weights.astype(jnp.bfloat16) @ k.astype(jnp.bfloat16)


@planted(normal("bfloat16", 8, 32), normal("bfloat16", 32, 16, scale=0.2, seed=1))
def centred_activations(x, w):
    h = (x @ w).astype(jnp.float32) + 100.0
    mean = h.mean(-1, keepdims=True).astype(jnp.bfloat16)  # cause
    centred = h - mean
    return (centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16)


@planted(normal("bfloat16", 3000, 4), normal("bfloat16", 4, seed=1))
def total_loss(x, w):
    def add(total, row):
        loss = nn.softplus(row @ w).astype(jnp.float32)
        total = (total + loss).astype(jnp.bfloat16)  # cause
        return total, None

    return lax.scan(add, jnp.zeros((), jnp.bfloat16), x)[0].astype(jnp.float32) / 3000


@planted(normal("float32", 16), normal("bfloat16", 400, 16, scale=0.1, seed=1))
def adam_steps(w, gradients):
    def step(state, g):
        w, mu, nu = state
        g = g.astype(jnp.float32)
        mu = 0.9 * mu + 0.1 * g
        nu = (0.999 * nu + 0.001 * g * g).astype(jnp.bfloat16)  # cause
        w = w - 0.01 * mu / (jnp.sqrt(nu.astype(jnp.float32)) + 1e-8)
        return (w, mu, nu), None

    start = w, jnp.zeros(16), jnp.full(16, 0.5, jnp.bfloat16)
    return lax.scan(step, start, gradients)[0][0] - w


@planted(normal("float32", 6, 40, scale=5), runs="plain jit")
def unshifted_normalizer(logits):
    e = jnp.exp(logits.astype(jnp.float16))  # cause
    z = jnp.log(e.astype(jnp.float32).sum(-1))
    return (z - logits[:, 0]).mean()


@planted(normal("float32", 256, 8), normal("bfloat16", 8, seed=1))
def batch_statistics(x, gain):
    h = x + 1000.0
    variance = (h * h).mean(0) - h.mean(0) ** 2  # cause
    y = (h - h.mean(0)) * lax.rsqrt(jnp.abs(variance) + 1e-3)
    return y[:16].astype(jnp.bfloat16) * gain


@planted(normal("float16", 6, 64, scale=70), normal("float16", 12, 64, scale=70, seed=1))
def overflowing_scores(q, k):
    products = q @ k.T  # cause
    scores = products.astype(jnp.float32) * 1e-4
    return nn.softmax(scores) @ k.astype(jnp.float32)


@planted(normal("float32", 16, scale=0.5), normal("float16", 32, 16, seed=1))
def unscaled_gradients(w, x):
    def loss(w):
        out = jnp.tanh(x @ w.astype(jnp.float16))
        return (out.astype(jnp.float32) ** 2).mean() * 1024

    g = ricci.grad(loss)(w)
    sent = (g * (1e-6 / 1024)).astype(jnp.float16)  # cause
    update = sent.astype(jnp.float32)
    return update / (jnp.sqrt((update**2).sum()) + 1e-12)


@planted(normal("bfloat16", 16), normal("float32", 300, 16, scale=0.01, seed=1))
def averaged_weights(w, steps):
    def step(state, change):
        w, average = state
        w = w + change
        average = (0.995 * average + 0.005 * w).astype(jnp.bfloat16)  # cause
        return (w, average), None

    return lax.scan(step, (w.astype(jnp.float32), w), steps)[0][1]


@planted(normal("float32", 8, 64), normal("float32", 8, 64, scale=0.05, seed=1))
def close_embeddings(x, noise):
    pairs = jnp.stack([x, x + noise])
    norms = jnp.sqrt((pairs**2).sum(-1, keepdims=True))
    unit = (pairs / norms).astype(jnp.bfloat16)  # cause
    cosine = (unit[0].astype(jnp.float32) * unit[1].astype(jnp.float32)).sum(-1)
    return (1 - cosine).mean()


@planted(normal("bfloat16", 40, 8), np.arange(3000, 3040, dtype=np.int32))
def rotated_queries(q, positions):
    place = positions.astype(jnp.bfloat16)  # cause
    rates = 0.1 ** jnp.arange(4, dtype=jnp.float32)
    angles = place.astype(jnp.float32)[:, None] * rates
    sine, cosine = jnp.sin(angles), jnp.cos(angles)
    a, b = q[:, :4], q[:, 4:]
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], 1).astype(jnp.bfloat16)


@planted(values("float32", 6, 200, low=0, high=2e-3), normal("bfloat16", 200, 3, seed=1))
def transmittance(alpha, colours):
    def ray(alpha):
        passed = (1 - alpha).astype(jnp.bfloat16)  # cause
        light = jnp.cumprod(passed.astype(jnp.float32))
        return (alpha * light) @ colours.astype(jnp.float32), light[-1]

    return ricci.vmap(ray)(alpha)[1]


@planted(normal("float32", 8, 12, scale=8))
def chosen_actions(logits):
    p = nn.softmax(logits).astype(jnp.float16)  # cause
    log_p = jnp.log(p.astype(jnp.float32) + 1e-12)
    return log_p[:, 3].mean()


@planted(normal("float32", 6, 32), normal("float32", 6, 32, scale=0.03, seed=1))
def policy_change(logits, change):
    old = nn.log_softmax(logits).astype(jnp.bfloat16)  # cause
    new = nn.log_softmax(logits + change)
    return (jnp.exp(new) * (new - old.astype(jnp.float32))).sum(-1).mean()


@planted(normal("float32", 12), normal("bfloat16", 200, 4, 12, seed=1))
def accumulated_gradients(w, batches):
    def loss(w, x):
        return (jnp.tanh(x.astype(jnp.float32) @ w) + 0.5).sum() ** 2

    def add(total, x):
        g = ricci.grad(loss)(w, x).astype(jnp.bfloat16)
        total = total + g  # cause
        return total, None

    return lax.scan(add, jnp.zeros(12, jnp.bfloat16), batches)[0].astype(jnp.float32) / 200


@planted(normal("float32", 300, 16, 4))
def running_mean(batches):
    def step(mean, x):
        x = x.astype(jnp.bfloat16).astype(jnp.float32) + 3
        mean = (0.99 * mean + 0.01 * x.mean(0)).astype(jnp.bfloat16)  # cause
        return mean, None

    mean = lax.scan(step, jnp.zeros(4, jnp.bfloat16), batches)[0]
    return batches[-1] - (mean.astype(jnp.float32) - 3)


@planted(
    values("float32", 12, 8, low=15, high=16), values("float32", 6, 8, low=15, high=16, seed=1)
)
def code_distances(x, codes):
    squares = (codes * codes).sum(1).astype(jnp.bfloat16)  # cause
    distances = squares.astype(jnp.float32) - 2 * x @ codes.T
    distances = distances - distances.min(1, keepdims=True)
    return nn.softmax(-distances).astype(jnp.bfloat16)


@planted(values("float32", 40), normal("bfloat16", 512, 4, seed=1))
def table_lookup(u, table):
    place = (u * 510).astype(jnp.bfloat16)  # cause
    low = jnp.floor(place.astype(jnp.float32))
    t = (place.astype(jnp.float32) - low)[:, None]
    i = low.astype(jnp.int32)
    return (1 - t) * table[i] + t * table[i + 1]


@planted(normal("float16", 6, 32, scale=1e-4), normal("float16", 32, seed=1))
def small_activations(x, gain):
    squares = x * x  # cause
    mean = squares.astype(jnp.float32).mean(-1, keepdims=True)
    return (x.astype(jnp.float32) * lax.rsqrt(mean + 1e-12)).astype(jnp.float16) * gain


@planted(normal("float32", 2, 20000), np.asarray([7, 11], np.int32))
def smoothed_labels(logits, labels):
    hot = nn.one_hot(labels, 20000)
    targets = (0.99 * hot + 0.01 / 20000).astype(jnp.float16)  # cause
    log_p = nn.log_softmax(logits + 20 * hot)
    return -(targets.astype(jnp.float32) * log_p).sum(-1).mean()
