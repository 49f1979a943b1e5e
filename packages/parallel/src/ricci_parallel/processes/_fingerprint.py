"""Compare the StableHLO modules of all processes before they run.

The processes that share a module count the modules that they share. The first of them stores
a fingerprint of its module under the number, the others compare their own with it, and raise an
error if they differ. Then all wait for each other: a process at a module that the others do not run
waits here, rather than exchange values with another module of theirs. This costs two requests to
the coordinator when a module first runs, and nothing afterwards. A module that a process compiles
again, since it was dropped from a cache, is recognized by its digest and not counted again.
"""

import hashlib
import json
import re
import zlib
from typing import Any, NamedTuple, final

from ricci_xla import SharedProgram

from ._agreement import wait_for
from ._heartbeat import Observer, main_thread_line

__all__ = ["ProgramMismatch"]

# The stored part of a module's text, for locating the first difference; the digest is of all of it.
_STORED = 1 << 15
# The watch ends the process when the others do not come.
_FOREVER_MS = 365 * 24 * 3600 * 1000
# Locations, at the end of an operation; and their definitions.
_LOCATION = re.compile(r"\s*loc\(#loc\d*\)|^#loc.*$")


class ProgramMismatch(RuntimeError):
    """Two processes are about to run different programs together."""


class _Fingerprint(NamedTuple):
    """The stored description of a module.

    Attributes:
      rank: the process that stored it.
      name: the function's name.
      line: where that process was.
      digest: of the whole text.
      text: the beginning of the text.
    """

    rank: int
    name: str
    line: str
    digest: str
    text: str

    def to_bytes(self) -> bytes:
        return zlib.compress(json.dumps(self).encode(), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> "_Fingerprint":
        return cls(*json.loads(zlib.decompress(data)))


@final
class ProgramCheck:
    """Compares modules through the coordinator's key-value store.

    Args:
      client: jaxlib's client of the coordination service.
      observer: reports this process's state to the others.
    """

    def __init__(self, client: Any, observer: Observer):
        self.client = client
        self.observer = observer
        self.rank = observer.rank
        self._known: dict[tuple[int, ...], set[str]] = {}

    def __call__(self, program: SharedProgram) -> None:
        """Compare a module with that of the other processes, and wait until all have done so.

        Raises:
          ProgramMismatch: if the modules differ.
        """
        digest = hashlib.blake2b(program.text.encode(), digest_size=16).hexdigest()
        digests = self._known.setdefault(program.processes, set())
        if digest in digests:
            return
        # Modules that are new to a group of processes are numbered in the order of their first
        # runs. If all run the same programs, the n-th is the same everywhere: rank 0 of the group
        # publishes its digest, the others compare, and a barrier keeps any from running before
        # that.
        number = len(digests)
        digests.add(digest)
        mine = _Fingerprint(
            self.rank, program.name, main_thread_line(), digest, program.text[:_STORED]
        )
        key = f"ricci/programs/{_group(program.processes)}/{number}"
        with self.observer.joining(f"the first run of {program.name}"):
            if self.rank == program.processes[0]:
                self.client.key_value_set_bytes(key, mine.to_bytes())
            else:
                theirs = _Fingerprint.from_bytes(
                    wait_for(self.client.blocking_key_value_get_bytes, key)
                )
                if theirs.digest != digest:
                    raise ProgramMismatch(_explained(mine, theirs, number + 1, program.processes))
            self.client.wait_at_barrier(key, _FOREVER_MS, program.processes)


def _group(processes: tuple[int, ...]) -> str:
    """Return a short name of a set of processes."""
    return hashlib.blake2b(json.dumps(processes).encode(), digest_size=8).hexdigest()


def _explained(
    mine: _Fingerprint, theirs: _Fingerprint, number: int, processes: tuple[int, ...]
) -> str:
    ranks = ", ".join(map(str, processes[:8])) + (", …" if len(processes) > 8 else "")
    lines = [
        f"rank {mine.rank} and rank {theirs.rank} are about to run different programs together. "
        f"Program {number} of ranks {ranks} is",
        f"  in rank {theirs.rank}: {theirs.name}, called at {theirs.line}",
        f"  in rank {mine.rank}: {mine.name}, called at {mine.line}",
    ]
    pairs = zip(_operations(theirs.text), _operations(mine.text), strict=False)
    first = next(((a, b) for a, b in pairs if a != b), None)
    if first is not None:
        a, b = _around(*first)
        lines += [
            "The first lines of the programs that differ:",
            f"  in rank {theirs.rank}: {a}",
            f"  in rank {mine.rank}: {b}",
        ]
    lines.append(
        "All processes must call the same functions of arrays over several processes, in the same "
        "order, with the same shapes and constants."
    )
    return "\n".join(lines)


def _operations(text: str) -> list[str]:
    """Return the lines of a module without locations and without its name, the function's."""
    lines = (_LOCATION.sub("", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("module @")]


def _around(a: str, b: str, width: int = 100) -> tuple[str, str]:
    """Return two lines, each cut to the part around their first difference."""
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(0, at - width // 2)
    cut = lambda s: (
        ("…" if start else "") + s[start : start + width] + "…" * (len(s) > start + width)
    )
    return cut(a), cut(b)
