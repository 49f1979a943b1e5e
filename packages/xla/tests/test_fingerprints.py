"""Fingerprints of the values that a warm start depends on."""

import subprocess
import sys
import weakref
from functools import singledispatch
from types import ModuleType, SimpleNamespace

import pytest

import ricci_ir as ir
from ricci_pytree import register_static, registered_nodes
from ricci_xla import jit
from ricci_xla.warm import _classes
from ricci_xla.warm._classes import Classes
from ricci_xla.warm._fingerprint import fingerprint
from ricci_xla.warm._purity import impurity
from ricci_xla.warm._reads import returns_nothing
from ricci_xla.warm._watch import Watch, is_ignored


def test_fingerprints_of_guarded_functions_include_their_closure():
    one, other = jit(static_argnums=0), jit(static_argnums=1)
    assert fingerprint(one) == fingerprint(jit(static_argnums=0)) != fingerprint(other)


class Tracked(set):
    """A set with an attribute, whose state Python reads by ``copyreg``."""

    __module__ = "a_library"
    tracker = None


def test_reading_an_objects_state_leaves_its_class_as_it_was():
    before = fingerprint(Tracked)
    assert Tracked.__reduce_ex__(Tracked(), 4)
    assert "__slotnames__" in vars(Tracked)
    assert fingerprint(Tracked) == before


def test_calls_of_a_dispatching_function_leave_it_as_it_was():
    @singledispatch
    def kind(x):
        return "any"

    kind.register(int, lambda x: "int")
    before = fingerprint(kind)
    assert [kind(1), kind("")] == ["int", "any"]
    assert fingerprint(kind) == before
    kind.register(str, lambda x: "str")
    assert fingerprint(kind) != before


def test_the_trace_that_an_object_was_made_in_has_a_fingerprint_without_its_state():
    before = fingerprint(SimpleNamespace(made_in=ir.eval_trace))
    jit(lambda x: x)(1.0)
    assert fingerprint(SimpleNamespace(made_in=ir.eval_trace)) == before
    text = "from types import SimpleNamespace as N; import ricci_ir as ir; import ricci_xla; "
    text += "from ricci_xla.warm._fingerprint import fingerprint as f; "
    text += "print(f(N(made_in=ir.eval_trace)).hex())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == before.hex()


def test_registered_classes_of_ricci_do_not_count(monkeypatch):
    node = registered_nodes[list]
    before = fingerprint(registered_nodes)
    monkeypatch.setitem(registered_nodes, type("Own", (), {"__module__": "ricci_ir"}), node)
    assert fingerprint(registered_nodes) == before
    register_static(type("Theirs", (), {"__module__": "a_library"}))
    assert fingerprint(registered_nodes) != before


def test_a_dispatcher_of_numba_is_its_function_and_its_options(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.core.registry", ModuleType("numba.core.registry"))
    fields = {"__module__": "numba.core.registry", "__qualname__": "CPUDispatcher"}
    CPUDispatcher = type("CPUDispatcher", (), fields)

    def dispatcher(function, **options):
        value = CPUDispatcher()
        value.py_func, value.targetoptions = function, options
        value.compiler = sys._getframe()  # has no fingerprint
        return value

    square, cube = (lambda x: x * x), (lambda x: x * x * x)
    one = fingerprint(dispatcher(square, nopython=True))
    assert one == fingerprint(dispatcher(square, nopython=True))
    assert one != fingerprint(dispatcher(cube, nopython=True))
    assert one != fingerprint(dispatcher(square, nopython=False))


def _early(x):
    if x:
        return
    x.append(1)


def _failing(x):
    raise ValueError(x)


def _sometimes(x):
    if x:
        return None
    return x


def _generator(x):
    yield x


async def _coroutine():
    pass


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_early, True),
        (_failing, True),
        (lambda: None, True),
        (lambda: 0, False),
        (lambda x: x or None, False),
        (_sometimes, False),
        (_generator, False),
        (_coroutine, False),
    ],
)
def test_functions_that_return_nothing(function, expected):
    assert returns_nothing(function.__code__) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.b.c", True), ("a.b", True), ("a.bc", False), ("d", True), ("e.d", False), ("a", False)],
)
def test_a_module_is_ignored_with_all_names_in_it(name, expected):
    assert is_ignored(name, {"a.b", "d"}) is expected


def test_the_values_after_too_many_are_not_named(monkeypatch):
    monkeypatch.setattr(_classes, "_MOST_VALUES", 100)
    owner = ModuleType("a_library")
    owner.large, owner.small = [object() for _ in range(101)], ["a", "list"]
    monkeypatch.setitem(sys.modules, "a_library", owner)
    watch = Watch(Classes())
    for name in ("large", "small"):
        watch._note_value("a_library", name)
    assert watch.failed == {"a_library.large": "it depends on more than 100 values"}
    ignoring = Watch(Classes(), {"a_library"})
    ignoring._note_value("a_library", "large")
    assert not ignoring.failed


class Proxy:
    """A class whose annotations are those of its object, as proxies in C define them."""

    __module__ = "a_library"


type.__setattr__(Proxy, "__annotations__", property(lambda self: {}))


def test_a_class_may_have_a_descriptor_of_annotations():
    assert not isinstance(vars(Proxy)["__annotations__"], dict)
    assert fingerprint(Proxy) == fingerprint(Proxy)


class NamedReference(weakref.ref):
    """A weak reference of a class in Python."""

    __module__ = "a_library"


def test_the_call_of_an_object_is_that_of_the_class_which_defines_it():
    assert impurity(NamedReference(Proxy)) is None
    assert impurity(type("Reader", (), {"__call__": open, "__module__": "a_library"})()) is not None


class LowRank:
    """A value with a type, as libraries define that are no arrays."""

    __module__ = "a_library"

    def __init__(self, rank):
        self.rank = rank

    def aval(self):
        return ir.ShapedArray((self.rank,), "float32")


def test_objects_with_a_type_are_not_taken_for_arrays():
    assert fingerprint(LowRank(1)) == fingerprint(LowRank(1)) != fingerprint(LowRank(2))
