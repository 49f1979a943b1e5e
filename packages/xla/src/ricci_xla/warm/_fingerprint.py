"""Fingerprints of values: equal for values that a traced function cannot distinguish.

A fingerprint is the same in every process and on every machine. So it depends on no ids and no hash
order: a function is written as its code and closure, an object as its class and state, an array as
its elements. Line numbers and paths are not part of it, so that moving code changes nothing.
"""

import copyreg
import hashlib
import logging
import os
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial, singledispatch
from operator import attrgetter
from random import Random
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, registered_nodes
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes import Mesh, PartitionSpec, Sharding
from ricci_xla.meshes._axes import Axes

from ._array_states import write_array, write_dtype, write_runtime_array
from ._classes import Classes, NoFingerprint
from ._object_states import (
    HEAP_TYPE,
    INSTANCE_METHOD,
    built_in_base,
    determining_attributes,
    harmless_state,
    has_own_state,
    is_compiled_function,
    is_function_record,
    is_own_hash,
    is_reduced,
    members_of,
    slots_of,
)
from ._plain_states import decimal_state, logger_state, notes_of, registered_classes
from ._purity import SET_BY_IMPORT, compiled_file, file_digest, impurity, is_fixed, is_imported
from ._reads import reads_of

_OWN_HASH = "own hash"
_LEAST_ID = 1 << 20  # ids are addresses; smaller numbers are not compared with them
_by_name = (
    *(BuiltinFunctionType, ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType),
    *(MethodDescriptorType, WrapperDescriptorType),
)
_dispatching = singledispatch(len).__code__  # pyright: ignore[reportAttributeAccessIssue]
_locks = (type(threading.Lock()), type(threading.RLock()))


def fingerprint(*values: object, classes: Classes | None = None) -> bytes:
    """A digest of some values.

    Args:
      values: the values.
      classes: cached fingerprints of classes, valid as long as no class changes.

    Raises:
      NoFingerprint: if one of them, or a part of one, has none.
    """
    writer = _Writer(Classes() if classes is None else classes)
    try:
        for value in values:
            writer.feed(value)
    except (AttributeError, RecursionError, RuntimeError, TypeError, ValueError) as error:
        raise NoFingerprint(f"reading a value that it depends on failed: {error!r}") from error
    return writer.digest.digest()


class _Writer:
    """Feeds values to a digest. A repeated value is written as the position of the first."""

    def __init__(self, classes: Classes):
        self.digest = hashlib.blake2b(digest_size=16)
        self.classes = classes
        self.seen: dict[int, int] = {}
        self.alive: list[object] = []  # while values are alive, their ids are unique
        self.owner: object = None  # the class whose content is written

    def mark(self, tag: str, content: bytes | str = b"") -> None:
        """Write a tag with some content."""
        data = content.encode() if isinstance(content, str) else content
        # The length makes the encoding prefix-free: different sequences of marks give different
        # bytes.
        self.digest.update(b"%s:%d:%s" % (tag.encode(), len(data), data))

    def feed(self, value: object) -> None:
        """Write a value."""
        plain = _plain.get(type(value))
        if plain is not None:
            if type(value) is int and value > _LEAST_ID and self._is_id(value):
                return
            self.mark(type(value).__name__, plain(value))
            return
        # Besides ending cycles, this distinguishes one object that occurs twice from two equal
        # ones, which may differ after a change in place.
        position = self.seen.setdefault(id(value), len(self.alive))
        if position < len(self.alive):
            self.mark("again", str(position))
            return
        self.alive.append(value)
        self.classes.count_value()
        write = _writer_of(type(value))
        self.mark(type(value).__qualname__)
        write(self, value)

    def _is_id(self, value: int) -> bool:
        """Write the id of a known object, by which a library marks it, as its position."""
        if self.owner is not None and value == id(self.owner):
            self.mark("own id")
        elif value in self.seen:
            self.mark("id of", str(self.seen[value]))
        else:
            return False
        return True

    def feed_all(self, values: Any) -> None:
        """Write a number of values in order."""
        values = list(values)
        self.mark("count", str(len(values)))
        for value in values:
            self.feed(value)


_plain: dict[type, Callable[[Any], bytes | str]] = {
    type(None): lambda x: "",
    type(...): lambda x: "",
    type(NotImplemented): lambda x: "",
    bool: str,
    int: str,
    # The bits distinguish -0.0 from 0.0, and the NaNs.
    float: lambda x: struct.pack("<d", x),
    complex: lambda x: struct.pack("<dd", x.real, x.imag),
    str: str,
    bytes: bytes,
    range: repr,
}


