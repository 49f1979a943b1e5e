"""unxt and quaxed: quantities with units, through transformations and the array API."""

import quaxed.numpy as qnp
import unxt

import jax
import jax.numpy as jnp


def lengths():
    return unxt.Quantity(jnp.arange(6.0).reshape(2, 3), "km")


def two(x):
    return x.value, str(x.unit)


def vectorized():
    return two(qnp.vectorize(lambda a, b: a + b)(lengths(), lengths()))


def updated():
    q = lengths()
    return two(q.at[0, 1].set(unxt.Quantity(5.0, "m"))), two(q.at[1].add(q[0])), repr(q.at)


def scanned():
    start = unxt.Quantity(0.0, "km")
    total, doubled = jax.lax.scan(lambda c, x: (c + x, c * 2), start, lengths()[0])
    return two(total), two(doubled)


CASES = {
    "conversion": lambda: two(lengths().to("m")),
    "sum": lambda: two(qnp.sum(lengths())),
    "norm": lambda: two(qnp.linalg.norm(lengths())),
    "matmul": lambda: two(qnp.matmul(lengths(), lengths().T)),
    "concatenate": lambda: two(qnp.concatenate([lengths(), lengths().to("m")])),
    "where": lambda: two(qnp.where(lengths() > unxt.Quantity(2.0, "km"), lengths(), -lengths())),
    "cumsum": lambda: two(qnp.cumsum(lengths(), axis=1)),
    "columns": lambda: qnp.c_[jnp.arange(3), jnp.arange(3)],
    "rows": lambda: qnp.r_[jnp.arange(3), jnp.arange(2)],
    "vectorize": vectorized,
    "at": updated,
    "jit": lambda: two(jax.jit(lambda q: q**2)(lengths())),
    "vmap": lambda: two(jax.vmap(lambda q: q @ q)(lengths())),
    "grad": lambda: two(
        unxt.experimental.grad(lambda x: x**3, units=("m",))(unxt.Quantity(2.0, "m"))
    ),
    "cond": lambda: two(jax.lax.cond(True, lambda q: q * 2, lambda q: q, lengths())),
    "scan": scanned,
    "error": lambda: lengths() + unxt.Quantity(1.0, "s"),
}
