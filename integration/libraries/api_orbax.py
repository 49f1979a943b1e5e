"""Orbax: the checkpointers, their files, and the restored arrays with their devices."""

import itertools
import tempfile
from functools import partial

import numpy as np
import orbax.checkpoint as ocp

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

FOLDER = tempfile.TemporaryDirectory()
_numbers = itertools.count()
DEVICE = jax.devices()[0]
ALONE = SingleDeviceSharding(DEVICE)
ON_MESH = NamedSharding(Mesh(np.array([DEVICE]), "x"), PartitionSpec("x"))
TREES = {
    "arrays": {"a": jnp.arange(6.0).reshape(2, 3), "b": [jnp.ones(2, jnp.int32), jnp.float32(3)]},
    "placed": {
        "a": jax.device_put(jnp.arange(4.0), ALONE),
        "b": jax.device_put(jnp.ones(2), ON_MESH),
    },
    "narrow": {"a": jnp.ones(3, jnp.bfloat16), "b": jnp.ones(3, bool)},
    "numpy": {"a": np.arange(3), "b": 2, "c": 1.5},
    "key": {"k": jax.random.key(3), "ks": jax.random.split(jax.random.key(1), 2)},
}


def new():
    return f"{FOLDER.name}/{next(_numbers)}"


def standard(tree):
    with ocp.StandardCheckpointer() as checkpointer:
        path = new()
        checkpointer.save(path, tree)
        checkpointer.wait_until_finished()
        return checkpointer.restore(path, tree)


def described(tree):
    """Restore to descriptions with shardings instead of to arrays."""
    with ocp.StandardCheckpointer() as checkpointer:
        path = new()
        checkpointer.save(path, tree)
        checkpointer.wait_until_finished()
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, tree)
        return checkpointer.restore(path, like)


def asynchronous(tree):
    with ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler()) as checkpointer:
        path = new()
        checkpointer.save(path, args=ocp.args.StandardSave(tree))
        checkpointer.wait_until_finished()
        return checkpointer.restore(path, args=ocp.args.StandardRestore(tree))


def managed(tree):
    options = ocp.CheckpointManagerOptions(max_to_keep=2, create=True)
    with ocp.CheckpointManager(new(), options=options) as manager:
        for step in range(3):
            manager.save(step, args=ocp.args.StandardSave(tree))
        manager.wait_until_finished()
        return manager.all_steps(), manager.restore(2, args=ocp.args.StandardRestore(tree))


def composite(tree):
    with ocp.CheckpointManager(new()) as manager:
        parts = {"state": ocp.args.StandardSave(tree), "about": ocp.args.JsonSave({"rate": 0.1})}
        manager.save(0, args=ocp.args.Composite(**parts))
        manager.wait_until_finished()
        wanted = {"state": ocp.args.StandardRestore(tree), "about": ocp.args.JsonRestore()}
        found = manager.restore(0, args=ocp.args.Composite(**wanted))
        return found.state, found.about["rate"]


def by_pytree(tree):
    with ocp.PyTreeCheckpointer() as checkpointer:
        path = new()
        checkpointer.save(path, tree)
        how = ocp.checkpoint_utils.construct_restore_args(tree)
        return checkpointer.restore(path, restore_args=how)


def places(restore, name):
    """The restored values, and their devices."""
    tree = restore(TREES[name])
    return tree, [str(x.sharding) for x in jax.tree.leaves(tree) if isinstance(x, jax.Array)]


CASES = {
    f"{restore.__name__} {name}": partial(places, restore, name)
    for restore in (standard, described, asynchronous, managed, composite, by_pytree)
    for name in TREES
    if (restore, name) != (by_pytree, "key")  # its message has an address
}