def _write_mapping(writer: _Writer, value: Mapping[Any, Any]) -> None:
    if value is registered_nodes:  # Ricci's own classes are registered when they are first needed
        value = {kind: node for kind, node in value.items() if not is_fixed(kind.__module__)}
    writer.mark("count", str(len(value)))
    for key, item in value.items():
        writer.feed(key)
        writer.feed(item)


def is_plain(value: object) -> bool:
    """Whether a value is a number, a text or the like, without parts."""
    return type(value) in _plain


def _write_set(writer: _Writer, value: Any) -> None:
    # The order of a set depends on hashes, which differ between processes for strings. So the
    # items' digests are sorted.
    writer.feed_all(sorted(fingerprint(item, classes=writer.classes) for item in value))


def _write_code(writer: _Writer, value: CodeType) -> None:
    writer.classes.codes.add(value)
    numbers = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
    writer.mark("code", value.co_qualname)
    writer.mark("numbers", str(numbers))
    writer.mark("bytecode", value.co_code)
    writer.mark("exceptions", value.co_exceptiontable)
    for names in (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars):
        writer.mark("names", " ".join(names))
    writer.feed_all(value.co_consts)


def _write_function(writer: _Writer, value: FunctionType) -> None:
    writer.mark("function", f"{value.__module__}.{value.__qualname__}")
    value = ir.unguarded(value)  # a boundary has the function as a constant of its code
    if type(value) is not FunctionType:  # an object that is called, which a library transforms
        writer.feed(value)
        return
    if value.__closure__ is None and is_fixed(value.__module__):
        return
    if value.__code__ is _dispatching:  # its closure has a cache beside its functions by class
        _write_mapping(writer, value.__dict__["registry"])
        return
    writer.feed(value.__code__)
    writer.feed_all(value.__closure__ or ())
    writer.feed_all(value.__defaults__ or ())
    _write_mapping(writer, value.__kwdefaults__ or {})
    if "__wrapped__" in value.__dict__:  # first, as other attributes may be copies of its own
        writer.feed(value.__dict__["__wrapped__"])
    _write_mapping(writer, value.__dict__)
    writer.feed_all(notes_of(value))
    owner = sys.modules.get(value.__globals__.get("__name__", ""))
    if owner is None or vars(owner) is not value.__globals__:
        writer.classes.with_globals.add(value.__code__)
        for read in reads_of(value.__code__).reads:
            if read.name in value.__globals__:
                writer.mark("global", read.name)
                writer.feed(value.__globals__[read.name])


def _write_cached(writer: _Writer, value: Any) -> None:
    if is_fixed(value.__module__):
        writer.mark("name", f"{value.__module__}.{value.__qualname__}")
        return
    writer.classes.caches.setdefault(id(value), (value, value.cache_info()))
    writer.feed(value.__wrapped__)


def _write_module(writer: _Writer, value: ModuleType) -> None:
    writer.mark("module", value.__name__)
    if is_imported(value):
        writer.classes.modules.add(value.__name__)
        return
    kind = type(value)
    writer.feed(kind)
    ignored = SET_BY_IMPORT.union(*(harmless_state(cls) for cls in kind.__mro__))
    _write_mapping(writer, {k: v for k, v in vars(value).items() if k not in ignored})


def _write_cell(writer: _Writer, value: CellType) -> None:
    try:
        writer.feed(value.cell_contents)
    except ValueError:
        writer.mark("empty")


def _write_class(writer: _Writer, value: type) -> None:
    writer.mark("class", f"{value.__module__}.{value.__qualname__}")
    if value is Decimal:
        writer.feed_all(decimal_state(Decimal()))
    _mark_compiled(writer, value.__module__)
    if not is_fixed(value.__module__):
        digest = writer.classes.digest_of(value, lambda: _content_digest(writer.classes, value))
        if digest is not None:
            writer.mark("content", digest)


def _mark_compiled(writer: _Writer, module: str | None) -> None:
    """Write the digest of the machine code of a library's module, which no version identifies."""
    file = None if module is None or is_fixed(module) else compiled_file(module)
    if file is not None:
        writer.mark("machine code", file_digest(file))


def _content_digest(classes: Classes, value: type) -> bytes:
    inner = _Writer(classes)
    inner.owner = value
    _write_class_content(inner, value)
    return inner.digest.digest()


