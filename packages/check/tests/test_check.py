"""Every rule on functions that break it, and on ones near to them that do not.

A line that is to be found is marked with a comment of the code.
"""

import json
import random as pyrandom
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ricci_check
import ricci_lax as lax
import ricci_numpy as rnp
import ricci_random as random
from ricci_autodiff import grad, jvp, linearize
from ricci_batching import vmap
from ricci_check import RULES, CheckError, check
from ricci_ir import (
    ShapedArray,
    ShapeDtypeStruct,
    array_moves,
    define,
    enable_x64,
    primitives,
    unsupported,
)
from ricci_lax.authoring import KeyRole, Positions, nary
from ricci_stablehlo import traced
from ricci_xla import jit

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
KEY = random.key(0)
VECTOR = ShapeDtypeStruct((5,), "float32")
MATRIX = ShapeDtypeStruct((4, 5), "float32")
KEYS = ShapeDtypeStruct((3,), KEY.dtype)
LARGE = np.ones((600, 600), np.float32)
FLAG = ShapeDtypeStruct((), "bool")
REQUIRED = ("jvp", "transpose", "batch", "lower", "sharding")


def marked(report):
    """The findings as ``code``, with a note of each that is not on a line marked with its code."""
    return [
        finding.code
        if f"# {finding.code}" in LINES[finding.line - 1]
        else f"{finding.code} in line {finding.line}"
        for finding in report
    ]


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
def test_numbers_that_numpy_draws(fun, codes):
    report = check(fun, ignore="RC2")(VECTOR)
    assert marked(report) == codes
    assert all("once for all calls" in found.message for found in report)


def test_only_the_function_that_is_checked_is_watched():
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
def test_derivatives_use_no_key_again(fun, transform, raw):
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
def test_uses_of_keys(fun, code, raw):
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
def test_keys_under_transformations(fun, args, codes):
    assert marked(check(fun, select="RC1")(*args)) == codes


# What each sampler needs beside the key.
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


# Indices


@pytest.mark.parametrize(
    ("fun", "args", "message"),
    [
        (lambda x: x[10], [VECTOR], "index 10 is out of bounds for axis 0 of size 5"),
        (lambda x: x[-7], [VECTOR], "index -7 is out of bounds for axis 0 of size 5"),
        (lambda x, i: x[i, 12], [MATRIX, np.int32(0)], "index 12 is out of bounds for axis 1"),
        (lambda x: x[np.array([1, 9])], [VECTOR], "index 9 is out of bounds"),
        (lambda x, i: x[7, i], [MATRIX, np.zeros(3, np.int32)], "index 7 is out of bounds"),
        (lambda x: x[rnp.arange(7)], [VECTOR], "index 5 is out of bounds"),
        (lambda x: rnp.take(x, 10), [VECTOR], "the fill value is read"),
        (lambda x: x.at[10].set(1.0), [VECTOR], "the update is dropped"),
        (lambda x: x.at[-8].add(1.0), [VECTOR], "index -8 is out of bounds"),
        (lambda x: lax.dynamic_slice(x, (3,), (4,)), [VECTOR], "a slice of 4 elements from 3"),
        (lambda x: lax.dynamic_update_slice(x, x[:2], (4,)), [VECTOR], "of 2 elements from 4"),
        (vmap(lambda x: x[10]), [MATRIX], "index 10 is out of bounds"),
        (grad(lambda x: x[10] ** 2), [VECTOR], "index 10 is out of bounds"),
        (jit(lambda x: x[10]), [VECTOR], "index 10 is out of bounds"),
        (lambda x: x[4] + x[-5] + x[2:9].sum() + x[np.array([0, -1])].sum(), [VECTOR], None),
        (lambda x: x.at[4].set(1.0).at[-5].add(2.0).at[1:9].set(0.0), [VECTOR], None),
        (lambda x, i: x[i], [VECTOR, np.int32(9)], None),
        (lambda x: rnp.insert(x, 1, 3.0), [VECTOR], None),
        (lambda x: rnp.repeat(x, 2), [VECTOR], None),
        (lambda x: rnp.roll(x, 7), [VECTOR], None),
    ],
)
def test_indices(fun, args, message):
    report = check(fun, select="RC5")(*args)
    assert len(report) == (message is not None)
    if message is not None:
        assert message in report[0].message


