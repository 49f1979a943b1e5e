"""Programs whose derivatives have a NaN, and rules that users write."""

import ricci
import ricci.numpy as jnp
from ricci import grad

from .table import GRADS, f32, planted


@planted("log", "where(x > 0, x, 1.0)", f32(1, 0), run=GRADS)
def masked_log(x):
    y = jnp.where(x > 0, jnp.log(x), 0.0)  # cause
    return y.sum()


@planted("sqrt", "jnp.where", f32(1, 0), run=GRADS)
def masked_sqrt(x):
    roots = jnp.sqrt(x)  # cause
    return jnp.where(x > 0, roots, 0.0).sum()


@planted("sqrt", "jnp.where", f32(0, 0), run=GRADS)
def length(x):
    squares = x * x
    return jnp.sqrt(squares.sum())  # cause


@planted("div", "jnp.where", f32(0, 1), run=GRADS)
def masked_ratio(x):
    r = 1 / x  # cause
    return jnp.where(x == 0, 0.0, r).sum()


@planted("exp", "jnp.where", f32(0, 100), run=GRADS)
def masked_exp(x):
    e = jnp.exp(x)  # cause
    return jnp.where(x > 10, x, e).sum()


@planted("sqrt", "jnp.where", f32(0, 2), run={"twice": lambda f: grad(lambda x: grad(f)(x).sum())})
def root_twice(x):
    y = jnp.where(x > 0, jnp.sqrt(x), 0.0)  # cause
    return y.sum()


@planted("log", "jnp.where", f32(0, 2), run={"twice": lambda f: grad(lambda x: grad(f)(x).sum())})
def log_twice(x):
    y = jnp.where(x > 0, x * jnp.log(x), 0.0)  # cause
    return y.sum()


@ricci.custom_vjp
def scaled(x):
    return x * 2


def scaled_bwd(x, ct):
    return (ct * x / jnp.sum(x * 0),)  # cause


scaled.defvjp(lambda x: (x * 2, x), scaled_bwd)
planted("div", "divisor", f32(0, 1), run={"grad": lambda f: grad(lambda x: scaled(x).sum())})(
    scaled_bwd
)


@ricci.custom_jvp
def doubled(x):
    return x * 2


@doubled.defjvp
def doubled_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    factor = jnp.log(x - 5.0)  # cause
    return x * 2, t * factor


planted("log", "below 0", f32(1, 2), run={"grad": lambda f: grad(lambda x: doubled(x).sum())})(
    doubled_jvp
)
