"""Flax Linen: layers and their gradients, lifted transformations, collections, serialisation."""

from functools import partial
from typing import Any

import flax
import flax.linen as nn
import optax
from flax import serialization, struct, traverse_util
from flax.training import common_utils, dynamic_scale, train_state

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)
KEYS = {"params": KEY, "dropout": jax.random.key(1)}
X = jnp.linspace(-1.0, 1.0, 12).reshape(3, 4)
IMAGES = jnp.sin(jnp.arange(144.0)).reshape(2, 6, 6, 2)

LAYERS = {
    "Dense": (nn.Dense(3), X),
    "DenseGeneral": (nn.DenseGeneral((2, 3)), X),
    "Einsum": (nn.Einsum((4, 5), "ab,bc->ac"), X),
    "Conv": (nn.Conv(4, (3, 3), strides=2), IMAGES),
    "Conv groups": (nn.Conv(4, (3,), feature_group_count=2, padding="CIRCULAR"), IMAGES[0]),
    "ConvLocal": (nn.ConvLocal(3, (3, 3)), IMAGES),
    "ConvTranspose": (nn.ConvTranspose(3, (3, 3), strides=(2, 2)), IMAGES),
    "Embed": (nn.Embed(9, 3), jnp.array([1, 4])),
    "LayerNorm": (nn.LayerNorm(), X),
    "RMSNorm": (nn.RMSNorm(), X),
    "GroupNorm": (nn.GroupNorm(2), X),
    "InstanceNorm": (nn.InstanceNorm(), IMAGES),
    "BatchNorm": (nn.BatchNorm(use_running_average=False), X),
    "WeightNorm": (nn.WeightNorm(nn.Dense(3)), X),
    "PReLU": (nn.PReLU(), X),
    "Dropout": (nn.Dropout(0.5, deterministic=False), X),
    "Sequential": (nn.Sequential([nn.Dense(3), nn.gelu, nn.Dense(2)]), X),
    "attention": (nn.MultiHeadDotProductAttention(2), X[None]),
    "self attention": (nn.SelfAttention(2, dropout_rate=0.1, deterministic=False), X[None]),
    "RNN": (nn.RNN(nn.LSTMCell(5)), X[None]),
    "RNN reversed": (nn.RNN(nn.GRUCell(5), reverse=True, keep_order=True), X[None]),
    "Bidirectional": (nn.Bidirectional(nn.RNN(nn.SimpleCell(3)), nn.RNN(nn.MGUCell(3))), X[None]),
    "ConvLSTM": (nn.RNN(nn.ConvLSTMCell(3, (3, 3))), IMAGES[None]),
    "bfloat16": (nn.Dense(3, dtype=jnp.bfloat16), X),
}
POOLS = {"max_pool": nn.max_pool, "avg_pool": nn.avg_pool}


def layer(module, x):
    variables = module.init(KEYS, x)
    changing = [name for name in variables if name != "params"] or False

    def loss(p):
        out = module.apply({**variables, **p}, x, rngs=KEYS, mutable=changing)
        return jnp.sum(jnp.cos((out[0] if changing else out).astype(jnp.float32))), out

    p = {"params": variables.get("params", {})}
    return variables, jax.jit(jax.value_and_grad(loss, has_aux=True))(p)


class Net(nn.Module):
    depth: int = 2

    def setup(self):
        self.layers = [nn.Dense(4, name=f"layer_{i}") for i in range(self.depth)]

    def __call__(self, x):
        for dense in self.layers:
            x = nn.tanh(dense(x))
        self.sow("intermediates", "last", x)
        return self.perturb("shift", x)

    def energy(self, x):
        return jnp.sum(self(x) ** 2)


def lifted(kind):
    class Step(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            carry = nn.tanh(nn.Dense(4)(carry) + x)
            return carry, carry

    class Outer(nn.Module):
        @nn.compact
        def __call__(self, x):
            if kind == "scan":
                stacked = nn.scan(
                    Step, variable_broadcast="params", split_rngs={"params": False}, in_axes=0
                )
                return stacked()(jnp.zeros(4), x)
            if kind == "layers":
                stacked = nn.scan(
                    Step, variable_axes={"params": 0}, split_rngs={"params": True}, length=3
                )
                return stacked()(x, jnp.stack([x] * 3))
            if kind == "vmap":
                return nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(
                    3
                )(x)
            if kind == "remat":
                return nn.remat(nn.Dense)(3)(x)
            if kind == "jit":
                return nn.jit(nn.Dense)(3)(x)
            if kind == "vjp":
                out, pull = nn.vjp(lambda m, x: m(x), nn.Dense(3), x)
                return pull(jnp.ones_like(out))[1]
            if kind == "jvp":
                return nn.jvp(lambda m, x: m(x), nn.Dense(3), (x,), (x,), {})
            if kind == "while":
                dense = nn.Dense(4)
                dense(x)
                return nn.while_loop(
                    lambda m, c: c[0] < 3, lambda m, c: (c[0] + 1, m(c[1])), dense, (0, x)
                )
            if kind == "cond":
                dense = nn.Dense(4)
                dense(x)
                return nn.cond(x[0, 0] < 0, lambda m, x: m(x), lambda m, x: x, dense, x)
            if kind == "custom_vjp":
                forward = lambda m, x: nn.vjp(lambda m, x: m(x), m, x)
                backward = lambda pull, g: jax.tree.map(lambda t: 2 * t, pull(g))
                return nn.custom_vjp(lambda m, x: m(x), forward, backward)(nn.Dense(3), x)
            return nn.map_variables(
                nn.Dense, "params", lambda p: jax.tree.map(lambda w: 2 * w, p), init=True
            )(3)(x)

    module = Outer()
    variables = module.init(KEY, X)
    out = module.apply(variables, X)
    loss = lambda v: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(module.apply(v, X)))
    return variables, out, jax.jit(jax.grad(loss))(variables)


