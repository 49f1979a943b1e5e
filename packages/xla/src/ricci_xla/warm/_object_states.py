"""States of objects: the attributes that their classes give them, and what C code hides."""

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

# Attributes that no jaxpr depends on, by module and class: numbers of objects; ids that keras
# stores beside the objects themselves; the names that a placeholder of a module is replaced in.
_HARMLESS_STATE = {
    ("flax.linen.module", "Module"): ("_id",),
    ("keras.src.ops.function", "Function"): ("_nodes",),
    ("keras.src.utils.tracking", "Tracker"): ("stored_ids",),
    ("tensorflow_probability.python.internal.lazy_loader", "LazyLoader"): (
        "_parent_module_globals",
    ),
}

# Attributes that Python and modules such as ``abc`` and ``copyreg`` put into classes, the last one
# when the state of an object is first read.
_CLASS_NAMES_OF_PYTHON = frozenset(
    "__dict__ __weakref__ __module__ __doc__ __annotations__ __abstractmethods__ _abc_impl "
    "__firstlineno__ __static_attributes__ __orig_bases__ __parameters__ __type_params__ "
    "__annotations_cache__ __slotnames__".split()
)

# Not the attribute, which classes of proxies define for their objects.
_all_members_of: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__


def members_of(kind: type) -> list[tuple[str, Any]]:
    """The members that a class defines itself, by name, in the order of their names."""
    members = _all_members_of(kind)
    return [(name, members[name]) for name in sorted(members.keys() - _CLASS_NAMES_OF_PYTHON)]


# Classes whose ``__reduce__`` computes more than a state, by module and class: that of keras writes
# the model to a file in memory, and numbers objects on the way.
_READ_BY_ATTRIBUTES = {("keras.src.saving.keras_saveable", "KerasSaveable")}

# Classes whose objects are determined by some attributes, by module and class. The dispatcher of
# numba refers to its compiler, whose state is in C++; a call of one is not kept. The functions of
# plum cache the method for each type beside the list of their methods.
_DETERMINING = {
    ("numba.core.registry", "CPUDispatcher"): ("py_func", "targetoptions"),
    ("plum._function", "Function"): ("_resolved", "_pending"),
}


def determining_attributes(kind: type) -> tuple[str, ...]:
    """The names of the attributes that alone determine a class's objects; empty if all count."""
    return _DETERMINING.get((kind.__module__, kind.__qualname__), ())


def is_reduced(kind: type) -> bool:
    """Whether a class's own reduction, not its attributes, gives an object's state."""
    if kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__:
        return False
    names = {(cls.__module__, cls.__qualname__) for cls in kind.__mro__}
    return _READ_BY_ATTRIBUTES.isdisjoint(names)


def is_own_hash(value: object, name: str, item: object) -> bool:
    """Whether an attribute of an object caches its hash, which differs between processes.

    Args:
      value: the object.
      name: the attribute's name.
      item: the attribute's value, ``None`` before the hash is first computed.
    """
    if "hash" not in name or type(value).__hash__ in (None, object.__hash__):
        return False
    if type(item) is not int or abs(item) < _LEAST_HASH:
        return item is None
    try:
        return item == hash(value)
    except TypeError:  # it has a part without a hash
        return False


def harmless_state(kind: type) -> tuple[str, ...]:
    """The names of attributes of a class's objects that do not affect jaxprs."""
    return _HARMLESS_STATE.get((kind.__module__, kind.__qualname__), ())


def state_of(value: object) -> dict[str, Any]:
    """The attributes of an object by name: those in its ``__dict__``, then those in slots."""
    slots = {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}
    return {**(getattr(value, "__dict__", None) or {}), **slots}


# The type of the methods of classes of pybind11; Python has no name for it.
_types = {kind.__name__: kind for kind in object.__subclasses__()}
INSTANCE_METHOD = _types.get("instancemethod", MethodType)
HEAP_TYPE = 1 << 9
_LEAST_HASH = 1 << 20  # smaller numbers are not compared with hashes
_MANAGED_WEAK_REFERENCES = 1 << 3
_MANAGED_DICT = 1 << 4
_BUILT_IN = (bool, int, float, complex, str, bytes, list, tuple, dict, object)


def built_in_base(kind: type) -> Any:
    return next(cls for cls in kind.__mro__ if cls in _BUILT_IN)


def has_own_state(kind: type) -> bool:
    """Whether instances have C-level state besides a ``__dict__`` and slots."""
    base = built_in_base(kind)
    size = base.__basicsize__
    if kind.__itemsize__ and not base.__itemsize__:
        return True
    if kind.__dictoffset__ and not kind.__flags__ & _MANAGED_DICT:
        size += 8
    if kind.__weakrefoffset__ and not kind.__flags__ & _MANAGED_WEAK_REFERENCES:
        size += 8
    return kind.__basicsize__ > size + 8 * len(slots_of(kind))


def is_function_record(bound: object) -> bool:
    """Whether an object that a function in C is bound to describes that function, as pybind11's."""
    kind = type(bound)
    return kind.__name__ == "PyCapsule" or kind.__module__ == "pybind11_builtins"


def is_compiled_function(kind: type) -> bool:
    """Whether the objects of a class are functions that mypyc compiled, without a closure.

    Such an object has a pointer to its methods and one to its code, and no other state. A closure
    would be one more, and the attributes of other classes of mypyc have a list.
    """
    return (
        "__internal_mypyc_setup" in kind.__dict__
        and "__mypyc_attrs__" not in kind.__dict__
        and "__call__" in kind.__dict__
        and not kind.__dictoffset__
        and kind.__basicsize__ <= object.__basicsize__ + 2 * 8
    )


def slots_of(kind: type) -> list[str]:
    names: list[str] = []
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                names.append(f"_{cls.__name__.lstrip('_')}{name}" if private else name)
    return names
