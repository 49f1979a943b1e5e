"""Flax Linen on eight devices: parameters know their axes, and are made where they lie."""

import functools

import flax.linen as nn
import optax
from flax.training.train_state import TrainState

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)

STEPS = 80
QUALITY = {"accuracy": 0.9, "divided": 1.0}


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x):
        init = nn.initializers.lecun_normal()
        up = nn.Dense(64, kernel_init=nn.with_partitioning(init, (None, "model")), use_bias=False)
        x = nn.relu(up(x))
        x = nn.LayerNorm()(x)
        down = self.param("down", nn.with_partitioning(init, ("model", None)), (64, 10))
        return x @ down


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    divided = NamedSharding(mesh, P("data"))
    model, optimizer = Perceptron(), optax.adam(3e-3)

    def init(key, x):
        parameters = model.init(key, x)
        return TrainState.create(apply_fn=model.apply, params=parameters, tx=optimizer)

    key, x = jax.random.key(8), jax.device_put(images[:128], divided)
    abstract = jax.eval_shape(init, key, x)
    places = nn.get_sharding(abstract, mesh)
    state = jax.jit(init, in_shardings=(NamedSharding(mesh, P()), divided), out_shardings=places)(
        key, x
    )

    @functools.partial(
        jax.jit, in_shardings=(places, divided, divided), out_shardings=(places, None)
    )
    def step(state, images, labels):
        def loss_of(parameters):
            logits = state.apply_fn(parameters, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, gradient = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=gradient), loss

    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        batch = jax.device_put((images[rows], labels[rows]), divided)
        state, loss = step(state, *batch)
        yield loss
    predicted = state.apply_fn(state.params, images[1408:]).argmax(1)
    kernel = state.params["params"]["Dense_0"]["kernel"].value
    moment = state.opt_state[0].mu["params"]["Dense_0"]["kernel"].value
    shard = (64, 16)
    return {
        "accuracy": (predicted == labels[1408:]).mean(),
        "divided": all(a.sharding.shard_shape(a.shape) == shard for a in (kernel, moment)),
    }