def _write_class_content(writer: _Writer, value: type) -> None:
    writer.feed_all(value.__bases__)
    writer.feed_all(notes_of(value))
    writer.feed_all(registered_classes(value))
    writer.feed_all(registered_nodes.get(value, ()))  # perhaps generated code, in no module's file
    for name, item in members_of(value):
        writer.mark("attribute", name)
        writer.feed(item)


def _write_by_name(writer: _Writer, value: object) -> None:
    writer.classes.reflects |= value in (getattr, hasattr, vars, dir)
    impure = impurity(value) if isinstance(value, BuiltinFunctionType) else None
    if impure is not None:
        raise NoFingerprint(f"it depends on {impure}, whose results are not watched")
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    module = getattr(value, "__module__", None)
    writer.mark("name", f"{module}.{name}" if name else repr(value))
    _mark_compiled(writer, module)
    bound = getattr(value, "__self__", None)
    if bound is not None and not isinstance(bound, ModuleType) and not is_function_record(bound):
        writer.feed(bound)


def _write_getter(writer: _Writer, value: object) -> None:
    writer.classes.reflects = True
    writer.feed(value.__reduce__())


def _write_ufunc(writer: _Writer, value: np.ufunc) -> None:
    if value.__name__.endswith("(vectorized)"):
        raise NoFingerprint(f"it depends on {value}, which calls a Python function")
    writer.mark("ufunc", f"{value.__name__} {value.signature} {value.types}")


def _write_member(writer: _Writer, value: Enum) -> None:
    kind = type(value)
    writer.mark("member", f"{kind.__module__}.{kind.__qualname__}.{value.name}")
    for name, item in value.__dict__.items():
        if name not in ("__objclass__", "_sort_order_", "_hash"):
            writer.mark("attribute", name)
            writer.feed(item)


def _write_stateful(writer: _Writer, value: object) -> None:
    digest = state_digest(value, writer.classes)
    writer.classes.stateful.setdefault(id(value), (value, digest))
    writer.mark("state", digest)


def state_digest(value: object, classes: Classes) -> bytes:
    """The fingerprint of the state of an iterator, or of a generator of random numbers."""
    inner = _Writer(classes)
    _write_object(inner, value)
    return inner.digest.digest()


def _write_text(writer: _Writer, value: object) -> None:
    writer.mark("text", repr(value))


def _write_parts(*names: str) -> Callable[[_Writer, Any], None]:
    return lambda writer, value: writer.feed_all([getattr(value, name) for name in names])


def _write_jitted(writer: _Writer, value: object) -> None:
    info = value.__dict__.get("_jit_info")
    if info is None:
        writer.mark("jitted", str(getattr(value, "__qualname__", "")))
        if not is_fixed(getattr(value, "__module__", "")):
            raise NoFingerprint(f"it depends on the compiled function {value}")
        return
    writer.feed_all([info.fun, *info.jit_arguments])


def _axes(mesh: Axes) -> tuple[Any, ...]:
    return mesh.axis_names, mesh.axis_sizes, mesh.axis_types


def _write_tree(writer: _Writer, value: PyTreeDef) -> None:
    node = value.node_data()
    if node is None:
        writer.mark("leaf")
        return
    writer.feed_all(node)
    functions = registered_nodes.get(node[0])
    if functions is not None and not is_fixed(node[0].__module__):
        # They may be generated code, which no module's file has.
        writer.feed_all(functions)
    children = value.children()
    writer.mark("count", str(len(children)))
    for child in children:
        _write_tree(writer, child)


