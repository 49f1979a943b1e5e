"""Prefetched scalars that steps write; later steps of a TPU, also of a simulated one, read them."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_kernels import tpu
from ricci_xla import jit

F32 = np.float32
SIMULATED = tpu.InterpretParams()
ROWS = pl.BlockSpec((2,), lambda *args: (args[0],))


def count(scalars, x, out):
    scalars[0] = scalars[0] + scalars[1]
    out[...] = x[...] * scalars[0].astype(F32)


def call(kernel, grid=(4,), steps=4, interpret=SIMULATED, inputs=ROWS, outputs=ROWS, **options):
    spec = tpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=grid, in_specs=[inputs], out_specs=outputs, **options
    )
    out = ir.ShapeDtypeStruct((2 * steps,), F32)
    return pl.pallas_call(kernel, out, grid_spec=spec, interpret=interpret)


S = np.int32([5, 2])
X = np.arange(1, 9, dtype=F32)
FACTORS = F32([7, 7, 9, 9, 11, 11, 13, 13])
OTHER = F32([3, 3, 4, 4, 5, 5, 6, 6])  # by the scalars (2, 1)
BOTH = np.int32([[5, 2], [2, 1]])
# By name: a function of a call, and its result.
WAYS = {
    "eager": (lambda f: f(S, X), FACTORS * X),
    "jit": (lambda f: jit(f)(S, X), FACTORS * X),
    "vmap of scalars": (
        lambda f: vmap(f, in_axes=(0, None))(BOTH, X),
        np.stack([FACTORS * X, OTHER * X]),
    ),
    "vmap of arrays": (
        lambda f: vmap(f, in_axes=(None, 0))(S, np.stack([X, -X])),
        np.stack([FACTORS * X, -FACTORS * X]),
    ),
    "nested vmap": (
        lambda f: jit(vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None)))(BOTH, np.stack([X, -X])),
        np.stack([[FACTORS * X, -FACTORS * X], [OTHER * X, -OTHER * X]]),
    ),
    "jvp": (lambda f: jvp(lambda x: f(S, x), (X,), (X,))[1], FACTORS * X),
    "grad": (lambda f: grad(lambda x: f(S, x).sum())(X), FACTORS),
    "grad of vmap": (
        lambda f: grad(lambda x: vmap(f, in_axes=(0, None))(BOTH, x).sum())(X),
        FACTORS + OTHER,
    ),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_later_steps_read_what_a_step_has_written(way, x64):
    run, expected = WAYS[way]
    with ir.enable_x64(x64):
        for _ in range(2):
            np.testing.assert_array_equal(run(call(count)), expected)
            ir.clear_caches()


def test_other_interpreters_begin_each_step_with_the_operands():
    np.testing.assert_array_equal(call(count, interpret=True)(S, X), 7 * X)
    with tpu.force_tpu_interpret_mode():
        np.testing.assert_array_equal(call(count, interpret=False)(S, X), FACTORS * X)


@pytest.mark.parametrize("grid", [(512,), (5000,), (1250, 4)])
def test_steps_that_depend_on_each_other_by_scalars_are_not_batched(grid):
    steps = int(np.prod(grid))
    one = pl.BlockSpec((2,), lambda *args: (0,))
    each = pl.BlockSpec((2,), lambda *args: (args[0] * 4 + args[1],)) if len(grid) > 1 else ROWS
    run = call(count, grid, steps, inputs=one, outputs=each)
    expected = np.repeat(np.arange(1, steps + 1), 2)
    np.testing.assert_array_equal(run(np.int32([0, 1]), np.ones(2, F32)), expected)


def test_index_maps_read_what_earlier_steps_have_written():
    def kernel(scalars, x, out):
        out[...] = x[...]
        scalars[0] = (scalars[0] + scalars[1]) % 4

    picked = pl.BlockSpec((2,), lambda i, scalars: (scalars[0],))
    run = call(kernel, inputs=picked)
    np.testing.assert_array_equal(run(np.int32([1, 2]), X), [3, 4, 7, 8, 3, 4, 7, 8])

    def leaves(scalars, x, out):
        out[...] = x[...]
        scalars[0] = 4

    wrong = call(leaves, inputs=picked)
    with pytest.raises(ValueError, match=r"step \(1,\) the block begins at 8"):
        jnp.asarray(wrong(np.int32([1, 2]), X))
