"""The numbers of a jaxpr's values, against searches through its equations."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_lax import add, mul, sin
from ricci_lax.rolling._numbering import BEFORE, EARLIER, LITERAL, OUTSIDE, Numbering

PERIOD, COUNT = 4, 5
TYPE = ir.ShapedArray((2,), np.dtype(np.float32))


def _random_jaxpr(draw, count):
    """A jaxpr of random operations on random earlier values."""

    def operations(*args):
        values = [*args]
        for i in range(count):
            operation = (add, mul, sin)[i % PERIOD % 3]
            x, y = (values[-1 - min(draw.geometric(0.3), len(values)) + 1] for _ in range(2))
            values.append(sin(x) if operation is sin else operation(x, y))
        return values[-1], values[count // 2], values[0]

    return ir.trace_to_jaxpr(operations, [TYPE] * 3, ir.DebugInfo("jit", "operations"))


def _users(jaxpr, var):
    reads = [i for i, eqn in enumerate(jaxpr.eqns) if any(var is x for x in eqn.invars)]
    return reads + [len(jaxpr.eqns)] * any(var is x for x in jaxpr.outvars)


@pytest.mark.parametrize("seed", range(5))
def test_uses_and_sizes_are_those_found_in_the_equations(seed):
    draw = np.random.default_rng(seed)
    jaxpr = _random_jaxpr(draw, PERIOD * COUNT + 3)
    numbering = Numbering(jaxpr)
    start, stop = 2, 2 + PERIOD * COUNT
    firsts = numbering.first_equations(start, stop)
    made = {eqn.outvars[0]: i for i, eqn in enumerate(jaxpr.eqns)}
    for var in [*jaxpr.invars, *made]:
        number = numbering.numbers.get(var)
        near = [i for i in (made.get(var, -1), *_users(jaxpr, var)) if start <= i < stop]
        if number is not None:
            assert firsts[number] == (near[0] if near else -1)
        if var in made:
            assert numbering.last_uses[number] == max(_users(jaxpr, var), default=-1)
    changes = np.zeros(2 * PERIOD + 1)
    for var, i in made.items():
        later = [user for user in _users(jaxpr, var) if user <= i + PERIOD]
        if start <= i < start + 2 * PERIOD and later:
            changes[i + 1 - start] += 8
            changes[min(later[-1] + 1 - start, 2 * PERIOD)] -= 8
    sizes = np.full(2 * PERIOD, 8.0)
    passing = numbering.passing_bytes(start, PERIOD, sizes)
    np.testing.assert_array_equal(passing, np.cumsum(changes)[PERIOD:])


def test_origins_are_places_in_the_piece_or_in_the_one_before():
    def pieces(x, y):
        first = x
        for _ in range(3):
            before = x
            x = mul(add(sin(before), y), 2.0)
            first, x = before, add(x, first)
        return [x]

    jaxpr = ir.trace_to_jaxpr(pieces, [TYPE] * 2, ir.DebugInfo("jit", "pieces"))
    origins = Numbering(jaxpr).origins(0, 4, 0, 3)
    expected = [0, OUTSIDE, 1, LITERAL, 2]
    assert origins[0].tolist() == [OUTSIDE, *expected, OUTSIDE]
    assert origins[1].tolist() == [BEFORE + 3, *expected, OUTSIDE]
    assert origins[2].tolist() == [BEFORE + 3, *expected, EARLIER]
    assert Numbering(jaxpr).used_pieces(0, 4, 2).tolist() == [[False] * 3 + [True]] * 2