def test_an_index_in_a_loop_is_found_once():
    def fun(x):
        body = lambda total, _: (total + x[10], None)  # RC501
        return lax.scan(body, np.float32(0), None, length=3)[0]

    assert marked(check(fun)(VECTOR)) == ["RC501"]


# Types


@pytest.mark.parametrize(
    ("fun", "args", "found"),
    [
        (lambda x: x, [np.ones(3)], [("RC201", "warning")]),
        (lambda x: x, [np.ones(3, np.complex128)], [("RC201", "warning")]),
        (lambda x: x, [ShapeDtypeStruct((3,), "float64")], [("RC201", "warning")]),
        (lambda x: x, [np.arange(3)], [("RC202", "warning")]),
        (lambda x: x, [np.array([2**40])], [("RC202", "error")]),
        (lambda x: x + np.arange(5.0), [VECTOR], [("RC201", "warning")]),
        (lambda x: x + np.arange(5), [VECTOR], [("RC202", "note")]),
        (lambda x: x + np.array([2**40]), [VECTOR], [("RC202", "error")]),
        (jit(lambda x: x + np.arange(5.0)), [VECTOR], [("RC201", "warning")]),
        (lambda x: x + np.ones(5, np.float32), [VECTOR], []),
        (lambda x: x * np.float64(2.0), [VECTOR], []),
    ],
)
def test_narrowing(fun, args, found):
    assert [(f.code, f.severity) for f in check(fun, select="RC2")(*args)] == found


def test_nothing_is_narrowed_where_64_bits_are_on():
    with enable_x64(True):
        assert not check(lambda x: x + np.arange(3.0), select="RC2")(np.ones(3))


@pytest.mark.parametrize(
    ("fun", "args", "found"),
    [
        (lambda x: x + rnp.float32(1), [1.0], "argument x, which is float32[] (weakly typed)"),
        (lambda x: x * 0.5, [1], "argument x, which is int32[] (weakly typed)"),
        (lambda x: x.astype(np.float16), [VECTOR], "would be float16[5] in the next call"),
        (lambda s: {**s, "n": s["n"] + rnp.int32(1)}, [{"n": 0, "w": VECTOR}], "argument s['n']"),
        (lambda s, x: ((s[0] + x, s[1]), x), [(0.0, 1.0), VECTOR.update(shape=())], "result[0]"),
        (lambda x: x * 2, [1.0], None),
        (lambda x: x * 2, [VECTOR], None),
        (lambda x, y: x + y, [1.0, np.float32(2)], None),
        (lambda x, i: x[i], [VECTOR, np.int32(2)], None),
        (lambda w, rate: (w * rate, (w * w).sum()), [VECTOR, 0.1], None),
    ],
)
def test_type_drift(fun, args, found):
    report = check(fun, select="RC301")(*args)
    assert len(report) == (found is not None)
    if found is not None:
        assert found in report[0].message


def promoted_scan(x):
    return lax.scan(lambda total, y: (total + y, None), 0, x)[0]  # RC302


def promoted_while(x):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x), (0, 0))  # RC302


