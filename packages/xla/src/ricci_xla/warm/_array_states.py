"""Arrays and dtypes in fingerprints."""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

import ricci_ir as ir

from ._classes import NoFingerprint
from ._purity import is_fixed


class Writer(Protocol):
    """The digest that values are written to: see ``_fingerprint``."""

    def mark(self, tag: str, content: bytes | str = b"") -> None:
        """Write a tag with some content."""
        ...

    def feed(self, value: object) -> None:
        """Write a value."""
        ...

    def feed_all(self, values: Iterable[object]) -> None:
        """Write a number of values in order."""
        ...


def write_array(writer: Writer, value: np.ndarray) -> None:
    """Write the elements of an array of NumPy, and what a subclass adds."""
    if value.dtype.hasobject:
        raise NoFingerprint("it depends on a NumPy array of objects")
    writer.feed(value.dtype)
    writer.mark("shape", str(value.shape))
    writer.mark("elements", value.tobytes())
    kind = type(value)
    if isinstance(value, np.ma.MaskedArray):
        writer.feed_all([np.ma.getmaskarray(value), value.fill_value])
    if not is_fixed(kind.__module__):
        writer.feed(kind)
        writer.feed(getattr(value, "__dict__", {}))


def write_dtype(writer: Writer, value: np.dtype) -> None:
    """Write a dtype with its fields and its metadata."""
    writer.mark("dtype", str(value))
    if value.metadata is not None:
        writer.feed(dict(value.metadata))
    parts: list[np.dtype] = [] if value.subdtype is None else [value.subdtype[0]]
    writer.feed_all([*parts, *(field[0] for field in (value.fields or {}).values())])


def write_runtime_array(writer: Writer, value: Any) -> None:
    """Write an array's type, its place and its elements."""
    if isinstance(value, ir.Tracer):
        raise NoFingerprint("it closes over a traced value")
    if not value.is_fully_addressable:
        raise NoFingerprint("it closes over an array that lies on other processes")
    if value.is_deleted():
        raise NoFingerprint("it closes over an array that was deleted")
    physical = getattr(value, "physical", value)
    writer.mark("type", f"{value.aval.str_short()} {value.aval.weak_type}")
    writer.mark("place", f"{value.committed} {value.sharding}")
    write_array(writer, np.asarray(physical))
