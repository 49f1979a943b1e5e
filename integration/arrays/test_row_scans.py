"""Cumulative operations of arrays with long rows, which CPUs compute row by row."""

import numpy as np
import pytest

import ricci
from ricci import lax
from ricci.sharding import NamedSharding, PartitionSpec

NUMPY = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}
NEUTRAL = {"cumsum": 0, "cumprod": 1, "cummax": -np.inf, "cummin": np.inf, "cumlogsumexp": -np.inf}
LONG_ROWS = [((300, 40), 0), ((7, 100, 40), 1)]
SHORT_ROWS = [((5001,), 0), ((40, 500, 3), 1)]
CASES = [
    *((name, np.float32, *where) for name in NUMPY for where in LONG_ROWS),
    *((name, dtype, *LONG_ROWS[0]) for name in NUMPY for dtype in (np.float64, np.int32)),
    *(("cumlogsumexp", np.float32, *where) for where in SHORT_ROWS),
]


def operand(name, shape, dtype):
    values = np.random.RandomState(0).randn(*shape)
    return (np.exp(values / 100) if name == "cumprod" else values * 3).astype(dtype)


def expected(name, x, axis, reverse):
    wide = np.flip(x, axis) if reverse else x
    wide = wide.astype(np.longdouble) if x.dtype.kind == "f" else wide
    result = NUMPY[name].accumulate(wide, axis, dtype=wide.dtype)
    return np.flip(result, axis) if reverse else result


@pytest.mark.sampled(16)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("name", "dtype", "shape", "axis"),
    [case for case in CASES if case[:2] != ("cumlogsumexp", np.int32)],
    ids=str,
)
def test_scans_equal_numpys_in_wide_types(name, dtype, shape, axis, reverse):
    x = operand(name, shape, dtype)
    with ricci.enable_x64(dtype == np.float64):
        result = np.asarray(getattr(lax, name)(x, axis, reverse))
    assert result.dtype == dtype
    want = expected(name, x, axis, reverse)
    if dtype == np.int32 or name in ("cummax", "cummin"):
        np.testing.assert_array_equal(result, want)
    else:
        # Sums are right to the last place, others to as many places as a tree rounds.
        places = {"cumsum": 1, "cumprod": 60, "cumlogsumexp": 20}[name]
        scale = np.abs(want).max() if name == "cumsum" else 1 + np.abs(want)
        assert np.max(np.abs(result - want) / scale) < places * np.finfo(dtype).eps


def test_running_sums_of_rows_do_not_accumulate_rounding_errors():
    x = np.full((20_000, 8), 0.1, np.float32)
    want = np.cumsum(x.astype(np.float64), 0)
    assert np.max(np.abs(np.asarray(lax.cumsum(x)) - want) / want) < 1e-7


def test_running_sums_go_on_from_infinities_and_nans():
    x = np.ones((600, 8), np.float32)
    x[100, 0], x[200, 1], x[200, 2], x[300, 2] = np.inf, np.nan, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        want = np.cumsum(x, 0)
    np.testing.assert_array_equal(lax.cumsum(x), want)


@pytest.mark.parametrize("name", NUMPY)
def test_scans_of_sharded_rows_move_nothing(name):
    mesh = ricci.make_mesh((4, 2), ("a", "b"))
    x = operand(name, (64, 100, 16), np.float32)
    sharding = NamedSharding(mesh, PartitionSpec("a", None, "b"))
    sharded = ricci.device_put(x, sharding)
    fun = ricci.jit(lambda x: getattr(lax, name)(x, 1))
    np.testing.assert_allclose(fun(sharded), fun(x), rtol=1e-5, atol=1e-5)
    assert "all-" not in fun.lower(sharded).compile().as_text()


@pytest.mark.parametrize("name", NUMPY)
def test_gradients_of_scans_are_those_of_a_loop(name):
    x = operand(name, (20, 256), np.float32)
    combine = {"cumsum": lax.add, "cumprod": lax.mul, "cummax": lax.max, "cummin": lax.min}
    step = combine.get(name, ricci.numpy.logaddexp)
    zero = np.full(x.shape[1], NEUTRAL[name], np.float32)

    def loop(x):
        return lax.scan(lambda carry, row: (step(carry, row),) * 2, zero, x)[1]

    weights = np.random.RandomState(1).randn(*x.shape).astype(np.float32)
    got, want = (
        ricci.jit(ricci.grad(lambda x, f=f: (f(x) * weights).sum()))(x)
        for f in (getattr(lax, name), loop)
    )
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
