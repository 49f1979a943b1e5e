"""Comparisons of operands of two dtypes go by their values."""

import operator

import ml_dtypes
import numpy as np
import pytest

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_autodiff import jvp
from ricci_batching import vmap

pytestmark = pytest.mark.usefixtures("backend")

OPERATORS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
FLOATS = ["bfloat16", "float16", "float32", "float64"]


def _values(dtype: str) -> np.ndarray:
    """Numbers at the ends of the dtypes, and next to them, that a dtype holds."""
    if dtype in FLOATS:
        ends = [s * 2.0**n for n in (0, 7, 8, 11, 15, 16, 24, 31, 32, 63, 64) for s in (1, -1)]
        numbers = np.array([0.0, -0.0, 0.5, -0.5, 2.5, -2.5, np.nan, np.inf, -np.inf, *ends])
        info = ml_dtypes.finfo(dtype)
        numbers = numbers[~(np.abs(numbers) > float(info.max)) | np.isinf(numbers)].astype(dtype)
        steps = [np.nextafter(numbers, np.array(s * np.inf, dtype)) for s in (1, -1)]
        near = np.unique(np.concatenate([numbers, *steps]).astype(dtype))
        return near[(near == 0) | ~(np.abs(near) < info.tiny)]  # XLA flushes subnormals on CPUs
    info = np.iinfo(dtype)
    near = {s * 2**n + d for n in (0, 7, 8, 11, 15, 16, 24, 31, 32, 63, 64)
            for s in (1, -1) for d in (-1, 0, 1)} | {info.min, info.max}  # fmt: skip
    return np.array(sorted(n for n in near if info.min <= n <= info.max), dtype)


@ir.composite("comparisons")
def _comparisons(a, b):
    """All comparisons of two vectors, both ways round."""
    return [operation(*pair) for operation in OPERATORS for pair in ((a, b), (b, a))]


def _expected(a: np.ndarray, b: np.ndarray) -> list[list[list[bool]]]:
    """Python compares ints with floats exactly."""
    one, other = ([(float if x.dtype.name in FLOATS else int)(n) for n in x] for x in (a, b))
    ways = [(lambda f, x, y: f(x, y)), (lambda f, x, y: f(y, x))]
    return [
        [[way(operation, x, y) for y in other] for x in one]
        for operation in OPERATORS
        for way in ways
    ]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("one", "others"),
    [
        ("int8", "int16 uint8 uint32 bfloat16 float16"),
        ("int16", "uint16 bfloat16 float16 float32"),
        ("int32", "uint8 uint32 bfloat16 float16 float32"),
        ("uint8", "bfloat16"),
        ("uint16", "bfloat16"),
        ("uint32", "bfloat16 float16 float32"),
    ],
)
@pytest.mark.parametrize("width", [32, 64])
def test_comparisons_of_two_dtypes_are_exact(one, others, width):
    _check_pairs(one, others, width)


@pytest.mark.parametrize("one", ["int64", "uint64"])
def test_comparisons_with_wide_integers_are_exact(one):
    others = "int8 int32 int64 uint8 uint32 uint64 bfloat16 float16 float32 float64"
    _check_pairs(one, others.replace(f" {one}", ""), 64)


def _check_pairs(one: str, others: str, width: int) -> None:
    with ir.enable_x64(width == 64):
        a = _values(one)
        for other in others.split():
            b = _values(other)
            results = _comparisons(jnp.asarray(a)[:, None], jnp.asarray(b)[None])
            differ = np.stack(results) != np.array(_expected(a, b))
            assert not differ.any(), (other, [(k, a[i], b[j]) for k, i, j in np.argwhere(differ)])


def test_comparisons_stay_exact_under_transformations_and_after_clearing_caches():
    x, y = jnp.uint32([2**31, 5, 0]), jnp.int32([0, -1, 0])
    for _ in range(2):
        assert vmap(jnp.less)(x, y).tolist() == [False, False, False]
        assert jvp(lambda z: jnp.less(x, y) * z, (1.0,), (1.0,))[1].tolist() == [0.0, 0.0, 0.0]
        assert (x[:, None] > y).tolist() == [[True] * 3, [True] * 3, [False, True, False]]
        assert (jnp.uint32([]) < jnp.int32([])).shape == (0,)
        ir.clear_caches()


@pytest.mark.parametrize(
    ("dtype", "number"), [("uint8", 300), ("uint8", -1), ("uint32", -1), ("int8", 261)]
)
@pytest.mark.parametrize("operation", OPERATORS)
def test_numbers_outside_of_a_dtype_compare_by_value(operation, dtype, number):
    x = jnp.array([0, 5, 44], dtype)
    assert operation(x, number).tolist() == [operation(n, number) for n in (0, 5, 44)]
    assert operation(number, x).tolist() == [operation(number, n) for n in (0, 5, 44)]


@pytest.mark.parametrize("operation", OPERATORS)
def test_weakly_typed_integers_compare_by_value(operation):
    weak = jnp.asarray(-1)
    assert bool(operation(weak, jnp.uint32(5))) is operation(-1, 5)
    assert bool(operation(jnp.asarray(300), jnp.uint8(44))) is operation(300, 44)


def test_complex_numbers_equal_integers_by_value():
    z = jnp.complex64(2**24)
    assert not (z == jnp.int32(2**24 + 1))
    assert z != jnp.int32(2**24 + 1)
    assert z < jnp.int32(2**24 + 1)


def test_arrays_of_two_dtypes_are_equal_by_value():
    assert not jnp.array_equal(jnp.uint32([2**32 - 1]), jnp.int32([-1]))
    assert not jnp.array_equiv(jnp.uint32([[2**32 - 1]]), jnp.int32([-1]))
    assert jnp.array_equal(jnp.uint32([1]), jnp.int32([1]))
