"""The periods and operations that the search for equal layers compares."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_lax import add, mul, tanh
from ricci_lax.rolling._pieces import _possible_periods, operation_numbers


def _repeated(numbers, period):
    """Whether a piece of this length stands three times in a row somewhere."""
    equal = numbers[:-period] == numbers[period:]
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], ~equal, [True]]))) - 1
    return lengths.max() >= 2 * period


@pytest.mark.parametrize("seed", range(20))
def test_no_period_of_three_pieces_is_left_out(seed):
    draw = np.random.default_rng(seed)
    parts = []
    for _ in range(4):
        piece = draw.integers(0, 5, draw.integers(1, 60))
        parts += [draw.integers(0, 5, draw.integers(0, 20)), *[piece] * draw.integers(1, 9)]
    numbers = np.concatenate(parts)
    possible = _possible_periods(numbers)
    expected = [p for p in range(1, len(numbers) // 3 + 1) if _repeated(numbers, p)]
    assert set(expected) <= set(possible)


@pytest.mark.parametrize("length", range(4))
def test_short_sequences_have_no_period_but_one(length):
    assert set(_possible_periods(np.zeros(length, np.int32))) <= {1}


def test_operations_are_told_apart_by_literals_and_parameters():
    def operations(x):
        return tanh(mul(add(x, 1.0), 1.0)), add(x, 1.0), add(x, 0.0), add(x, -0.0), add(x, 1.0)

    jaxpr = ir.trace_to_jaxpr(
        operations, [ir.ShapedArray((2,), np.dtype(np.float32))], ir.DebugInfo("jit", "operations")
    )
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names == ["add", "mul", "tanh", *["add"] * 4]
    assert operation_numbers(jaxpr.eqns).tolist() == [0, 1, 2, 0, 4, 5, 0]
