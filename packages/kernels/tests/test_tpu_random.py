"""Random numbers of kernels for TPUs, interpreted and in the text for a device."""

import base64
import json
import re

import numpy as np
import pytest

import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
import ricci_random as random
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import tpu
from ricci_kernels.primitives import _tpu_random as tpu_random

SHAPE = (8, 128)


def kernel_body(run, *operands):
    """The Mosaic module of a kernel that is compiled for TPUs."""
    traced = xla.jit(lambda *xs: run(*xs)).trace(*operands)
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    config = re.search(r'backend_config = "((?:[^"\\]|\\.)*)"', text)
    assert config is not None
    parsed = json.loads(config[1].replace("\\22", '"'))
    return base64.b64decode(parsed["custom_call_config"]["body"]).decode()


def call(kernel, dtype: type = np.int32, interpret: object = True, **options):
    shape = ir.ShapeDtypeStruct(options.pop("shape", SHAPE), dtype)
    return pl.pallas_call(kernel, shape, interpret=interpret, **options)


def test_cipher_has_the_published_answers():
    """Source: Random123's file of known answers, threefry2x32 with 20 rounds."""
    zero, ones = jnp.uint32(0), jnp.uint32(0xFFFFFFFF)
    rows = [(zero, zero, 0x6B200159, 0x99BA4EFE), (ones, ones, 0x1CB996FC, 0xBB002BE7)]
    for word, counter, *expected in rows:
        key = jnp.stack([word, word])
        assert [int(x) for x in tpu_random.threefry(key, counter, counter)] == expected


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
    with pytest.raises(ValueError, match="Only interpret mode"):
        run()


def test_compiled_kernels_draw_from_the_device():
    draw = xla.jit(lambda: tpu.stateful_uniform(SHAPE))

    def kernel(out):
        tpu.prng_seed(3, pl.program_id(0))
        out[...] = draw() + tpu.stateful_normal(SHAPE)

    # The jitted function is traced anew for each kind of kernel.
    for _ in range(2):
        body = kernel_body(call(kernel, np.float32, interpret=False, grid=1))
        assert body.count('"stable_mosaic.tpu.prng_set_seed_32"') == 1
        assert body.count('"stable_mosaic.tpu.prng_random_bits"') == 2
        assert np.isfinite(call(kernel, np.float32, grid=1)()).all()


IN_SMEM = [pl.BlockSpec(memory_space=tpu.SMEM)]


def test_keys_are_derived_from_the_bits_of_others():
    keys = random.split(random.key(3), 3)
    derived = tpu.to_pallas_key(keys)
    assert derived.shape == (3,) and str(derived.dtype) == "key<pl>"
    assert (random.key_data(derived)[1] == random.bits(keys[1], (1, 2))).all()
    raw = tpu.to_pallas_key(random.key_data(keys[0]))
    assert bool(raw == derived[0])
    with pytest.raises(NotImplementedError, match="Cannot split a Pallas key. Use fold_in"):
        random.split(derived[0])
    assert random.key_data(random.key(2**33 + 5, impl="pallas_tpu")).tolist() == [[5, 5]]


def test_samplers_draw_in_kernels_with_keys():
    def kernel(keys, out):
        key = random.fold_in(keys[1], pl.program_id(0))
        out[...] = random.normal(key, SHAPE)

    blocks = pl.BlockSpec(SHAPE, lambda i: (i, 0))
    options = {"shape": (32, 128), "grid": 4, "in_specs": IN_SMEM, "out_specs": blocks}
    keys = tpu.to_pallas_key(random.split(random.key(0), 2))
    values = np.asarray(xla.jit(call(kernel, np.float32, **options))(keys))
    assert abs(values.mean()) < 0.1 and abs(values.std() - 1) < 0.1
    assert len(np.unique(values)) > 4000
    body = kernel_body(call(kernel, np.float32, False, **options), keys)
    assert "memref<2x1x2xi32, #tpu.memory_space<smem>>" in body
    assert "window_bounds = array<i64: 2, 1, 2>" in body
    assert body.count('"stable_mosaic.tpu.prng_random_bits"') == 1


def test_compiled_kernels_refuse_other_keys():
    def kernel(key, out):
        out[...] = random.uniform(key[...], SHAPE)

    run = call(kernel, np.float32, False, in_specs=IN_SMEM)
    with pytest.raises(NotImplementedError, match="key<fry>. Pass pltpu.to_pallas_key"):
        kernel_body(run, random.key(0))


def test_blocks_of_samples_do_not_depend_on_their_size():
    key, tile, total = random.key(4), (4, 8), (16, 24)
    whole = tpu.sample_block(random.uniform, key, total, tile, total, (0, 0))
    for block in ((4, 8), (8, 24), (16, 8)):
        for index in np.ndindex(*[n // b for n, b in zip(total, block, strict=True)]):
            part = tpu.sample_block(random.uniform, key, block, tile, total, index)
            places = tuple(slice(i * b, i * b + b) for i, b in zip(index, block, strict=True))
            np.testing.assert_array_equal(part, whole[places])
    with pytest.raises(ValueError, match="does not consist of tiles"):
        tpu.sample_block(random.uniform, key, (6, 8), tile, total, (0, 0))


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
