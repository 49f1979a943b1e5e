"""Programs of the sciences with a planted cause: statistics, transport, mechanics, geometry."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, lax, value_and_grad, vmap

from .table import FORWARD, f32, planted

GRAD = {"grad": grad, "jit of grad": lambda f: jit(grad(f))}


@planted("sqrt", "below 0", np.linspace(0.1, 1.0, 8, dtype=np.float32), run=FORWARD)
def diffusion_sampling(betas):
    def step(x, beta):
        alpha = 1 - 1.5 * beta
        mean = x / jnp.sqrt(alpha)  # cause
        return mean + 0.1 * beta, None

    return lax.scan(step, jnp.ones(3), betas)[0]


@planted("log", "jnp.log", f32(0.3, -1.0, 2.0), f32(-2.0, 0.5), run=FORWARD)
def planar_flow(z, w):
    slope = 1 - jnp.tanh(z) ** 2
    factor = 1 + slope[:, None] * w * 2
    logdet = jnp.log(factor)  # cause
    return logdet.sum()


@planted("dot_general integer_pow mul", "wider", np.full((3, 3), 30, np.float32), run=FORWARD)
def exploding_network(w):
    def cell(h, _):
        pre = h @ w  # cause
        return pre, None

    h, _ = lax.scan(cell, jnp.ones((2, 3)), length=30)
    return h - h[::-1]


@planted("div", "divisor", np.zeros((4, 2), np.float32), run=FORWARD)
def mixture_weights(points):
    centres = f32([50, 50], [60, 60])
    squares = ((points[:, None] - centres) ** 2).sum(-1)
    densities = jnp.exp(-squares)
    shares = densities / densities.sum(1, keepdims=True)  # cause
    return shares.mean(0)


@planted("div", "divisor", np.full((3, 3), 200, np.float32), run=FORWARD)
def sinkhorn(cost):
    kernel = jnp.exp(-cost)

    def update(u, _):
        v = 1 / (kernel.T @ u)  # cause
        u = 0.3 / (kernel @ v)
        return u, None

    u, _ = lax.scan(update, jnp.ones(3), length=2)
    return jnp.log(u) * 0


@planted("div", "divisor", f32(1, 2, 3), run=FORWARD)
def kalman(measured):
    def update(state, z):
        mean, variance = state
        total = variance + 0.0
        gain = variance / total  # cause
        return (mean + gain * (z - mean), (1 - gain) * variance), None

    (mean, _), _ = lax.scan(update, (jnp.float32(0), jnp.float32(1)), measured)
    return mean


@planted("pow", "has no such power", f32(1.0, 0.1), run=FORWARD)
def falling_tank(height):
    def step(i, h):
        outflow = h**0.5  # cause
        return h - 0.3 * outflow

    return lax.fori_loop(0, 20, step, height)


@planted("sqrt", "where", np.zeros((3, 2), np.float32), run={"vmap": lambda f: vmap(grad(f))})
def norm_at_zero(x):
    squares = jnp.sum(x * x)
    return jnp.sqrt(squares)  # cause


@planted("sqrt", "where", f32([0, 0], [1, 1]), f32([1, 2], [1, 1]), run=GRAD)
def cosine(x, y):
    norms = jnp.sqrt((x * x).sum(1)) * jnp.sqrt((y * y).sum(1))  # cause
    return ((x * y).sum(1) / (norms + 1e-6)).sum()


@planted("acos", "where", f32(1.0, 0.3), run=GRAD)
def angle(c):
    theta = jnp.arccos(c)  # cause
    return (theta**2).sum()


@planted("pow", "where", f32(0, 1), run=GRAD)
def small_power(x):
    y = x**0.5  # cause
    return jnp.where(x > 0, y, 0.0).sum()


@planted("log", "xlogy", f32(0, 1), f32(0, 2), run=FORWARD)
def power_by_logs(x, y):
    logs = jnp.log(x)  # cause
    return jnp.exp(y * logs)


@planted("cholesky", "not positive definite", f32([1, 2], [2, 1]), run=FORWARD)
def covariance_factor(a):
    lower = jnp.linalg.cholesky(a)  # cause
    return jnp.log(jnp.diag(lower)).sum()


@planted(
    "while div rem", "divisor", f32(5, 0, 2), run={"vmap": vmap, "jit": lambda f: jit(vmap(f))}
)
def halving(x):
    def body(state):
        i, total = state
        total = total + (x - 2 * i) / x  # cause
        return i + 1, total

    return lax.while_loop(lambda state: state[0] < 4, body, (0, jnp.float32(0)))[1]


@ricci.custom_jvp
def safe_root(x):
    return jnp.sqrt(x)


@safe_root.defjvp
def safe_root_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    y = safe_root(x)
    return y, t * y * 0.5 / (y * y)  # cause


planted("div", "", f32(0, 1), run={"grad": lambda f: grad(lambda x: safe_root(x).sum())})(
    safe_root_jvp
)


@planted("log", "where", f32(0, 1, 2), run=GRAD)
def checkpointed_scan(x):
    @ricci.checkpoint
    def step(total, v):
        entropy = jnp.where(v > 0, v * jnp.log(v), 0.0)  # cause
        return total + entropy, None

    return lax.scan(step, jnp.float32(0), x)[0]


@planted("exp", "subtract the maximum", f32([100, 1], [2, 3]), run=FORWARD)
def naive_softmax(x):
    e = jnp.exp(x)  # cause
    return e / e.sum(1, keepdims=True)


@planted("select_n", "mask with a large finite", f32([1, 2], [3, 4]), run=FORWARD)
def masked_rows(scores):
    mask = jnp.asarray([[True, False], [False, False]])
    scores = jnp.where(mask, scores, -jnp.inf)  # cause
    shifted = scores - scores.max(1, keepdims=True)
    e = jnp.exp(shifted)
    return e / e.sum(1, keepdims=True)


@planted("convert_element_type", "converted", np.array([7e4, 1.0], np.float32), run=FORWARD)
def half_cast(x):
    h = x.astype(jnp.float16)  # cause
    return h - h.max()


@planted("mul", "wider dtype", np.array([300, 2], np.float16), run=FORWARD)
def half_square(x):
    squares = x * x  # cause
    return squares / squares.sum()


@planted(
    "reduce_sum convert_element_type", "wider dtype", np.full(100, 1000, np.float16), run=FORWARD
)
def half_sum(x):
    total = jnp.sum(x)  # cause
    return total / total


@planted("div", "divisor", f32([1.0, 2.0]), run=FORWARD)
def batch_of_one(x):
    centred = x - x.mean(0)
    variance = (centred**2).sum(0) / (x.shape[0] - jnp.float32(1))  # cause
    return centred * lax.rsqrt(variance + 1e-5)


@planted("sqrt", "where", f32([1.0, 2.0]), run=GRAD)
def deviation_of_one(x):
    centred = x - x.mean(0)
    deviation = jnp.sqrt((centred**2).mean(0))  # cause
    return (centred / (deviation + 1.0)).sum()


@planted("exp", "subtract the maximum", f32(-200, 3), run=FORWARD)
def logistic_by_hand(x):
    e = jnp.exp(-x)  # cause
    return e / (1 + e)


@planted("sqrt", "below 0", f32(0.5, 3.0), run=FORWARD)
def orbit_energy(r):
    v2 = 2 / r - 1.0
    speed = jnp.sqrt(v2)  # cause
    return speed * r


@planted("div", "divisor", f32([0, 0], [1, 1], [0, 0]), run=FORWARD)
def gravity(places):
    offsets = places[:, None] - places[None]
    cubes = ((offsets**2).sum(-1)) ** 1.5
    forces = offsets / cubes[..., None]  # cause
    return forces.sum(1)


@planted("atanh", "-1 and 1", f32(0.3, 1.2), run=FORWARD)
def inverse_tanh_flow(y):
    z = jnp.arctanh(y)  # cause
    return z.sum()


@planted("reduce_prod", "logarithms", np.full(50, 1e4, np.float32), run=FORWARD)
def likelihood(p):
    both = jnp.prod(p)  # cause
    return both / both


@planted("log", "jnp.log", f32(0.4, 0.9), run=FORWARD)
def survival(t):
    def step(s, _):
        s = s - 0.3
        return s, jnp.log(s)  # cause

    return lax.scan(step, t, length=3)[1]


@planted("gather", "out of bounds", f32(1, 2, 3), run=FORWARD)
def table_lookup(x):
    picked = x.at[jnp.array([0, 5])].get(mode="fill")  # cause
    return picked * 2


@planted("log", "jnp.log", f32(1, 2), run={"cond": jit})
def branch(x):
    def negative(x):
        return jnp.log(x - 5)  # cause

    return lax.cond(x.sum() > 1, negative, jnp.sin, x)


@planted("log1p", "keep numbers up to -1 out", f32(0.5, 2.0), run=FORWARD)
def bernoulli(p):
    other = jnp.log1p(-p)  # cause
    return other.mean()


@planted("integer_pow", "wider", f32(1e30, 1), run=FORWARD)
def moments(x):
    fourth = x**4  # cause
    return fourth - fourth.mean()


@planted("div", "divisor", f32(3, 3, 3), run=FORWARD)
def standardised(x):
    z = (x - x.mean()) / x.std()  # cause
    return z.sum()


@planted("div", "divisor", f32(0.0, 2.0), run=FORWARD)
def relative_change(x):
    change = (x - x) / x  # cause
    return jnp.tanh(change)


@planted("rsqrt", "where", f32(0, 0), run=FORWARD)
def unit_vector(x):
    scale = lax.rsqrt((x * x).sum())  # cause
    return x * scale


@planted("log", "keep 0 out", np.eye(3, dtype=np.float32)[:, :2].T.copy(), run=FORWARD)
def cross_entropy(p):
    logs = jnp.log(p)  # cause
    return -(p * logs).sum()


@planted("exp", "subtract the maximum", f32(60, 100), run=FORWARD)
def softplus_difference(x):
    e = jnp.exp(x)  # cause
    return jnp.log(1 + e) - jnp.log(1 + 2 * e)


@planted("mul", "wider", f32(1e20, 2), run={"scan": lambda f: f})
def optimizer_chain(g):
    def update(state, _):
        p, v = state
        v = 0.9 * v + g * g  # cause
        p = p - g / jnp.sqrt(v) * v
        return (p, v), None

    (p, _), _ = lax.scan(update, (jnp.zeros(2), jnp.zeros(2)), length=3)
    return p - p


@planted("div", "divisor", f32(1, 2), run=FORWARD)
def wave(x):
    phase = x / jnp.float32(0)  # cause
    return jnp.sin(phase)


@planted("log", "jnp.log", np.arange(8, dtype=np.float32) - 3, run={"shard_map": lambda f: f})
def on_eight_devices(x):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    spec = ricci.P("i")

    def part(x):
        y = jnp.log(x + 1)  # cause
        return y - lax.pmean(x, "i")

    return ricci.shard_map(part, mesh=mesh, in_specs=spec, out_specs=spec)(x)


@planted("sqrt", "where", np.zeros((8, 2), np.float32), run={"shard_map": lambda f: f})
def gradient_on_eight_devices(x):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    spec = ricci.P("i")

    def length(x):
        return jnp.sqrt((x * x).sum())  # cause

    return ricci.shard_map(grad(length), mesh=mesh, in_specs=spec, out_specs=spec)(x)


@planted("slogdet log", "", f32([1, 2], [2, 4]), run={"plain": lambda f: f})
def singular_logdet(a):
    value = jnp.linalg.slogdet(a)[1]  # cause
    return value - value


@planted("div", "second where", f32(0, 1, 2), run={"vmap": lambda f: vmap(value_and_grad(f))})
def sinc(x):
    y = jnp.sin(x) / x  # cause
    return jnp.where(x == 0, 1.0, y)
