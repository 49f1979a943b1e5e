"""Flax NNX: modules and their state, lifted transformations, random streams, layers, training."""

from functools import partial

import numpy as np
import optax
from flax import nnx

import jax
import jax.numpy as jnp

# From NumPy, so that both sides have the same bits; no row is the mean of the others, at which a
# normalization would give 0, where relu has no derivative.
X = jnp.asarray(np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(3, 4) ** 3)
IMAGES = jnp.sin(jnp.arange(144.0)).reshape(2, 6, 6, 2)


class Block(nnx.Module):
    def __init__(self, inner, outer, *, rngs):
        self.linear = nnx.Linear(inner, outer, rngs=rngs)
        self.norm = nnx.BatchNorm(outer, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.count = nnx.Variable(jnp.zeros((), jnp.int32))

    def __call__(self, x):
        self.count[...] += 1
        return nnx.relu(self.dropout(self.norm(self.linear(x))))


def block(outer=4):
    return Block(4, outer, rngs=nnx.Rngs(0, dropout=1))


LAYERS = {
    "Linear": (lambda r: nnx.Linear(4, 3, rngs=r), X),
    "LinearGeneral": (lambda r: nnx.LinearGeneral(4, (2, 3), rngs=r), X),
    "Einsum": (lambda r: nnx.Einsum("ab,bc->ac", (4, 5), (5,), rngs=r), X),
    "Conv": (lambda r: nnx.Conv(2, 4, (3, 3), strides=2, rngs=r), IMAGES),
    "ConvTranspose": (lambda r: nnx.ConvTranspose(2, 3, (3, 3), strides=(2, 2), rngs=r), IMAGES),
    "Embed": (lambda r: nnx.Embed(9, 3, rngs=r), jnp.array([1, 4])),
    "LayerNorm": (lambda r: nnx.LayerNorm(4, rngs=r), X),
    "RMSNorm": (lambda r: nnx.RMSNorm(4, rngs=r), X),
    "GroupNorm": (lambda r: nnx.GroupNorm(4, num_groups=2, rngs=r), X),
    "InstanceNorm": (lambda r: nnx.InstanceNorm(2, rngs=r), IMAGES),
    "BatchNorm": (lambda r: nnx.BatchNorm(4, rngs=r), X),
    "WeightNorm": (lambda r: nnx.WeightNorm(nnx.Linear(4, 3, rngs=r), rngs=r), X),
    "SpectralNorm": (lambda r: nnx.SpectralNorm(nnx.Linear(4, 3, rngs=r), rngs=r), X),
    "PReLU": (lambda r: nnx.PReLU(), X),
    "Dropout": (lambda r: nnx.Dropout(0.5, rngs=r), X),
    "LoRA": (lambda r: nnx.LoRA(4, 2, 3, rngs=r), X),
    "Sequential": (lambda r: nnx.Sequential(nnx.Linear(4, 3, rngs=r), jnp.tanh), X),
    "MultiHeadAttention": (
        lambda r: nnx.MultiHeadAttention(
            2, 4, dropout_rate=0.1, deterministic=False, decode=False, rngs=r
        ),
        X[None],
    ),
}


def layer(make, x):
    module = make(nnx.Rngs(0))
    out = module(x)
    gradient = nnx.jit(nnx.grad(lambda m, x: jnp.sum(jnp.cos(m(x)))))(module, x)
    return out, gradient, nnx.state(module)


def recurrent(cell):
    core = cell(4, 5, rngs=nnx.Rngs(0))
    return nnx.RNN(core, return_carry=True)(X[None])


def split_merge():
    definition, parameters, rest = nnx.split(block(), nnx.Param, ...)
    doubled = jax.tree.map(lambda x: 2 * x, parameters)
    model = nnx.merge(definition, doubled, rest)
    return model(X), nnx.state(model), parameters.flat_state() is not None


def jitted():
    model = block()
    out = nnx.jit(lambda m, x: m(x))(model, X)
    return out, nnx.state(model)


def trained(optimizer):
    model = block(2)
    state = nnx.Optimizer(model, optimizer, wrt=nnx.Param)

    @nnx.jit
    def step(model, state):
        loss, gradient = nnx.value_and_grad(lambda m: jnp.mean((m(X) - X[:, :2]) ** 2))(model)
        state.update(model, gradient)
        return loss

    return [step(model, state) for _ in range(3)], nnx.state(model), nnx.state(state)


def scanned():
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def make(rngs):
        return nnx.Linear(4, 4, rngs=rngs)

    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
    def run(layer, x):
        return jnp.tanh(layer(x))

    layers = make(nnx.Rngs(0))
    return run(layers, X), nnx.grad(lambda m: run(m, X).sum())(layers)


def vmapped():
    axes = nnx.StateAxes({nnx.Param: None, ...: None})
    return nnx.vmap(lambda m, x: m(x), in_axes=(axes, 0))(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), X)