def _write_object(writer: _Writer, value: Any) -> None:
    kind = type(value)
    writer.feed(kind)
    if is_compiled_function(kind):
        return
    if not is_reduced(kind):
        state = getattr(value, "__dict__", None)
        slots = [name for name in slots_of(kind) if hasattr(value, name)]
        if (state is not None or slots or kind.__flags__ & HEAP_TYPE) and not has_own_state(kind):
            ignored = {name for cls in kind.__mro__ for name in harmless_state(cls)}
            _write_mapping(
                writer,
                {
                    name: _OWN_HASH if is_own_hash(value, name, item) else item
                    for name, item in (state or {}).items()
                    if name not in ignored
                },
            )
            for name in slots:
                item = getattr(value, name)
                writer.mark("slot", name)
                writer.feed(_OWN_HASH if is_own_hash(value, name, item) else item)
            base = built_in_base(kind)
            if base in (list, tuple):
                writer.feed_all(base.__iter__(value))
            elif base is dict:
                _write_mapping(writer, value)
            elif base is not object:
                writer.feed(base(value))
            return
    try:
        reduce = copyreg.dispatch_table.get(kind)
        reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except (TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise NoFingerprint(
            f"it depends on an object of class {kind.__module__}.{kind.__qualname__}, whose state "
            f"cannot be read: {error}"
        ) from error
    if isinstance(reduced, str):
        writer.mark("global", reduced)
        return
    for part in reduced:
        # Items come as iterators.
        is_iterator = hasattr(type(part), "__next__")
        writer.feed_all(part) if is_iterator else writer.feed(part)


# By class, subclasses first.
_writers: list[tuple[Any, Callable[[_Writer, Any], None]]] = [
    (Enum, _write_member),
    (np.ndarray, write_array),
    (np.generic, lambda w, x: write_array(w, np.asarray(x))),
    (np.dtype, write_dtype),
    (ir.ExtendedDType, lambda w, x: w.mark("dtype", str(x))),
    (CodeType, _write_code),
    (FunctionType, _write_function),
    (CellType, _write_cell),
    (MethodType, _write_parts("__func__", "__self__")),
    (INSTANCE_METHOD, _write_parts("__func__")),
    (partial, _write_parts("func", "args", "keywords")),
    (ModuleType, _write_module),
    (GenericAlias, _write_parts("__origin__", "__args__")),
    (np.ufunc, _write_ufunc),
    (attrgetter, _write_getter),
    (type(lru_cache(len)), _write_cached),
    (type(os.environ), lambda w, x: w.mark("environment")),  # its reads are watched
    (type(ir.config), lambda w, x: _write_mapping(w, x.values)),
    (_by_name, _write_by_name),
    (property, _write_parts("fget", "fset", "fdel")),
    (staticmethod | classmethod, _write_parts("__func__")),
    (slice, _write_parts("start", "stop", "step")),
    (type, _write_class),
    (ir.ShapedArray | ir.Primitive | PartitionSpec | UnionType, _write_text),
    (logging.Logger, lambda w, x: w.feed_all(logger_state(x))),
    (Decimal, lambda w, x: w.feed_all(decimal_state(x))),
    (Iterator | Random | np.random.RandomState | np.random.Generator, _write_stateful),
    (np.random.BitGenerator, _write_stateful),
    (ir.Jaxpr, lambda w, x: w.feed_all([str(x), *x.consts])),
    (ir.Trace, lambda w, x: w.mark("trace")),  # compared by identity, in libraries' objects
    (PyTreeDef, _write_tree),
    (Device, lambda w, x: w.mark("device", f"{x.platform} {x.device_kind} {x.id}")),
    (Mesh, lambda w, x: w.feed_all([*_axes(x), *x.devices.flat])),
    (Axes, lambda w, x: w.feed_all(_axes(x))),
    (Sharding, lambda w, x: w.mark("sharding", f"{x} {[d.id for d in x._device_assignment]}")),
    (MappingProxyType, _write_mapping),
    (threading.local, lambda w, x: _write_mapping(w, x.__dict__)),
    (ContextVar, lambda w, x: w.feed_all([x.name, x.get(None)])),
    (weakref.ref, lambda w, x: w.feed(x())),
    (_locks, lambda w, x: None),
]
_writer_by_type: dict[type, Callable[[_Writer, Any], None]] = {
    tuple: _Writer.feed_all,
    list: _Writer.feed_all,
    dict: _write_mapping,
    set: _write_set,
    frozenset: _write_set,
}


def _is_runtime_array(kind: type) -> bool:
    """Whether a class is that of arrays or tracers. Libraries' own values may have a type, too."""
    return issubclass(kind, ir.Tracer) or (
        hasattr(kind, "aval") and hasattr(kind, "is_fully_addressable")
    )


def _writer_of(kind: type) -> Callable[[_Writer, Any], None]:
    write = _writer_by_type.get(kind)
    if write is None:
        write = next((write for cls, write in _writers if issubclass(kind, cls)), None)
        if write is None:
            write = write_runtime_array if _is_runtime_array(kind) else _write_object
            determining = determining_attributes(kind)
            if determining:
                write = _write_parts(*determining)
            elif kind.__name__ == "PjitFunction":
                write = _write_jitted
            elif kind.__module__ == "typing":  # annotations
                write = _write_text
        _writer_by_type[kind] = write
    return write
