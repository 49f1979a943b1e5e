"""Programs with a NaN inside of loops, branches and devices."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import lax, vmap

from .table import EIGHT, EVERY, FORWARD, GRADS, MAPPED, f32, planted


def in_scan(xs):
    def step(total, x):
        y = jnp.log(x)  # cause
        return total + y, y * 2

    return lax.scan(step, 0.0, xs)[0]


planted("log", "below 0", f32(3, 2, -1, 1), run=EVERY)(in_scan)


@planted("mul", "above 3.4", 1e10, run=EVERY)
def growing(x):
    def step(total, _):
        total = total * x  # cause
        return total, None

    total, _ = lax.scan(step, 1.0, length=8)
    return total - total


@planted("div", "divisor", 2.0, run=FORWARD)
def in_while(x):
    def body(state):
        i, y = state
        return i + 1, y / (3.0 - i) * 0.0 / (3.0 - i)  # cause

    return lax.while_loop(lambda state: state[0] < 5, body, (0, x))[1]


@planted("sqrt", "below 0", -2.0, run=EVERY)
def in_cond(x):
    def low(x):
        return jnp.sqrt(x)  # cause

    return lax.cond(x < 0, low, lambda x: x * 2, x)


@planted("log", "below 0", f32(-2, 2), run=MAPPED)
def in_batched_cond(x):
    def low(x):
        return jnp.log(x)  # cause

    return lax.cond(x < 0, low, lambda x: x * 2, x)


@planted("div", "divisor", f32(1, 2, 3, 4), run=EVERY)
def in_fori(xs):
    def body(i, total):
        return total + xs[i] / (xs[i] - 3.0) * 0.0  # cause

    return lax.fori_loop(0, 4, body, 0.0)


@planted("sqrt", "jnp.where", f32(2, 0, 1), run=GRADS)
def root_in_scan(xs):
    def step(total, x):
        y = jnp.where(x > 0, jnp.sqrt(x), 0.0)  # cause
        return total + y, None

    return lax.scan(step, 0.0, xs)[0]


@planted("div", "divisor", np.array([[1, 2], [0, 0]], np.float32), run={"vmap": lambda f: vmap(f)})
def rows(x):
    return x / x.sum()  # cause


@planted("log", "below 0", EIGHT)
def on_devices(x):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))

    def shard(x):
        y = jnp.log(x - 5.5)  # cause
        return y + lax.psum(x, "i")

    return ricci.shard_map(shard, mesh=mesh, in_specs=ricci.P("i"), out_specs=ricci.P("i"))(x)


@planted("log", "below 0", EIGHT)
def through_a_sum_of_devices(x):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))

    def shard(x):
        y = jnp.log(x - 0.5)  # cause
        return lax.psum(y, "i") * 2

    return ricci.shard_map(shard, mesh=mesh, in_specs=ricci.P("i"), out_specs=ricci.P())(x)