def steady_scan(x):
    return lax.scan(lambda total, y: (total + y, None), np.float32(0), x)[0]


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: jit(jit(f))], ids=["", "jit", "jit2"])
@pytest.mark.parametrize(
    ("fun", "args", "message"),
    [
        (promoted_scan, [VECTOR], "total of scan is int32[] (weakly typed) and becomes float32[]"),
        (promoted_while, [np.float32(1)], "c[1] of while_loop is int32[] (weakly typed)"),
        (steady_scan, [VECTOR], None),
    ],
)
def test_promoted_carries(fun, args, message, wrap):
    fun = wrap(fun)
    for _ in range(2):  # also where the program is known already
        report = check(fun, select="RC302")(*args)
        assert marked(report) == (["RC302"] if message else [])
        assert message is None or message in report[0].message


# Constants


def test_large_constants():
    def fun(x):
        y = x + 1
        return y @ LARGE  # RC401

    for each in (fun, jit(fun), lambda x: jit(fun)(x)):
        report = check(each, select="RC4")(ShapeDtypeStruct((600,), "float32"))
        assert [f.code for f in report] == ["RC401"]
        assert "1.4 MB, float32[600,600]" in report[0].message
    assert marked(check(fun, select="RC4")(ShapeDtypeStruct((600,), "float32"))) == ["RC401"]


def test_small_and_made_arrays_are_no_large_constants():
    fun = lambda x: x @ rnp.ones((600, 600)) + np.ones(600, np.float32)
    assert not check(fun, select="RC4")(ShapeDtypeStruct((600,), "float32"))


# Transformations


def choose(x):
    return lax.cond(x > 0, rnp.sin, rnp.cos, x)  # RC601


@pytest.mark.parametrize(
    ("fun", "codes"),
    [
        (vmap(choose), ["RC601"]),
        (jit(vmap(choose)), ["RC601"]),
        (vmap(jit(choose)), ["RC601"]),
        (lambda x: vmap(grad(choose))(x), ["RC601"]),
        (lambda x: choose(x[0]), []),
        (vmap(lambda x: lax.cond(True, rnp.sin, rnp.cos, x)), []),
        (vmap(lambda x: rnp.where(x > 0, rnp.sin(x), rnp.cos(x))), []),
    ],
)
def test_cond_under_vmap(fun, codes):
    for _ in range(2):  # also where everything is known already
        assert marked(check(fun, select="RC6")(VECTOR)) == codes


def iterate(x):
    return lax.while_loop(lambda y: y < 10, lambda y: y * 2, x)  # RC602


@pytest.mark.parametrize(
    ("fun", "codes"),
    [
        (grad(iterate), ["RC602"]),
        (jit(grad(jit(iterate))), ["RC602"]),
        (lambda x: grad(lambda x: jit(iterate)(x) * 2)(x), ["RC602"]),
        (iterate, []),
        (lambda x: jvp(iterate, (x,), (x,)), []),
        (grad(lambda x: lax.fori_loop(0, 3, lambda i, y: y * 2, x)), []),
    ],
)
def test_loops_in_reverse(fun, codes):
    report = check(fun, select=["RC001", "RC602"])(ShapeDtypeStruct((), "float32"))
    assert marked(report) == codes
    assert (report.exception is not None) == bool(codes)


def test_what_comes_before_an_exception_is_found_as_well():
    def fun(x, key):
        y = x[10]  # RC501
        z = random.normal(key) + random.normal(key)  # RC101
        return (x @ rnp.ones(3)) * y * z  # RC001

    for each in (fun, jit(fun)):
        report = check(each)(VECTOR, KEY)
        assert marked(report) == ["RC501", "RC101", "RC001"]
        assert isinstance(report.exception, TypeError)


# Donation


def scale(params, batch):
    return (params * batch).sum()


