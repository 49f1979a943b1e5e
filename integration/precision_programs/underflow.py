"""Numbers below the smallest of float16, which become 0: gradients, moments, probabilities."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import grad, lax, nn, value_and_grad

from .table import PROGRAMS, Program, normal, planted, values


def gradients(*args, wrap=value_and_grad):
    """Add a row for the gradient by the first argument."""

    def add(fun):
        PROGRAMS.append(Program(f"{fun.__name__} gradient", wrap(fun), fun, args))
        return fun

    return add


@gradients(normal("float16", 16, scale=0.1), normal("float16", 256, 16, seed=1), np.float16(1e-6))
def flushed_loss(w, x, scale):
    out = jnp.tanh(x @ w)
    squares = out * out * 0.5
    return squares.mean() * scale  # cause


@gradients(normal("float16", 8, 8, scale=0.05), normal("float16", 64, 8, scale=0.01, seed=1))
def small_signals(w, x):
    h = x @ w
    y = h * 0.015625
    return jnp.sum(y * y)  # cause


@gradients(normal("float16", 32, scale=0.2), normal("float16", 8, 32, seed=1), wrap=grad)
def saturated(w, x):
    out = 8 * x @ w
    q = 1 - nn.sigmoid(out + 14)  # cause
    return jnp.sum(q * 100).astype(jnp.float32)


@planted(normal("float16", 64, scale=1e-4), normal("float16", 64, scale=1e-4, seed=2))
def second_moment_step(m, g):
    v = 0.001 * (g * g)  # cause
    update = m / (jnp.sqrt(v) + 1e-6)
    return update * 0.01


@planted(values("float16", 40, 4, low=0.3, high=0.7))
def path_likelihood(p):
    def step(total, q):
        total = total * q  # cause
        return total, None

    total, _ = lax.scan(step, jnp.ones(4, p.dtype), p)
    return total.astype(jnp.float32)


@planted(normal("float16", 16, scale=1e-4), runs="plain jit")
def squared_norm(x):
    y = x * 0.75
    total = (y * y).sum()  # cause
    return y / (jnp.sqrt(total) + 1e-6)


@planted(values("float16", 12, low=12, high=16), runs="plain jit")
def tail(x):
    e = jnp.exp(-x * 1.5)  # cause
    total = e.sum()
    return e / (total + 1e-6)


@planted(normal("float32", 32, scale=1e-8), normal("float32", 32, seed=1), runs="plain jit")
def narrowed_gradient(g, p):
    half = g.astype(jnp.float16)  # cause
    wide = half.astype(jnp.float32)
    return p - 1.0 * wide, wide * 1e6


@gradients(normal("float16", 24, scale=0.3), normal("float16", 40, 24, seed=4))
def remat_loss(w, x):
    @ricci.checkpoint
    def block(w):
        return jnp.tanh(x @ w)

    h = block(w)
    scaled = h * 0.0009765625  # cause
    return jnp.mean(scaled * scaled) * 0.5


@planted(values("float16", 8, 6, low=-9, high=-4), runs="plain jit")
def joint_probability(logits):
    each = jnp.exp(logits)
    joint = jnp.prod(each, axis=1)  # cause
    return joint.astype(jnp.float32) * 1e6
