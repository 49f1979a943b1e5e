"""Sorting by the kernel has the bits of XLA's stable sort."""

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_random import key, permutation
from ricci_xla import jit

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SHAPES = [((128,), 0), ((1000,), 0), ((5000,), 0), ((7, 300), 1), ((300, 7), 0), ((3, 64, 5), 1)]

pytestmark = pytest.mark.usefixtures("wide")


@pytest.mark.sampled(30)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_values(comparison, elements, name, shape, axis):
    x = elements(name, shape)
    comparison.assert_equal_bits(lambda x: lax.sort(x, dimension=axis), x)


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    "moved", ["bool", "float16", "int32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("name", ["int8", "bfloat16", "uint16", "int32", "float32", "float64"])
def test_values_move_with_their_keys(comparison, elements, name, moved):
    keys = elements(name, (600,))
    values = np.arange(600).astype(moved) if moved != "bool" else np.arange(600) % 3 == 0
    comparison.assert_equal_bits(lambda *xs: lax.sort_key_val(*xs), keys, values)


@pytest.mark.parametrize(("shape", "axis"), SHAPES[2:])
def test_several_arrays_move_with_their_keys(comparison, elements, shape, axis):
    arrays = [elements(name, shape, i) for i, name in enumerate(("float32", "int8", "float64"))]
    comparison.assert_equal_bits(lambda *xs: lax.sort(xs, dimension=axis), *arrays)


@pytest.mark.parametrize("num_keys", [2, 3])
@pytest.mark.parametrize("names", [("int8", "float16", "uint32"), ("float64", "bool", "int64")])
def test_several_keys(comparison, elements, names, num_keys):
    arrays = [elements(name, (4, 500), i) for i, name in enumerate(names)]
    arrays = [np.where(np.arange(500) % 3, x, x[:, :1]) for x in arrays]
    order = np.broadcast_to(np.arange(500), (4, 500))
    comparison.assert_equal_bits(lambda *xs: lax.sort(xs, num_keys=num_keys), *arrays, order)


def _radix_edges():
    """Arrays in which passes are left out, and of the sizes at which digits change."""
    for name in ("uint32", "uint64"):
        for shift in (0, 8, 11, 24):
            yield name, np.arange(700, dtype=name)[::-1] << np.array(shift, name)
        yield name, np.full(300, 7, name)
        yield name, np.where(np.arange(300) % 2, 1, 1 << 30).astype(name)
        for size in (1023, 1024, 1025):
            yield name, np.random.default_rng(size).integers(0, 2**32, size).astype(name)
    yield "float32", np.random.default_rng(3).normal(size=(1 << 18) + 1).astype(np.float32)


@pytest.mark.parametrize("x", [x for _, x in _radix_edges()])
def test_digits(comparison, x):
    comparison.assert_equal_bits(lambda x: lax.sort(x), x)
    comparison.assert_equal_bits(lambda x: jnp.argsort(x), x)


def _spread(name):
    """Many keys whose first 8 bits are spread evenly."""
    rng = np.random.default_rng(0)
    n = (1 << 18) + 5
    if name == "few of 24 bits":
        # Each bucket has two numbers of 24 bits, and the lowest bits of the later half are less.
        first = rng.integers(0, 512, n) << 15
        return (first | np.where(np.arange(n) < n // 2, 200, rng.integers(0, 9, n))).astype(
            "uint32"
        )
    if name == "uneven":
        return np.where(np.arange(n) % 2, 3 << 24, rng.integers(0, 2**32, n)).astype("uint32")
    dtype = "int32" if name == "int32" else "uint32"
    bits = rng.integers(0, 2**32, n, dtype=np.uint32)
    if name == "float32":
        zeros = np.array([0, 1 << 31, 5, (1 << 31) + 5], np.uint32)
        return np.where(bits % 8 == 0, zeros[bits // 8 % 4], bits).view("float32")
    return bits.view(dtype)


@pytest.mark.parametrize("moved", ["int32", "bfloat16", "bool"])
@pytest.mark.parametrize("name", ["uint32", "int32", "float32", "few of 24 bits", "uneven"])
def test_many_keys_of_evenly_spread_bits(comparison, name, moved):
    keys = _spread(name)
    values = np.arange(keys.size).astype(ml_dtypes.bfloat16 if moved == "bfloat16" else moved)
    comparison.assert_equal_bits(lambda *xs: lax.sort_key_val(*xs), keys, values)


def test_many_rows_are_shared_by_threads(comparison, elements):
    comparison.assert_equal_bits(lambda x: lax.sort(x), elements("float32", (2000, 64)))


@pytest.mark.parametrize("options", [{}, {"descending": True}, {"stable": False}])
def test_argsort(comparison, options):
    # Distinct elements, since an unstable sort may order others in any way.
    x = np.random.default_rng(1).permutation(3000).reshape(3, 1000).astype(np.float32)
    comparison.assert_equal_bits(lambda x: jnp.argsort(x, **options), x)


@pytest.mark.parametrize("x", [1000, np.arange(3000, dtype=np.int16).reshape(1000, 3)])
def test_permutations_are_the_same(comparison, x):
    comparison.assert_equal_bits(lambda k: permutation(k, x), key(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.unique(x, size=40),
        lambda x: jnp.median(x, axis=1),
        lambda x: jnp.quantile(x, jnp.array([0.1, 0.5]), axis=1),
        lambda x: jnp.lexsort((x[0], x[1])),
        lambda x: jnp.searchsorted(x[0], x, sorter=jnp.argsort(x[0])),
        vmap(lambda row: jnp.sort(row)),
        lambda x: vmap(lambda column: jnp.argsort(column), 1, 1)(x.T),
        ad.grad(lambda x: (jnp.sort(x) * jnp.arange(400.0)).sum()),
        lambda x: ad.jvp(lambda x: jnp.sort(x), (x,), (2 * x,)),
        lambda x: lax.fori_loop(0, 3, lambda _, y: jnp.sort(-y), x),
        lambda x: lax.cond(x[0, 0] > 0, jnp.sort, lambda x: x, x),
    ],
)
def test_functions_that_sort(comparison, function):
    x = np.round(np.random.default_rng(2).normal(size=(5, 400)), 1).astype(np.float32)
    comparison.assert_equal_bits(function, x)


@pytest.mark.parametrize(
    "x", [np.ones((0,)), np.ones((3, 0)), np.ones((0, 3)), np.array([2.0, 1.0]), np.ones((200, 2))]
)
def test_small_and_empty_arrays_are_sorted_by_xla(comparison, x):
    assert not comparison.calls_kernel(lambda x: lax.sort(x), x)
    np.testing.assert_array_equal(jit(lambda x: lax.sort(x))(x), np.sort(x))


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4"])
def test_integers_of_few_bits_are_sorted_as_bytes(comparison, name):
    x = jnp.arange(300).astype(name)
    comparison.assert_equal_bits(lambda x: lax.sort(x), x)
    comparison.assert_equal_bits(lambda x: jnp.argsort(x), x)


@pytest.mark.parametrize("name", ["complex64", "float8_e4m3fn"])
def test_other_dtypes_are_sorted_by_xla(comparison, name):
    x = jnp.arange(300).astype(name)
    assert not comparison.calls_kernel(lambda x: lax.sort(x), x)
    assert not comparison.calls_kernel(lambda x: jnp.argsort(x), x)


def test_other_dtypes_do_not_move(comparison):
    x = jnp.arange(300.0)
    assert not comparison.calls_kernel(lambda x, y: lax.sort((x, y)), x, x.astype("float8_e5m2"))


def test_results_are_sorted_in_narrow_mode_too(comparison, elements):
    with ir.enable_x64(False):
        x = elements("float32", (500,))
        comparison.assert_equal_bits(lambda x: jnp.argsort(x), x)


def test_threads_sort_at_the_same_time():
    rows = np.random.default_rng(4).normal(size=(8, 300, 256)).astype(np.float32)
    function = jit(lambda x: lax.sort(x))
    with ThreadPoolExecutor(4) as pool:
        for result, x in zip(pool.map(function, rows), rows, strict=True):
            np.testing.assert_array_equal(result, np.sort(x))


def test_single_operations_call_the_kernel():
    x = np.random.default_rng(5).permutation(1000).astype(np.int32)
    np.testing.assert_array_equal(lax.sort(x), np.arange(1000))
    ir.clear_caches()
    np.testing.assert_array_equal(lax.sort(x), np.arange(1000))
