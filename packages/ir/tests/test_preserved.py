"""``preserved``: objects that a function changed are put back."""

from collections import OrderedDict, defaultdict, deque
from functools import partial

import numpy as np
import pytest

from ricci_ir import preserved

TOTAL = [0]
COUNT = 0


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Guarded(Plain):
    """Its attributes cannot be set from outside, as with frozen dataclasses."""

    def __setattr__(self, name, value):
        raise AttributeError(name)


class Slotted:
    __slots__ = ("__hidden", "a", "b")

    def __init__(self):
        self.a = 1
        self.__hidden = 2

    def hidden(self, value=None):
        if value is not None:
            self.__hidden = value
        return self.__hidden


class Table(dict):
    def __setitem__(self, key, value):
        raise TypeError("read-only")


def attributes(x):
    return dict(vars(x))


CASES = {
    "attribute": (lambda: Plain(a=1), attributes, lambda x: setattr(x, "a", 2)),
    "new attribute": (lambda: Plain(a=1), attributes, lambda x: setattr(x, "b", 2)),
    "lost attribute": (lambda: Plain(a=1), attributes, lambda x: delattr(x, "a")),
    "guarded": (lambda: Guarded(a=1), attributes, lambda x: vars(x).clear()),
    "slots": (lambda: Slotted(), lambda x: x.a, lambda x: setattr(x, "a", 2)),
    "unset slot": (lambda: Slotted(), lambda x: hasattr(x, "b"), lambda x: setattr(x, "b", 2)),
    "private slot": (lambda: Slotted(), Slotted.hidden, lambda x: x.hidden(9)),
    "list": (lambda: [1, 2], list, lambda x: x.reverse()),
    "dict": (lambda: {"a": 1}, dict, lambda x: x.update(b=2)),
    "dict's order": (lambda: {"a": 1, "b": 2}, list, lambda x: x.update(a=x.pop("a"))),
    "ordered": (lambda: OrderedDict(a=1, b=2), list, lambda x: x.move_to_end("a")),
    "default": (lambda: defaultdict(list), dict, lambda x: x["a"].append(1)),
    "guarded dict": (lambda: Table(a=1), dict, lambda x: x.clear()),
    "set": (lambda: {1, 2}, set, lambda x: x.discard(1)),
    "deque": (lambda: deque([1, 2], maxlen=2), list, lambda x: x.append(3)),
    "array": (lambda: np.zeros(3), np.ndarray.tolist, lambda x: x.fill(1)),
    "nested": (
        lambda: (Plain(a=[{"b": [1]}]),),
        lambda x: repr(x[0].a),
        lambda x: x[0].a[0].pop("b"),
    ),
    "in itself": (lambda: Plain(a=[]), lambda x: len(x.a), lambda x: x.a.append(x)),
    "partial": (lambda: partial(print, [1]), lambda x: x.args[0][:], lambda x: x.args[0].clear()),
    "method": (lambda: Slotted().hidden, lambda x: x(), lambda x: x(9)),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_contents_are_put_back(name, fails):
    make, read, change = CASES[name]
    value = make()
    before = read(value)
    try:
        with preserved(value):
            change(value)
            assert read(value) != before
            if fails:
                raise KeyError(name)
    except KeyError:
        assert fails
    assert read(value) == before


def test_closures_and_globals_are_restored():
    calls, seen = 0, []

    def inner():
        global COUNT
        COUNT += 1
        TOTAL.append(1)

    def fun(default=seen):
        nonlocal calls
        calls += 1
        default.append(1)
        inner()

    with preserved(fun):
        fun()
        assert (calls, len(seen), TOTAL, COUNT) == (1, 1, [0, 1], 1)
    assert (calls, len(seen), TOTAL, COUNT) == (0, 0, [0], 0)


def test_the_changes_are_told():
    model = Plain(a=1.0, b=2.0)
    with preserved(model) as objects:
        assert objects.changes() == []
        model.a = 3.0
        assert objects.changes() == [3.0]
