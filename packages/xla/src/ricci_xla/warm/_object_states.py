"""States of objects: the attributes that their classes give them, and what C code hides."""

from typing import Any

# Attributes that number objects, and that no jaxpr depends on, by module and class; keras stores
# ids beside the objects themselves.
_HARMLESS_STATE = {
    ("flax.linen.module", "Module"): ("_id",),
    ("keras.src.ops.function", "Function"): ("_nodes",),
    ("keras.src.utils.tracking", "Tracker"): ("stored_ids",),
}


# Classes whose ``__reduce__`` computes more than a state, by module and class: that of keras writes
# the model to a file in memory, and numbers objects on the way.
_READ_BY_ATTRIBUTES = {("keras.src.saving.keras_saveable", "KerasSaveable")}


def is_reduced(kind: type) -> bool:
    """Whether a class's own reduction, not its attributes, gives an object's state."""
    if kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__:
        return False
    names = {(cls.__module__, cls.__qualname__) for cls in kind.__mro__}
    return _READ_BY_ATTRIBUTES.isdisjoint(names)


def harmless_state(kind: type) -> tuple[str, ...]:
    """The names of attributes of a class's objects that do not affect jaxprs."""
    return _HARMLESS_STATE.get((kind.__module__, kind.__qualname__), ())


def state_of(value: object) -> dict[str, Any]:
    """The attributes of an object by name: those in its ``__dict__``, then those in slots."""
    slots = {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}
    return {**(getattr(value, "__dict__", None) or {}), **slots}


HEAP_TYPE = 1 << 9
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


def slots_of(kind: type) -> list[str]:
    names: list[str] = []
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                names.append(f"_{cls.__name__.lstrip('_')}{name}" if private else name)
    return names
