"""Haiku: transformed functions with state, layers and gradients, loops, lifting, experiments."""

from functools import partial

import haiku as hk

import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)
X = jnp.linspace(-1.0, 1.0, 12).reshape(3, 4)
IMAGES = jnp.sin(jnp.arange(144.0)).reshape(2, 6, 6, 2)

LAYERS = {
    "Linear": (lambda x: hk.Linear(3)(x), X),
    "MLP": (lambda x: hk.nets.MLP([5, 3])(x, dropout_rate=0.2, rng=hk.next_rng_key()), X),
    "Conv2D": (lambda x: hk.Conv2D(4, 3, stride=2)(x), IMAGES),
    "Conv1D": (lambda x: hk.Conv1D(4, 2, padding=hk.pad.causal)(x), X[None]),
    "Conv2DTranspose": (lambda x: hk.Conv2DTranspose(3, 3, stride=2)(x), IMAGES),
    "DepthwiseConv2D": (lambda x: hk.DepthwiseConv2D(2, 3)(x), IMAGES),
    "SeparableDepthwiseConv2D": (lambda x: hk.SeparableDepthwiseConv2D(2, 3)(x), IMAGES),
    "Embed": (lambda x: hk.Embed(9, 3)(jnp.int32(x)), jnp.array([1.0, 4.0])),
    "BatchNorm": (lambda x: hk.BatchNorm(True, True, 0.9)(x, True), X),
    "LayerNorm": (lambda x: hk.LayerNorm(-1, True, True)(x), X),
    "RMSNorm": (lambda x: hk.RMSNorm(-1)(x), X),
    "GroupNorm": (lambda x: hk.GroupNorm(2)(x), X),
    "InstanceNorm": (lambda x: hk.InstanceNorm(True, True)(x), IMAGES),
    "SpectralNorm": (lambda x: hk.SpectralNorm()(x), X),
    "dropout": (lambda x: hk.dropout(hk.next_rng_key(), 0.5, x), X),
    "max_pool": (lambda x: hk.max_pool(x, 2, 2, "SAME"), IMAGES),
    "avg_pool": (lambda x: hk.AvgPool(2, 2, "SAME")(x), IMAGES),
    "Flatten": (lambda x: hk.Flatten()(x), IMAGES),
    "Sequential": (lambda x: hk.Sequential([hk.Linear(3), jnp.tanh])(x), X),
    "attention": (
        lambda x: hk.MultiHeadAttention(2, 3, w_init=hk.initializers.VarianceScaling())(x, x, x),
        X[None],
    ),
    "ExponentialMovingAverage": (lambda x: hk.ExponentialMovingAverage(0.9)(x), X),
    "ResNet block": (
        lambda x: hk.nets.ResNet.BlockGroup(
            4,
            1,
            1,
            {"create_scale": True, "create_offset": True, "decay_rate": 0.9},
            True,
            True,
            0.25,
            True,
            "block",
        )(x, True, False),
        IMAGES,
    ),
    "LSTM": (
        lambda x: hk.static_unroll(core := hk.LSTM(3), x[:, None], core.initial_state(1))[0],
        X,
    ),
    "ResetCore": (
        lambda x: hk.dynamic_unroll(
            core := hk.ResetCore(hk.LSTM(3)),
            (x[:, None], jnp.array([[False], [True], [False]])),
            core.initial_state(1),
        )[0],
        X,
    ),
    "DeepRNN": (
        lambda x: hk.dynamic_unroll(
            core := hk.DeepRNN([hk.VanillaRNN(3), jnp.tanh, hk.GRU(2)]), x, core.initial_state(None)
        )[0],
        X,
    ),
    "Conv2DLSTM": (
        lambda x: (core := hk.Conv2DLSTM((6, 6), 2, 3))(x[0], core.initial_state(None))[0],
        IMAGES,
    ),
}


def layer(function, x):
    model = hk.transform_with_state(function)
    parameters, state = model.init(KEY, x)

    def loss(p):
        out, new = model.apply(p, state, KEY, x)
        return jnp.sum(jnp.cos(out)), (out, new)

    return parameters, state, jax.jit(jax.value_and_grad(loss, has_aux=True))(parameters)


def transformed(function, *arguments):
    model = hk.transform_with_state(function)
    parameters, state = model.init(KEY, *arguments)
    return parameters, state, jax.jit(model.apply)(parameters, state, KEY, *arguments)


def scan(x):
    linear = hk.Linear(4)

    def body(carry, row):
        hk.set_state("count", hk.get_state("count", (), init=jnp.zeros) + 1)
        return jnp.tanh(linear(carry) + row), carry * hk.next_rng_key()[0]

    hk.get_state("count", (), init=jnp.zeros)
    linear(x[0])
    return hk.scan(body, jnp.zeros(4), x)