@pytest.mark.parametrize(
    ("fun", "args", "found"),
    [
        (
            jit(scale, donate_argnums=0),
            [VECTOR, VECTOR],
            "params is donated to scale but is float32",
        ),
        (jit(lambda a, b: b * 2, donate_argnums=0), [VECTOR, VECTOR], "but is not used"),
        (lambda x: jit(scale, donate_argnums=0)(x, x), [VECTOR], "params is donated"),
        (jit(lambda a, b: (a * b, 1), donate_argnums=0), [VECTOR, VECTOR], None),
        (jit(lambda a, b: a * b, donate_argnums=(0, 1)), [VECTOR, VECTOR], "b is donated"),
        (jit(scale), [VECTOR, VECTOR], None),
    ],
)
def test_donation(fun, args, found):
    report = check(fun, select="RC7")(*args)
    assert len(report) == (found is not None)
    assert found is None or found in report[0].message


# The report


def everything(key, x):
    y = x[10]
    return (random.normal(key) + random.normal(key)) * y


class Moved(NamedTuple):
    """A move of an array, as the compiler's report would have it."""

    kind: str = "all-gather"
    replicates: bool = False
    value: str = "xs[1]"
    file: str = "train.py"
    line: int = 7
    column: int = 4
    function: str = "step"
    operation: str = "dot_general"
    axes_text: str = "data"
    bytes_text: str = "1.2 MB"


def finds(monkeypatch, *moves):
    calls = []
    find = lambda jaxpr, fun, arrays, traced: calls.append((len(arrays), traced)) or moves
    monkeypatch.setattr(array_moves, "find", find)
    return calls


def test_involuntary_gathers(monkeypatch):
    moves = Moved(), Moved(replicates=True, value="the result of sin", line=0), Moved("all-to-all")
    calls = finds(monkeypatch, *moves)
    fun = lambda params, x, mode: x
    report = check(fun)({"w": np.ones(2, np.float32)}, np.ones(3, np.float32), "train")
    assert {(f.code, f.line, f.function) for f in report} == {
        ("RC801", 7, "step"),
        ("RC802", fun.__code__.co_firstlineno, fun.__qualname__),
    }
    messages = {f.code: f.message for f in report}
    assert messages["RC801"] == (
        "dot_general needs x gathered over data: each device sends 1.2 MB a step"
    )
    assert messages["RC802"].startswith("dot_general needs the result of sin whole on every device")
    assert calls == [(2, None)]


def test_a_jitted_function_is_not_traced_again_for_its_gathers(monkeypatch):
    calls = finds(monkeypatch)
    traces = []
    check(jit(lambda x: traces.append(1) or x))(np.ones(3, np.float32))
    assert len(traces) == 1
    assert calls[0][1].fun_name


def test_gathers_that_nobody_asks_about_are_not_looked_for(monkeypatch):
    calls = finds(monkeypatch, Moved())
    assert not check(lambda x: x, ignore="RC8")(np.ones(3, np.float32))
    assert not check(lambda x: x, select="RC5")(np.ones(3, np.float32))
    assert calls == []


def test_an_exception_of_the_compiler_is_a_finding(monkeypatch):
    def find(jaxpr, fun, arrays, traced):
        raise ValueError("x is committed elsewhere")

    monkeypatch.setattr(array_moves, "find", find)
    report = check(lambda x: x)(np.ones(3, np.float32))
    assert [f.message for f in report] == ["ValueError: x is committed elsewhere"]
    assert isinstance(report.exception, ValueError)


def test_a_report_is_a_sequence_that_is_true_if_there_is_something():
    report = check(everything)(KEY, VECTOR)
    assert [f.code for f in report] == ["RC501", "RC101"]
    assert report
    assert report[0].line == everything.__code__.co_firstlineno + 1
    assert not check(steady_scan)(VECTOR)


