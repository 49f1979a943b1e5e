"""``precision``: the values of the recorded operations, and the lines' errors."""

from itertools import combinations

import numpy as np
import pytest

from ricci_autodiff import value_and_grad
from ricci_batching import vmap
from ricci_ir import enable_x64
from ricci_lax import (
    add,
    concatenate,
    cond,
    convert_element_type,
    div,
    exp,
    expand_dims,
    full_like,
    gt,
    index_in_dim,
    log,
    lt,
    mul,
    reduce_max,
    reduce_sum,
    reshape,
    scan,
    sin,
    sqrt,
    sub,
    while_loop,
)
from ricci_lax.precision import precision
from ricci_lax.precision._formats import REFERENCE, distance, next_format, root_mean_square, widened
from ricci_lax.precision._replay import Replay
from ricci_lax.precision._tape import Tape
from ricci_lax.stepping import run_in_steps

X = np.linspace(0.5, 3, 12, dtype=np.float16).reshape(4, 3)


def total(x):
    return reduce_sum(mul(sin(x), x), (0,))


def collected(x):
    def step(carry, row):
        carry = add(carry, mul(row, row))
        return carry, sub(carry, row)

    last, rows = scan(step, index_in_dim(x, 0, keepdims=False), x)
    return concatenate([rows, expand_dims(mul(last, last), (0,))], 0)


def looped(x):
    def going(s):
        largest = reduce_max(s, (0, 1))
        return lt(largest, full_like(largest, 50.0))

    return while_loop(going, lambda s: mul(s, add(s, full_like(s, 1.0))), x)


def branched(x):
    largest = reduce_max(x, (0, 1))
    return cond(gt(largest, full_like(largest, 0.0)), lambda x: exp(x), lambda x: log(x), x)


PROGRAMS = {
    "plain": total,
    "scan": collected,
    "while": looped,
    "batched while": lambda x: vmap(looped)(reshape(x, (2, 2, 3))),
    "cond": branched,
    "grad": lambda x: value_and_grad(lambda x: reduce_sum(collected(x), (0, 1)))(x),
}


def replayed(program, *args):
    tape = Tape()
    results = run_in_steps(tape, program, args, {})
    operands = [tape.operand(x) for _, x in results]
    with enable_x64(True):
        return tape, Replay(tape), operands


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_operations_run_again_give_the_same_values(backend, name):
    tape, replay, _ = replayed(PROGRAMS[name], X)
    with enable_x64(True):
        values = replay.run({})
    for again, value in zip(values, tape.values, strict=True):
        np.testing.assert_array_equal(again, np.asarray(value))
        assert again.dtype == value.dtype


@pytest.mark.parametrize("name", PROGRAMS)
def test_wide_values_are_those_of_the_function_in_float64(backend, name):
    _, replay, operands = replayed(PROGRAMS[name], X)
    wide = [replay.reference[x.value] for x in operands]
    with enable_x64(True):
        results = PROGRAMS[name](X.astype(np.float64))
    results = results if isinstance(results, tuple) else (results,)
    for value, expected in zip(wide, results, strict=True):
        assert value.dtype == REFERENCE
        np.testing.assert_allclose(value, np.asarray(expected), rtol=1e-12)


def test_an_exact_line_is_not_listed(backend):
    def program(x):
        y = sin(x)
        return concatenate([y, y], 0)

    assert [row["operation"] for row in precision(program)(X).rows] == ["sin"]


def test_a_cast_on_a_widened_line_is_left_out(backend):
    def program(x):
        y = convert_element_type(x, np.float16)
        return sub(convert_element_type(y, np.float32), x)

    report = precision(program, suggest=True)(np.float32([1.0001, 2.0003]))
    assert report.lines[0].wider == "float32"
    assert report.lines[0].operation == "convert_element_type"


def test_overflow_has_an_infinite_effect(backend):
    report = precision(lambda x: log(exp(x)))(np.float16(12))
    assert report.error == report.lines[0].effect == np.inf


def test_rounding_of_a_factor_belongs_to_its_line(backend):
    def wave(x):
        position = add(x, full_like(x, 0.3))
        angle = mul(position, full_like(x, 2.0))
        return sin(div(angle, full_like(x, 4.0)))

    rows = precision(wave)(np.float16([300.3, 500.7])).rows
    assert "position = add" in rows[0]["text"]
    assert rows[0]["effect"] > 0.01
    assert [row["text"].split(" = ")[0] for row in rows] == [
        "position",
        "return sin(div(angle, full_like(x, 4.0)))",
    ]


