"""Losses, normalizing flows and messages in log space, whose stored values are too narrow."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, nn, scipy

from .table import normal, planted, values


@planted(normal("float32", 8, 16), normal("float32", 40, 16, scale=0.3, seed=1))
def coupling_layers(x, weights):
    def layer(state, w):
        x, log_det = state
        shift, log_scale = jnp.tanh(x[:, :8] @ w[:8, None]), 0.05 * jnp.tanh(x[:, :8] * w[:8]) + 1.5
        x = jnp.concatenate([x[:, 8:] * jnp.exp(0.01 * log_scale) + shift, x[:, :8]], 1)
        log_det = (log_det + log_scale.sum(1)).astype(jnp.bfloat16)  # cause
        return (x, log_det), None

    (x, log_det), _ = lax.scan(layer, (x, jnp.zeros(8, jnp.bfloat16)), weights)
    return -0.5 * (x * x).sum(1) + log_det.astype(jnp.float32)


@planted(normal("float32", 32, 6), normal("float32", 6, seed=1), normal("float32", 6, seed=2))
def planar_flow(x, w, u):
    slope = 1 - jnp.tanh(x @ w) ** 2
    det = (1 + 1e-3 * slope * (u @ w)).astype(jnp.bfloat16)  # cause
    return jnp.log(jnp.abs(det.astype(jnp.float32))).sum()


@planted(normal("float32", 40, scale=3))
def logistic_flow(x):
    y = nn.sigmoid(x * 1.5 + 2).astype(jnp.bfloat16)  # cause
    y = jnp.clip(y.astype(jnp.float32), 1e-4, 1 - 1e-4)
    back = jnp.log(y) - jnp.log1p(-y)
    return (back - 2) / 1.5


@planted(normal("float32", 16, 10), np.arange(16, dtype=np.int32) % 10)
def shifted_logits(x, labels):
    logits = (x * 2 + 500).astype(jnp.bfloat16)  # cause
    log_p = nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()


@planted(values("float32", 200, low=1e-5, high=1e-4))
def focal_loss(cross_entropy):
    p = jnp.exp(-cross_entropy).astype(jnp.float16)  # cause
    weight = (1 - p.astype(jnp.float32)) ** 2
    return (weight * cross_entropy).sum()


@planted(normal("float32", 12, 64), normal("float32", 12, 64, scale=3, seed=1))
def contrastive_loss(x, noise):
    a = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    b = (x + noise) / jnp.linalg.norm(x + noise, axis=1, keepdims=True)
    similarity = (a @ b.T).astype(jnp.bfloat16)  # cause
    log_p = nn.log_softmax(similarity.astype(jnp.float32) / 0.01)
    return jnp.diagonal(log_p)


@planted(normal("float32", 400, 4), normal("float32", 4, 4, seed=1))
def hidden_states(evidence, transitions):
    log_t = nn.log_softmax(transitions)

    def step(alpha, e):
        arrived = scipy.special.logsumexp(alpha.astype(jnp.float32)[:, None] + log_t, 0)
        alpha = (arrived + nn.log_sigmoid(e)).astype(jnp.float16)  # cause
        return alpha, None

    alpha, _ = lax.scan(step, jnp.zeros(4, jnp.float16), evidence)
    return nn.softmax(alpha.astype(jnp.float32))


@planted(normal("bfloat16", 64, scale=0.05), normal("bfloat16", 64, scale=0.02, seed=1))
def gaussian_divergence(mean, log_variance):
    variance = jnp.exp(log_variance)
    terms = variance - 1 - jnp.log(variance)  # cause
    return 0.5 * (terms + mean * mean)


@planted(values("float32", 24, low=1e5, high=2e5), normal("float32", 24, seed=1))
def poisson_loss(rate, noise):
    counts = jnp.floor(rate + jnp.sqrt(rate) * noise)
    log_p = counts * jnp.log(rate) - rate - scipy.special.gammaln(counts + 1)  # cause
    return -log_p.mean()


@planted(normal("float32", 64, scale=1e-3))
def pseudo_huber(residual):
    scaled = residual / 0.5
    loss = jnp.sqrt(1 + scaled * scaled) - 1  # cause
    return 0.25 * loss.mean()