def test_text_is_one_line_a_finding(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    line = everything.__code__.co_firstlineno + 1
    text = str(check(everything)(KEY, VECTOR))
    first, second, last = text.splitlines()
    assert first.startswith(f"test_check.py:{line}: RC501 index 10 is out of bounds")
    assert second.startswith(f"test_check.py:{line + 1}: RC101 normal uses the key key, which")
    assert last == "2 errors"


def test_json_holds_all_fields():
    data = json.loads(check(everything)(KEY, VECTOR).to_json())
    assert data["version"] == 1
    assert [f["code"] for f in data["findings"]] == ["RC501", "RC101"]
    assert data["findings"][0]["file"] == __file__
    assert set(data["findings"][0]) == set(ricci_check.Finding.__dataclass_fields__)


def test_raise_if_any():
    report = check(promoted_scan)(VECTOR)
    report.raise_if_any("warning")
    with pytest.raises(CheckError, match="RC302") as caught:
        report.raise_if_any()
    assert caught.value.report is report
    with pytest.raises(ValueError, match="severity must be one of"):
        report.raise_if_any("bad")


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, ["RC501", "RC101"]),
        ({"select": "RC1"}, ["RC101"]),
        ({"select": ["RC101", "index-out-of-bounds"], "ignore": ["RC5"]}, ["RC101"]),
        ({"ignore": ["RC1", "RC5"]}, []),
    ],
)
def test_rules_are_chosen(options, codes):
    assert [f.code for f in check(everything, **options)(KEY, VECTOR)] == codes


@pytest.mark.parametrize("option", ["select", "ignore"])
def test_unknown_rules_are_refused(option):
    with pytest.raises(ValueError, match="is no rule"):
        check(everything, **{option: ["RC999"]})


def test_every_rule_has_a_code_of_its_own_and_says_what_to_do():
    assert all(code == rule.code and rule.summary and rule.advice for code, rule in RULES.items())
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


def test_nothing_runs_and_nothing_is_kept():
    traced = []

    @jit
    def fun(x):
        traced.append(type(x).__name__)
        return x + 1

    assert not check(fun)(VECTOR)
    fun(np.ones(5, np.float32))
    fun(np.ones(5, np.float32))
    assert traced == ["StagedTracer", "StagedTracer"]


def test_what_is_no_array_is_passed_as_it_is():
    fun = lambda mode, x, axis=None: x.sum(axis) if mode == "sum" else x
    assert not check(fun)("sum", VECTOR)
    assert not check(partial(fun, "sum"))(VECTOR)
    assert not check(jit(lambda n, x: x * n, static_argnums=0))(3, VECTOR)


def test_only_functions_are_checked():
    with pytest.raises(TypeError, match="check expects a function"):
        check(3)


# Primitives that the linter has not heard of, but for what their blocks say


@pytest.fixture
def block():
    """Defines primitives for the length of a test."""
    before = dict(primitives)
    yield define
    for name in set(primitives) - set(before):
        del primitives[name]


def test_known_numbers_are_followed_through_a_new_elementwise_primitive(block):
    doubled = nary("doubled", traced(lambda x: lax.add(x, x)), (np.integer,))

    def fun(x):
        return lax.dynamic_slice(x, [doubled.bind(np.int32(7))], (1,))  # RC501

    assert marked(check(fun)(VECTOR)) == ["RC501"]


def test_a_new_primitive_that_draws_from_keys_uses_them_up(block):
    noise = block(
        "noise",
        abstract_eval=lambda key: ShapedArray(key.shape, np.dtype(np.float32)),
        key_role=KeyRole.DRAW,
        **dict.fromkeys(REQUIRED, unsupported("not needed here")),
    )

    def fun(key):
        return noise.bind(key) + noise.bind(key)  # RC101

    assert marked(check(fun)(KEY)) == ["RC101"]


def test_a_new_primitive_that_reads_at_positions_is_checked(block):
    read = block(
        "read_at",
        abstract_eval=lambda x, i: ShapedArray((), x.dtype),
        positions=lambda avals, params: Positions((1,), (0,), (1,), "is read"),
        **dict.fromkeys(REQUIRED, unsupported("not needed here")),
    )

    def fun(x):
        return read.bind(x, np.int32(5)) + read.bind(x, np.int32(4))  # RC501

    assert marked(check(fun)(VECTOR)) == ["RC501"]
