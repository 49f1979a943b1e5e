"""Samplers draw bit for bit what JAX draws with the same key, whatever the generator and the dtype.

A run takes one call of most samplers; with RICCI_SAMPLER_CASES=all, as `nox -s samplers-full` sets
it, every one with all dtypes, shapes, generators and layouts.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from ricci_testing import Oracle, Request, Result, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_SAMPLER_CASES") == "all"
FLOATS = ("float32", "bfloat16", "float16", "float64")
INTS = ("int32", "uint8", "int16", "uint32", "int64")
SHAPES = ("(2, 3)", "()", "(0,)", "(257,)")
IMPLS = ("threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32")

# Calls with {d} for a shape and a dtype; the second column is how much a call compiles:
# only those marked "quick" are part of every run.
FLOAT_CALLS = """
uniform(K, {d})                                             quick
uniform(K, {d}, -2., 3.3)
normal(K, {d})                                              quick
exponential(K, {d})                                         quick
laplace(K, {d})
logistic(K, {d})
cauchy(K, {d})
gumbel(K, {d})                                              quick
gumbel(K, {d}, mode='high')
maxwell(K, {d})                                             quick
double_sided_maxwell(K, 1., 2., {d})
pareto(K, 3., {d})                                          quick
rayleigh(K, 1.5, {d})                                       quick
wald(K, 2., {d})                                            quick
lognormal(K, .3, {d})                                       quick
truncated_normal(K, -1., 2., {d})
triangular(K, 0., 1., 3., {d})
weibull_min(K, 1., 2., {d})
gamma(K, 2., {d})                                           quick
gamma(K, .3, {d})
gamma(K, 50., {d})
gamma(K, 2., {d}, method='approximate')                     quick
loggamma(K, .01, {d})
loggamma(K, .3, {d}, method='approximate')
beta(K, 2., .5, {d})
beta(K, .01, .02, {d})
chisquare(K, 4., {d})
t(K, 3., {d})
f(K, 2., 7., {d})
generalized_normal(K, 1.5, {d})
ball(K, 3, 2, {d})
ball(K, 3, 1.5, {d})
dirichlet(K, jnp.array([.5, 2., 3.]), {d})                  quick
dirichlet(K, jnp.array([.01, .02, .03]), {d})
binomial(K, 30, .4, {d})                                    quick
binomial(K, 30, .1, {d})
binomial(K, 3000, .9, {d})
binomial(K, jnp.array(300., {t}), jnp.array(.1, {t}), {d})
"""
INT_CALLS = """
randint(K, {s}, -3, 100, {t})                               quick
geometric(K, .3, {d})                                       quick
rademacher(K, {d})
poisson(K, 3., {d})                                         quick
poisson(K, 30., {d})
poisson(K, 9.99, {d})
poisson(K, 3., {d}, method='approximate')
poisson(K, 300., {d}, method='approximate')
"""
OTHER_CALLS = """
bits(K, (7,))                                               quick
bits(K, (7,), 'uint8')
bits(K, (7,), 'uint16')
split(K, (2, 3))                                            quick
fold_in(K, 7)                                               quick
bernoulli(K, .3, (20,))                                     quick
bernoulli(K, .3, (20,), mode='high')
categorical(K, jnp.arange(5.), shape=(20,))                 quick
categorical(K, jnp.arange(5.), shape=(3,), replace=False)
choice(K, 20, (5,), replace=False)
choice(K, 20, (5,), p=jnp.arange(20.))
permutation(K, 20)                                          quick
permutation(K, jnp.ones((4, 3)).cumsum(0), axis=1, independent=True)
multivariate_normal(K, jnp.zeros(3), jnp.eye(3) + .5, (4,))
orthogonal(K, 3, (2,))
multinomial(K, 300, jnp.array([.1, .2, 0., .7]))
multinomial(K, jnp.array([30., 5.]), jnp.array([[.1, .9], [.5, .5]]), shape=(3, 2, 2))
gamma(K, jnp.array([0., .1, 5., 1e5, jnp.nan, -1., jnp.inf, 1e-6]))
poisson(K, jnp.array([0., .1, 5., 20., 1e5, jnp.nan, -1.]))
binomial(K, jnp.array([5., 1e5, jnp.nan, -1., jnp.inf]), jnp.array([0., .9, .4, .3, .3]))
binomial(K, 3, jnp.array([-1., jnp.nan, 1., 2.]))
"""


# Where the compiler fuses the generator's rounds with the sampler's arithmetic in another way, a
# result differs in its last places: calls and generators, and how many units there.
LAST_PLACES = {
    ("maxwell(K, (2, 3), jnp.float32)", "philox4x32"): 1,
    ("maxwell(K, (2, 3), jnp.float32)", "threefry4x32"): 1,
    ("double_sided_maxwell(K, 1., 2., (2, 3), jnp.float32)", "philox4x32"): 2,
    ("double_sided_maxwell(K, 1., 2., (2, 3), jnp.float32)", "threefry4x32"): 1,
    ("loggamma(K, .3, (2, 3), jnp.float32, method='approximate')", "philox4x32"): 2,
}


class Call(NamedTuple):
    """One call of a sampler, as text, with the key and the options that it is made with."""

    text: str
    impl: str = "threefry2x32"
    partitionable: bool = True

    def __str__(self) -> str:
        layout = "" if self.partitionable else "-original"
        return f"{self.text}-{self.impl}{layout}"

    @property
    def request(self) -> Request:
        config = {
            "jax_enable_x64": "64" in self.text,
            "jax_threefry_partitionable": self.partitionable,
        }
        is_key = self.text.startswith(("split", "fold_in"))
        call = f"random.key_data(random.{self.text})" if is_key else f"random.{self.text}"
        return Request(f"K = random.key(7, impl={self.impl!r})\n{call}", {}, config)


# Of a rejection that the last place decides, no more is known than the count's deviation: one of
# 100,000 trials has 95.
DEVIATIONS = {
    Call(
        "binomial(K, jnp.array([5., 1e5, jnp.nan, -1., jnp.inf]), jnp.array([0., .9, .4, .3, .3]))",
        partitionable=False,
    ): 3 * 95.0
}


def rows(table: str) -> Iterator[tuple[str, bool]]:
    """The calls of a table, and whether each is part of every run."""
    for line in table.strip().splitlines():
        yield line.removesuffix("quick").rstrip(), line.endswith("quick")


def filled(template: str, shape: str, dtype: str) -> str:
    dtype = f"jnp.{dtype}"
    return template.format(d=f"{shape}, {dtype}", s=shape, t=dtype)


def calls() -> Iterator[Call]:
    """The calls of this run."""
    for table, dtypes in ((FLOAT_CALLS, FLOATS), (INT_CALLS, INTS), (OTHER_CALLS, ("",))):
        for i, (template, quick) in enumerate(rows(table)):
            if not EVERYTHING:
                if quick:
                    yield Call(filled(template, SHAPES[0], dtypes[i % min(3, len(dtypes))]))
                continue
            shapes = SHAPES if "{" in template else SHAPES[:1]
            texts = [filled(template, shape, dtype) for shape in shapes for dtype in dtypes]
            yield from (Call(text) for text in texts)
            yield Call(texts[0], partitionable=False)
            yield from (Call(texts[0], impl) for impl in IMPLS[1:])
    if not EVERYTHING:
        yield Call("normal(K, (3,))", "rbg")
        yield Call("split(K, 3)", "unsafe_rbg")
        yield Call("uniform(K, (3,))", partitionable=False)
        yield Call("bits(K, (2, 3), 'uint16')", "philox2x32")
        yield Call("fold_in(K, 12345)", "philox4x32")
        yield Call("split(K, (2, 3))", "threefry4x32")


CALLS = list(calls())
BATCH = 12  # how many calls the oracle is asked for at once


def expected_of(call: Call, known: dict) -> Result:
    if call not in known:
        start = CALLS.index(call)
        asked = CALLS[start : start + BATCH]
        answers = shared_oracle().run_many([c.request for c in asked], timeout=600)
        known.update(zip(asked, answers, strict=True))
    return known[call]


@pytest.fixture(scope="module")
def known() -> dict:
    return {}


@pytest.mark.sampled(3)
@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_draws_the_bits_of_jax(call, known):
    expected = expected_of(call, known)
    request = call.request
    found = evaluate_with(ricci_namespace(), request.source, {}, config=request.config)
    if expected.error is not None:
        assert found.error is not None and found.error.name == expected.error.name
        return
    assert found.error is None, found.error
    (ours,), (theirs,) = found.leaves, expected.leaves
    assert (ours.dtype, ours.shape, ours.weak_type) == (
        theirs.dtype,
        theirs.shape,
        theirs.weak_type,
    )
    if call in DEVIATIONS:
        np.testing.assert_allclose(ours.value, theirs.value, rtol=0, atol=DEVIATIONS[call])
    elif places := LAST_PLACES.get((call.text, call.impl)):
        np.testing.assert_array_max_ulp(ours.value, theirs.value, places)
    else:
        np.testing.assert_array_equal(ours.value, theirs.value)


# Of a parameter that is a constant of a jitted function, the compiler folds c = (1/3) / √(a - 1/3):
# for 2.5 to 0.22645539 here, as (1/3) times the reciprocal of the root, and to 0.226455405 in JAX's
# module. The numbers that differ do so in (1 + c x)³, one in seven by 2 to 10 units. JAX's own
# numbers differ in as many between a constant and an argument.
FOLDED = [
    ("lambda K: random.gamma(K, 2.5, (1000,), jnp.float32)", "K", 10),
    ("lambda K, a: random.gamma(K, a, (1000,), jnp.float32)", "K, jnp.float32(2.5)", 0),
    # The rejection of one of these numbers is decided by the last place.
    ("lambda K, a: random.beta(K, a, a - 1, (100_000,), jnp.float32)", "K, jnp.float32(2.5)", 0),
]


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize(("function", "args", "places"), FOLDED)
def test_gamma_numbers_of_constants_and_arguments(function, args, places):
    request = Request(f"K = random.key(1)\njax.jit({function})({args})", {}, {})
    (expected,) = shared_oracle().run_many([request], timeout=600)
    found = evaluate_with(ricci_namespace(), request.source, {}, config=request.config)
    assert expected.error is None and found.error is None, (expected.error, found.error)
    ours, theirs = found.leaves[0].value, expected.leaves[0].value
    assert np.array_equal(ours, theirs) == (not places)
    np.testing.assert_array_max_ulp(ours, theirs, places)
