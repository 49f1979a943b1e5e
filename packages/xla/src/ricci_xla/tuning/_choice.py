"""The record of a choice between candidates, and its file in the compilation cache."""

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from ricci_xla.cache import report_fault
from ricci_xla.files import FileError, FileKind, read_bytes, read_file, replace_file, write_file

__all__ = ["Choice", "Trial"]


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a candidate.

    Attributes:
      options: the candidate.
      seconds: the least time of a call, if it was timed.
      transfers: the bytes that kernels move between memories, if that was estimated instead.
      refusal: why it was refused, if it was.
    """

    options: dict[str, Any]
    seconds: float | None = None
    transfers: int | None = None
    refusal: str | None = None

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        if self.seconds is not None:
            return f"{options}: {self.seconds * 1e3:.3g} ms"
        if self.transfers is not None:
            return f"{options}: {self.transfers:,} bytes moved"
        return f"{options}: refused, {(self.refusal or 'no reason').splitlines()[0]}"


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice between candidates for arguments of some types.

    Attributes:
      options: the chosen candidate.
      basis: what decided: times, on which device, or an estimate.
      trials: the outcome of each candidate.
      is_stored: whether it was read from the compilation cache.
    """

    options: dict[str, Any]
    basis: str
    trials: tuple[Trial, ...]
    is_stored: bool = False

    def __str__(self) -> str:
        stored = ", read from the cache" if self.is_stored else ""
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return "\n".join([f"{chosen}: {self.basis}{stored}", *(f"  {t}" for t in self.trials)])


class _Record(msgspec.Struct, frozen=True):
    """A choice in a file: the position of the chosen candidate, and the outcome of each."""

    chosen: int
    basis: str
    seconds: list[float | None]
    transfers: list[int | None]
    refusals: list[str | None]


_KIND: FileKind[_Record] = FileKind("tuning", 1, _Record, "a choice between candidates")


def read_choice(path: str, candidates: list[dict[str, Any]]) -> Choice | None:
    """Read the choice between candidates from a file.

    It is ``None`` if there is no file; with a warning, if the file cannot be used.
    """
    try:
        data = read_bytes(path)
        if data is None:
            return None
        return _choice_of(read_file(_KIND, data, path), candidates, path)
    except (FileError, OSError) as error:
        report_fault(f"{error} The candidates are tried again.", path, cause=error)
        return None


def _choice_of(record: _Record, candidates: list[dict[str, Any]], path: str) -> Choice:
    # A position is enough: the file's name has a digest of all candidates (``_path`` of
    # ``_autotune``). A file that was renamed may be a choice between others.
    columns = record.seconds, record.transfers, record.refusals
    if any(len(column) != len(candidates) for column in columns) or (
        record.chosen not in range(len(candidates)) or record.refusals[record.chosen] is not None
    ):
        raise FileError(f"{path}: {_KIND.title} that are not these {len(candidates)}.")
    trials = tuple([Trial(*row) for row in zip(candidates, *columns, strict=True)])
    return Choice(candidates[record.chosen], record.basis, trials, is_stored=True)


def write_choice(path: str, choice: Choice) -> None:
    """Write a choice to a file; warn if it cannot be written."""
    trials = choice.trials
    record = _Record(
        [t.options for t in trials].index(choice.options),
        choice.basis,
        [t.seconds for t in trials],
        [t.transfers for t in trials],
        [t.refusal for t in trials],
    )
    try:
        replace_file(path, write_file(_KIND, record))
    except OSError as error:
        report_fault(
            f"{path}: the choice cannot be stored: {error}. The next process makes it again.",
            f"{os.path.dirname(path)}: not written",
            cause=error,
        )
