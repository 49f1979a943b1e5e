"""The rules on random numbers: those of NumPy and Python, and keys.

A line that is to be found is marked with a comment of the code.
"""

import random as pyrandom
import sys

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as rnp
import ricci_random as random
from ricci_autodiff import grad, jvp, linearize
from ricci_batching import vmap
from ricci_check import check
from ricci_ir import ShapeDtypeStruct
from ricci_xla import jit

KEY = random.key(0)
VECTOR = ShapeDtypeStruct((5,), "float32")
KEYS = ShapeDtypeStruct((3,), KEY.dtype)
FLAG = ShapeDtypeStruct((), "bool")


# Random numbers of NumPy and Python

GENERATOR = np.random.default_rng(0)


def noise_of_numpy(x):
    return x + np.random.normal(size=5)  # RC103


def noise_of_a_generator(x):
    return x + np.float32(GENERATOR.uniform())  # RC103


def noise_of_python(x):
    return x * pyrandom.random()  # RC103


def noise_in_a_loop(x):
    def step(c, _):
        return c + np.float32(np.random.rand()), None  # RC103

    return lax.scan(step, x, None, length=3)[0]


def seeds_only(x):
    np.random.seed(0)
    return x * len(GENERATOR.bit_generator.state)


@pytest.mark.parametrize(
    ("fun", "codes"),
    [
        (noise_of_numpy, ["RC103"]),
        (noise_of_a_generator, ["RC103"]),
        (noise_of_python, ["RC103"]),
        (noise_in_a_loop, ["RC103"]),
        (jit(noise_of_numpy), ["RC103"]),
        (seeds_only, []),
    ],
)
def test_host_draws_while_tracing_are_reported(fun, codes, marked):
    report = check(fun, ignore="RC2")(VECTOR)
    assert marked(report) == codes
    assert all("once for all calls" in found.message for found in report)


def test_host_draws_outside_the_checked_function_are_not_reported():
    assert not check(lambda x: lax.mul(x, x))(VECTOR)
    np.random.normal()
    assert sys.monitoring.get_tool(3) is None


# Keys


def two_samplers(key):
    x = random.normal(key, (2,))
    return x + random.uniform(key, (2,))  # RC101


def sampler_and_split(key):
    x = random.normal(key)
    a, b = random.split(key)  # RC101
    return x + random.normal(a) + random.normal(b)


def same_part_twice(key):
    a, b = random.split(key)
    x = random.normal(a) + random.normal(b)
    return x + random.normal(a)  # RC101


def same_part_by_index(key):
    keys = random.split(key, 3)
    x = random.normal(keys[0]) + random.normal(keys[1])
    return x + random.normal(keys[1])  # RC101


def all_and_one_of_them(key):
    keys = random.split(key, 3)
    x = vmap(random.normal)(keys)
    return x + random.normal(keys[2])  # RC101


def same_fold(key):
    x = random.normal(random.fold_in(key, 1))
    return x + random.normal(random.fold_in(key, 1))  # RC101


def same_seed(x):
    x = x + random.normal(random.key(7))
    return x + random.normal(random.key(7))  # RC101


def closed_over(x):
    x = x + random.normal(KEY)
    return x + random.normal(KEY)  # RC101


def python_loop(key):
    total = 0.0
    for _ in range(3):
        total = total + random.normal(key)  # RC101
    return total


def through_jit(key):
    draw = jit(lambda k: random.normal(k))  # RC101
    return draw(key) + draw(key)


def closure_of_scan(key):
    def body(total, x):
        return total + x * random.normal(key), None  # RC102

    return lax.scan(body, np.float32(0), np.ones(3, np.float32))[0]


def closure_split_in_scan(key):
    def body(total, x):
        a, _ = random.split(key)  # RC102
        return total + x * random.normal(a), None

    return lax.scan(body, np.float32(0), np.ones(3, np.float32))[0]


def closure_of_fori(key):
    return lax.fori_loop(0, 3, lambda i, x: x + random.normal(key), np.float32(0))  # RC102


def closure_of_while(key):
    def body(carry):
        i, x = carry
        return i + 1, x + random.normal(key)  # RC102

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, np.float32(0)))


def unchanged_carry(key):
    def body(carry):
        i, k, x = carry
        return i + 1, k, x + random.normal(k)  # RC102

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, key, np.float32(0)))[2]


def inner_of_two_loops(key):
    def outer(total, k):
        inner = lambda c, _: (c + random.normal(k), None)  # RC102
        return total + lax.scan(inner, np.float32(0), None, length=2)[0], None

    return lax.scan(outer, np.float32(0), random.split(key, 3))[0]


def after_scan_over_keys(key):
    keys = random.split(key, 3)
    x = lax.scan(lambda c, k: (c, random.normal(k)), None, keys)[1]
    return x + random.normal(keys[1])  # RC101


def after_a_loop_that_carried_it(key):
    def body(k, _):
        k, sub = random.split(k)
        return k, random.normal(sub)

    x = lax.scan(body, key, None, length=3)[1]
    return x + random.normal(key)  # RC101


def before_cond(key, flag):
    x = random.normal(key)
    return x + lax.cond(flag, lambda: random.uniform(key), lambda: np.float32(0))  # RC101


def split_once_each(key):
    a, b, c = random.split(key, 3)
    return random.normal(a) + random.uniform(b) + random.normal(random.split(c)[0])


def branches_are_alternatives(key, flag):
    return lax.cond(flag, lambda: random.normal(key), lambda: random.uniform(key))


