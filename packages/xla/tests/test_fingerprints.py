"""Fingerprints of the values that a warm start depends on."""

import json
import subprocess
import sys
import time
import weakref
from functools import singledispatch
from types import ModuleType, SimpleNamespace

import pytest

import ricci_ir as ir
from ricci_pytree import register_static, registered_nodes
from ricci_xla import jit
from ricci_xla.warm import _classes, _events, _purity
from ricci_xla.warm._classes import Classes
from ricci_xla.warm._fingerprint import fingerprint
from ricci_xla.warm._object_states import is_compiled_function
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
    """A value with a type, as libraries define that are not arrays."""

    __module__ = "a_library"

    def __init__(self, rank):
        self.rank = rank

    def aval(self):
        return ir.ShapedArray((self.rank,), "float32")


def test_objects_with_a_type_are_not_taken_for_arrays():
    assert fingerprint(LowRank(1)) == fingerprint(LowRank(1)) != fingerprint(LowRank(2))


class Hashed:
    """An object that caches its hash."""

    def __init__(self, value, hash_size=1 << 30):
        self.value, self.hash_size, self._hash = value, hash_size, None

    def __hash__(self):
        if self._hash is None:
            self._hash = hash((Hashed, self.value))
        return self._hash


class Unhashable(Hashed):
    """An object with a part that has no hash."""

    def __hash__(self):
        return hash([])


def test_a_cached_hash_is_not_part_of_an_object():
    one, other = Hashed("a"), Hashed("a")
    before = fingerprint(one)
    assert hash(one) == one._hash and fingerprint(one) == before == fingerprint(other)
    assert fingerprint(Hashed("a", 1 << 31)) != before
    assert fingerprint(Unhashable(1)) != fingerprint(Unhashable(1, 1 << 31))


class Placeholder(ModuleType):
    """A module that is imported when an attribute of it is read."""

    def __init__(self, name, value):
        super().__init__(name)
        self.value = value


def test_a_module_that_no_import_gives_is_its_attributes():
    one, other = Placeholder("json.decoder_", 1), Placeholder("json.decoder_", 2)
    assert fingerprint(one) == fingerprint(Placeholder("json.decoder_", 1)) != fingerprint(other)
    classes = Classes()
    assert fingerprint(SimpleNamespace(module=one), classes=classes) and not classes.modules
    assert fingerprint(json, classes=classes) and classes.modules == {"json"}


def watched(function):
    """Return the names of a module that a function read, and the reasons of failures."""
    watch = Watch(Classes())
    with watch:
        function()
    watch.finish()
    return watch.values.get(__name__, {}), watch.failed


PLACEHOLDER = Placeholder("a_library_that_is_not_imported", 1.0)


def test_reads_of_a_placeholder_are_those_of_an_object(monkeypatch):
    values, failed = watched(lambda: PLACEHOLDER.value)
    assert not failed
    monkeypatch.setattr(PLACEHOLDER, "value", 2.0)
    other = watched(lambda: PLACEHOLDER.value)[0]
    assert values["PLACEHOLDER"] != other["PLACEHOLDER"]


def test_an_import_of_another_name_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "another_name", PLACEHOLDER)

    def imports():
        import another_name  # noqa: PLC0415 - the case itself

        return another_name.value

    assert "not the module of its name" in watched(imports)[1]["another_name"]


def compiled_class(**members):
    return type("run_obj", (), {"__slots__": (), "__internal_mypyc_setup": None} | members)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"__call__": None}, True),
        ({}, False),
        ({"__call__": None, "__mypyc_attrs__": ("value",)}, False),
        ({"__call__": None, "__slots__": ("env", "attrs", "dict")}, False),
    ],
)
def test_functions_that_mypyc_compiled_have_no_state_without_a_closure(members, expected):
    assert is_compiled_function(compiled_class(**members)) is expected


def test_code_of_self_contained_packages_counts_by_its_version(monkeypatch):
    library = ModuleType("a_checker")
    exec("def check(x):\n    import random\n    return random.random() < 2", vars(library))
    library.__version__ = "1"
    monkeypatch.setitem(sys.modules, "a_checker", library)
    check = library.check
    assert watched(lambda: check(1))[1]
    monkeypatch.setitem(_purity._SELF_CONTAINED, "a_checker", "<checker of ")
    _events._self_contained.cache_clear()
    watch = Watch(Classes())
    with watch:
        check(1)
    watch.finish()
    assert not watch.failed and list(watch.values["a_checker"]) == ["__version__"]
    _events._self_contained.cache_clear()


class Jitted:
    """A class whose call is a jitted function, and one that reads the clock."""

    __call__ = jit(lambda self, x: x, static_argnums=0)


class Clock:
    """An object that is called as a function in C, which reads the clock."""

    __call__ = staticmethod(time.time)


def test_a_call_of_an_object_is_that_of_the_method_that_its_class_has():
    assert impurity(Jitted()) is None
    assert impurity(Clock()) == "time.time"
