"""Classes of immutable values with named fields, which are cheap to define.

``dataclass`` writes the methods of each class as text and compiles it: half a millisecond for each
class whenever Ricci is imported; ``NamedTuple`` takes a sixth of one. All classes of this module
share their methods.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, dataclass_transform

__all__ = ["Record", "TupleRecord"]


def _values(
    cls: type,
    fields: Sequence[str],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    defaults: Iterable[str],
) -> dict[str, Any]:
    """Bind the arguments of a constructor to the fields.

    Raises:
      TypeError: if a field is given twice or is unknown, or one without a default is missing.
    """
    values = dict(zip(fields, args, strict=False))
    if len(args) > len(fields) or not (kwargs.keys() <= set(fields[len(args) :])):
        raise TypeError(f"{cls.__name__} takes the fields {', '.join(fields)}, once each.")
    values.update(kwargs)
    missing = [f for f in fields if f not in values and f not in defaults]
    if missing:
        raise TypeError(f"{cls.__name__} lacks the fields {', '.join(missing)}.")
    return values


class _DataclassFields:
    """The attribute by which ``dataclasses`` reads the fields of a class, made when it is read."""

    def __get__(self, instance: object, cls: type["Record"]) -> Mapping[str, object]:
        fields = [(field, cls._annotation(field)) for field in cls._fields]
        from dataclasses import make_dataclass  # noqa: PLC0415 - lazy: it takes a millisecond

        described: Any = make_dataclass(cls.__name__, fields)
        return described.__dataclass_fields__


@dataclass_transform(frozen_default=True)
class Record:
    """A base of classes of immutable values, whose annotated attributes are the fields.

    Two values are equal if they are of the same class and all their fields are equal. A value
    assigned to a field in the class is its default. Fields that begin with an underscore are not
    printed.

    Example:
      >>> from ricci_ir import Record
      >>> class Point(Record):
      ...     x: int
      ...     y: int = 0
      >>> Point(1)
      Point(x=1, y=0)
      >>> Point(1) == Point(x=1, y=0)
      True
    """

    _fields = ()
    __dataclass_fields__: ClassVar[_DataclassFields] = _DataclassFields()

    @classmethod
    def _annotation(cls, field: str) -> object:
        return next(c.__annotations__[field] for c in cls.__mro__ if field in c.__annotations__)

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *args: object, **kwargs: object):
        cls = type(self)
        defaults = {field for field in self._fields if hasattr(cls, field)}
        self.__dict__.update(_values(cls, self._fields, args, kwargs, defaults))

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, field) for field in self._fields])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be assigned to.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be deleted.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        shown = [f for f in self._fields if not f.startswith("_")]
        return f"{type(self).__qualname__}({', '.join(f'{f}={getattr(self, f)!r}' for f in shown)})"


class _WithoutDict(type):
    """A metaclass that gives its classes empty ``__slots__``."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> "_WithoutDict":
        return super().__new__(mcs, name, bases, {"__slots__": (), **namespace})


# Reads a field of a named tuple: a descriptor written in C.
_Field: Any = type(vars(namedtuple("_One", ["field"]))["field"])


@dataclass_transform(frozen_default=True)
class TupleRecord(tuple[Any, ...], metaclass=_WithoutDict):
    """A base of internal named tuples that are seldom instantiated.

    They differ from ``NamedTuple`` in two ways: type checkers do not infer the types of unpacked
    elements, and a call with keywords or defaults takes a microsecond longer.

    Example:
      >>> from ricci_ir import TupleRecord
      >>> class Point(TupleRecord):
      ...     x: int
      ...     y: int = 0
      >>> x, y = Point(1)
      >>> Point(x, y=2), Point(1, 2) == (1, 2)
      (Point(x=1, y=2), True)
    """

    _fields: tuple[str, ...] = ()
    _field_defaults: dict[str, Any] = {}
    __match_args__: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        start = len(cls._fields)
        names = tuple(cls.__annotations__)
        defaults = {name: vars(cls)[name] for name in names if name in vars(cls)}
        for position, name in enumerate(names, start):
            setattr(cls, name, _Field(position, None))
        cls._fields = cls.__match_args__ = (*cls._fields, *names)
        cls._field_defaults = {**cls._field_defaults, **defaults}

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        fields = cls._fields
        if kwargs or len(args) != len(fields):
            defaults = cls._field_defaults
            values = {**defaults, **_values(cls, fields, args, kwargs, defaults)}
            args = tuple([values[field] for field in fields])
        return tuple.__new__(cls, args)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def _replace(self, **changes: object) -> Self:
        """A copy with some of the fields replaced."""
        return type(self)(**{**self._asdict(), **changes})

    def _asdict(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = [f"{field}={value!r}" for field, value in self._asdict().items()]
        return f"{type(self).__name__}({', '.join(shown)})"
