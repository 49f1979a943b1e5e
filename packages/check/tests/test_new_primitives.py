"""Primitives that the linter has not heard of, but for an entry in its tables."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_random as random
from ricci_check import Positions, check, position_rules
from ricci_ir import (
    KeyRole,
    ShapedArray,
    ShapeDtypeStruct,
    define,
    key_roles,
    primitives,
    unsupported,
)
from ricci_lax.authoring import nary
from ricci_stablehlo import traced

KEY = random.key(0)
VECTOR = ShapeDtypeStruct((5,), "float32")
REQUIRED = ("jvp", "transpose", "batch", "lower", "sharding")


@pytest.fixture
def block():
    """Defines primitives for the length of a test."""
    primitives.load_all()
    before = dict(primitives)
    yield define
    for name in set(primitives) - set(before):
        del primitives[name]


def test_known_numbers_are_followed_through_a_new_elementwise_primitive(block, marked):
    doubled = nary("doubled", traced(lambda x: lax.add(x, x)), (np.integer,))

    def fun(x):
        return lax.dynamic_slice(x, [doubled.bind(np.int32(7))], (1,))  # RC501

    assert marked(check(fun)(VECTOR)) == ["RC501"]


def test_a_new_primitive_that_draws_from_keys_uses_them_up(block, marked, monkeypatch):
    noise = block(
        "noise",
        abstract_eval=lambda key: ShapedArray(key.shape, np.dtype(np.float32)),
        **dict.fromkeys(REQUIRED, unsupported("not needed here")),
    )
    monkeypatch.setitem(key_roles, noise, KeyRole.DRAW)

    def fun(key):
        return noise.bind(key) + noise.bind(key)  # RC101

    assert marked(check(fun)(KEY)) == ["RC101"]


def test_a_new_primitive_that_reads_at_positions_is_checked(block, marked, monkeypatch):
    read = block(
        "read_at",
        abstract_eval=lambda x, i: ShapedArray((), x.dtype),
        **dict.fromkeys(REQUIRED, unsupported("not needed here")),
    )
    rule = lambda avals, params: Positions((1,), (0,), (1,), "is read")
    monkeypatch.setitem(position_rules, read, rule)

    def fun(x):
        return read.bind(x, np.int32(5)) + read.bind(x, np.int32(4))  # RC501

    assert marked(check(fun)(VECTOR)) == ["RC501"]


def test_a_primitive_without_entries_is_read_over(block, marked):
    bare = block(
        "bare", abstract_eval=lambda x: x, **dict.fromkeys(REQUIRED, unsupported("not needed here"))
    )

    def fun(x, key):
        x = bare.bind(x) + random.uniform(bare.bind(key)) + random.uniform(bare.bind(key))
        return lax.dynamic_slice(x, [np.int32(7)], (1,))  # RC501

    assert marked(check(fun)(VECTOR, KEY)) == ["RC501"]
