"""Names of the leaves of a call's arguments."""

import functools
import inspect

import pytest


def _two(x, y=0):
    return x, y


def _rest(x, /, *rest, key, **options):
    return x, rest, key, options


def _by_keyword(x, *, key, other=1):
    return x, key, other


def _with_attributes(x, *rest):
    return x, rest


_with_attributes.note = "inspect.signature reads such functions"


# function, args, kwargs, names
CASES = [
    (_two, ({"w": [1, 2]}, 3), {}, ["x['w'][0]", "x['w'][1]", "y"]),
    (_two, (1,), {"y": (2, 3)}, ["x", "y[0]", "y[1]"]),
    (_two, (None, 1), {}, ["y"]),
    (
        _rest,
        (1, [2], 3),
        {"z": 1, "key": {"a": 2}},
        ["x", "rest[0][0]", "rest[1]", "key['a']", "options['z']"],
    ),
    (_rest, (1,), {"x": 2}, ["x", "options['x']"]),
    (_by_keyword, (1,), {"other": 2, "key": 3}, ["x", "key", "other"]),
    (_by_keyword, (1, 2), {"z": 3}, ["args[0]", "args[1]", "kwargs['z']"]),
    (_with_attributes, (1, 2), {}, ["x", "rest[0]"]),
    (lambda: None, (), {"x": 1}, ["kwargs['x']"]),
    (inspect.signature(_two), (1, 2), {}, ["x", "y"]),
    (None, (1, [2]), {"k": 3}, ["args[0]", "args[1][0]", "kwargs['k']"]),
    (_two, (1, 2, 3), {}, ["args[0]", "args[1]", "args[2]"]),
    (_two, (1,), {"unknown": 2}, ["x", "kwargs['unknown']"]),
    (dict.get, (1,), {}, ["self"]),
    (max, (1, 2), {}, ["args[0]", "args[1]"]),
    (_two, (), {}, []),
]


@pytest.mark.parametrize("function, args, kwargs, names", CASES)
def test_argument_paths(pt, function, args, kwargs, names):
    assert pt.argument_paths(args, kwargs, function) == names
    assert len(names) == len(pt.tree_leaves((args, kwargs)))


class _Asked:
    """A wrapper that computes its signature when it is asked, as jitted functions do."""

    asked = 0

    def __init__(self, fun):
        self.__wrapped__ = fun

    def __call__(self, *args):
        return self.__wrapped__(*args)

    @property
    def __signature__(self):
        type(self).asked += 1
        return inspect.signature(self.__wrapped__)


@pytest.mark.parametrize(
    ("wrap", "names"),
    [
        (lambda fun: fun, "(x, y, z)"),
        (functools.partial, "(x, y, z)"),
        (lambda fun: functools.partial(functools.partial(fun)), "(x, y, z)"),
        (lambda fun: functools.partial(fun, z=1), "(x, y, *, z=1)"),
    ],
)
def test_signature_of_each_wrapper_is_read_once(pt, wrap, names):
    fun = lambda x, y, z: x
    _Asked.asked = 0
    for _ in range(12):
        fun = _Asked(wrap(fun))
    names_found = str(pt.read_signature(fun))
    assert _Asked.asked <= 12
    assert names_found == names


def test_a_method_of_a_wrapped_function_has_bound_its_first_parameter(pt):
    class Model:
        @functools.wraps(lambda self, x, y: None)
        def call(self, *args):
            return args

    assert str(pt.read_signature(Model().call)) == "(x, y)"
    assert str(pt.read_signature(Model.call)) == "(self, x, y)"
