"""Equinox: filtered transformations, trees, layers, loops, serialisation and errors."""

import io
from functools import partial

import equinox as eqx
import equinox.internal as eqxi

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)
X = jnp.linspace(-1.0, 1.0, 12).reshape(3, 4)
IMAGE = jnp.sin(jnp.arange(72.0)).reshape(2, 6, 6)


class Model(eqx.Module):
    weight: jax.Array
    name: str = eqx.field(static=True)
    power: int = 2

    def __call__(self, x):
        return jnp.sum((x @ self.weight) ** self.power)


MODEL = Model(jnp.arange(4.0), "model")

LAYERS = {
    "Linear": (lambda k: eqx.nn.Linear(4, 3, key=k), X[0]),
    "Conv1d": (lambda k: eqx.nn.Conv1d(3, 5, 2, key=k), X),
    "Conv2d": (lambda k: eqx.nn.Conv2d(2, 4, 3, stride=2, padding="SAME", key=k), IMAGE),
    "ConvTranspose2d": (lambda k: eqx.nn.ConvTranspose2d(2, 3, 3, stride=2, key=k), IMAGE),
    "Conv2d groups": (lambda k: eqx.nn.Conv2d(2, 4, 3, groups=2, dilation=2, key=k), IMAGE),
    "AvgPool2d": (lambda k: eqx.nn.AvgPool2d(2, 2), IMAGE),
    "MaxPool1d": (lambda k: eqx.nn.MaxPool1d(2), X),
    "AdaptiveAvgPool2d": (lambda k: eqx.nn.AdaptiveAvgPool2d(4), IMAGE),
    "AdaptiveMaxPool1d": (lambda k: eqx.nn.AdaptiveMaxPool1d(3), X),
    "LayerNorm": (lambda k: eqx.nn.LayerNorm(4), X[0]),
    "RMSNorm": (lambda k: eqx.nn.RMSNorm(4), X[0]),
    "GroupNorm": (lambda k: eqx.nn.GroupNorm(2, 2), IMAGE),
    "WeightNorm": (lambda k: eqx.nn.WeightNorm(eqx.nn.Linear(4, 3, key=k)), X[0]),
    "MLP": (lambda k: eqx.nn.MLP(4, 2, 8, 2, key=k), X[0]),
    "PReLU": (lambda k: eqx.nn.PReLU(0.1), X),
    "Lambda": (lambda k: eqx.nn.Sequential([eqx.nn.Lambda(jnp.tanh)]), X),
    "RotaryPositionalEmbedding": (lambda k: eqx.nn.RotaryPositionalEmbedding(4), X),
}


def layer(make, x):
    module = make(KEY)
    loss = lambda m, x: jnp.sum(jnp.cos(m(x)))
    return module(x), eqx.filter_jit(eqx.filter_value_and_grad(loss))(module, x)


def attention():
    attend = eqx.nn.MultiheadAttention(2, 4, dropout_p=0.2, key=KEY)
    mask = jnp.tril(jnp.ones((3, 3), bool))
    return attend(X, X, X, mask=mask, key=KEY), attend(X, X, X, inference=True)


def recurrent(cell):
    module = cell(4, 5, key=KEY)
    start = (jnp.zeros(5),) * 2 if cell is eqx.nn.LSTMCell else jnp.zeros(5)
    run = lambda m: jax.lax.scan(lambda c, x: (m(x, c), None), start, X)[0]
    return run(module), eqx.filter_grad(lambda m: jnp.sum(jax.tree.leaves(run(m))[0]))(module)


def stateful(make):
    module, state = eqx.nn.make_with_state(make)()
    batched = jax.vmap(module, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    out, state = batched(X, state)
    again, _ = jax.vmap(
        eqx.nn.inference_mode(module), axis_name="batch", in_axes=(0, None), out_axes=(0, None)
    )(X, state)
    return out, again, state


def while_loop(kind):
    def final(x):
        return eqxi.while_loop(
            lambda c: c[0] < 5,
            lambda c: (c[0] + 1, jnp.sin(c[1]) * x),
            (jnp.int32(0), x),
            max_steps=8,
            kind=kind,
        )[1]

    return jax.value_and_grad(lambda x: final(x).sum())(X[0]), jax.vmap(final)(X)


def serialised():
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, (MODEL, X, 3, True))
    file.seek(0)
    like = eqx.tree_at(lambda m: m.weight, MODEL, jnp.zeros(4))
    return eqx.tree_deserialise_leaves(file, (like, jnp.zeros((3, 4)), 0, False))


def scanned():
    def body(carry, x):
        return carry + x, carry * x

    return jax.value_and_grad(
        lambda x: eqxi.scan(body, jnp.zeros(4), x, kind="checkpointed", checkpoints=2)[0].sum()
    )(X)


def ensemble():
    make = eqx.filter_vmap(lambda key: eqx.nn.MLP(4, 2, 8, 1, key=key))
    models = make(jax.random.split(KEY, 3))
    run = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))
    return models, run(models, X[0])


def checked(value):
    function = eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "negative") * 2)
    return function(jnp.float32(value))


@eqx.filter_custom_vjp
def clipped(x, limit):
    return x


clipped.def_fwd(lambda perturbed, x, limit: (x, None))
clipped.def_bwd(lambda residual, g, perturbed, x, limit: jnp.clip(g, -limit, limit))


@eqx.filter_custom_jvp
def doubled(x, *, n):
    return x * n


@doubled.def_jvp
def _(primals, tangents, *, n):
    return primals[0] * n, tangents[0] * n * 10


