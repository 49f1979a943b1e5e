"""Steps that are interpreted as one batch, and rows of steps, compute what single steps do."""

from typing import Any

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels.calls import _batched_steps, _interpreter

F32 = np.float32
M = (np.arange(256, dtype=F32) % 7 - 3).reshape(16, 16)
ORDER = np.array([3, 1, 0, 2], np.int32)
ROWS = pl.BlockSpec((4, 16), lambda i: (i, 0))


def parameters(function):
    """The parameters of the only kernel call of a function of the matrix."""
    equations = ir.make_jaxpr(function)(M).eqns
    (params,) = [eqn.params for eqn in equations if "grid_mapping" in eqn.params]
    return params


def call(kernel, shape=(16, 16), dtype: Any = F32, **options):
    return pl.pallas_call(kernel, ir.ShapeDtypeStruct(shape, dtype), interpret=True, **options)


def row_maxima(x, out):
    out[...] = x[...] - x[...].max(axis=1, keepdims=True)


def product(x, y, out, total):
    @pl.when(pl.program_id(2) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...] @ y[...]

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out[...] = total[...]


def product_call(accumulate=product, size=4):
    return call(
        accumulate,
        grid=(16 // size,) * 3,
        in_specs=[
            pl.BlockSpec((size, size), lambda i, j, k: (i, k)),
            pl.BlockSpec((size, size), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((size, size), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((size, size), F32)],
    )


def numbered(x, out):
    out[...] = x[...] + pl.program_id(0)


def chosen_by_data(x, out):
    out[...] = x[...]

    @pl.when(x[0, 0] > 0)
    def _():
        out[0, :] = jnp.zeros(16, F32)


def running_total(x, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...]
    out[...] = total[...]


def doubled(order, x, out):
    out[...] = x[...] * order[0].astype(F32)


def prefetched(x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4, 4),
        in_specs=[pl.BlockSpec((4, 4), lambda i, j, order: (i, order[j]))],
        out_specs=pl.BlockSpec((4, 4), lambda i, j, order: (i, j)),
    )
    return call(doubled, grid_spec=spec)(ORDER, x)


def in_place(x):
    spec = pl.BlockSpec((4, 4), lambda i, j: (i, j))
    halve = lambda x, out: out.__setitem__((slice(0, 2), ...), x[0:2] / 2)
    options = {"grid": (4, 4), "in_specs": [spec], "out_specs": spec}
    return call(halve, input_output_aliases={0: 0}, **options)(x)


def filled(x):
    fill = lambda x, out: out.__setitem__(..., jnp.full((4, 4), x[0, 0]))
    whole = pl.BlockSpec((16, 16), lambda i, j: (0, 0))
    out = pl.BlockSpec((4, 4), lambda i, j: (i, j))
    return call(fill, grid=(4, 4), in_specs=[whole], out_specs=out)(x)


def squeezed(x):
    spec = pl.BlockSpec((None, 4), lambda i, j: (i, j))
    double = lambda x, out: out.__setitem__(..., x[...] * 2)
    return call(double, grid=(16, 4), in_specs=[spec], out_specs=spec)(x)


# Functions of a matrix, with the numbers of steps in a batch along axes of the grid.
CALLS = {
    "rows": (lambda x: call(row_maxima, grid=4, in_specs=[ROWS], out_specs=ROWS)(x), {0: 4}),
    "a product": (lambda x: product_call()(x, x), {0: 4, 1: 4}),
    "prefetched scalars": (prefetched, {0: 4}),
    "an output in the buffer of an input": (in_place, {0: 4, 1: 4}),
    "an input for all steps": (filled, {0: 4, 1: 4}),
    "squeezed rows": (squeezed, {0: 16, 1: 4}),
    "a position that is read": (
        lambda x: call(numbered, grid=4, in_specs=[ROWS], out_specs=ROWS)(x),
        {},
    ),
    "a branch on data": (
        lambda x: call(chosen_by_data, grid=4, in_specs=[ROWS], out_specs=ROWS)(x),
        {},
    ),
    "a carried buffer": (
        lambda x: call(
            running_total,
            grid=4,
            in_specs=[ROWS],
            out_specs=ROWS,
            scratch_shapes=[pltpu.VMEM((4, 16), F32)],
        )(x),
        {},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_batches_and_rows_compute_what_steps_do(name, monkeypatch):
    function, counts = CALLS[name]
    expected = function(M)
    (params,) = [
        eqn.params for eqn in ir.make_jaxpr(function)(M).eqns if "grid_mapping" in eqn.params
    ]
    monkeypatch.setattr(_interpreter, "_LEAST_STEPS", 1)
    by_rows = function(jnp.asarray(M))
    monkeypatch.setattr(_batched_steps, "_LEAST_STEPS", 1)
    assert _batched_steps._batch_sizes(params) == counts
    by_batches = function(jnp.asarray(M))
    np.testing.assert_allclose(by_rows, expected, rtol=1e-6)
    np.testing.assert_allclose(by_batches, expected, rtol=1e-6)


def test_gradients_and_batches_of_calls_with_batched_steps(monkeypatch):
    loss = lambda x: (product_call()(x, x) ** 2).sum()
    plain = lambda x: ((x @ x) ** 2).sum()
    monkeypatch.setattr(_interpreter, "_LEAST_STEPS", 1)
    monkeypatch.setattr(_batched_steps, "_LEAST_STEPS", 1)
    x = jnp.asarray(M / 8)
    np.testing.assert_allclose(ad.grad(loss)(x), ad.grad(plain)(x), rtol=1e-4)
    stack = jnp.stack([x, x.T])
    losses = xla.jit(vmap(loss))(stack)
    np.testing.assert_allclose(losses, [plain(m) for m in stack], rtol=1e-4)


@pytest.mark.parametrize("most", [64, 1 << 20])
def test_a_batch_holds_no_more_elements_than_it_may(most, monkeypatch):
    monkeypatch.setattr(_batched_steps, "_LEAST_STEPS", 1)
    monkeypatch.setattr(_batched_steps, "_MOST_ELEMENTS", most)
    f = lambda x: product_call(size=2)(x, x)
    sizes = _batched_steps._batch_sizes(parameters(f))
    assert sizes == ({0: 4} if most == 64 else {0: 8, 1: 8})
    np.testing.assert_allclose(f(jnp.asarray(M)), M @ M, rtol=1e-6)
