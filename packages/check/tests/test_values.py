"""The rules on indices, types, constants, transformations and donation.

A line that is to be found is marked with a comment of the code.
"""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as rnp
import ricci_random as random
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_check import check
from ricci_ir import ShapeDtypeStruct, enable_x64
from ricci_xla import jit

KEY = random.key(0)
VECTOR = ShapeDtypeStruct((5,), "float32")
MATRIX = ShapeDtypeStruct((4, 5), "float32")
LARGE = np.ones((600, 600), np.float32)


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
        (lambda x: x.at[9].get(mode="fill", fill_value=0), [VECTOR], None),
        (vmap(lambda x: x.at[9].get(mode="fill", fill_value=-1)), [MATRIX], None),
        (lambda x: rnp.take(x, 10, mode="fill", fill_value=0), [VECTOR], None),
        (grad(lambda x: x.at[9].get(mode="fill", fill_value=0) ** 2), [VECTOR], None),
        (lambda x: x.at[10].get(mode="fill"), [VECTOR], "the fill value is read"),
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


def test_an_index_in_a_loop_is_found_once(marked):
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
    report = check(fun, select=["RC201", "RC202"])(*args)
    assert [(f.code, f.severity) for f in report] == found


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
def test_promoted_carries(fun, args, message, wrap, marked):
    fun = wrap(fun)
    for _ in range(2):  # also where the program is known already
        report = check(fun, select="RC302")(*args)
        assert marked(report) == (["RC302"] if message else [])
        assert message is None or message in report[0].message


# Promotion

INT32, UINT32 = np.int32([1]), np.uint32([1])


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["", "jit"])
@pytest.mark.parametrize(
    ("fun", "args", "message"),
    [
        (lambda x, y: x + y, [UINT32, INT32], "warning: uint32 is promoted to int32"),
        (lambda x, y: x / y, [INT32, np.float16([1])], "which rounds integers above 2**11"),
        (lambda x, y: x * y, [INT32, VECTOR], "note: int32 is promoted to float32"),
        (lambda x, y: x * y, [np.int16([1]), VECTOR], None),
        (lambda x, y: x * y.astype(x.dtype), [UINT32, INT32], None),
        (lambda x, y: x < y, [UINT32, INT32], None),  # by value
        (lambda x: x * 0.5 + 1, [INT32], None),
    ],
)
def test_promotions_that_lose_digits(fun, args, message, wrap):
    fun = wrap(fun)
    for _ in range(2):
        report = check(fun, select="RC203")(*args)
        assert len(report) == (message is not None)
        assert message is None or message in f"{report[0].severity}: {report[0].message}"


# Constants


def test_large_constants(marked):
    def fun(x):
        y = x + 1
        return y @ LARGE  # RC401

    for each in (fun, jit(fun), lambda x: jit(fun)(x)):
        report = check(each, select="RC4")(ShapeDtypeStruct((600,), "float32"))
        assert [f.code for f in report] == ["RC401"]
        assert "1.4 MB, float32[600,600]" in report[0].message
    assert marked(check(fun, select="RC4")(ShapeDtypeStruct((600,), "float32"))) == ["RC401"]


def test_small_and_computed_arrays_are_not_large_constants():
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
def test_cond_under_vmap(fun, codes, marked):
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
def test_loops_in_reverse(fun, codes, marked):
    report = check(fun, select=["RC001", "RC602"])(ShapeDtypeStruct((), "float32"))
    assert marked(report) == codes
    assert (report.exception is not None) == bool(codes)


def test_findings_before_an_exception_are_reported(marked):
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
        # Calls within a jitted function or a loop's body donate nothing.
        (jit(lambda x: jit(scale, donate_argnums=0)(x, x)), [VECTOR], None),
        (lambda x: jit(lambda x: jit(scale, donate_argnums=0)(x, x))(x), [VECTOR], None),
        (lambda x: lax.map(lambda x: jit(scale, donate_argnums=0)(x, x), x), [VECTOR], None),
        (jit(lambda a, b: (a * b, 1), donate_argnums=0), [VECTOR, VECTOR], None),
        (jit(lambda a, b: a * b, donate_argnums=(0, 1)), [VECTOR, VECTOR], "b is donated"),
        (jit(scale), [VECTOR, VECTOR], None),
    ],
)
def test_donation(fun, args, found):
    report = check(fun, select="RC7")(*args)
    assert len(report) == (found is not None)
    assert found is None or found in report[0].message
