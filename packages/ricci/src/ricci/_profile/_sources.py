"""Where the operations of compiled programs come from: their names, and the user's lines."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ricci import devices
from ricci_parallel.reports import HloModule

from ._lines import Place


class Origin(NamedTuple):
    """Where an operation comes from.

    Attributes:
      path: the scopes and the primitive, such as ``block/tanh``.
      place: the line of the user's code, if that is known.
    """

    path: str
    place: Place | None


class ExecutableKeeper:
    """Keeps the programs that are compiled, to read where their operations come from."""

    def __init__(self):
        self._kept: dict[int, Any] = {}

    def keep(self) -> None:
        """Keep the programs that live now."""
        for executable in devices()[0].client.live_executables():
            self._kept.setdefault(id(executable), executable)

    def origins(self, modules: Iterable[str]) -> dict[tuple[str, str], Origin]:
        """Where each operation of some programs comes from, by the program's name and its own."""
        wanted = set(modules)
        found: dict[tuple[str, str], Origin] = {}
        for executable in self._kept.values():
            for module in executable.hlo_modules():
                if module.name not in wanted:
                    continue
                for name, origin in _origins(HloModule(module.to_string())):
                    found.setdefault((module.name, name), origin)
        return found


def _origins(module: HloModule) -> Iterable[tuple[str, Origin]]:
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            line = module.line_of(instruction)
            # A fusion may have no line of its own: then it is where most of its parts are.
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
                place = Place(*most)
            yield instruction.name, Origin(_without_jit(next(names, "")), place)


def _without_jit(path: str) -> str:
    """The path without the name of the program, which is told beside it."""
    first, _, rest = path.partition("/")
    return rest if first.startswith("jit(") else path