class Enum(eqx.Enumeration):
    one = "first"
    two = "second"


def dynamic():
    traced = eqx.filter_make_jaxpr(lambda m, x: m(x) + 1)(MODEL, X)
    return str(traced[0]), eqx.filter_eval_shape(MODEL, X).shape


CASES = (
    {f"layer {name}": partial(layer, make, x) for name, (make, x) in LAYERS.items()}
    | {
        "layer Embedding": lambda: eqx.nn.Embedding(5, 3, key=KEY)(jnp.int32(2)),
        "layer Dropout": lambda: eqx.nn.Dropout(0.5)(X, key=KEY),
        "layer Identity": lambda: eqx.nn.Identity()(X),
        "layer MultiheadAttention": attention,
        "layer GRUCell": partial(recurrent, eqx.nn.GRUCell),
        "layer LSTMCell": partial(recurrent, eqx.nn.LSTMCell),
        "layer BatchNorm": partial(stateful, lambda: eqx.nn.BatchNorm(4, "batch", mode="ema")),
        "layer BatchNorm batch": partial(
            stateful, lambda: eqx.nn.BatchNorm(4, "batch", mode="batch")
        ),
        "layer Shared": lambda: jax.tree.leaves(
            eqx.nn.Shared(
                (eqx.nn.Linear(2, 2, key=KEY), eqx.nn.Linear(2, 2, key=KEY)),
                lambda p: p[1].weight,
                lambda p: p[0].weight,
            )
        ),
    }
    | {f"while {kind}": partial(while_loop, kind) for kind in ("checkpointed", "bounded")}
    | {
        "while lax": lambda: eqxi.while_loop(
            lambda x: x < 9, lambda x: x * 2, jnp.float32(1), kind="lax"
        ),
        "scan checkpointed": scanned,
        "filter_jit": lambda: eqx.filter_jit(lambda m, x, flag: m(x) if flag else x)(
            MODEL, X, True
        ),
        "filter_grad": lambda: eqx.filter_grad(lambda m: m(X))(MODEL),
        "filter_value_and_grad": lambda: eqx.filter_value_and_grad(
            lambda m, x: (m(x), x), has_aux=True
        )(MODEL, X),
        "filter_hessian": lambda: eqx.filter_hessian(lambda w: jnp.sum(w**3))(X[0]),
        "filter_jacfwd": lambda: eqx.filter_jacfwd(jnp.sin)(X[0]),
        "filter_jvp": lambda: eqx.filter_jvp(jnp.sin, (X,), (X,)),
        "filter_vjp": lambda: eqx.filter_vjp(jnp.sin, X)[1](X),
        "filter_vmap": ensemble,
        "filter_pmap": lambda: eqx.filter_pmap(lambda x: x * 2)(X[:1]),
        "filter_checkpoint": lambda: jax.grad(
            lambda x: eqx.filter_checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()
        )(X),
        "filter_closure_convert": lambda: eqx.filter_closure_convert(lambda x: x * X, X)(X),
        "filter_pure_callback": lambda: eqx.filter_pure_callback(
            lambda x: x * 2, X, result_shape_dtypes=jax.ShapeDtypeStruct((3, 4), jnp.float32)
        ),
        "filter_shard": lambda: eqx.filter_shard(X, jax.devices()[0]),
        "make_jaxpr": dynamic,
        "tree_at": lambda: eqx.tree_at(lambda m: m.weight, MODEL, replace_fn=lambda w: w + 1),
        "tree_equal": lambda: eqx.tree_equal(MODEL, MODEL),
        "tree_pformat": lambda: eqx.tree_pformat((MODEL, {"x": X, "n": 1})),
        "repr": lambda: repr(eqx.nn.Linear(2, 2, key=KEY)),
        "tree_inference": lambda: eqx.tree_inference(eqx.nn.Dropout(0.5), True).inference,
        "tree_check": lambda: eqx.tree_check((MODEL, X)),
        "partition": lambda: eqx.combine(*eqx.partition(MODEL, eqx.is_inexact_array)),
        "serialise": serialised,
        "error_if passes": partial(checked, 1.0),
        "error_if raises": partial(checked, -1.0),
        "branched_error_if": lambda: eqx.branched_error_if(X, False, 0, ["a", "b"]),
        "custom_vjp": lambda: jax.grad(lambda x: jnp.sum(clipped(x, 0.5) ** 2))(X),
        "custom_jvp": lambda: jax.jvp(lambda x: doubled(x, n=2), (X,), (X,)),
        "enumeration": lambda: (
            jax.jit(lambda: Enum.where(X[0, 0] < 0, Enum.one, Enum.two))() == Enum.one
        ),
        "assert_max_traces": lambda: eqx.debug.assert_max_traces(jax.jit(jnp.sin), max_traces=1)(X),
        "backward_nan": lambda: eqx.debug.backward_nan(X, terminate=False),
        "noinline": lambda: jax.jit(jax.grad(lambda x: eqxi.noinline(jnp.sin)(x).sum()))(X),
        "nondifferentiable": lambda: eqxi.nondifferentiable(X),
        "unvmap": lambda: jax.vmap(lambda x: eqxi.unvmap_any(x > 0.9))(X),
        "buffers": lambda: eqxi.while_loop(
            lambda c: c[0] < 3,
            lambda c: (c[0] + 1, c[1].at[c[0]].set(c[0] * 2.0)),
            (0, jnp.zeros(4)),
            max_steps=4,
            buffers=lambda c: c[1],
            kind="checkpointed",
        ),
    }
)
