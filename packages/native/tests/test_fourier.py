"""Fourier transforms by the kernel, beside those of XLA and of a wider type."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_batching as batching
import ricci_ir as ir
import ricci_numpy as jnp
from ricci_lax import fft
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")

KINDS = ["fft", "ifft", "rfft", "irfft"]
# The lengths for which the steps differ: vectors of 4 and 8 elements, steps of 4 and of 8.
LENGTHS = [32, 64, 128, 256, 512, 1024, 2048]


def numbers(kind, shape, dtype, seed=0):
    """A random operand of a transform whose last size is that of the transform."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if kind == "rfft":
        return x.astype(dtype)
    x = x + 1j * rng.standard_normal(shape)
    return x[..., : shape[-1] // 2 + 1 if kind == "irfft" else None].astype(
        {"float32": "complex64", "float64": "complex128"}[dtype]
    )


def both(function, *args):
    results = []
    for enabled in (True, False):
        with ir.native_kernels(enabled):
            results.append(np.asarray(jit(lambda *xs: function(*xs))(*args)))
    return results


def relative_error(x, exact):
    return np.sqrt((np.abs(x - exact) ** 2).mean() / (np.abs(exact) ** 2).mean())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows(comparison, kind, length, dtype):
    x = numbers(kind, (3, 5, length), dtype)

    def transform(x):
        return fft(x, kind, (length,))

    assert comparison.calls_kernel(transform, x, name="fft")
    ours, theirs = both(transform, x)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    bound = 8 * np.finfo(dtype).eps * np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)
    if dtype == "float32":
        # XLA's transforms of the wider type are exact enough. The last step of real ones rounds.
        with ir.native_kernels(False):
            exact = np.asarray(fft(x.astype(np.result_type(x, np.float64)), kind, (length,)))
        assert relative_error(ours, exact) <= 1.2 * relative_error(theirs, exact) + 1e-8


@pytest.mark.parametrize("length", [16, 4096])
def test_shortest_and_longest_complex_rows(comparison, length):
    x = numbers("fft", (2, length), "float32")
    for kind in ("fft", "ifft"):
        assert comparison.calls_kernel(lambda x, k=kind: fft(x, k, (length,)), x, name="fft")
        ours, theirs = both(lambda x, k=kind: fft(x, k, (length,)), x)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


def test_constants_and_waves_are_exact_but_for_rounding():
    n = 1024
    constant, alternating = np.ones(n, np.float32), np.resize([1, -1], n).astype(np.float32)
    for x, at in ((constant, 0), (alternating, n // 2)):
        result = np.asarray(fft(x, "rfft", (n,)))
        expected = np.zeros(n // 2 + 1)
        expected[at] = n
        np.testing.assert_array_equal(result, expected)


def test_inverse_of_a_half_ignores_the_imaginary_ends():
    x = numbers("irfft", (4, 256), "float32")
    other = x.copy()
    other[:, [0, -1]] += np.complex64(5j)
    np.testing.assert_array_equal(*(np.asarray(fft(y, "irfft", (256,))) for y in (x, other)))


def test_only_the_row_of_a_nan_has_nans():
    x = numbers("rfft", (6, 128), "float32")
    x[2, 70] = np.nan
    result = np.asarray(fft(x, "rfft", (128,)))
    assert np.isnan(result[2]).any(-1).all()
    assert np.isfinite(np.delete(result, 2, 0)).all()


def test_results_do_not_depend_on_the_number_of_rows():
    x = numbers("fft", (1000, 256), "float32")
    whole = np.asarray(fft(x, "fft", (256,)))
    np.testing.assert_array_equal(whole[-1], np.asarray(fft(x[-1], "fft", (256,))))


@pytest.mark.parametrize("kind", ["rfft", "irfft", "fft"])
def test_derivatives(kind):
    x = numbers(kind, (3, 64), "float64")

    def loss(x):
        return jnp.sum(jnp.abs(fft(x, kind, (64,))) ** 2 * jnp.arange(1.0, 1.0 + 3)[:, None])

    ours, theirs = both(ad.grad(loss), x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.abs(theirs).max())


def test_batches_along_other_dimensions(comparison):
    x = numbers("rfft", (64, 7), "float32")
    mapped = batching.vmap(lambda x: fft(x, "rfft", (64,)), in_axes=1, out_axes=1)
    assert comparison.calls_kernel(mapped, x, name="fft")
    np.testing.assert_allclose(*both(mapped, x), rtol=0, atol=1e-5)


def test_other_lengths_and_ranks_are_left_to_xla(comparison):
    for kind, lengths in (
        ("fft", (8,)),
        ("rfft", (16,)),
        ("rfft", (96,)),
        ("rfft", (1 << 14,)),
        ("fft", (1 << 13,)),
        ("fft", (32, 32)),
    ):
        x = numbers(kind, (2, *lengths), "float32")
        transform = lambda x, k=kind, n=lengths: fft(x, k, n)
        assert not comparison.calls_kernel(transform, x, name="fft")


def test_no_rows(comparison):
    x = np.zeros((0, 64), np.float32)
    assert not comparison.calls_kernel(lambda x: fft(x, "rfft", (64,)), x, name="fft")
    assert fft(x, "rfft", (64,)).shape == (0, 33)
