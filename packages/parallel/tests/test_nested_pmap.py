"""``pmap`` within ``pmap``: every slice of a slice has another device."""

from functools import partial

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import clear_caches
from ricci_lax import (
    add,
    checkpoint,
    cond,
    convert_element_type,
    div,
    fori_loop,
    mul,
    reduce_sum,
    sin,
    sub,
)
from ricci_parallel import all_gather, axis_index, pmap, pmean, psum
from ricci_xla import P, devices, jit

X = np.arange(1, 9, dtype=np.float32).reshape(4, 2)


def nested(fun):
    """Both ways to map a function over rows and columns: over devices, and over a batch."""
    both = []
    for mapped in (pmap, vmap):
        both.append(mapped(mapped(fun, axis_name="j"), axis_name="i"))
    return both


def rows(fun):
    """Both ways to map a function of ``mapped``, which maps over the columns, over the rows."""
    both = []
    for mapped in (pmap, vmap):
        both.append(mapped(partial(fun, partial(mapped, axis_name="j")), axis_name="i"))
    return both


def index(axes):
    return convert_element_type(axis_index(axes), np.dtype("float32"))


def wave(x):
    return mul(sin(x), mul(psum(x, "j"), pmean(x, "i")))


PAIRS = {
    "sums": nested(lambda x: (psum(x, "i"), psum(x, "j"), div(x, psum(x, ("i", "j"))))),
    "gathered": nested(lambda x: all_gather(x, "j")),
    "gradient inside": nested(grad(lambda x: mul(sin(x), x))),
    "work around": rows(
        lambda m, row: add(m(lambda x: sub(x, pmean(x, "j")))(row), psum(row, "i"))
    ),
    "positions": rows(
        lambda m, row: add(m(lambda x: add(x, index(("i", "j"))))(row), mul(10.0, index("i")))
    ),
    "closed over": rows(lambda m, row: m(lambda x: add(x, reduce_sum(row, (0,))))(row)),
    "gradient between": rows(lambda m, row: grad(lambda r: reduce_sum(m(wave)(r), (0,)))(row)),
    "in a loop": rows(
        lambda m, row: fori_loop(0, 3, lambda _, r: m(lambda x: sub(x, pmean(x, "j")))(r), row)
    ),
    "in a branch": rows(lambda m, row: cond(True, m(lambda x: mul(x, x)), lambda r: r, row)),
    "in jit": rows(lambda m, row: jit(m(wave))(row)),
    "two of one axis": rows(lambda m, row: (m(wave)(row), m(lambda x: psum(x, "j"))(row))),
}


@pytest.mark.parametrize("case", PAIRS)
def test_nested_pmap_equals_nested_vmap(case):
    over_devices, over_batch = PAIRS[case]
    found, expected = over_devices(X), over_batch(X)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for y, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
        assert y.sharding.device_set == set(devices()[:8])


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: grad(lambda x: reduce_sum(f(x), (0, 1))),
        lambda f: grad(lambda x: reduce_sum(checkpoint(f)(x), (0, 1))),
        lambda f: jit(lambda x: add(f(x), 1.0)),
        lambda f: lambda x: vmap(f)(np.stack([x, x + 1])),
    ],
    ids=["grad", "checkpoint", "jit", "vmap"],
)
def test_nested_pmap_under_transformations(transform):
    over_devices, over_batch = map(transform, nested(wave))
    expected = over_batch(X)
    for _ in range(2):
        np.testing.assert_allclose(over_devices(X), expected, rtol=1e-4)
        clear_caches()


def test_each_part_has_its_device():
    y = pmap(pmap(lambda x: add(x, 1.0), axis_name="j"), axis_name="i")(X)
    assert y.sharding.spec == P("i", "j")
    assert [s.device for s in y.addressable_shards] == devices()[:8]
    assert [s.data.shape for s in y.addressable_shards] == [(1, 1)] * 8
    again = pmap(pmap(lambda x: add(x, 1.0), axis_name="j"), axis_name="i")(y)
    np.testing.assert_array_equal(again, X + 2)


def test_three_within_each_other():
    f = lambda mapped: mapped(mapped(mapped(lambda x: psum(x, "k"), axis_name="k")))
    np.testing.assert_array_equal(f(pmap)(X.reshape(2, 2, 2)), f(vmap)(X.reshape(2, 2, 2)))


@pytest.mark.parametrize("inner", ["i", "j"])
def test_an_axis_that_has_no_devices_is_a_batch_on_each(inner):
    """A name that is taken, and the second of two sizes: the first has the devices."""

    def work(mapped, row):
        first = mapped(lambda x: psum(x, inner), axis_name=inner)(row)
        return first, mapped(lambda x: mul(x, psum(x, "k")), axis_name="k")(row)

    found = pmap(partial(work, pmap), axis_name="i")(X)
    expected = vmap(partial(work, vmap), axis_name="i")(X)
    for y, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y, want)


def test_a_cached_function_serves_all_enclosing_pmaps():
    inner = jit(lambda row: pmap(lambda x: mul(x, 3.0), axis_name="j")(row))
    for chosen in (devices()[:8], devices()[:8][::-1]):
        outer = pmap(lambda row: add(inner(row), 1.0), axis_name="i", devices=chosen)
        y = outer(X)
        np.testing.assert_array_equal(y, 3 * X + 1)
        assert [s.device for s in y.addressable_shards] == chosen
    np.testing.assert_array_equal(inner(X[0]), 3 * X[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pmap(pmap(lambda x: x))(np.ones((4, 3))), "requires 12 replicas.* only 8 XLA"),
        (
            lambda: pmap(pmap(lambda x: x), devices=devices()[:4])(np.ones((4, 2))),
            "requires 8 replicas.* only 4 XLA",
        ),
        (
            lambda: pmap(pmap(lambda x: x, devices=devices()[:2]))(np.ones((4, 2))),
            "devices cannot be chosen inside",
        ),
    ],
)
def test_devices_that_are_missing(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    np.testing.assert_array_equal(pmap(pmap(lambda x: x))(X), X)