def folds_of_the_index(key):
    def body(total, i):
        return total + random.normal(random.fold_in(key, i)), None

    return lax.scan(body, np.float32(0), rnp.arange(3))[0]


def carried_key(key):
    def body(k, _):
        k, sub = random.split(k)
        return k, random.normal(sub)

    return lax.scan(body, key, None, length=3)[1]


def clone(key):
    return random.normal(random.clone(key)) + random.normal(random.clone(key))


def recomputed(x, key):
    @lax.checkpoint
    def layer(x):
        return rnp.sin(x * random.normal(key, x.shape))

    return layer(rnp.sin(x)).sum()


def in_scan(x, key):
    def body(carry, _):
        x, k = carry
        k, sub = random.split(k)
        return (rnp.sin(x * random.normal(sub, x.shape)), k), None

    return lax.scan(body, (x, key), None, length=3)[0][0].sum()


def over_keys(x, key):
    body = lambda x, k: (rnp.sin(x * random.bernoulli(k, 0.5, x.shape)), x.sum())
    y, sums = lax.scan(body, x, random.split(key, 3))
    return y.sum() + sums.sum()


def in_fori(x, key):
    def body(i, x):
        return rnp.sin(x * random.normal(random.fold_in(key, i), x.shape))

    return lax.fori_loop(0, 3, body, x).sum()


def in_while(x, key):
    def body(carry):
        i, x, k = carry
        k, sub = random.split(k)
        return i + 1, x * random.normal(sub, x.shape), k

    return lax.while_loop(lambda c: c[0] < 3, body, (0, x, key))[1].sum()


def dropout(x, key):
    for k in random.split(key, 2):
        x = rnp.where(random.bernoulli(k, 0.9, x.shape), rnp.tanh(x) / 0.9, 0.0)
    return x.sum()


def grad_sum(fun):
    return lambda x, key: grad(fun)(x, key).sum()


def with_jvp(fun):
    return lambda x, key: jvp(lambda x: fun(x, key), (x,), (x,))


def with_linearize(fun):
    return lambda x, key: linearize(lambda x: fun(x, key), x)[1](x)


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
@pytest.mark.parametrize(
    "transform", [grad, with_jvp, with_linearize, lambda f: jit(grad(grad_sum(f)))]
)
@pytest.mark.parametrize("fun", [in_scan, over_keys, in_fori, in_while, dropout, recomputed])
def test_derivatives_do_not_reuse_keys(fun, transform, raw):
    if fun is in_while and transform not in (with_jvp, with_linearize):
        pytest.skip("reverse mode does not take a while_loop")
    key = random.PRNGKey(0) if raw else KEY
    report = check(transform(fun), select=["RC0", "RC1"])(VECTOR, key)
    assert not report


@pytest.mark.parametrize("raw", [False, True], ids=["typed", "raw"])
@pytest.mark.parametrize(
    ("fun", "code"),
    [
        (two_samplers, "RC101"),
        (sampler_and_split, "RC101"),
        (same_part_twice, "RC101"),
        (same_part_by_index, "RC101"),
        (all_and_one_of_them, "RC101"),
        (same_fold, "RC101"),
        (python_loop, "RC101"),
        (through_jit, "RC101"),
        (after_scan_over_keys, "RC101"),
        (after_a_loop_that_carried_it, "RC101"),
        (closure_of_scan, "RC102"),
        (closure_split_in_scan, "RC102"),
        (closure_of_fori, "RC102"),
        (closure_of_while, "RC102"),
        (unchanged_carry, "RC102"),
        (inner_of_two_loops, "RC102"),
        (split_once_each, None),
        (folds_of_the_index, None),
        (carried_key, None),
        (clone, None),
    ],
    ids=lambda p: getattr(p, "__name__", None),
)
def test_uses_of_keys(fun, code, raw, marked):
    report = check(fun, select="RC1")(random.PRNGKey(0) if raw else KEY)
    assert marked(report) == ([code] if code else [])


@pytest.mark.parametrize(
    ("fun", "args", "codes"),
    [
        (same_seed, [np.float32(0)], ["RC101"]),
        (closed_over, [np.float32(0)], ["RC101"]),
        (before_cond, [KEY, FLAG], ["RC101"]),
        (branches_are_alternatives, [KEY, FLAG], []),
        (vmap(branches_are_alternatives, (None, 0)), [KEY, np.array([True, False])], []),
        (grad(recomputed), [VECTOR, KEY], []),
        (vmap(two_samplers), [KEYS], ["RC101"]),
        (jit(vmap(two_samplers)), [KEYS], ["RC101"]),
        (lambda x, key: jvp(lambda x: x * two_samplers(key)[0], (x,), (x,)), [1.0, KEY], ["RC101"]),
    ],
)
def test_keys_under_transformations(fun, args, codes, marked):
    assert marked(check(fun, select="RC1")(*args)) == codes


# The arguments of each sampler beside the key.
SAMPLERS = {
    "bernoulli": (),
    "bits": (),
    "categorical": (np.ones(4, np.float32),),
    "choice": (10, (3,), False),
    "exponential": (),
    "gumbel": (),
    "laplace": (),
    "normal": (),
    "permutation": (10,),
    "randint": ((3,), 0, 10),
    "truncated_normal": (0.0, 1.0),
    "uniform": (),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_uses_its_key_once(name):
    draw = lambda key: getattr(random, name)(key, *SAMPLERS[name])
    assert not check(draw, select="RC1")(KEY)
    twice = check(lambda key: (draw(key), draw(key)), select="RC1")(KEY)
    assert [finding.code for finding in twice] == ["RC101"]
    assert "uses the key key" in twice[0].message
