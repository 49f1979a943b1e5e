"""Random numbers of kernels for TPUs, interpreted."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import _tpu_random as tpu_random
from ricci_kernels import tpu

SHAPE = (8, 128)


def call(kernel, dtype: type = np.int32, interpret: object = True, **options):
    shape = ir.ShapeDtypeStruct(options.pop("shape", SHAPE), dtype)
    return pl.pallas_call(kernel, shape, interpret=interpret, **options)


def test_cipher_has_the_published_answers():
    """Source: Random123's file of known answers, threefry2x32 with 20 rounds."""
    zero, ones = jnp.uint32(0), jnp.uint32(0xFFFFFFFF)
    rows = [(zero, zero, 0x6B200159, 0x99BA4EFE), (ones, ones, 0x1CB996FC, 0xBB002BE7)]
    for word, counter, *expected in rows:
        key = jnp.stack([word, word])
        assert [int(x) for x in tpu_random._threefry(key, counter, counter)] == expected


@pytest.mark.parametrize("transform", [lambda f: f, xla.jit], ids=["eager", "jit"])
def test_state_lives_through_the_grid(transform):
    def kernel(out):
        @pl.when(pl.program_id(0) == 0)
        def _():
            tpu.prng_seed(7)

        out[...] = tpu.prng_random_bits(SHAPE)

    blocks = pl.BlockSpec(SHAPE, lambda i: (i, 0))
    run = transform(call(kernel, shape=(24, 128), grid=3, out_specs=blocks))
    bits = np.asarray(run())
    assert len(np.unique(bits)) > 3000
    np.testing.assert_array_equal(bits, run())


@pytest.mark.parametrize("seeds", [(1,), (1, 2), (2, 1), (-1,), (2**32 - 2,)])
def test_seeds_determine_the_bits(seeds):
    def bits(*seeds):
        def kernel(out):
            tpu.prng_seed(*seeds)
            out[...] = tpu.prng_random_bits(SHAPE)

        return np.asarray(call(kernel)())

    np.testing.assert_array_equal(bits(*seeds), bits(*seeds))
    assert (bits(*seeds) != bits(5)).mean() > 0.99


@pytest.mark.parametrize(
    "draw, mean, deviation",
    [
        (lambda: tpu.stateful_uniform(SHAPE), 0.5, 12**-0.5),
        (lambda: tpu.stateful_uniform(SHAPE, np.float32, -2.0, 2.0), 0.0, 16**0.5 * 12**-0.5),
        (lambda: tpu.stateful_normal(SHAPE), 0.0, 1.0),
        (lambda: tpu.stateful_bernoulli(0.25, SHAPE).astype(np.float32), 0.25, 3**0.5 / 4),
        (lambda: tpu.stateful_bits(SHAPE).astype(np.float32) / 2.0**32, 0.5, 12**-0.5),
    ],
    ids=["uniform", "range", "normal", "bernoulli", "bits"],
)
def test_samples_have_their_distribution(draw, mean, deviation):
    def kernel(out):
        tpu.prng_seed(3)
        out[...] = draw()

    values = np.asarray(call(kernel, np.float32)())
    assert abs(values.mean() - mean) < 4 * deviation / values.size**0.5
    assert abs(values.std() - deviation) < 0.1 * deviation


def test_jitted_draw_differs_between_interpretations_and_calls():
    draw = xla.jit(lambda: tpu.prng_random_bits(SHAPE))

    def kernel(out):
        tpu.prng_seed(3)
        out[...] = draw() - draw()

    for _ in range(2):
        assert not np.any(call(kernel, interpret=tpu.InterpretParams())())
        assert np.mean(np.asarray(call(kernel)()) != 0) > 0.99


def test_forced_interpretation_draws_as_the_simulator():
    def kernel(out):
        tpu.prng_seed(3)
        out[...] = tpu.prng_random_bits(SHAPE)

    run = call(kernel, interpret=False)
    with tpu.force_tpu_interpret_mode():
        assert not np.any(run())
    with pytest.raises(NotImplementedError, match="not compiled for TPUs"):
        run()


def test_batch_seeds_each_example():
    def kernel(seed, out):
        tpu.prng_seed(seed[0])
        out[...] = tpu.prng_random_bits(SHAPE)

    seeds = np.arange(3, dtype=np.int32)[:, None]
    bits = np.asarray(vmap(call(kernel))(seeds))
    for seed, row in zip(seeds, bits, strict=True):
        np.testing.assert_array_equal(row, call(kernel)(seed))


def test_numbers_outside_of_a_kernel_are_refused():
    with pytest.raises(NotImplementedError, match=r"outside of a kernel.*jax\.random"):
        tpu.stateful_uniform(SHAPE)
