"""Quax: array-like types of users, and rules of primitives for them, by dispatch."""

import equinox as eqx
import quax
import quax.examples.lora as lora
import quax.examples.structured_matrices as structured
import quax.examples.unitful as unitful
import quax.examples.zero as zero

import jax
import jax.numpy as jnp

X = jnp.linspace(-1.0, 1.0, 6)


class Counted(quax.ArrayValue):
    """An array that counts the operations that made it."""

    array: jax.Array
    count: int = eqx.field(static=True, default=0)

    def aval(self):
        return jax.core.ShapedArray(self.array.shape, self.array.dtype)

    def materialise(self):
        return self.array


@quax.register(jax.lax.mul_p)
def _(x: Counted, y: Counted, **_):
    return Counted(x.array * y.array, x.count + y.count + 1)


@quax.register(jax.lax.sin_p)
def _(x: Counted, **_):
    return Counted(jnp.sin(x.array), x.count + 1)


def counted():
    out = quax.quaxify(lambda x: jnp.sin(x * x) * jnp.sin(x))(Counted(X))
    return out.array, out.count


def materialised():
    return quax.quaxify(lambda x: jnp.cumsum(jnp.exp(x)))(Counted(X))


def under(transform):
    run = quax.quaxify(transform(lambda x: jnp.sin(x * x)))
    return jax.tree.leaves(run(Counted(X)))


def gradient():
    loss = lambda x: jnp.sum(jnp.sin(x.array * x.array))
    return jax.grad(lambda a: jnp.sum(quax.quaxify(jnp.sin)(Counted(a)).array))(X), loss(Counted(X))


def adapted():
    linear = eqx.nn.Linear(6, 4, key=jax.random.key(0))
    linear = lora.loraify(linear, rank=2, key=jax.random.key(1))
    run = eqx.filter_jit(lambda m, x: quax.quaxify(m)(x))
    slope = eqx.filter_grad(lambda m: jnp.sum(run(m, X) ** 2))(linear)
    return run(linear, X), jax.tree.leaves(eqx.filter(slope, eqx.is_array))


def adapted_with_custom_rules():
    layers = eqx.nn.MLP(6, 4, 8, 1, activation=jax.nn.relu, key=jax.random.key(0))
    layers = lora.loraify(layers, rank=2, key=jax.random.key(1))
    loss = lambda m: jnp.sum(quax.quaxify(m)(X) ** 2)
    slope = eqx.filter_jit(eqx.filter_grad(loss))(layers)
    return jax.tree.leaves(eqx.filter(slope, eqx.is_array))


def diagonal():
    matrix = structured.TridiagonalMatrix(X[:3], X[:4], X[1:4])
    vector = jnp.arange(4.0)
    return quax.quaxify(lambda a, b: a @ b)(matrix, vector)


def zeros():
    z = zero.Zero((6,), jnp.float32)
    run = quax.quaxify(lambda a, b: (a + b, a * b))
    return [
        quax.quaxify(jnp.asarray)(x) if isinstance(x, jax.Array) else str(type(x).__name__)
        for x in run(z, X)
    ]


def units():
    length = unitful.Unitful(X, {unitful.meters: 1})
    time = unitful.Unitful(jnp.full(6, 2.0), {unitful.seconds: 1})
    out = quax.quaxify(lambda x, t: x * t + x * t)(length, time)
    return out.array, {str(k): v for k, v in out.units.items()}


METRES = {unitful.meters: 1}


def lengths(values):
    return unitful.Unitful(values, METRES)


def scanned(start, xs, factor=1.0):
    body = lambda carry, x: (carry + factor * x, x * x)
    return jax.tree.leaves(quax.quaxify(lambda c, xs: jax.lax.scan(body, c, xs))(start, xs))


def repeated():
    double = lambda pair: (pair[0] + pair[0], pair[1] + 1)
    run = lambda x: jax.lax.while_loop(lambda pair: pair[1] < 3, double, (x, 0))
    return jax.tree.leaves(quax.quaxify(run)(lengths(X)))


def loop_differentiated():
    return jax.grad(lambda xs: scanned(lengths(X[0]), lengths(xs))[0])(X)


CASES = {
    "counted": counted,
    "materialised": materialised,
    "jit": lambda: under(jax.jit),
    "vmap": lambda: under(jax.vmap),
    "gradient": gradient,
    "jit of all": lambda: jax.tree.leaves(jax.jit(quax.quaxify(lambda x: x * x))(Counted(X))),
    "cond": lambda: quax.quaxify(lambda x: jax.lax.cond(True, jnp.sin, jnp.cos, x))(X),
    "low rank": adapted,
    "tridiagonal": diagonal,
    "zero": zeros,
    "units": units,
    "scan": lambda: scanned(X[0], Counted(X)),
    "scan with constants": lambda: scanned(X[0], Counted(X), X[1:2].sum()),
    "scan of units": lambda: scanned(lengths(X[0]), lengths(X)),
    "scan differentiated": loop_differentiated,
    "while loop": repeated,
}
