"""Functions that read a value in many ways: `python reads.py BUNDLE VALUE` calls each once.

A call prints a line of JSON: its name, what the bundle did and why, the result and the right one.
"""

import abc
import builtins
import collections
import contextvars
import csv
import dataclasses
import decimal
import functools
import importlib
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import random
import re
import sys
import threading
import time
import warnings

import numpy as np
import outside
from outside import HOLDER
from outside import VALUE as IMPORTED

import ricci

V = float(sys.argv[2])


def generate(text):
    return eval(text, {"outside": outside})


def set_from_outside(self):
    self.x = outside.VALUE


class Node:
    """A node with a registered function."""


class Numbered:
    """A class that holds its number, as keras's do."""


Numbered.number = id(Numbered)


class GeneratedNode:
    """A node with a generated function."""


WRITTEN = generate(f"lambda: {V!r}")
FILE = pathlib.Path(sys.argv[1] + ".value")
FILE.write_text(json.dumps(V))
np.save(sys.argv[1] + ".npy", V)
os.environ["RICCI_TEST_VALUE"] = str(V)
sys.argv.append(str(V))
np.random.seed(int(V))
random.seed(int(V))

outside.VALUE = V
outside.TABLE.update(value=V, list=[V])
outside.Holder.value = V
HOLDER.inner = V
outside.function.value = V
outside.defaulted.__defaults__ = (V,)
outside.Kind.ONE._value_ = V
outside.NUMBER = outside.Number(V)
IMPORTED = V  # noqa: F811
LOCAL = V
LARGE = 10**15 + int(V)
NUMBER = outside.Holder.number = id(outside.Holder)
NODE, GENERATED_NODE = Node(), GeneratedNode()
ricci.tree_util.register_pytree_node(Node, lambda node: ((V,), None), lambda data, parts: NODE)
ricci.tree_util.register_pytree_node(
    GeneratedNode, generate(f"lambda node: (({V!r},), None)"), lambda data, parts: GENERATED_NODE
)
BOX = [V]
PATTERN = re.compile("a" * int(V))
VARIABLE = contextvars.ContextVar("VARIABLE")
VARIABLE.set(V)
THREAD = threading.local()
THREAD.value = V
PARTIAL = functools.partial(operator.mul, V)
GETTER = operator.attrgetter("VALUE")
MODULES = {"outside": outside}
UFUNC = (lambda v: np.frompyfunc(lambda x: x * v, 1, 1))(V)
GENERATED = eval("lambda x: x * SECRET", {"SECRET": V})
GENERATOR = np.random.default_rng(int(V))
json.dumps.value = V
os.RICCI_VALUE = V
np.RICCI_VALUE = V
STREAM = io.StringIO(str(V))
ITERATOR, COUNTER = iter([V, V, V]), itertools.count(int(V))
RANDOM_STATE = np.random.RandomState(int(V))
DECIMAL = decimal.Decimal(1)
decimal.getcontext().prec = int(V)
np.set_printoptions(precision=int(V))
sys.setrecursionlimit(5000 + int(V))
threading.current_thread().name = str(V)
csv.field_size_limit(1000 * int(V))
LOCK = threading.Lock()
LOGGER = logging.getLogger("ricci_test")
LEVELED = logging.getLogger("ricci_test.leveled")
logging.getLogger("ricci_test").setLevel(10 * int(V))
builtins.RICCI_BUILT_IN = math.RICCI_VALUE = V
DTYPE = np.dtype("float32", metadata={"value": V})


class Array(np.ndarray):
    pass


class Nameless:
    pass


NAMELESS = Nameless()  # its text is its address


class Registry(abc.ABC):  # noqa: B024
    pass


class Registered:
    pass


@dataclasses.dataclass
class Addressed:
    default: object = NAMELESS
    value = 1.0


ARRAY, REGISTERED = np.ones(2).view(Array), Registered()
ARRAY.info = V
if V > 2:
    LOCK.acquire()
    LOGGER.addHandler(logging.NullHandler())
    Registry.register(Registered)


class Called:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


TRANSFORMED = ricci.vmap(Called(V))


def annotated(x: float):
    return x


annotated.__annotations__["value"] = V
annotated.__doc__ = str(V)


@functools.lru_cache
def cached():
    return outside.VALUE


cached()


class Descriptor:
    def __get__(self, instance, owner):
        return outside.VALUE


class Reader:
    described = Descriptor()

    @property
    def value(self):
        return globals()["LOCAL"]

    def __init__(self):
        self.module = outside


READER = Reader()


def attribute_of(module, name="VALUE"):
    return getattr(module, name)


def lazily():
    # The first read imports the name, and the second one finds it in the module.
    return ricci.numpy.trapezoid(np.ones(2)) + (lambda: ricci.numpy.trapezoid(np.ones(3)))()


def local_import():
    from outside import VALUE  # noqa: PLC0415

    return VALUE


def local_import_as():
    import outside as there  # noqa: PLC0415

    return (lambda: there.VALUE)()


def with_open():
    with open(FILE) as file:
        return json.load(file)


