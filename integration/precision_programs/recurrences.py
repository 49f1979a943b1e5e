"""Recurrences that accumulate an error, and the lines around them that only inherit it."""

import ricci.numpy as jnp
from ricci import lax

from .table import normal, planted, values


@planted(values("bfloat16", 200, 4, low=1, high=2))
def streaming_mean(xs):
    def update(mean, x):
        delta = x - mean
        gain = delta * 0.0078125
        mean = mean + gain  # cause
        return mean, delta * 0.5

    mean, _ = lax.scan(update, jnp.zeros(4, xs.dtype), xs)
    return mean * 2


@planted(normal("bfloat16", 6, scale=0.3), runs="plain jit")
def pendulum(angle):
    dt = 0.0009765625

    def step(state, _):
        angle, speed = state
        force = -jnp.sin(angle)
        speed = speed + dt * force
        angle = angle + dt * speed  # cause
        return (angle, speed), None

    (angle, _), _ = lax.scan(step, (angle, jnp.ones_like(angle)), length=500)
    return angle


@planted(values("float16", 8, low=1, high=2))
def euler_decay(x):
    def step(i, x):
        slope = -0.5 * x
        return x + slope * 0.0009765625  # cause

    return lax.fori_loop(0, 1000, step, x)


@planted(values("bfloat16", 300, 3, low=0.1, high=1))
def horizon(rewards):
    def back(value, reward):
        value = reward + 0.99609375 * value  # cause
        return value, None

    value, _ = lax.scan(back, jnp.zeros(3, rewards.dtype), rewards, reverse=True)
    scaled = value * 0.00390625
    return jnp.tanh(scaled)


@planted(normal("bfloat16", 128, 5, scale=0.2))
def momentum_sgd(grads):
    def step(state, g):
        p, m = state
        m = 0.875 * m + 0.125 * g
        p = p - 0.00390625 * m  # cause
        return (p, m), None

    (p, _), _ = lax.scan(step, (jnp.ones(5, grads.dtype), jnp.zeros(5, grads.dtype)), grads)
    return p - 1


@planted(values("float32", 400, low=0.5, high=1.5))
def odometer(steps):
    def move(state, step):
        place, turns = state
        place = (place + step).astype(jnp.bfloat16)  # cause
        turns = turns + jnp.sin(step) * 0.01
        return (place, turns), None

    (place, turns), _ = lax.scan(move, (jnp.bfloat16(0), jnp.float32(0)), steps)
    return place * 0.001 + turns


@planted(values("float16", 300, 4, low=-4, high=-3))
def log_domain_sum(logs):
    def add(state, x):
        total, count = state
        e = jnp.exp(x)
        total = total + e  # cause
        return (total, count + 1), None

    (total, count), _ = lax.scan(add, (jnp.zeros(4, logs.dtype), jnp.zeros(4, logs.dtype)), logs)
    return jnp.log(total) - jnp.log(count)


@planted(values("float16", 6, low=0.5, high=1.0))
def counter(x):
    def running(state):
        return state[0] < 3000

    def step(state):
        i, steps, x = state
        steps = steps + 1.0  # cause
        return i + 1, steps, x * 0.5

    _, steps, _ = lax.while_loop(running, step, (0, jnp.ones_like(x), x))
    return x / steps


@planted(normal("bfloat16", 5, scale=0.5), normal("bfloat16", 5, seed=3), runs="plain jit")
def rotation(x, y):
    c, s = 0.99951171875, 0.03125

    def turn(state, _):
        x, y = state
        x, y = c * x - s * y, s * x + c * y  # cause
        return (x, y), None

    (x, y), _ = lax.scan(turn, (x, y), length=150)
    radius = x * x + y * y
    return jnp.sqrt(radius)


@planted(values("float32", 200, 3, low=1, high=3))
def kalman(measured):
    def filtered(state, z):
        estimate, variance = state
        gain = variance / (variance + 1.0)
        residual = z - estimate
        estimate = estimate + gain * residual
        variance = ((1 - gain) * variance + 1e-4).astype(jnp.bfloat16)  # cause
        return (estimate, variance), None

    start = jnp.zeros(3, jnp.float32), jnp.ones(3, jnp.bfloat16)
    (estimate, variance), _ = lax.scan(filtered, start, measured)
    return estimate, variance


@planted(normal("bfloat16", 100, 8, scale=0.1), runs="plain jit")
def prefix_products(x):
    factors = 1 + x
    logs = jnp.log(jnp.abs(factors))

    def multiply(p, f):
        p = p * f  # cause
        return p, p

    p, _ = lax.scan(multiply, jnp.ones(8, x.dtype), factors)
    return p, jnp.max(logs)
