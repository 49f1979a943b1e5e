"""Kernels inside of ``shard_map``: values and gradients, with and without checked types."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="shards are on devices")

import ricci
import ricci.numpy as jnp
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import ops
from ricci.experimental.pallas import tpu as pltpu
from ricci.sharding import PartitionSpec as P

X = np.arange(64, dtype=np.float32).reshape(16, 4)
ROWS = pl.BlockSpec((4, 4), lambda i: (i, 0))


def _double(x, weights, out):
    out[...] = x[...] * weights[...] + pl.program_id(0)


def _total(x, weights, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...] * weights[...]
    out[...] = total[...]


def _call(kernel, out_specs, rows, **options):
    return pl.pallas_call(
        kernel,
        ricci.ShapeDtypeStruct((rows, 4), np.float32),
        grid=2,
        in_specs=[ROWS, pl.BlockSpec((4, 4), lambda i: (0, 0))],
        out_specs=out_specs,
        interpret=True,
        **options,
    )


CALLS = {
    "elementwise": (_call(_double, ROWS, 8), lambda x, w: x * np.tile(w, (4, 1))),
    "accumulated": (
        _call(
            _total,
            pl.BlockSpec((4, 4), lambda i: (0, 0)),
            4,
            scratch_shapes=[pltpu.VMEM((4, 4), np.float32)],
        ),
        lambda x, w: x.reshape(2, 2, 4, 4).sum(1).reshape(8, 4) * np.tile(w, (2, 1)),
    ),
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_on_shards(eight_devices, name, check):
    call, expected = CALLS[name]
    mesh = ricci.make_mesh((2,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    f = ricci.shard_map(call, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), check_vma=check)
    weights = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    steps = np.repeat([0, 1, 0, 1], 4)[:, None] if name == "elementwise" else 0
    for run in (f, ricci.jit(f)):
        np.testing.assert_allclose(run(X, weights), expected(X, weights) + steps)
    ricci.clear_caches()
    by_x, by_weights = ricci.grad(lambda x, w: f(x, w).sum(), (0, 1))(X, weights)
    np.testing.assert_allclose(by_x, np.tile(weights, (4, 1)))
    np.testing.assert_allclose(by_weights, X.reshape(4, 4, 4).sum(0))


@pytest.mark.parametrize("check", [True, False])
def test_ready_made_kernels_on_shards(eight_devices, check):
    mesh = ricci.make_mesh((2,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    weights = np.arange(1, 17, dtype=np.float32).reshape(4, 4)

    def gradients(product, norm):
        total = lambda x, w: (norm(product(x, w), w[0]) ** 2).sum()
        return ricci.jit(ricci.grad(total, (0, 1)))(X, weights)

    on_shards = [
        ricci.shard_map(f, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"), check_vma=check)
        for f in (ops.matmul, ops.rms_norm)
    ]
    for x, y in zip(gradients(*on_shards), gradients(ops.matmul, ops.rms_norm), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-3)
