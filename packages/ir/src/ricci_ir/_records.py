"""Classes of immutable values with named fields, which cost little to define.

``dataclass`` writes the methods of each class as text and compiles it: half a millisecond for each
class whenever Ricci is imported. Here all classes share the methods.
"""

from typing import Any, dataclass_transform

__all__ = ["Record"]


@dataclass_transform(frozen_default=True)
class Record:
    """A base of classes of immutable values, whose annotated attributes are the fields.

    Two values are equal if they are of the same class and all their fields are equal. What is
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

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *args: object, **kwargs: object):
        fields = self._fields
        values = dict(zip(fields, args, strict=False))
        if len(args) > len(fields) or not (kwargs.keys() <= set(fields[len(args) :])):
            raise TypeError(
                f"{type(self).__name__} takes the fields {', '.join(fields)}, once each."
            )
        values.update(kwargs)
        missing = [f for f in fields if f not in values and not hasattr(type(self), f)]
        if missing:
            raise TypeError(f"{type(self).__name__} lacks the fields {', '.join(missing)}.")
        self.__dict__.update(values)

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
