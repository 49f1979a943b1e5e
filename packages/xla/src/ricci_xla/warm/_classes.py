"""The fingerprints of classes, and records of the code and the modules that values refer to."""

from collections.abc import Callable
from types import CodeType
from typing import Any

_MOST_VALUES = 200_000


class NoFingerprint(Exception):
    """A value without a fingerprint; the message names it and the reason."""


class TooManyValues(NoFingerprint):
    """The limit of values is reached; it counts those of all values that a call depends on."""


class _OpenClass:
    """A class that is being written; ``in_cycle`` if another class refers back to it."""

    __slots__ = ("in_cycle",)

    def __init__(self):
        self.in_cycle = False


class Classes:
    """The fingerprints of classes.

    Classes may refer to each other in cycles, so a reference to a class that is being written
    writes its name alone. The fingerprint of a class in a cycle then depends on the class that
    writing began with; only those of other classes are cached.

    Attributes:
      digests: the cached fingerprints.
      codes: the code of all functions that were written.
      with_globals: the code of functions whose global names are outside of modules, and were
        written, too.
      modules: the names of the modules that values refer to; their content was not written.
      reflects: whether there is a function that reads attributes of modules by computed names.
      caches: functions that cache results, with their ``cache_info()`` before.
      stateful: iterators and generators of random numbers, with their fingerprints before.
      values: the number of values that were written.
    """

    def __init__(self):
        self.codes: set[CodeType] = set()
        self.with_globals: set[CodeType] = set()
        self.modules: set[str] = set()
        self.reflects = False
        self.caches: dict[int, tuple[Any, Any]] = {}
        self.stateful: dict[int, tuple[Any, bytes]] = {}
        self.digests: dict[type, bytes] = {}
        self.values = 0
        self._open: dict[type, _OpenClass] = {}

    def count_value(self) -> None:
        """Count a value that is written.

        Raises:
          TooManyValues: if it is one above the limit.
        """
        self.values += 1
        if self.values > _MOST_VALUES:
            raise TooManyValues(f"it depends on more than {_MOST_VALUES:,} values")

    def digest_of(self, kind: type, write: Callable[[], bytes]) -> bytes | None:
        """Return the fingerprint of a class's content, which ``write()`` computes.

        Returns:
          The fingerprint, or ``None`` for a class that is being written.
        """
        digest = self.digests.get(kind)
        if digest is None:
            if kind in self._open:
                still_open = list(self._open)
                # The cycle consists of this class and all that were opened after it. A direct
                # reference of a class to itself does not depend on where writing began.
                if still_open[-1] is not kind:
                    for other in still_open[still_open.index(kind) :]:
                        self._open[other].in_cycle = True
                return None
            state = self._open[kind] = _OpenClass()
            try:
                digest = write()
            finally:
                del self._open[kind]
            if not state.in_cycle:
                self.digests[kind] = digest
        return digest
