"""Flax NNX on eight devices: variables name their axes, the model is made on the mesh."""

import optax
from flax import nnx

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)

STEPS = 80
QUALITY = {"accuracy": 0.9, "divided": 1.0}


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        init = nnx.initializers.lecun_normal()
        self.up = nnx.Linear(
            64,
            64,
            use_bias=False,
            kernel_init=nnx.with_partitioning(init, (None, "model")),
            rngs=rngs,
        )
        self.down = nnx.Param(init(rngs.params(), (64, 10)), out_sharding=("model", None))

    def __call__(self, x):
        return nnx.relu(self.up(x)) @ self.down[...]


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    divided = NamedSharding(mesh, P("data"))

    @nnx.jit
    def create():
        model = Perceptron(nnx.Rngs(9))
        state = nnx.state(model)
        placed = jax.lax.with_sharding_constraint(state, nnx.get_named_sharding(state, mesh))
        nnx.update(model, placed)
        return model

    @nnx.jit
    def step(model, optimizer, images, labels):
        def loss_of(model):
            logits = model(images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, gradient = nnx.value_and_grad(loss_of)(model)
        optimizer.update(model, gradient)
        return loss

    with jax.set_mesh(mesh):
        model = create()
        optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)
        for index in range(STEPS):
            rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
            batch = jax.device_put((images[rows], labels[rows]), divided)
            yield step(model, optimizer, *batch)
        predicted = model(images[1408:]).argmax(1)
    kernel = model.up.kernel[...]
    return {
        "accuracy": (predicted == labels[1408:]).mean(),
        "divided": kernel.sharding.shard_shape(kernel.shape) == (64, 16),
    }
