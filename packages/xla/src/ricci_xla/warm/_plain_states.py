"""States of objects as plain values, where Python keeps them outside of an object's attributes."""

import logging
import re
import sys
from abc import _get_dump  # pyright: ignore[reportAttributeAccessIssue]  # its only reader
from decimal import Decimal, getcontext
from types import FunctionType
from typing import Any

_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def notes_of(value: FunctionType | type) -> list[str]:
    """The docstring and the annotations of a function or a class, which tools for signatures read.

    Those of a class are its own, without those of its bases.
    """
    names: Any = value.__dict__ if isinstance(value, type) else {"__doc__": value.__doc__}
    annotations = names.get("__annotations__", {})
    if isinstance(value, FunctionType) and sys.version_info < (3, 14):  # later they are code
        annotations = value.__annotations__
    if not isinstance(annotations, dict):  # a descriptor, by which proxies show those of others
        annotations = {}
    notes = [str(names.get("__doc__"))]
    for name, annotation in annotations.items():
        notes += [name, _text_of(annotation)]
    return [_ADDRESS.sub("", note) for note in notes]  # a dataclass has those of its defaults


def _text_of(annotation: object) -> str:
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}"
    return repr(annotation)


def registered_classes(value: type) -> list[str]:
    """The names of the classes that were registered with an abstract class, for ``isinstance``."""
    if "_abc_impl" not in value.__dict__:
        return []
    classes = [reference() for reference in _get_dump(value)[0]]
    return sorted(_text_of(kind) for kind in classes if kind is not None)


def logger_state(value: logging.Logger) -> list[Any]:
    """The settings of a logger, its level from the loggers around it included."""
    handlers = [f"{type(x).__qualname__} {x.level}" for x in value.handlers]
    levels = value.level, value.getEffectiveLevel(), value.manager.disable
    return [value.name, *levels, value.disabled, value.propagate, *handlers]


def decimal_state(value: Decimal) -> list[Any]:
    """A number's text, and the context that its arithmetic reads without a call."""
    context = getcontext()
    return [str(value), context.prec, context.rounding, context.Emin, context.Emax]
