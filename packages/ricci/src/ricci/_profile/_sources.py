"""Origins of the operations of executables: their names, and the user's lines."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ricci import devices
from ricci_parallel.reports import HloModule

from ._lines import SourceLine


class Origin(NamedTuple):
    """The origin of an operation.

    Attributes:
      path: the scopes and the primitive, such as ``block/tanh``.
      place: the line of the user's code, if that is known.
    """

    path: str
    place: SourceLine | None


class ExecutableKeeper:
    """Keeps references to the executables, to read the origins of their operations."""

    def __init__(self):
        self._executables: dict[int, Any] = {}

    def keep(self) -> None:
        """Record the executables that are alive now."""
        for executable in devices()[0].client.live_executables():
            self._executables.setdefault(id(executable), executable)

    def origins(self, modules: Iterable[str]) -> dict[tuple[str, str], Origin]:
        """Return the origins of some modules' operations, by the names of both."""
        names = set(modules)
        origins: dict[tuple[str, str], Origin] = {}
        for executable in self._executables.values():
            for module in executable.hlo_modules():
                if module.name not in names:
                    continue
                for name, origin in _origins(HloModule(module.to_string())):
                    origins.setdefault((module.name, name), origin)
        return origins


def _origins(module: HloModule) -> Iterable[tuple[str, Origin]]:
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            line = module.line_of(instruction)
            # A fusion may have no line of its own: then the most frequent one of its parts counts.
            inner = [
                part
                for _, name in ([] if line else instruction.called())
                if name in module.computations
                for part in module.computations[name].instructions.values()
            ]
            lines = [line] if line else list(filter(None, map(module.line_of, inner)))
            names = filter(None, (part.op_name for part in (instruction, *inner)))
            place = None
            if lines:
                most = Counter((x.file, x.line) for x in lines).most_common(1)[0][0]
                place = SourceLine(*most)
            yield instruction.name, Origin(_without_jit(next(names, "")), place)


def _without_jit(path: str) -> str:
    """Drop the name of the jitted function from a path, which is shown beside it."""
    first, _, remaining = path.partition("/")
    return remaining if first.startswith("jit(") else path