def streams():
    rngs = nnx.Rngs(0, params=1)
    return rngs.params(), rngs.dropout(), rngs(), rngs.normal((2,)), nnx.state(rngs)


def looped():
    model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))

    def body(i, carry):
        return carry[0], carry[0](carry[1])

    fori = nnx.fori_loop(0, 3, body, (model, X))[1]
    while_ = nnx.while_loop(
        lambda c: c[2] < 3, lambda c: (c[0], c[0](c[1]), c[2] + 1), (model, X, 0)
    )[1]
    branch = nnx.cond(True, lambda m: m(X), lambda m: m(X) * 2, model)
    switch = nnx.switch(1, [lambda m: m(X), lambda m: m(X) * 2], model)
    return fori, while_, branch, switch


def custom():
    @nnx.custom_vjp
    def sine(m, x):
        return jnp.sin(m(x))

    def forward(m, x):
        return sine(m, x), (jnp.cos(m(x)), m)

    def backward(residuals, g):
        cosine, m = residuals
        tangents = jax.tree.map(jnp.zeros_like, nnx.state(m))
        return tangents, (g[1] if isinstance(g, tuple) else g) * cosine

    sine.defvjp(forward, backward)
    return sine(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), X)


def metrics():
    metric = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
    metric.update(logits=X, labels=jnp.array([3, 3, 0]), loss=jnp.arange(3.0))
    welford = nnx.metrics.Welford()
    welford.update(values=X)
    return metric.compute(), welford.compute()


def edited():
    model = block()
    model.eval()
    plain = model(X)
    nnx.update(model, jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param)))
    popped = nnx.pop(model, nnx.BatchStat)
    return (
        plain,
        popped,
        nnx.clone(model).linear.kernel,
        [path for path, _ in nnx.iter_graph(model)],
    )


def references():
    variable = nnx.Variable(jnp.arange(3.0))
    variable[1] = 5.0
    variable[...] *= 2
    return variable, variable + 1, variable[0], jnp.sum(variable), variable.get_value()


CASES = (
    {f"layer {name}": partial(layer, make, x) for name, (make, x) in LAYERS.items()}
    | {
        f"cell {cell.__name__}": partial(recurrent, cell)
        for cell in (nnx.LSTMCell, nnx.GRUCell, nnx.SimpleCell, nnx.OptimizedLSTMCell)
    }
    | {
        "bidirectional": lambda: nnx.Bidirectional(
            nnx.RNN(nnx.GRUCell(4, 3, rngs=nnx.Rngs(0))),
            nnx.RNN(nnx.GRUCell(4, 3, rngs=nnx.Rngs(1))),
        )(X[None]),
        "split, merge": split_merge,
        "jit": jitted,
        "adam": partial(trained, optax.adam(0.1)),
        "sgd": partial(trained, optax.sgd(0.1, momentum=0.9)),
        "scan": scanned,
        "vmap": vmapped,
        "remat": lambda: nnx.grad(lambda m: nnx.remat(lambda m: m(X))(m).sum())(
            nnx.Linear(4, 4, rngs=nnx.Rngs(0))
        ),
        "pmap": lambda: nnx.pmap(lambda x: x * 2)(X[:1]),
        "Rngs": streams,
        "fork": lambda: nnx.state(nnx.Rngs(0).fork(split=2)),
        "loops": looped,
        "custom_vjp": custom,
        "metrics": metrics,
        "edited": edited,
        "Variable": references,
        "eval_shape": lambda: str(nnx.eval_shape(block).linear.kernel.get_value()),
        "jvp": lambda: nnx.jvp(lambda x: jnp.sin(x), (X,), (X,)),
        "value_and_grad aux": lambda: nnx.value_and_grad(lambda m: (m(X).sum(), X), has_aux=True)(
            nnx.Linear(4, 4, rngs=nnx.Rngs(0))
        ),
        "DiffState": lambda: nnx.grad(
            lambda m: m(X).sum(), argnums=nnx.DiffState(0, nnx.PathContains("bias"))
        )(nnx.Linear(4, 4, rngs=nnx.Rngs(0))),
        "checkify": lambda: nnx.to_tree(block()) is not None,
        "repr": lambda: repr(nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))),
        "tabulate": lambda: nnx.tabulate(nnx.Linear(4, 3, rngs=nnx.Rngs(0)), X),
        "pure dict": lambda: nnx.to_pure_dict(nnx.state(block())),
        "shared": lambda: len(jax.tree.leaves(nnx.state(nnx.List([m := block(), m])))),
        "dot_product_attention": lambda: nnx.dot_product_attention(*[X.reshape(1, 3, 2, 2)] * 3),
        "initializers": lambda: [
            getattr(nnx.initializers, name)()(jax.random.key(0), (4, 6))
            for name in ("lecun_normal", "he_uniform", "glorot_normal", "orthogonal")
        ],
    }
)
