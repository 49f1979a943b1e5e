"""Large arguments of periodic and exponential functions, whose line decides about the result."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, vmap

from .table import planted, values


@planted(values("bfloat16", 32, low=100, high=1000))
def rotary(position):
    angle = position * 0.7109375  # cause
    sine = jnp.sin(angle)
    cosine = jnp.cos(angle)
    return sine * 0.5 + cosine * 0.25


@planted(np.arange(64, dtype=np.float32), values("float32", 8, low=0.1, high=1))
def sinusoidal_embedding(positions, rates):
    angles = (positions[:, None] * rates).astype(jnp.bfloat16)  # cause
    waves = jnp.sin(angles)
    return waves * 0.5


@planted(values("float16", 16, low=20, high=60))
def carrier(t):
    phase = t * 6.28125  # cause
    wave = jnp.cos(phase)
    return wave * jnp.exp(-t * 0.01)


@planted(values("float32", 32, low=1e4, high=1e5))
def chirp(t):
    phase = t * t * 0.5  # cause
    wave = jnp.sin(phase)
    return wave + t * 1e-6


@planted(values("bfloat16", 16, low=1, high=3), runs="plain jit grad")
def fourier_features(x):
    projected = x * 37.25  # cause
    features = jnp.cos(projected)
    return jnp.tanh(features)


@planted(values("float16", 300, low=0.1, high=0.2))
def oscillator(dt):
    def advance(phase, dt):
        phase = phase + 2 * dt  # cause
        return phase, jnp.sin(phase)

    return lax.scan(advance, jnp.zeros((), dt.dtype), dt)[1][::20]


@planted(values("bfloat16", 16, low=5, high=8))
def boltzmann(energy):
    scaled = energy * 9.0625  # cause
    weight = jnp.exp(-scaled)
    return weight * 0.5


@planted(values("bfloat16", 8, 16, low=20, high=90), runs="plain jit")
def mapped_waves(x):
    def one(row):
        angle = row * 1.203125  # cause
        return jnp.sin(angle)

    return vmap(one)(x).mean(1)


@planted(values("float32", 32, low=3e6, high=9e6))
def clock_phase(seconds):
    phase = 0.1 * seconds  # cause
    return jnp.cos(phase) * 2.0


@planted(values("bfloat16", 16, low=1.5, high=2.5))
def gaussian_beam(x):
    exponent = 4.0625 * x * x  # cause
    envelope = jnp.exp(-exponent)
    return envelope * 0.5
