"""Structural equality of jaxprs."""

import numpy as np
import pytest

from ricci_ir import ShapedArray, enable_x64, make_jaxpr, same_program
from ricci_lax import add, cond, gt, lt, mul, reduce_sum, scan, sin, while_loop

X = np.ones(3, np.float32)
ONE = np.float32(1)


def _loop(factor):
    return lambda x: scan(lambda c, _: (mul(c, factor), c), x, None, length=2)


MAKERS = {
    "operations": lambda: lambda x: mul(sin(x), x),
    "constants": lambda: (lambda c: lambda x: mul(x, c))(np.arange(3, dtype=np.float32)),
    "literal": lambda: lambda x: mul(x, np.float32(2)),
    "loop": lambda: _loop(np.float32(2)),
    "while": lambda: (
        lambda x: while_loop(lambda c: lt(c[1], 3), lambda c: (sin(c[0]), add(c[1], 1)), (x, 0))
    ),
    "branches": lambda: lambda x: cond(gt(reduce_sum(x, (0,)), ONE), sin, lambda x: x, x),
    "nothing": lambda: lambda x: x,
}


def _traced(make, *args):
    return make_jaxpr(make())(*(args or (X,)))


@pytest.mark.parametrize("name", MAKERS)
def test_a_function_traced_twice(name):
    assert same_program(_traced(MAKERS[name]), _traced(MAKERS[name]))


def test_all_others_differ():
    programs = {name: _traced(make) for name, make in MAKERS.items()}
    for one in programs:
        for other in programs:
            assert same_program(programs[one], programs[other]) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: add(x, ONE), lambda x: mul(x, ONE)),
        (lambda x: mul(x, np.float32(0.0)), lambda x: mul(x, np.float32(-0.0))),
        (lambda x: mul(x, ONE), lambda x: mul(x, np.float32(2))),
        (lambda x: mul(sin(x), x), lambda x: mul(x, sin(x))),
        (lambda x: (x, sin(x)), lambda x: (sin(x), x)),
        (lambda x: (x, x), lambda x: x),
        (_loop(ONE), _loop(np.float32(2))),
    ],
)
def test_programs_that_differ(one, other):
    assert not same_program(make_jaxpr(one)(X), make_jaxpr(other)(X))


def test_types_differ():
    twice = lambda: lambda x: add(x, x)
    narrow = _traced(twice, ShapedArray((3,), "float32"))
    assert not same_program(narrow, _traced(twice, ShapedArray((4,), "float32")))
    assert not same_program(narrow, _traced(twice, ShapedArray((3,), "int32")))


def test_settings_differ():
    def wide(x):
        with enable_x64(True):
            return sin(x)

    assert not same_program(make_jaxpr(wide)(X), make_jaxpr(sin)(X))
    assert same_program(make_jaxpr(wide)(X), make_jaxpr(wide)(X))
