"""The types of mutable arrays, which Ricci does not support; nothing is an instance of them."""

from typing import NoReturn

from ._aval import AbstractValue

__all__ = [
    "AbstractRef",
    "new_ref",
    "Ref",
]

_ADVICE = (
    "mutable arrays are not supported. Return the new value from the function and pass it on, as a "
    "carry in a loop; x.at[index].set(value) gives an updated copy"
)


class AbstractRef(AbstractValue):
    """The type of a mutable array."""

    __slots__ = ()


class Ref:
    """A mutable array. Nothing is an instance.

    Raises:
      NotImplementedError: when one is made.
    """

    def __init__(self, aval: object, refs: object):
        raise NotImplementedError(f"Ref: {_ADVICE}.")


def new_ref(
    init_val: object, *, memory_space: object = None, kind: str | None = None, pin: bool = False
) -> NoReturn:
    """Not supported: makes a mutable array.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"new_ref: {_ADVICE}.")
