"""The gamma family and distributions of counts: samples, derivatives, errors."""

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import make_jaxpr

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

KEY = random.key(42)
# JAX's samples on a CPU.
RECORDED = [
    ("gamma(K, 2.0, (3,))", [3.6725165843963623, 1.0923854112625122, 3.5018391609191895]),
    ("gamma(K, 0.3, (3,), 'float16')", [0.002338409423828125, 0.0023822784423828125, 1.3837890625]),
    ("loggamma(K, 0.01, (3,))", [-53.09775161743164, -17.201189041137695, -25.39407730102539]),
    ("poisson(K, 3.0, (4,))", [6, 2, 2, 1]),
    ("poisson(K, 30.0, (4,), method='approximate')", [30, 32, 31, 31]),
    ("binomial(K, 1000, 0.6, (4,))", [589.0, 586.0, 616.0, 611.0]),
    ("binomial(K, 30, 0.4, (3,), 'bfloat16')", [11.0, 8.0, 12.0]),
    ("multinomial(K, 100, np.array([0.2, 0.0, 0.8]))", [19.0, 0.0, 81.0]),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("call", "expected"), RECORDED)
def test_samples_are_as_recorded(call, expected):
    found = np.asarray(eval(f"random.{call}", {"random": random, "np": np, "K": KEY}))
    np.testing.assert_array_equal(found, np.asarray(expected, found.dtype))


DERIVATIVES = [
    (lambda a: random.gamma(KEY, a, (2,)), 2.0, [1.4498592615127563, 0.7888170480728149]),
    (lambda a: random.loggamma(KEY, a, (2,)), 0.3, [4.264120101928711, 4.93872594833374]),
    (lambda a: random.t(KEY, a, (2,)), 3.0, [-0.004672559909522533, 0.5787922143936157]),
    (
        lambda a: random.dirichlet(KEY, jnp.stack([a, 1.0])),
        3.0,
        [0.015472876839339733, -0.015472873114049435],
    ),
]
NAMES = ["gamma", "loggamma", "t", "dirichlet"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("draw", "a", "expected"), DERIVATIVES, ids=NAMES)
def test_samples_have_implicit_derivatives(draw, a, expected):
    _, slope = jvp(draw, (jnp.asarray(a),), (jnp.ones(()),))
    np.testing.assert_allclose(slope, expected, 1e-4)


def test_reverse_mode_agrees_with_forward_mode():
    slope = grad(lambda a: random.gamma(KEY, a, (2,)).sum())(2.0)
    np.testing.assert_allclose(slope, sum(DERIVATIVES[0][2]), 1e-4)


def test_vmap_is_the_loop():
    keys, a = random.split(KEY, 2), jnp.array([0.5, 3.0])
    found = vmap(lambda key, a: random.gamma(key, a, (2,)))(keys, a)
    expected = [random.gamma(key, x, (2,)) for key, x in zip(keys, a, strict=True)]
    np.testing.assert_array_equal(found, np.stack(expected))


def test_one_key_is_repeated_over_a_batch_of_parameters():
    found = make_jaxpr(vmap(lambda a: random.gamma(KEY, a, (3,))))(np.ones(4, np.float32))
    assert "= broadcast_in_dim a\n" in str(found)
    assert "random_gamma[log_space=False]" in str(found)


def test_infinite_and_invalid_numbers_of_trials_give_inf_and_nan():
    found = np.asarray(random.binomial(KEY, jnp.array([np.inf, np.nan, -1.0]), 0.3))
    np.testing.assert_array_equal(found, [np.inf, np.nan, np.nan])


THREE, TWO = np.ones(3, np.float32), np.ones(2, np.float32)
REFUSED = [
    (lambda: random.gamma(KEY, THREE, (2,)), ValueError, "gamma"),
    (lambda: random.gamma(KEY, 2.0, dtype=int), ValueError, "dtype"),
    (lambda: random.gamma(KEY, 2.0, method="x"), ValueError, "method"),
    (lambda: random.gamma(3, 2.0), TypeError, "key"),
    (lambda: random.gamma(random.split(KEY), 2.0), ValueError, "gamma"),
    (lambda: random.beta(KEY, THREE, TWO), ValueError, "beta"),
    (lambda: random.beta(KEY, 1.0, 1.0, method="x"), ValueError, "beta"),
    (lambda: random.chisquare(KEY, THREE, (2,)), ValueError, "chisquare"),
    (lambda: random.dirichlet(KEY, 2.0), ValueError, "alpha"),
    (lambda: random.dirichlet(KEY, np.ones((3, 3)), (2,)), ValueError, "alpha"),
    (lambda: random.poisson(KEY, 2.0, dtype="float32"), ValueError, "integers"),
    (lambda: random.poisson(KEY, THREE, (2,)), ValueError, "poisson"),
    (lambda: random.poisson(KEY, 2.0, method="x"), ValueError, "method"),
    (lambda: random.poisson(random.key(0, impl="rbg"), 2.0), NotImplementedError, "threefry"),
    (lambda: random.ball(KEY, -1), TypeError, "d "),
    (lambda: random.ball(KEY, 2.5), TypeError, None),
    (lambda: random.ball(KEY, 3, TWO), ValueError, "ball"),
    (lambda: random.binomial(KEY, 3, 0.5, dtype="int32"), ValueError, "dtype"),
    (lambda: random.binomial(KEY, THREE, 0.5, (2,)), ValueError, "binomial"),
    (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "vector"),
    (lambda: random.multinomial(KEY, TWO, np.ones((2, 3)), shape=(4, 3)), ValueError, "n of shape"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int2", -2, 1), ("uint2", 0, 3), ("int4", -8, 7), ("uint4", 0, 15)]
)
def test_integers_of_fewer_than_8_bits_are_drawn_like_wider_ones(dtype, low, high):
    drawn = random.randint(KEY, (200,), low, high + 1, dtype)
    assert drawn.dtype == dtype
    wide = random.randint(KEY, (200,), low, high + 1, "int32")
    np.testing.assert_array_equal(drawn.astype("int32"), wide)
    assert (int(wide.min()), int(wide.max())) == (low, high)
    clipped = random.randint(KEY, (50,), -99, 99, dtype).astype("int32")
    assert low <= int(clipped.min()) <= int(clipped.max()) <= high


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8"])
def test_counts_of_few_bits_are_those_of_wider_integers(dtype):
    counts = random.poisson(KEY, 0.3, (50,), dtype)
    assert counts.dtype == dtype
    np.testing.assert_array_equal(counts.astype("int32"), random.poisson(KEY, 0.3, (50,)))