def loops(x):
    linear = hk.Linear(4)
    start = linear(x)
    fori = hk.fori_loop(0, 3, lambda i, c: linear(c), start)
    while_ = hk.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, linear(c[1])), (0, start))
    branch = hk.cond(x[0, 0] < 0, linear, lambda x: x * 2, x)
    switch = hk.switch(1, [linear, lambda x: x * 3], x)
    return fori, while_, branch, switch, hk.remat(linear)(x), hk.map(linear, x)


def lifted(x):
    inner = hk.transform(lambda x: hk.Linear(2)(x))
    parameters = hk.lift(inner.init, name="lifted")(hk.next_rng_key(), x)
    return inner.apply(parameters, None, x)


def stacked(x):
    x = hk.vmap(lambda row: hk.Linear(4)(row), split_rng=False)(x)
    return hk.experimental.layer_stack(3)(lambda h: jnp.tanh(hk.Linear(4)(h)))(x)


def gradients(x):
    linear = hk.Linear(2)
    linear(x)
    value, gradient = hk.value_and_grad(lambda x: linear(x).sum())(x)
    return value, gradient, hk.grad(lambda x: linear(x).sum())(x)


class Pair(hk.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.one = hk.Linear(3, name="one")

    def __call__(self, x):
        scale = hk.get_parameter("scale", (3,), init=hk.initializers.TruncatedNormal(0.5))
        return self.one(x) * scale

    @hk.transparent
    def inner(self, x):
        return hk.Linear(2)(x)


def intercepted(x):
    def double(next_method, args, kwargs, context):
        return next_method(*args, **kwargs) * 2

    def shifted(next_creator, shape, dtype, init, context):
        return next_creator(shape, dtype, init) + 1

    with hk.intercept_methods(double), hk.custom_creator(shifted):
        return Pair()(x)


def multi():
    def build():
        encode, decode = hk.Linear(2), hk.Linear(4)
        return lambda x: decode(encode(x)), (encode, lambda c: decode(c))

    model = hk.multi_transform(build)
    parameters = model.init(KEY, X)
    return (
        parameters,
        model.apply[0](parameters, None, X),
        model.apply[1](parameters, None, X[:, :2]),
    )


def trees():
    parameters = hk.transform(lambda x: Pair()(x) + hk.Linear(3)(x)).init(KEY, X)
    first, second = hk.data_structures.partition(lambda m, n, v: n == "w", parameters)
    merged = hk.data_structures.merge(first, second)
    return (
        merged,
        hk.data_structures.tree_size(parameters),
        hk.data_structures.filter(lambda m, n, v: "one" in m, parameters),
        [name for name, _, _ in hk.data_structures.traverse(parameters)],
    )


INITIALIZERS = {
    name: getattr(hk.initializers, name)
    for name in (
        "Orthogonal",
        "RandomNormal",
        "RandomUniform",
        "TruncatedNormal",
        "VarianceScaling",
    )
}
CASES = (
    {f"layer {name}": partial(layer, function, x) for name, (function, x) in LAYERS.items()}
    | {
        function.__name__: partial(transformed, function, X)
        for function in (scan, loops, lifted, stacked, gradients, intercepted)
    }
    | {
        f"initializer {name}": lambda make=make: hk.transform(
            lambda: hk.get_parameter("w", (4, 3), init=make())
        ).init(KEY)
        for name, make in INITIALIZERS.items()
    }
    | {
        "multi": multi,
        "trees": trees,
        "rng sequence": lambda: list(hk.PRNGSequence(0).take(3)),
        "keys": partial(transformed, lambda: (hk.next_rng_keys(2), hk.maybe_next_rng_key())),
        "without rng": lambda: hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2)(x))).init(
            KEY, X
        ),
        "eval_shape": lambda: str(
            hk.experimental.fast_eval_shape(hk.transform(lambda x: Pair()(x)).init, KEY, X)
        ),
        "tabulate": lambda: hk.experimental.tabulate(hk.transform(lambda x: Pair()(x)))(X),
        "jaxpr info": lambda: hk.experimental.jaxpr_info.format_module(
            hk.experimental.jaxpr_info.make_model_info(hk.transform(lambda x: Pair()(x)).init)(
                KEY, X
            )
        ),
        "one hot": lambda: hk.one_hot(jnp.array([1, 2]), 3),
        "causal pad": lambda: hk.pad.create_from_padfn(hk.pad.same, 3, 1, 2),
        "multinomial": lambda: hk.multinomial(KEY, X, 4),
        "missing parameters": lambda: hk.transform(lambda x: hk.Linear(2)(x)).apply({}, KEY, X),
        "outside": lambda: hk.Linear(2),
        "mixed precision": lambda: hk.mixed_precision.get_policy(hk.Linear),
        "dynamic grad in transform": lambda: hk.transform(
            lambda x: jax.grad(lambda x: hk.Linear(2)(x).sum())(x)
        ).init(KEY, X),
    }
)