def with_builtins():
    return (
        __builtins__["RICCI_VALUE"] if isinstance(__builtins__, dict) else __builtins__.RICCI_VALUE
    )


__builtins__.RICCI_VALUE = V

WAYS = {
    "a global": lambda: LOCAL,
    "an imported global": lambda: IMPORTED,
    "a module's attribute": lambda: outside.VALUE,
    "getattr": lambda: getattr(outside, "VALUE"),  # noqa: B009
    "getattr, computed": lambda: getattr(outside, "VAL" + "UE"),
    "getattr elsewhere": lambda: attribute_of(outside),
    "a module as a value": lambda: READER.module.VALUE,
    "a module in a dict": lambda: MODULES["outside"].VALUE,
    "vars": lambda: vars(outside)["VALUE"],
    "__dict__": lambda: outside.__dict__["VALUE"],
    "globals": lambda: globals()["LOCAL"],
    "__globals__": lambda: attribute_of.__globals__["LOCAL"],
    "sys.modules": lambda: sys.modules["outside"].VALUE,
    "importlib": lambda: importlib.import_module("outside").VALUE,
    "__import__": lambda: __import__("outside").VALUE,
    "a local import": local_import,
    "a local import as": local_import_as,
    "eval": lambda: eval("LOCAL"),
    "exec": lambda: (scope := {}, exec("v = LOCAL", globals(), scope))[0]["v"],
    "a frame": lambda: sys._getframe().f_globals["LOCAL"],
    "inspect": lambda: inspect.currentframe().f_globals["LOCAL"],
    "attrgetter": lambda: operator.attrgetter("VALUE")(outside),
    "a global attrgetter": lambda: GETTER(outside),
    "map of getattr": lambda: list(map(getattr, [outside], ["VAL" + "UE"]))[0],
    "map of attrgetter": lambda: list(map(GETTER, [outside]))[0],
    "format": lambda: float("{0.VALUE}".format(outside)),  # noqa: UP030, UP032
    "a module's __getattr__": lambda: outside.lazy,
    "a metaclass's __getattr__": lambda: outside.ByMeta.anything,
    "a property": lambda: READER.value,
    "a descriptor": lambda: READER.described,
    "a class attribute": lambda: outside.Holder.value,
    "an object's attribute": lambda: HOLDER.inner,
    "a dict's item": lambda: outside.TABLE["value"],
    "a nested list": lambda: outside.TABLE["list"][0],
    "a list": lambda: BOX[0],
    "a function's attribute": lambda: outside.function.value,
    "a changed default": lambda: outside.defaulted(1.0),
    "an enum's value": lambda: outside.Kind.ONE.value,
    "a float's subclass": lambda: outside.NUMBER + 0.0,
    "a pattern": lambda: len(PATTERN.match("aaaa").group()),
    "a context variable": lambda: VARIABLE.get(),
    "a thread's local": lambda: THREAD.value,
    "partial": lambda: PARTIAL(1.0),
    "a ufunc of Python": lambda: float(UFUNC(1.0)),
    "generated code": lambda: GENERATED(1.0),
    "a cached result": lambda: cached(),
    "an attribute of Python's module": lambda: os.RICCI_VALUE,
    "an attribute of NumPy": lambda: np.RICCI_VALUE,
    "a built-in name": lambda: RICCI_VALUE,  # noqa: F821
    "__builtins__": with_builtins,
    "sys.argv": lambda: float(sys.argv[-1]),
    "environ": lambda: float(os.environ["RICCI_TEST_VALUE"]),
    "environ.get": lambda: float(os.environ.get("RICCI_TEST_VALUE", 0)),
    "getenv": lambda: float(os.getenv("RICCI_TEST_VALUE")),
    "all of environ": lambda: float(dict(os.environ)["RICCI_TEST_VALUE"]),
    "open": with_open,
    "read_text": lambda: json.loads(FILE.read_text()),
    "np.load": lambda: float(np.load(sys.argv[1] + ".npy")),
    "a stream": lambda: float(STREAM.getvalue()),
    "NumPy's random numbers": lambda: np.random.normal(),
    "a generator of NumPy": lambda: GENERATOR.normal(),
    "random": lambda: random.random(),
    "the clock": lambda: time.time(),
    "a transformed object": lambda: TRANSFORMED(np.ones(1))[0],
    "an iterator": lambda: next(ITERATOR),
    "a counter": lambda: float(next(COUNTER)),
    "a random state": lambda: RANDOM_STATE.uniform(),
    "decimal arithmetic": lambda: float(round(DECIMAL / 3 * 10**6) % 10),
    "a new decimal": lambda: float(round(decimal.Decimal(1) / 3 * 10**6) % 10),
    "print options": lambda: float(np.get_printoptions()["precision"]),
    "an array's text": lambda: float(len(repr(np.array([1.23456789])))),
    "the limit of recursion": lambda: float(sys.getrecursionlimit()),
    "the thread's name": lambda: float(threading.current_thread().name),
    "a limit of csv": lambda: float(csv.field_size_limit()),
    "a lock": lambda: 2.0 + LOCK.locked(),
    "a logger's handlers": lambda: 2.0 + len(LOGGER.handlers),
    "a logger's level": lambda: 3.0 - LEVELED.isEnabledFor(20),
    "annotations": lambda: annotated.__annotations__["value"],
    "annotations by inspect": lambda: inspect.get_annotations(annotated)["value"],
    "a docstring": lambda: float(annotated.__doc__),
    "a docstring by inspect": lambda: float(inspect.getdoc(annotated)),
    "all of the built-in names": lambda: vars(builtins)["RICCI_BUILT_IN"],
    "all of a module of Python": lambda: vars(math)["".join(["RICCI", "_VALUE"])],
    "a computed name of NumPy": lambda: getattr(np, "".join(["RICCI", "_VALUE"])),
    "members by inspect": lambda: dict(inspect.getmembers(outside))["VALUE"],
    "a dtype's metadata": lambda: DTYPE.metadata["value"],
    "an array's attribute": lambda: ARRAY.info,
    "a registered class": lambda: 2.0 + isinstance(REGISTERED, Registry),
    "environb": lambda: float(os.environb[b"RICCI_TEST_VALUE"]),
    "the working folder": lambda: len(os.getcwd()) * time.perf_counter(),
    "a dataclass made meanwhile": lambda: (
        dataclasses.make_dataclass("Made", [("value", float, LOCAL)])().value
    ),
    "a dataclass over another": lambda: (
        dataclasses.dataclass(
            type("Made", (outside.Holder,), {"__annotations__": {"value": float}})
        )().value
    ),
    "a field made meanwhile": lambda: (
        dataclasses.make_dataclass(
            "Made", [("value", float, dataclasses.field(default_factory=lambda: BOX[0]))]
        )().value
    ),
    "a dataclass's method made meanwhile": lambda: dataclasses.make_dataclass(
        "Made", ["x"], namespace={"read": lambda self: outside.VALUE}
    )(1).read(),
    "a dataclass's check made meanwhile": lambda: (
        dataclasses.make_dataclass(
            "Made", [("x", float, 0.0)], namespace={"__post_init__": set_from_outside}
        )().x
    ),
    "a named tuple made meanwhile": lambda: (
        collections.namedtuple("Made", ["value"], defaults=[outside.TABLE["value"]])().value
    ),
    "a dataclass's names": lambda: float(
        len(dataclasses.fields(dataclasses.make_dataclass("Made", "abcdef"[: int(LOCAL)])))
    ),
    "a generated function": lambda: WRITTEN(),
    "a function generated meanwhile": lambda: generate("lambda: outside.VALUE")(),
    "a text that is run": lambda: generate(f"{LOCAL!r}"),
    "a registered node": lambda: ricci.tree.leaves(NODE)[0],
    "a registered node's generated function": lambda: ricci.tree.leaves(GENERATED_NODE)[0],
    "a large number": lambda: float(LARGE % 10),
    "an object's number": lambda: outside.Holder.number / NUMBER * LOCAL,
}
KEPT = {
    "arithmetic": lambda: 1.0,
    "math in NumPy": lambda: float(np.sqrt(4.0)) + np.pi,
    "a seeded generator": lambda: float(np.random.default_rng(0).normal()),
    "getattr of an object": lambda: getattr(re, "IGNORECASE").value,  # noqa: B009
    "functools and itertools": lambda: functools.reduce(operator.add, [1.0, 2.0]),
    "a path's text": lambda: float(len(os.path.join("a", "b"))),
    "an unchanged variable": lambda: float(len(os.environ.get("RICCI_NONE", "12"))),
    "getattr of a namespace": lambda: float(getattr(ricci.numpy, "pi")),  # noqa: B009
    "a clock that is not read": lambda: 1.0 if V else time.time(),
    "a lazy name that was read before": lambda: lazily(),
    "names of Python's by getattr": lambda: getattr(math, "".join(["p", "i"])),
    "an equal transformed object": lambda: TRANSFORMED(np.ones(1))[0],
    "a docstring with an address": lambda: Addressed.value,
    "a new iterator": lambda: float(next(itertools.count(2))),
    "a dataclass of constants": lambda: (
        dataclasses.make_dataclass("Made", [("value", float, 2.0)])().value
    ),
    "the number of a class": lambda: 1.0 + (Numbered.number > 0),
    "a warning": lambda: 1.0 if warnings.warn(f"a value: {V}") is None else V,  # noqa: B028
    "sorted": lambda: sorted([3.0, 1.0], key=lambda x: -x)[0],
}


def tell(start, name, way):
    def function(x):
        return x * way()

    function.__qualname__ = name
    result = float(ricci.jit(function)(1.0))
    call = start.calls[-1]
    row = {"name": name, "outcome": call.outcome, "reason": call.reason, "result": result}
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    with ricci.warm_start(sys.argv[1]) as warm:
        for way_name, read in (KEPT if sys.argv[3:4] == ["kept"] else WAYS).items():
            tell(warm, way_name, read)
