"""A part of `job_processes`: trains, or goes on, as one of several processes.

`python over_processes.py DATA FOLDER FIRST LAST ADDRESS COUNT RANK DEVICES`: trains steps FIRST to
LAST, from what is saved in FOLDER unless FIRST is 0, saves there, and prints each loss as it comes,
then the accuracy.
"""

import functools
import sys
from pathlib import Path

import flax.linen as nn
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training.train_state import TrainState

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = 128


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x):
        init = nn.initializers.lecun_normal()
        x = nn.relu(nn.Dense(64, kernel_init=nn.with_partitioning(init, (None, "data")))(x))
        x = nn.LayerNorm()(x)
        return nn.Dense(10, kernel_init=nn.with_partitioning(init, ("data", None)))(x)


def main(data, folder, first, last):
    images, labels = data["images"].reshape(-1, 64), data["labels"]
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    divided = NamedSharding(mesh, P("data"))
    model, optimizer = Perceptron(), optax.adam(3e-3)

    def boxed(key):  # with the axes of the mesh that each parameter names
        parameters = model.init(key, jnp.zeros((1, 64)))
        return TrainState.create(apply_fn=model.apply, params=parameters, tx=optimizer)

    init = lambda key: nn.meta.unbox(boxed(key))
    places = nn.get_sharding(jax.eval_shape(boxed, jax.random.key(8)), mesh)
    keeper = ocp.StandardCheckpointer()
    if first:
        wanted = jax.tree.map(
            lambda a, place: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place),
            jax.eval_shape(init, jax.random.key(8)),
            places,
        )
        state = keeper.restore(Path(folder, str(first)), wanted)
    else:
        state = jax.jit(init, out_shardings=places)(jax.random.key(8))

    @functools.partial(jax.jit, out_shardings=(places, None))
    def step(state, images, labels):
        def loss_of(parameters):
            logits = state.apply_fn(parameters, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, gradient = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=gradient), loss

    own = BATCH // jax.process_count()
    for index in range(first, last):
        start = index % 11 * BATCH + jax.process_index() * own
        batch = (images[start : start + own], labels[start : start + own])
        batch = jax.make_array_from_process_local_data(divided, batch)
        state, loss = step(state, *batch)
        print("told", float(loss), flush=True)
    keeper.save(Path(folder, str(last)), state)
    keeper.wait_until_finished()
    keeper.close()
    # Each process has a part of the parameters, and all have the whole afterwards.
    weights = multihost_utils.process_allgather(state.params, tiled=True)
    guessed = model.apply(jax.tree.map(jnp.asarray, weights), images[1408:]).argmax(1)
    print("told", float((guessed == labels[1408:]).mean()), flush=True)


if __name__ == "__main__":
    file, folder, first, last, address, count, rank, devices = sys.argv[1:]
    jax.config.update("jax_num_cpu_devices", int(devices))
    jax.distributed.initialize(address, int(count), int(rank))
    with np.load(file) as archive:
        data = {key: archive[key] for key in archive.files}
    main(data, folder, int(first), int(last))