def test_a_factor_below_the_range_is_lost_in_its_line(backend):
    def weighted(x, y):
        squares = mul(x, x)
        weights = mul(squares, y)
        return mul(weights, full_like(weights, 1e4))

    rows = precision(weighted)(np.float16([1e-4, 2e-4]), np.float16([64.0, 128.0])).rows
    assert "squares = mul" in rows[0]["text"]
    assert rows[0]["flushed"] > 0 and all(row["flushed"] == 0 for row in rows[1:])


def test_a_product_that_becomes_0_is_seen_after_one_that_is_rounded(backend):
    def scaled(x):
        part = mul(x, full_like(x, 0.00390625))
        return mul(part, full_like(x, 0.25))

    # The part is 3.9e-8, and rounded to 6e-8, the smallest number.
    rows = {row["text"]: row for row in precision(scaled)(np.float16([1e-5, 1e-5])).rows}
    product = rows["return mul(part, full_like(x, 0.25))"]
    assert product["flushed"] == product["local"] == 1


def mean(x):
    return div(reduce_sum(x, (0,)), full_like(index_in_dim(x, 0, keepdims=False), 40.0))


def covariance(x, y):
    products = mean(mul(x, y))
    difference = sub(products, mul(mean(x), mean(y)))
    return add(difference, difference)


def normed(x, y):
    total = reduce_sum(mul(x, x), (0,))
    length = sqrt(total)
    scaled = div(x, full_like(x, 8.0))
    return sub(sin(length), mean(mul(scaled, y)))


def weights(x, y):
    scores = mul(x, full_like(x, 61.0))
    shifted = sub(scores, full_like(x, 120.0))
    e = exp(shifted)
    return mul(e, y)


@pytest.mark.parametrize("fun", [covariance, normed, weights], ids=lambda fun: fun.__name__)
def test_no_fewer_casts_reach_the_bound(backend, fun):
    x, y = (1 + np.random.RandomState(i).rand(40).astype(np.float16) for i in (0, 1))
    report = precision(fun, x, y, suggest=True, bound=1e-3)
    casts = report.suggestion
    assert casts.reached and casts.lines
    tape = Tape()
    ((_, result),) = run_in_steps(tape, fun, (x, y), {})
    number = tape.number(result)
    lines = {(row.file, row.line): next_format(np.dtype(row.dtype)) for row in report.lines}
    with enable_x64(True):
        replay = Replay(tape)
        for fewer in combinations(lines, len(casts.lines) - 1):
            value = replay.run({key: lines[key] for key in fewer})[number]
            assert distance(value.astype(np.float16), replay.reference[number]) > casts.bound


def test_nothing_is_traced_afterwards(backend):
    from_inside = []

    def failing(x):
        from_inside.append(x)
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        precision(failing)(X)
    assert from_inside == []  # the list is as before
    assert float(sin(0.0)) == 0.0


@pytest.mark.parametrize(
    ("dtype", "wider"), [("float16", "float32"), ("complex64", "float64"), ("float32", "float64")]
)
def test_next_format_is_the_wider_real_format(dtype, wider):
    assert next_format(np.dtype(dtype)).name == wider


def test_widened_keeps_formats_that_are_as_wide():
    assert widened(np.dtype("float64"), np.dtype("float32")).name == "float64"
    assert widened(np.dtype("complex64"), REFERENCE).name == "complex128"


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([3.0, 4.0], [3.0, 0.0], 4 / 3),
        ([np.inf], [1.0], np.inf),
        ([np.nan, 1.0], [np.nan, 2.0], 0.5),
        ([np.inf], [np.inf], 0.0),
        ([1e-9], [0.0], 1.0),
        ([], [], 0.0),
    ],
)
def test_distance_is_the_relative_norm(narrow, wide, expected):
    assert distance(np.array(narrow), np.array(wide)) == pytest.approx(expected)


def test_root_mean_square_is_that_of_finite_elements():
    assert root_mean_square(np.array([3.0, -4.0, np.inf, np.nan])) == pytest.approx(12.5**0.5)
    assert root_mean_square(np.array([3e300, 4e300])) == pytest.approx(1e300 * 12.5**0.5)
    assert root_mean_square(np.array([np.inf])) == root_mean_square(np.zeros((0, 3))) == 0


def test_distance_is_relative_to_a_floor():
    assert distance(np.array([1e-3]), np.array([0.0]), floor=0.1) == pytest.approx(1e-2)
