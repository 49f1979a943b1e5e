"""Statistics, physics and geometry in narrow types: differences, products, small increments."""

import numpy as np

import ricci.numpy as jnp
from ricci import lax, nn, scipy

from .table import normal, planted, values


@planted(values("float32", 32, low=1e6, high=2e6), runs="plain")
def root_difference(x):
    y = x * 1.5
    gap = jnp.sqrt(y + 1) - jnp.sqrt(y)  # cause
    return gap * 2.0


@planted(values("float32", 32, low=1e-4, high=5e-4), runs="plain")
def pendulum_energy(angle):
    swing = angle * 0.9
    height = 1 - jnp.cos(swing)  # cause
    return 9.81 * height


@planted(values("float32", 16, low=900.0, high=1100.0), runs="plain")
def smaller_root(b):
    discriminant = jnp.sqrt(b * b - 4.0 * 0.25)
    root = (-b + discriminant) / 2.0  # cause
    return root * 3.0


@planted(normal("float32", 16, 3), runs="plain")
def nearly_parallel(a):
    b = a + 1e-4 * jnp.asarray([0.3, -0.5, 0.8], jnp.float32)
    cosine = (a * b).sum(1) / (jnp.linalg.norm(a, axis=1) * jnp.linalg.norm(b, axis=1))  # cause
    return jnp.sqrt(2 - 2 * jnp.minimum(cosine, 1.0))


@planted(values("float32", 64, low=1e-6, high=1e-5), runs="plain")
def log_growth(rate):
    daily = rate * 0.1
    log_factor = jnp.log(1 + daily)  # cause
    return log_factor * 365.0


@planted(values("float32", 32, low=0.01, high=0.08), runs="plain")
def compound_interest(rate):
    n = 100000
    base = 1 + rate / n  # cause
    return base**n


@planted(values("float32", 32, 3), runs="plain")
def close_points(x):
    a = x * 0.01 + 300.0
    squares = (a * a).sum(1)
    d = squares[:, None] + squares[None] - 2 * a @ a.T  # cause
    return jnp.sqrt(jnp.abs(d) + 1e-12)


@planted(values("float32", 32, low=0.5, high=1.5), runs="plain")
def numerical_slope(x):
    h = 1e-4
    slope = (jnp.sin(x + h) - jnp.sin(x)) / h  # cause
    return slope * x


@planted(values("float32", 32, low=14.0, high=17.0), runs="plain")
def naive_softplus(x):
    t = jnp.exp(-x)
    y = jnp.log(1 + t)  # cause
    return y * 4.0


@planted(values("float32", 20, low=0.7, high=0.7002), values("float32", 20, low=1.2, high=1.2002))
def short_distance(latitude, longitude):
    lat, lon = 0.7001, 1.2001
    c = jnp.sin(latitude) * jnp.sin(lat) + jnp.cos(latitude) * jnp.cos(lat) * jnp.cos(  # cause
        longitude - lon
    )
    return 6371.0 * jnp.sqrt(jnp.maximum(2 - 2 * c, 0.0))


@planted(values("float32", 16, low=1e5, high=2e5), runs="plain")
def gamma_ratio(n):
    x = n * 1.25
    ratio = scipy.special.gammaln(x + 1) - scipy.special.gammaln(x)  # cause
    return ratio * 0.5


@planted(values("float32", 32, low=1e-4, high=1e-3), runs="plain")
def hyperbolic_sine(x):
    u = x * 1.1
    s = (jnp.exp(u) - jnp.exp(-u)) / 2  # cause
    return s + 0.0


@planted(normal("float32", 300), runs="plain")
def likelihood_product(x):
    density = jnp.exp(-0.5 * x * x) * 0.3989423
    likelihood = jnp.prod(density)  # cause
    return jnp.log(likelihood)


@planted(values("bfloat16", 64, low=0.2, high=0.3), runs="plain")
def divergence(p):
    q = p * 1.0078125
    term = jnp.log(p) - jnp.log(q)  # cause
    return jnp.sum(p * term)


@planted(values("float32", 32, low=1.0, high=2.0), runs="plain")
def filter_covariance(p):
    noise = 1e-6
    gain = p / (p + noise)  # cause
    return (1 - gain) * p


@planted(values("float32", 32, low=1e-6, high=4e-6), runs="plain")
def noise_level(x):
    sigma = jnp.sqrt(1 - jnp.exp(-x))  # cause
    return sigma * 3.0


@planted(values("bfloat16", 32), runs="plain")
def bucket_numbers(x):
    ids = jnp.arange(570, 602).astype(jnp.bfloat16)  # cause
    return jnp.cos(ids * 0.25) + x * 0.01


@planted(values("float16", 24, low=0.5, high=1.0), runs="plain")
def slow_drift(x):
    def step(x, _):
        x = x * 1.0003  # cause
        return x, None

    x, _ = lax.scan(step, x, None, length=30)
    return nn.relu(x - 0.25)


@planted(values("float32", 1000, low=0.99, high=1.01), runs="plain")
def sample_variance(x):
    y = x + 500.0
    variance = jnp.mean(y * y) - jnp.mean(y) ** 2  # cause
    return jnp.sqrt(jnp.abs(variance))


@planted(values("bfloat16", 48), runs="plain")
def calibrated(x):
    gain = jnp.full((48,), 1.0035, jnp.bfloat16)  # cause
    signal = x * gain
    for _ in range(3):
        signal = signal * gain
    return signal + np.float32(0).astype(jnp.bfloat16)
