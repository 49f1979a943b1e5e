"""Caches by function: bound methods by the state of their object."""

import gc
import weakref
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
import pytest

from ricci_ir import TracedFunctions
from ricci_ir.jaxprs._by_function import state_of


class Mode(Enum):
    FAST = 1


@dataclass(frozen=True)
class Settings:
    rate: float


class Array:
    """A class that the front end takes for an array: it has an ``aval``."""

    aval = None


class Solver:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def step(self, x):
        return x


class Slotted:
    __slots__ = ("rate",)

    def step(self, x):
        return x


@pytest.fixture
def kept():
    return TracedFunctions("test", 8)


def function(x):
    return x


array = Array()

VALUES = {
    "none": (None, 0),
    "int": (1, 2),
    "bool": (1, True),
    "float": (1.0, 1),
    "zero": (0.0, -0.0),
    "text": ("a", "b"),
    "dtype": (np.dtype("float32"), np.dtype("float64")),
    "scalar": (np.float32(1), np.float64(1)),
    "list": ([1, 2], [1, 3]),
    "tuple": ((1, 2), [1, 2]),
    "dict": ({"a": 1}, {"a": 2}),
    "enum": (Mode.FAST, None),
    "function": (function, print),
    "class": (Mode, Settings),
    "frozen": (Settings(1.0), Settings(2.0)),
    "array": (array, Array()),
    "method": (Solver(n=1).step, Solver(n=1).step),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("value", "other"), VALUES.values(), ids=VALUES)
def test_bound_methods_are_cached_while_their_object_is_unchanged(kept, value, other):
    solver = Solver(value=value)
    kept.put(solver.step, "key", "traced")
    gc.collect()
    assert kept.recall(solver.step, "key") == "traced"
    assert kept.recall(partial(solver.step), "key") is None
    solver.value = other
    assert kept.recall(solver.step, "key") is None
    kept.put(solver.step, "key", "anew")
    assert kept.recall(solver.step, "key") == "anew"


def test_a_list_that_is_changed_in_place_is_another():
    table = TracedFunctions("test", 8)
    solver = Solver(values=[1, {"a": [2]}])
    table.put(solver.step, "key", "traced")
    solver.values[1]["a"].append(3)
    assert table.recall(solver.step, "key") is None


def test_nan_attributes_equal_themselves(kept):
    solver = Solver(value=float("nan"))
    kept.put(solver.step, "key", "traced")
    assert kept.recall(solver.step, "key") == "traced"


def test_attributes_that_are_added_or_removed_count(kept):
    solver = Solver(value=1)
    kept.put(solver.step, "key", "traced")
    solver.more = None
    assert kept.recall(solver.step, "key") is None
    del solver.more
    assert kept.recall(solver.step, "key") == "traced"


@pytest.mark.parametrize("value", [np.zeros(3), object(), Solver(), {1, 2}, iter([1])])
def test_methods_of_mutable_objects_are_not_cached(kept, value):
    solver = Solver(value=value)
    assert state_of(solver.step) is None
    kept.put(solver.step, "key", "traced")
    assert kept.recall(solver.step, "key") is None


def test_methods_of_objects_with_slots_are_not_cached(kept):
    assert state_of(Slotted().step) is None


def test_an_object_that_holds_itself_is_not_known():
    solver = Solver()
    solver.parts = [solver.__dict__]
    assert state_of(solver.step) is None


def test_other_methods_and_objects_are_told_apart(kept):
    one, two = Solver(n=1), Solver(n=1)
    kept.put(one.step, "key", "one")
    assert kept.recall(two.step, "key") is None
    assert kept.recall(one.__init__, "key") is None
    assert kept.recall(one.step, "other key") is None


def test_class_methods_are_cached(kept):
    class Maker:
        @classmethod
        def make(cls, x):
            return x

    kept.put(Maker.make, "key", "traced")
    assert kept.recall(Maker.make, "key") == "traced"


def test_cached_entries_are_freed_with_the_object(kept):
    class Program:
        pass

    solver, program = Solver(n=1), Program()
    watch = weakref.ref(program)
    kept.put(solver.step, "key", program)
    del program
    assert watch() is not None
    del solver
    gc.collect()
    assert watch() is None


def test_unhashable_keys_are_not_cached(kept):
    kept.put(function, [], "traced")
    assert kept.recall(function, []) is None
