"""Training and inference of networks: averages, schedules, norms, attention, in narrow types."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, nn

from .table import normal, planted, values


@planted(normal("bfloat16", 32), normal("bfloat16", 100, 32, seed=1), runs="plain")
def averaged_weights(average, weights):
    def step(average, w):
        average = average * 0.9999 + w * 0.0001  # cause
        return average, None

    average, _ = lax.scan(step, average, weights)
    return average * 2.0


@planted(normal("float32", 8, 64, scale=0.5), runs="plain")
def offset_layer_norm(x):
    h = x * 2.0 + 3000.0
    mean = h.mean(1, keepdims=True)
    variance = (h * h).mean(1, keepdims=True) - mean**2  # cause
    return (h - mean) / jnp.sqrt(jnp.abs(variance) + 1e-5)


@planted(values("float16", 4, 16, low=6.0, high=13.0), runs="plain")
def softmax_without_shift(x):
    logits = x * 1.0625
    e = jnp.exp(logits)  # cause
    return e / e.sum(1, keepdims=True)


@planted(values("float32", 32, low=-220.0, high=-180.0), runs="plain")
def log_partition(x):
    energies = x * 0.75 - 1.0
    z = jnp.exp(energies).sum()  # cause
    return jnp.log(z)


@planted(normal("bfloat16", 200, 16, scale=0.5), runs="plain")
def second_moments(gradients):
    def step(v, g):
        square = g * g
        v = 0.998 * v + 0.002 * square  # cause
        return v, None

    v, _ = lax.scan(step, jnp.ones(16, gradients.dtype), gradients)
    return 1.0 / jnp.sqrt(v)


@planted(values("bfloat16", 2000), runs="plain")
def loop_total(losses):
    def add(i, total):
        return total + losses[i]  # cause

    total = lax.fori_loop(0, 2000, add, jnp.bfloat16(0))
    return total / 2000


@planted(normal("bfloat16", 16), runs="plain")
def simulated_time(x):
    def step(carry, _):
        t, x = carry
        t = t + 0.001953125  # cause
        x = x + 0.01 * jnp.sin(3 * t)
        return (t, x), None

    (t, x), _ = lax.scan(step, (jnp.bfloat16(1.0), x), None, length=60)
    return t * x


@planted(values("bfloat16", 64, low=1000.0, high=4000.0), runs="plain")
def rotary_angles(positions):
    frequencies = jnp.asarray(np.float32(0.37)) * jnp.ones(8, jnp.bfloat16)
    angles = positions[:, None] * frequencies.astype(jnp.bfloat16)  # cause
    return jnp.sin(angles), jnp.cos(angles)


@planted(normal("float16", 8, 10, scale=6.0), runs="plain")
def log_of_softmax(logits):
    shifted = logits - logits.max(1, keepdims=True)
    p = jnp.exp(2 * shifted)  # cause
    p = p / p.sum(1, keepdims=True)
    return jnp.log(p + 6e-8).mean()


@planted(normal("float16", 256, scale=60.0), runs="plain")
def clipped_gradients(g):
    norm = jnp.sqrt((g * g).sum())  # cause
    scale = jnp.minimum(1.0, 100.0 / norm)
    return g * scale


@planted(values("float16", 40, 6, low=0.6, high=0.8), runs="plain")
def survival(p):
    alive = jnp.cumprod(p, axis=0)  # cause
    return (alive * 0.5 + 0.0)[-10:]


@planted(normal("bfloat16", 8, 16), runs="plain")
def position_table(x):
    positions = jnp.arange(700, 708, dtype=jnp.bfloat16)  # cause
    return jnp.sin(positions * 0.5)[:, None] + x * 0.01


@planted(normal("float16", 64), runs="plain")
def growing_loss_scale(w):
    for _ in range(6):
        w = w * 1.0002  # cause
    return w * w


@planted(normal("bfloat16", 64), normal("bfloat16", 64, seed=1, scale=0.1), runs="plain")
def decoupled_decay(w, g):
    rate, decay = 0.01, 0.1
    for _ in range(4):
        w = w * (1 - rate * decay)  # cause
    return w - 0.0078125 * g


@planted(normal("bfloat16", 32), normal("bfloat16", 32, seed=1), runs="plain")
def target_network(target, online):
    tau = jnp.asarray(0.001, jnp.bfloat16)
    for _ in range(8):
        target = target + tau * (online - target)  # cause
    return target * 0.5


@planted(normal("float16", 16, 32, scale=40.0), normal("float16", 16, 32, scale=40.0, seed=1))
def unscaled_scores(q, k):
    scores = q @ k.T  # cause
    return nn.softmax(scores * 0.0009765625)


@planted(values("bfloat16", 60), runs="plain")
def discounted(rewards):
    def step(total, reward):
        total = reward + 0.9985 * total  # cause
        return total, None

    total, _ = lax.scan(step, jnp.bfloat16(0), rewards[::-1])
    return total * 1.0


@planted(values("float16", 50, low=1e-4, high=4e-4), runs="plain")
def noise_schedule(betas):
    alphas = 1 - betas  # cause
    kept = jnp.cumprod(alphas)
    return jnp.log(kept)


@planted(values("float16", 16, 1024, low=80.0, high=120.0), runs="plain")
def pooled(features):
    total = features.sum(1, dtype=jnp.float16)  # cause
    return total / 1024


@planted(normal("float32", 256, scale=3e-8), runs="plain")
def gradients_on_the_wire(g):
    sent = g.astype(jnp.float16)  # cause
    received = sent.astype(jnp.float32)
    return received * 0.125
