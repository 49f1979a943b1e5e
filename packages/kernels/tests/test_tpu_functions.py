"""Functions of ``pallas.tpu`` on values: packing, rounding, equations of dimensions, cores."""

import re

import ml_dtypes
import numpy as np
import pytest

import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_kernels import tpu

BF16 = ml_dtypes.bfloat16
WORDS = {
    "bfloat16": np.float32([1.5, -2.25, 3e38, np.inf, 1e-40, 1.00390625]),
    "int16": np.int32([1, -1, 32767, -32768, 40000, 0]),
    "uint16": np.uint32([1, 2**32 - 1, 32767, 65536, 40000, 0]),
    "int8": np.int32([1, -1, 127, -128, 300, 0]),
    "uint8": np.uint32([1, 255, 256, 128, 300, 0]),
    "int4": np.int32([1, -1, 7, -8, 9, 0]),
}


def _narrowed(x, name, bits):
    """The values of numbers that are rounded, or wrapped to so many bits."""
    if name == "bfloat16":
        return x.astype(BF16).astype(x.dtype)
    wrapped = x.astype(np.int64) % 2**bits
    negative = (wrapped >= 2 ** (bits - 1)) & (name[0] != "u")
    return np.where(negative, wrapped - 2**bits, wrapped).astype(x.dtype)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", WORDS)
