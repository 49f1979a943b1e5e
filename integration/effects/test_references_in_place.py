"""Writes to references are in place, and cause no new compilation."""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

import ricci
import ricci.numpy as jnp
from ricci import lax


def new(x):
    return ricci.new_ref(x)


# In programs


def _copies(text, shape):
    """The copies of arrays of a shape in an optimized program."""
    return [
        line for line in text.splitlines() if re.search(rf"= {re.escape(shape)}\S* copy\(", line)
    ]


def _looping(r, x):
    lax.fori_loop(0, 100, lambda i, _: r.__setitem__(i, r[i] * 2 + x * i), None)
    lax.scan(lambda c, i: (c + 1, r.__setitem__((i, 0), r[i, 0] + c)), 0.0, jnp.arange(100))
    lax.while_loop(lambda i: i < 9, lambda i: (r.addupdate(x, (i, 1)), i + 1)[1], 0)
    lax.cond(x > 0, lambda: r.__setitem__((0, 0), x), lambda: r.__setitem__((1, 1), x))
    ricci.jit(lambda a: a.__setitem__(0, a[1]))(r)


def test_loops_and_branches_write_without_a_copy_of_the_array():
    compiled = ricci.jit(_looping).lower(new(jnp.zeros((100, 50))), 3.0).compile()
    assert "may-alias" in compiled.as_text()
    assert not _copies(compiled.as_text(), "f32[100,50]")
    assert compiled.memory_analysis().temp_size_in_bytes < 100 * 50 * 4


def test_a_reference_made_inside_is_written_without_a_copy():
    def f(x):
        r = ricci.new_ref(jnp.zeros((100, 50)))
        lax.fori_loop(0, 100, lambda i, _: r.__setitem__(i, x * i), None)
        return r[...]

    assert not _copies(ricci.jit(f).lower(jnp.ones(50)).compile().as_text(), "f32[100,50]")


def test_an_array_that_a_jitted_function_writes_keeps_its_memory():
    f = ricci.jit(lambda r, x: r.__setitem__(0, x))
    r = new(jnp.zeros(1000))
    f(r, 1.0)  # copies the array, which the caller may hold
    place = r.read().unsafe_buffer_pointer()
    for i in range(3):
        f(r, float(i))
        assert r.read().unsafe_buffer_pointer() == place
    held = r[...]
    f(r, 7.0)
    assert held[0] == 2 and r[0] == 7  # the read value stays as it is


# Indices of an array of 40 rows of 500 elements, and of the selected elements.
PLACES = [
    3,
    -2,
    (5, 7),
    (-1, slice(None)),
    (slice(None), 9),
    slice(2, 30),
    (slice(4, 9), slice(100, 103)),
    (..., slice(0, 499)),
    slice(1, 40, 3),
    slice(8, 8),
    slice(None),
    ...,
    np.array([1, 1, 39]),
    (np.array([0, 2]), np.array([3, 4])),
    (np.array([0, 2]), 5),
    (np.array([0, 2]), slice(2, 4)),
    (2, np.array([7, 7])),
]


@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_a_large_array_is_written_as_numpy_writes_it(wide):
    with ricci.enable_x64(wide):
        given = jnp.arange(20000.0).reshape(40, 500)
        before = np.array(given)
        for place in PLACES[::3] if wide else PLACES:
            r, expected = new(given), before.copy()
            part = expected[place]
            for turn in range(3):  # at first the array is the caller's
                value = np.full(part.shape, turn, before.dtype)
                r[place] = value
                expected[place] = value
                held, was = r[...], expected.copy()
                old = ricci.ref.swap(r, place, value + 1)
                assert np.array_equal(old, was[place])
                r.addupdate(value, place)
                expected[place] = value + 1
                np.add.at(expected, place, value)
                assert np.array_equal(r[...], expected), place
                assert np.array_equal(held, was) and np.array_equal(old, was[place]), place
        assert np.array_equal(given, before)


def test_views_of_a_large_array_are_written():
    r, expected = new(jnp.zeros((40, 500))), np.zeros((40, 500), np.float32)
    for turn in range(2):
        r.at[1:].at[-3].at[2:][4] = 7.0 + turn
        r.at[5:, 3].addupdate(jnp.ones(35))
        r.at[np.array([4, 2])].at[0][3:5] = jnp.ones(2)
        expected[1:][-3][2:][4] = 7 + turn
        expected[5:, 3] += 1
        expected[4, 3:5] = 1
        assert np.array_equal(r[...], expected)


@pytest.mark.parametrize("place", [3, (slice(2, 5), 0), np.array([1, 2])], ids=str)
def test_unshared_large_arrays_are_written_in_place(place, compilations):
    r = new(jnp.zeros((40, 500)))
    part = r[place]
    writes = (
        lambda: r.__setitem__(place, part),
        lambda: r.addupdate(part, place),
        lambda: ricci.ref.swap(r, place, part),
    )
    for write in writes:
        write()
        address, count = r.unsafe_buffer_pointer(), len(compilations)
        write()
        assert r.unsafe_buffer_pointer() == address
        write()  # the step that takes over the memory was compiled above
        assert r.unsafe_buffer_pointer() == address and len(compilations) <= count + 1
        held = r[...]
        write()
        assert r.unsafe_buffer_pointer() != address and not held.is_deleted()


def test_a_write_to_nothing_leaves_the_array_to_its_owner():
    given = jnp.arange(4.0)
    r = new(given)
    r[0:0] = jnp.zeros(0)
    ricci.jit(lambda r: r.__setitem__(0, 5.0))(r)
    assert given.tolist() == [0, 1, 2, 3] and r[0] == 5


def test_a_large_array_under_other_settings():
    r = new(jnp.zeros((40, 500)))
    with ricci.disable_jit():
        r[0, 0] = 1.0
        r[0, 0] += 1.0
    with ricci.debug_nans(True):
        r[0, 1] = 2.0
        with pytest.raises(FloatingPointError):
            r[0, 2] = jnp.nan
        assert not r.read().is_deleted()
    keys = new(ricci.random.split(ricci.random.key(0), 20000))
    keys[3] = keys[5]
    keys[3] = keys[5]
    assert r[0, :2].tolist() == [2, 2] and keys[3] == keys[5]
    with pytest.raises(ValueError, match="from outside"):
        ricci.grad(lambda x: (r.__setitem__((0, 0), x), x)[1])(1.0)
    assert r[0, 0] == 2


def test_values_and_positions_do_not_recompile(compilations):
    f = ricci.jit(lambda r, i: r.__setitem__(i, r[i] + 1))
    refs = [new(jnp.full(7, float(i))) for i in range(4)]
    for _ in range(9):  # the first calls of small operations are not compiled
        f(refs[0], 0), refs[0][1], refs[0].__setitem__(1, 2.0)
    before = len(compilations)
    for i, r in enumerate(refs):
        f(r, i)
        r[i], r.__setitem__(i, 2.0)
    assert len(compilations) == before
