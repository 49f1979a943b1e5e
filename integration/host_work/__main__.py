"""Runs jobs in one of several processes, or in one that has all devices: ``host_work NAME ...``.

Prints the losses of each job as JSON. A job is a function here, or a module of ``device_jobs``.
"""

import importlib
import json
import os
import signal
import sys
import time
import traceback
from functools import partial
from pathlib import Path

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback, multihost_utils
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS, STEPS = 16, 32, 5


def data(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same examples and targets in every process."""
    made = np.random.RandomState(count)
    x = made.randn(ROWS, WIDTH).astype(np.float32)
    return x, np.tanh(x[:, :1] * 2 - x[:, 1:2])


def weights(key: jax.Array) -> dict[str, jax.Array]:
    """The parameters of a perceptron."""
    one, two = jax.random.split(key)
    return {
        "in": jax.random.normal(one, (WIDTH, 24)) / WIDTH**0.5,
        "out": jax.random.normal(two, (24, 1)) / 24**0.5,
    }


def loss_of(w: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((jnp.tanh(x @ w["in"]) @ w["out"] - y) ** 2)


def on_mesh() -> tuple[NamedSharding, NamedSharding]:
    """Shardings over all devices: replicated, and sharded by rows."""
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    return NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))


def rows_of_this_process(x: np.ndarray) -> np.ndarray:
    """The part of some examples that this process loads."""
    size = len(x) // jax.process_count()
    return x[jax.process_index() * size :][:size]


def pmap_training() -> list[float]:
    """Each process passes its local devices' slices, and the gradients' mean goes over all."""

    @partial(jax.pmap, axis_name="data")
    def step(w, x, y):
        loss, gradient = jax.value_and_grad(loss_of)(w, x, y)
        loss, gradient = lax.pmean((loss, gradient), "data")
        return jax.tree.map(lambda p, g: p - 0.2 * g, w, gradient), loss

    own = jax.local_device_count()
    w = jax.tree.map(lambda p: np.stack([p] * own), weights(jax.random.key(0)))
    x, y = (rows_of_this_process(a).reshape(own, -1, a.shape[1]) for a in data(0))
    losses = []
    for _ in range(STEPS):
        w, loss = step(w, x, y)
        losses.append(loss[0])
    return losses


def accumulated() -> list[float]:
    """Gradients of four small batches are added up before a step; each process loads its rows."""
    whole, divided = on_mesh()
    in_batches = NamedSharding(divided.mesh, P(None, "data"))

    @partial(jax.jit, donate_argnums=0)
    def step(w, x, y):
        def more(total, batch):
            loss, gradient = jax.value_and_grad(loss_of)(w, *batch)
            return jax.tree.map(jnp.add, total, (loss, gradient)), None

        zero = (jnp.float32(0), jax.tree.map(jnp.zeros_like, w))
        (loss, gradient), _ = lax.scan(more, zero, (x, y))
        return jax.tree.map(lambda p, g: p - 0.05 * g, w, gradient), loss / 4

    x, y = data(1)
    batches = []
    for a in (x, y):
        parts = a.reshape(-1, 4, a.shape[1])  # rows that lie together are in different batches
        own = rows_of_this_process(parts).swapaxes(0, 1)
        batches.append(jax.make_array_from_process_local_data(in_batches, own))
    w = jax.device_put(weights(jax.random.key(1)), whole)
    losses = []
    for _ in range(STEPS):
        w, loss = step(w, *batches)
        losses.append(loss)
    return losses


def dropout() -> list[float]:
    """Random numbers are the same, however many processes they are made in."""
    whole, divided = on_mesh()

    @jax.jit
    def step(w, key, x, y):
        key, use = jax.random.split(key)
        kept = jax.random.bernoulli(use, 0.8, x.shape)
        loss, gradient = jax.value_and_grad(loss_of)(w, jnp.where(kept, x, 0), y)
        return jax.tree.map(lambda p, g: p - 0.2 * g, w, gradient), key, loss

    w = jax.device_put(weights(jax.random.key(2)), whole)
    x, y = (jax.device_put(a, divided) for a in data(2))
    key, losses = jax.random.key(3), []
    for _ in range(STEPS):
        w, key, loss = step(w, key, x, y)
        losses.append(loss)
    return [*losses, jax.random.uniform(jax.random.fold_in(jax.random.key(3), 7))]


called: list[float] = []


def with_callback() -> list[float]:
    """One process sees the loss, and answers all with the step's length."""
    whole, divided = on_mesh()

    def answer(loss):
        called.append(float(loss))
        return np.float32(0.3 / (1 + len(called)))

    @jax.jit
    def step(w, x, y):
        loss, gradient = jax.value_and_grad(loss_of)(w, x, y)
        rate = io_callback(answer, jax.ShapeDtypeStruct((), jnp.float32), loss)
        return jax.tree.map(lambda p, g: p - rate * g, w, gradient), loss

    w = jax.device_put(weights(jax.random.key(4)), whole)
    x, y = (jax.device_put(a, divided) for a in data(4))
    losses = []
    for _ in range(STEPS):
        w, loss = step(w, x, y)
        losses.append(loss)
    return losses


def exchanged() -> list[float]:
    """Messages between the processes."""
    rank = jax.process_index()
    sent = multihost_utils.broadcast_one_to_all(np.float32(rank + 4))
    ranks = multihost_utils.process_allgather(np.int32(rank))
    multihost_utils.assert_equal(ranks)
    multihost_utils.sync_global_devices("exchanged")
    with multihost_utils.live_devices(jax.devices()) as alive:
        return [sent, float(list(ranks) == list(range(jax.process_count()))), len(alive)]


def preempted() -> list[float]:
    """The last process gets SIGTERM after step 2, and all agree on the step to save at."""
    for step in range(500):
        time.sleep(0.02)
        if step == 2 and jax.process_index() == jax.process_count() - 1:
            os.kill(os.getpid(), signal.SIGTERM)
        if multihost_utils.reached_preemption_sync_point(step):
            steps = multihost_utils.process_allgather(np.int32(step))
            return [float(len(set(steps.tolist())) == 1), float(step >= 2)]
        multihost_utils.sync_global_devices(f"step {step}")
    return []


def main() -> None:
    """Run the jobs that are named."""
    jax.distributed.initialize()
    sys.path[:0] = [str(Path(__file__).parent.parent / "device_jobs")]
    found = {}
    for name in sys.argv[1:]:
        try:
            job = globals().get(name)
            losses = job() if job else importlib.import_module(name).run()[0]
            found[name] = [float(loss) for loss in losses]
        except Exception:  # noqa: BLE001 - the others are run nevertheless
            found[name] = traceback.format_exc()
    print(json.dumps(found | {"called": len(called)}))


if __name__ == "__main__":
    main()
