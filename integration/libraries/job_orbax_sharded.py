"""Orbax on eight devices: a sharded state is saved, and restored on meshes of other forms."""

import tempfile
from pathlib import Path

import orbax.checkpoint as ocp

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)

STEPS, EVERY = 60, 15
QUALITY = {"accuracy": 0.9, "restored_equal": 1.0}
FORMS = [(8, 1), (4, 2), (2, 4), (2, 2)]


def loss_of(parameters, images, labels):
    logits = jnp.tanh(images @ parameters["w1"]) @ parameters["w2"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


@jax.jit
def step(state, images, labels):
    loss, gradient = jax.value_and_grad(loss_of)(state["parameters"], images, labels)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.3 * g, state["velocity"], gradient)
    parameters = jax.tree.map(jnp.add, state["parameters"], velocity)
    return {"parameters": parameters, "velocity": velocity}, loss


def mesh_of(form):
    count = form[0] * form[1]
    types = (AxisType.Auto, AxisType.Auto)
    return jax.make_mesh(form, ("data", "model"), types, devices=jax.devices()[:count])


def places(mesh):
    one = {"w1": NamedSharding(mesh, P(None, "model")), "w2": NamedSharding(mesh, P("model"))}
    return {"parameters": one, "velocity": one}


def equal(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(bool((jax.device_get(a) == jax.device_get(b)).all()) for a, b in pairs)


def train(data):
    images, labels = data["images"].reshape(-1, 64), data["labels"]
    keys = jax.random.split(jax.random.key(11))
    parameters = {
        "w1": jax.random.normal(keys[0], (64, 48)) / 8,
        "w2": jax.random.normal(keys[1], (48, 10)) / 8,
    }
    state = {"parameters": parameters, "velocity": jax.tree.map(jnp.zeros_like, parameters)}
    mesh = mesh_of(FORMS[0])
    state = jax.device_put(state, places(mesh))
    same = []
    with tempfile.TemporaryDirectory() as folder:
        keeper = ocp.StandardCheckpointer()
        for index in range(STEPS):
            rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
            batch = jax.device_put((images[rows], labels[rows]), NamedSharding(mesh, P("data")))
            state, loss = step(state, *batch)
            yield loss
            if index % EVERY == EVERY - 1 and index + 1 < STEPS:
                keeper.save(Path(folder, str(index)), state)
                keeper.wait_until_finished()
                mesh = mesh_of(FORMS[(index + 1) // EVERY])
                wanted = jax.tree.map(
                    lambda a, place: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place),
                    state,
                    places(mesh),
                )
                restored = keeper.restore(Path(folder, str(index)), wanted)
                same.append(equal(state, restored))
                laid = jax.tree.map(lambda a, b: a.sharding == b.sharding, restored, wanted)
                same.append(all(jax.tree.leaves(laid)))
                state = restored
        keeper.close()
    weights = jax.device_get(state["parameters"])
    logits = jnp.tanh(images[1408:] @ weights["w1"]) @ weights["w2"]
    return {"accuracy": (logits.argmax(1) == labels[1408:]).mean(), "restored_equal": all(same)}
