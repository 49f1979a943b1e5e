"""Large results are in huge pages, stacks of rows are not filled; neither takes more memory."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
from ricci_xla import jit

SIZE = 1 << 23  # 32 MiB of float32, from which on malloc takes new pages
X = np.arange(SIZE, dtype=np.float32) / SIZE
KEY = np.array([1, 2], np.uint32)


def key_words(key):
    return [lax.slice_in_dim(key, i, i + 1) for i in range(2)]


def words(key):
    counter = lax.iota(np.uint32, SIZE)
    return lax.threefry2x32_xor_p.bind(*key_words(key), counter, counter)


def floats(key):
    return lax.mul(lax.convert_element_type(words(key), np.float32), np.float32(0.5))


def quotient(x):
    y = lax.exp(x)
    return lax.div(y, lax.add(y, np.float32(1)))


def loop(x):
    return lax.fori_loop(0, 2, lambda i, y: lax.sin(y), x)


def product(x):
    a = lax.reshape(x, (SIZE // 16, 16))
    return lax.add(lax.dot(a, lax.slice_in_dim(a, 0, 16)), np.float32(1))


PLACED = {
    "exponential": (lambda x: lax.exp(x), X),
    "formula": (lambda x: lax.mul(x, lax.sin(x)), X),
    "argument": (lambda x: lax.copy_p.bind(x), X),
    "called function": (lambda x: jit(lambda x: lax.mul(x, x))(x), X),
    "transposed": (lambda x: lax.transpose(lax.reshape(x, (4, SIZE // 4)), (1, 0)), X),
    "reshaped": (lambda x: lax.reshape(lax.exp(x), (4, SIZE // 4)), X),
    "flags": (lambda x: lax.broadcast(lax.gt(x, np.float32(0)), (4,)), X),
    "iota": (lambda: lax.iota(np.int32, SIZE),),
    "random words": (words, KEY),
    "random floats": (floats, KEY),
    "beside a small result": (lambda x: (lax.exp(x), lax.slice_in_dim(x, 0, 8)), X),
}
OTHERS = {
    "small": (lambda x: lax.exp(x), X[:-1]),
    "two results": (lambda x: (lax.exp(x), lax.neg(x)), X),
    "result with another use": (lambda x: (y := lax.exp(x), lax.reduce_sum(y, (0,))), X),
    "expensive operation with two uses": (quotient, X),
    "loop": (loop, X),
    "product": (product, X),
    "sum of rows": (lambda x: lax.cumsum(x), X),
    "mask of random words": (lambda key: lax.bitwise_and(words(key), np.uint32(1)), KEY),
}


def compiled(case, enabled=True):
    function, *arguments = case
    with ir.native_kernels(enabled):
        return jit(lambda *xs: function(*xs)).lower(*arguments)


@pytest.mark.parametrize("case", PLACED.values(), ids=PLACED)
def test_large_results_of_loops_are_in_huge_pages(case):
    assert "ricci_native_huge_pages" in compiled(case).as_text()


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_other_results_are_where_xla_puts_them(case):
    assert "ricci_native_huge_pages" not in compiled(case).as_text()


@pytest.mark.parametrize("case", PLACED.values(), ids=PLACED)
def test_huge_pages_take_no_more_memory_and_change_no_bit(case):
    _, *arguments = case
    results, sizes = [], []
    for enabled in (True, False):
        executable = compiled(case, enabled).compile()
        sizes.append(executable.memory_analysis().temp_size_in_bytes)
        result = executable(*arguments)
        results.append(np.asarray(result[0] if isinstance(result, tuple) else result))
    np.testing.assert_array_equal(*results)
    assert sizes[0] <= sizes[1] + 1024


def test_memory_of_donated_arguments_is_reused():
    donating = jit(lambda x: lax.exp(x), donate_argnums=0)
    assert "ricci_native_huge_pages" not in donating.lower(X).as_text()


ROWS = np.arange(9 * 3840, dtype=np.float32).reshape(9, 3840)  # 135 KiB


def _squares(rows, reverse, unroll):
    def step(carry, row):
        return lax.add(carry, row), (lax.mul(carry, row), lax.neg(row), lax.reduce_sum(row, (0,)))

    return lax.scan(step, np.zeros_like(ROWS[0]), rows, reverse=reverse, unroll=unroll)


@pytest.mark.parametrize(("unroll", "count"), [(1, 2), (4, 2), (9, 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_write_their_rows_to_memory_that_is_not_filled(reverse, unroll, count):
    texts, results, sizes = [], [], []
    for enabled in (True, False):
        lowered = compiled((lambda rows: _squares(rows, reverse, unroll), ROWS), enabled)
        executable = lowered.compile()
        texts.append(lowered.as_text())
        sizes.append(executable.memory_analysis().temp_size_in_bytes)
        carry, rows = executable(ROWS)
        results.append([np.asarray(x) for x in (carry, *rows)])
    # Two stacks are large, and one is small; steps that are written out are not a loop.
    assert [text.count('"ricci_native_huge_pages') for text in texts] == [count, 0]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    assert sizes[0] <= sizes[1] + 1024


def test_stacks_of_loops_without_steps_are_empty():
    _, (rows, *_) = _squares(ROWS[:0], False, 1)
    assert rows.shape == (0, 3840)