def test_each_packed_array_is_unpacked_as_it_was_rounded(name, x64):
    wide, bits = WORDS[name], int(re.findall(r"\d+", name)[0])
    narrow = np.dtype(getattr(ml_dtypes, name, name))
    arrays = [np.roll(wide, i) for i in range(32 // bits)]

    def repacked(*xs):
        words = tpu.pack_elementwise(xs, packed_dtype=narrow)
        options = {"packed_dtype": narrow, "unpacked_dtype": wide.dtype}
        return words, [tpu.unpack_elementwise(words, index=i, **options) for i in range(len(xs))]

    with ir.enable_x64(x64):
        for run in (xla.jit(repacked), vmap(repacked)):
            words, results = run(*arrays)
            assert words.dtype == np.uint32
            for x, result in zip(arrays, results, strict=True):
                assert result.dtype == wide.dtype
                np.testing.assert_array_equal(result, _narrowed(x, name, bits))


def test_wrong_packings_are_refused():
    x = np.ones((8, 128), np.float32)
    for arguments, message in [
        (([x], BF16), r"must match the packing factor \(2\), got 1"),
        (([x, x], np.int16), "Only f32 -> bf16 and int -> int"),
        (([x, x[:4]], BF16), "must have the same shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            tpu.pack_elementwise(arguments[0], packed_dtype=arguments[1])
    words = np.ones((8, 128), np.uint32)
    with pytest.raises(ValueError, match="Index 2 is out of bounds for packing factor 2"):
        tpu.unpack_elementwise(words, index=2, packed_dtype=BF16, unpacked_dtype=np.float32)
    with pytest.raises(ValueError, match="takes words"):
        tpu.unpack_elementwise(x, index=0, packed_dtype=BF16, unpacked_dtype=np.float32)


def test_stochastic_rounding_is_unbiased_and_reaches_both_neighbours():
    low, high = 1.0, 1.0 + 2**-7
    bits = np.arange(2**16, dtype=np.uint32) + np.uint32(0xABC0000)
    for share in (0.0, 0.25, 0.7):
        x = np.full(bits.shape, low + share * (high - low), np.float32)
        rounded = tpu.stochastic_round(x, bits, target_dtype=BF16)
        values = np.asarray(rounded).astype(np.float64)
        assert set(values) <= {low, high}
        assert abs(values.mean() - x[0]) < 1e-5
    for value in (np.inf, -np.inf, np.nan):
        x = np.full(4, value, np.float32)
        result = tpu.stochastic_round(x, bits[-4:], target_dtype=BF16)
        np.testing.assert_array_equal(np.asarray(result).astype(np.float32), x)
    assert tpu.stochastic_round(x[:0], bits[:0], target_dtype=BF16).shape == (0,)
    with pytest.raises(ValueError, match="Unsupported target dtype"):
        tpu.stochastic_round(x, bits[:4], target_dtype=np.int8)


EQUATIONS = {
    "ab->ba": (lambda x: x.T, {}),
    "a(bc)->bac": (lambda x: x.reshape(6, 4, 2).swapaxes(0, 1), {"b": 4}),
    "(ab)c->(cb)a": (lambda x: x.reshape(3, 2, 8).transpose(2, 1, 0).reshape(16, 3), {"a": 3}),
    "(a b) c -> a (b c)": (lambda x: x.reshape(3, 16), {"b": 2}),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_are_reshapes_and_transposes(equation):
    expected, sizes = EQUATIONS[equation]
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    f = lambda x: tpu.einshape(equation, x, **sizes)
    for run in (f, xla.jit(f)):
        np.testing.assert_array_equal(run(x), expected(x))
    np.testing.assert_array_equal(vmap(f)(np.stack([x, -x]))[1], expected(-x))
    weights = jnp.asarray(expected(x))
    np.testing.assert_array_equal(grad(lambda x: (f(x) * weights).sum())(x), x)


def test_cores_meet_and_signal_each_other():
    mesh = tpu.TensorCoreMesh(axis_name="core", num_cores=2)

    def kernel(out, sem, ready):
        pl.semaphore_signal(ready, 3, core_index=1)
        tpu.core_barrier(sem, core_axis_name="core")
        out[0] = pl.semaphore_read(sem)
        out[1] = pl.semaphore_read(ready)
        pl.when(pl.program_id(0) == 1)(lambda: pl.semaphore_wait(ready, 6))

    run = pl.kernel(
        kernel,
        out_type=ir.ShapeDtypeStruct((2,), np.int32),
        mesh=mesh,
        scratch_types=[tpu.SemaphoreType.REGULAR] * 2,
        interpret=True,
    )
    # Both cores have signalled the same one.
    np.testing.assert_array_equal(run(), [0, 6])


def test_a_convolution_is_added_to_its_accumulator():
    x = np.random.default_rng(0).normal(size=(1, 5, 5, 2)).astype(np.float32)
    filters = np.random.default_rng(1).normal(size=(3, 3, 2, 4)).astype(np.float32)
    options = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    plain = tpu.conv(x, filters, **options)
    np.testing.assert_allclose(tpu.conv(x, filters, plain, **options), 2 * plain, rtol=1e-5)
    reversed_filter = tpu.conv(x, filters[:, ::-1], window_reversal=(False, True), **options)
    np.testing.assert_allclose(reversed_filter, plain, rtol=1e-5)


def test_waits_of_copies_within_a_device():
    def kernel(wait):
        def body(x, out, sem):
            copy = tpu.make_async_copy(x, out, sem)
            copy.start()
            getattr(copy, wait)()

        shape = ir.ShapeDtypeStruct((4,), np.float32)
        scratch = [tpu.SemaphoreType.DMA]
        return pl.pallas_call(body, shape, scratch_shapes=scratch, interpret=True)

    x = np.arange(4, dtype=np.float32)
    for wait in ("wait", "wait_read", "wait_write", "wait_recv"):
        np.testing.assert_array_equal(kernel(wait)(x), x)
    with pytest.raises(RuntimeError, match=r"Use wait\(\) for the end"):
        kernel("wait_send")(x)


BYTES = np.arange(256, dtype=np.uint8).reshape(2, 128)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("widths", [(2, 4), (4, 4), (2, 4, 2), (4, 2), (2, 2, 2, 2), (4,), ()])
def test_bytes_are_split_into_signed_fields(widths, dtype):
    fields = xla.jit(lambda x: tpu.split_bits(x, widths))(BYTES.astype(dtype))
    start = 0
    for width, field in zip(widths, fields, strict=True):
        expected = BYTES.astype(int) >> start
        start += width
        assert field.dtype.name == f"int{width}"
        np.testing.assert_array_equal(
            np.asarray(field).astype(np.int32), _narrowed(expected, "int", width)
        )


@pytest.mark.parametrize("prefix", ["int", "uint"])
def test_joined_fields_are_the_bits_of_bytes(prefix):
    fours = (BYTES & 15).astype(np.int8)
    twos = (BYTES >> 4 & 3).astype(np.int8)
    if prefix == "int":
        fours, twos = _narrowed(fours, "int", 4), _narrowed(twos, "int", 2)
    four, two = fours.astype(f"{prefix}4"), twos.astype(f"{prefix}2")
    np.testing.assert_array_equal(tpu.join_bits(two_bits=two, four_bits=four), BYTES & 63)
    np.testing.assert_array_equal(tpu.join_bits(four_bits=four), BYTES & 15)
    np.testing.assert_array_equal(tpu.join_bits(two_bits=two), BYTES >> 4 & 3)


def test_floats_of_6_bits_are_unpacked_as_they_were_packed():
    def kernel(x, out):
        out[...] = tpu.unpack_fp6(*tpu.pack_fp6(x[...]))

    out = ir.ShapeDtypeStruct(BYTES.shape, np.int8)
    np.testing.assert_array_equal(pl.pallas_call(kernel, out, interpret=True)(BYTES), BYTES & 63)
    two, four = tpu.pack_fp6(np.zeros((0, 128), np.uint8))
    assert tpu.unpack_fp6(two, four).shape == (0, 128)


def test_wrong_fields_are_refused():
    two, four = np.zeros((2, 4), "int2"), np.zeros((4, 4), "int4")
    for run, message in [
        (lambda: tpu.split_bits(BYTES.astype(np.int32), (4, 4)), "Expected 8-bit array, got int32"),
        (lambda: tpu.split_bits(BYTES, (3,)), "Unsupported bitwidth: 3"),
        (lambda: tpu.split_bits(BYTES, (4, 4, 2)), "Total bitwidth 10 exceeds 8"),
        (tpu.join_bits, "At least one bit segment"),
        (lambda: tpu.join_bits(two_bits=four), "Expected 2-bit type, got int4"),
        (lambda: tpu.join_bits(four_bits=BYTES), "Expected 4-bit type, got uint8"),
        (lambda: tpu.join_bits(two_bits=two, four_bits=four), r"\(2, 4\) and .*\(4, 4\) must"),
    ]:
        with pytest.raises(ValueError, match=message):
            run()


@pytest.mark.sampled(7)  # of 12, among them every dtype
@pytest.mark.parametrize("dim", [-2, -1])
@pytest.mark.parametrize("name", ["int2", "uint4", "float4_e2m1fn", "int8", "bfloat16", "float32"])
def test_bits_are_those_of_the_words_along_a_dimension(name, dim):
    words = np.random.default_rng(0).integers(-(2**31), 2**31, (2, 4, 8)).astype(np.int32)
    narrow = np.dtype(getattr(ml_dtypes, name, name))

    def there_and_back(x):
        parts = tpu.bitcast(x, narrow, dim)
        return parts, tpu.bitcast(parts, np.int32, dim)

    for run in (there_and_back, xla.jit(there_and_back), vmap(there_and_back)):
        parts, back = run(words)
        factor = 32 // ir.itemsize_bits(narrow)
        assert parts.dtype == narrow
        assert parts.shape[dim] == words.shape[dim] * factor
        np.testing.assert_array_equal(back, words)


def test_bitcasts_that_do_not_fit_are_refused():
    for run, message in [
        (lambda: tpu.bitcast(np.zeros(4, np.int32), np.int8), "Pass dim=-1"),
        (lambda: tpu.bitcast(np.zeros((2, 4, 4), np.int32), np.int8, 0), "dim=0, x.ndim=3"),
        (lambda: tpu.bitcast(np.zeros((3, 4), "int4"), np.int8), "joins 2 elements of dimension 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            run()
