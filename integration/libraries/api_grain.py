"""Grain: datasets that are shuffled, mapped and batched, iterators with a state, data loaders."""

import grain
import grain.python as loaders
import numpy as np

import jax
import jax.numpy as jnp


def dataset():
    rows = grain.MapDataset.source(list(range(24))).shuffle(seed=3)
    return rows.map(lambda x: {"x": np.float32(x), "y": np.int32(x % 3)}).batch(4)


def trained():
    weight = jnp.float32(0.0)
    loss = lambda w, batch: jnp.mean((w * batch["x"] - batch["y"]) ** 2)
    losses = []
    for batch in dataset().repeat(3):
        value, slope = jax.jit(jax.value_and_grad(loss))(weight, batch)
        weight -= 1e-4 * slope
        losses.append(value)
    return losses


def restored():
    iterator = iter(dataset().to_iter_dataset())
    next(iterator)
    state = iterator.get_state()
    first = next(iterator)
    iterator.set_state(state)
    return first, next(iterator)


def loaded(shard):
    sampler = loaders.IndexSampler(
        16, loaders.ShardOptions(shard, 2), shuffle=True, seed=1, num_epochs=1
    )
    loader = loaders.DataLoader(
        data_source=np.arange(16.0), sampler=sampler, operations=[loaders.Batch(4)]
    )
    return [jnp.asarray(batch) for batch in loader]


CASES = {
    "batches": lambda: list(dataset()),
    "arrays of jax as elements": lambda: list(
        grain.MapDataset.range(6).map(lambda i: jnp.full(2, i)).batch(3)
    ),
    "training": trained,
    "a restored iterator": restored,
    "mixture": lambda: list(
        grain.MapDataset.mix([grain.MapDataset.range(6), grain.MapDataset.range(10, 16)])
    ),
    "loader of a shard": lambda: loaded(0),
    "loader of the other shard": lambda: loaded(1),
    "filter": lambda: list(grain.MapDataset.range(9).filter(lambda i: i % 2).to_iter_dataset()),
}