def training(tx):
    module = Net()
    state = train_state.TrainState.create(
        apply_fn=module.apply, params=module.init(KEY, X)["params"], tx=tx
    )

    @jax.jit
    def step(state):
        loss = lambda p: state.apply_fn({"params": p}, X, method="energy")
        value, gradient = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradient), value

    values = []
    for _ in range(3):
        state, value = step(state)
        values.append(value)
    data = serialization.to_bytes(state)
    again = serialization.from_bytes(state, data)
    return values, state.params, again.opt_state, len(data)


def scaled():
    scale = dynamic_scale.DynamicScale()
    new, finite, value, gradient = scale.value_and_grad(lambda x: jnp.sum(x**2))(X)
    return new, finite, value, gradient


@struct.dataclass
class Record:
    value: Any
    name: str = struct.field(pytree_node=False, default="record")


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, x):
        attend = nn.MultiHeadDotProductAttention(2, decode=True)
        return attend(x)


def decoding():
    module = Transformer()
    variables = module.init(KEY, X[None])
    out, cache = module.apply(variables, X[None, :1], mutable=["cache"])
    again, _ = module.apply({**variables, **cache}, X[None, 1:2], mutable=["cache"])
    return out, again, cache


def shaped():
    shapes = jax.eval_shape(Net().init, KEY, X)
    return jax.tree.map(lambda leaf: str((leaf.shape, leaf.dtype)), shapes)


KINDS = "scan layers vmap remat jit vjp jvp while cond custom_vjp map_variables".split()
CASES = (
    {f"layer {name}": partial(layer, module, x) for name, (module, x) in LAYERS.items()}
    | {
        name: lambda p=pool: jax.value_and_grad(lambda x: jnp.sum(jnp.sin(p(x, (2, 2), (2, 2)))))(
            IMAGES
        )
        for name, pool in POOLS.items()
    }
    | {f"lifted {kind}": partial(lifted, kind) for kind in KINDS}
    | {
        "adam": partial(training, optax.adam(0.1)),
        "intermediates": lambda: Net().init_with_output(KEY, X),
        "capture": lambda: Net().apply(
            Net().init(KEY, X), X, capture_intermediates=True, mutable=["intermediates"]
        ),
        "bind": lambda: Net().bind(Net().init(KEY, X)).energy(X),
        "method": lambda: Net().apply(Net().init(KEY, X), X, method=Net.energy),
        "eval_shape": shaped,
        "lazy_init": lambda: Net().lazy_init(KEY, jax.ShapeDtypeStruct((3, 4), jnp.float32)),
        "tabulate": lambda: Net().tabulate(KEY, X, console_kwargs={"force_terminal": False}),
        "decoding": decoding,
        "dynamic scale": scaled,
        "struct": lambda: jax.jit(lambda r: r.replace(value=r.value + 1))(Record(X)),
        "traverse": lambda: traverse_util.flatten_dict(Net().init(KEY, X)["params"], sep="/"),
        "frozen": lambda: flax.core.freeze({"a": {"b": X}}).copy({"c": X}),
        "state dict": lambda: serialization.to_state_dict(optax.adam(0.1).init(X)),
        "msgpack": lambda: serialization.msgpack_restore(
            serialization.msgpack_serialize({"x": X, "y": X.astype(jnp.bfloat16)})
        ),
        "onehot": lambda: common_utils.onehot(jnp.array([0, 2]), 3),
        "stack": lambda: common_utils.stack_forest([{"a": X}, {"a": X}]),
        "masks": lambda: (
            nn.make_causal_mask(jnp.ones((2, 3))),
            nn.make_attention_mask(jnp.ones((2, 3)), jnp.array([[1, 0, 1], [1, 1, 0]])),
            nn.combine_masks(jnp.ones((1, 3, 3)), jnp.eye(3)[None]),
        ),
        "wrong shape": lambda: nn.Dense(3).apply(nn.Dense(3).init(KEY, X), X[:, :2]),
        "missing rng": lambda: nn.Dropout(0.5, deterministic=False).apply({}, X),
        "repr": lambda: repr(Net()),
        "partitioned": lambda: nn.Dense(
            3, kernel_init=nn.with_partitioning(nn.initializers.ones, ("a", "b"))
        ).init(KEY, X),
    }
)
