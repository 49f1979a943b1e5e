"""Plain values in records: names of mesh axes, keys of dicts and static data of tree nodes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import dtype_named

from ._container import FileError

__all__ = ["decode_plain", "encode_plain", "PlainRecord"]

type PlainRecord = list[Any]
"""A plain value: the name of its type, and its content as MessagePack's types."""


def _many(make: Callable[[list[Any]], Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    write = lambda values: [encode_plain(value) for value in values]
    return write, lambda records: make([decode_plain(r) for r in _expected(records, list)])


def _unordered(make: Callable[[list[Any]], Any]) -> tuple[Callable[[Any], Any], Any]:
    # Sets are sorted, so that equal values have equal records.
    write, read = _many(make)
    return lambda values: sorted(write(values), key=repr), read


def _scalar(kind: type) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return kind, lambda value: _expected(value, kind)


def _write_items(items: dict[Any, Any]) -> list[Any]:
    return [[encode_plain(key), encode_plain(value)] for key, value in items.items()]


def _read_items(records: object) -> dict[Any, Any]:
    pairs = [_expected(pair, list) for pair in _expected(records, list)]
    if any(len(pair) != 2 for pair in pairs):
        raise FileError("a dict in the record has an item that is not a pair")
    return {decode_plain(key): decode_plain(value) for key, value in pairs}


# By type: its name in records, how its values are written, and how they are read.
_forms: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    type(None): ("none", lambda value: 0, lambda value: None),
    bool: ("bool", *_scalar(bool)),
    int: ("int", str, lambda text: int(_expected(text, str))),  # of any size
    float: ("float", *_scalar(float)),
    complex: (
        "complex",
        lambda value: [value.real, value.imag],
        lambda parts: complex(*[_expected(part, float) for part in _expected(parts, list)]),
    ),
    str: ("str", *_scalar(str)),
    bytes: ("bytes", *_scalar(bytes)),
    tuple: ("tuple", *_many(tuple)),
    list: ("list", *_many(list)),
    dict: ("dict", _write_items, _read_items),
    set: ("set", *_unordered(set)),
    frozenset: ("frozenset", *_unordered(frozenset)),
    slice: (
        "slice",
        lambda s: [encode_plain(part) for part in (s.start, s.stop, s.step)],
        lambda records: slice(*[decode_plain(r) for r in _expected(records, list)]),
    ),
}
_readers = {name: read for name, _, read in _forms.values()}


def encode_plain(value: object) -> PlainRecord:
    """A record of a plain value.

    Plain values are ``None``, numbers, strings, bytes, dtypes, and tuples, lists, dicts, sets and
    slices of plain values.

    Raises:
      TypeError: if the value, or one inside of it, is not plain.
    """
    form = _forms.get(type(value))
    if form is not None:
        name, write, _ = form
        return [name, write(value)]
    if isinstance(value, np.dtype):
        return ["dtype", value.name]
    if isinstance(value, np.generic) and value.dtype.names is None:
        return ["scalar", [value.dtype.name, value.tobytes()]]
    text = " ".join(repr(value).split())  # in one line
    raise TypeError(f"{text:.60} of type {type(value).__qualname__} cannot be written to a file")


def decode_plain(record: object) -> Any:
    """The value of a record of ``encode_plain``.

    Raises:
      FileError: if the record is invalid.
    """
    if not isinstance(record, list) or len(record) != 2:
        raise FileError(f"the record has {record!r} where a type and a value are expected")
    name, content = record
    try:
        if name == "dtype":
            return dtype_named(_expected(content, str))
        if name == "scalar":
            dtype, raw = _expected(content, list)
            return np.frombuffer(_expected(raw, bytes), dtype_named(_expected(dtype, str)))[0]
        return _readers[name](content)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"the record has no value of type {name!r}: {error}") from error


def _expected[T](value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise FileError(f"the record has {value!r} where a {kind.__name__} is expected")
    return value
