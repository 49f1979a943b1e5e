"""Contracts on what a test compiles: which functions, for which types, in how many equations.

The first run of a test records its compilations in a file that is kept under version control. A
later run fails if it compiles more: a function for new types, more often, or in more equations.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ricci_ir import (
    AbstractValue,
    Jaxpr,
    ProgramCompiled,
    backend,
    is_internal_module,
    observing,
    subjaxprs,
)

UPDATE_VARIABLE = "RICCI_UPDATE_CONTRACTS"
_MOST_LINES = 12


class CompileContractError(AssertionError):
    """More was compiled than the contract says."""


class CompileContractWarning(UserWarning):
    """Less was compiled than the contract says, so the contract can be updated."""


class Signature(NamedTuple):
    """The arguments that a function was compiled for.

    Attributes:
      arguments: the name and the type of each array among the arguments.
      static: the name and the ``repr`` of each static argument.
    """

    arguments: tuple[tuple[str, str], ...]
    static: tuple[tuple[str, str], ...]


class Compilations(NamedTuple):
    """The number of compilations for one signature, and of the equations of the program."""

    times: int
    equations: int


type Record = dict[str, dict[Signature, Compilations]]


class compile_contract:
    """Compare the compilations in a ``with`` block with those recorded in a file.

    Args:
      file: the contract, JSON with one entry for each function. If it is missing it is written,
        unless the environment variable ``CI`` is set.
      update: whether to write the file instead of comparing with it; by default whether
        ``RICCI_UPDATE_CONTRACTS`` is set to something else than ``0``.
      tolerance: the fraction by which the equations of a program may grow.

    Only functions called on this thread count, and of nested jitted functions only the outermost.
    All compiled programs are dropped on entry, so that earlier code makes no difference.

    Raises:
      CompileContractError: on leaving the block, if a function was compiled that is not in the
        contract, or for other types, more often, or in more equations. If fewer are compiled,
        there is a ``CompileContractWarning``.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> from ricci.testing import compile_contract
      >>> with TemporaryDirectory() as folder:
      ...     with compile_contract(f"{folder}/step.json", update=True) as contract:
      ...         pass  # calls of jitted functions
      ...     contract.file.read_text()
      '{\\n  "functions": {},\\n  "version": 1\\n}\\n'
    """

    def __init__(
        self, file: str | os.PathLike[str], *, update: bool | None = None, tolerance: float = 0.1
    ):
        self.file = Path(file)
        self.update = _update_is_wanted() if update is None else update
        self.tolerance = tolerance
        self.record: Record = {}
        self._observing = observing(self._note)

    def __enter__(self) -> "compile_contract":
        backend().clear()
        self.record = {}
        self._observing.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self._observing.__exit__(kind, *exception)
        if kind is None:
            self.settle()

    def _note(self, event: object) -> None:
        if not isinstance(event, ProgramCompiled):
            return
        if is_internal_module(event.function):
            return
        signature = Signature(
            tuple((name, _described(aval)) for name, aval in event.arguments), event.static
        )
        entry = self.record.setdefault(event.function, {})
        times = entry[signature].times if signature in entry else 0
        entry[signature] = Compilations(times + 1, count_equations(event.jaxpr))

    def settle(self) -> None:
        """Write the file, or compare the recorded compilations with it."""
        if self.update or not self.file.exists():
            if not self.update and os.environ.get("CI"):
                raise CompileContractError(
                    f"there is no contract {self.file}, and on a build server (CI is set) none is "
                    "written. Run the test elsewhere, and commit the file."
                )
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(to_json(self.record), encoding="utf-8")
            return
        agreed = from_json(self.file.read_text(encoding="utf-8"))
        grown, shrunk = compare(agreed, self.record, self.tolerance)
        advice = f"If this is meant, write {self.file} anew with {UPDATE_VARIABLE}=1."
        if grown:
            lines = ["more is compiled than agreed:", *_cut(grown)]
            raise CompileContractError("\n".join([*lines, advice]))
        if shrunk:
            lines = ["less is compiled than agreed:", *_cut(shrunk)]
            warnings.warn("\n".join([*lines, advice]), CompileContractWarning, stacklevel=3)


def _update_is_wanted() -> bool:
    return os.environ.get(UPDATE_VARIABLE, "0") not in ("", "0")


def _cut(lines: Sequence[str]) -> list[str]:
    most = _MOST_LINES - 3
    more = [f"- and {len(lines) - most} more"] if len(lines) > most else []
    return [*(f"- {line}" for line in lines[:most]), *more]


def _described(aval: AbstractValue) -> str:
    weak = " (weakly typed)" if getattr(aval, "weak_type", False) else ""
    return f"{aval.str_short()}{weak}"


def count_equations(jaxpr: Jaxpr) -> int:
    """The number of equations of a program and of the programs in it, each counted once."""
    found = {id(jaxpr): jaxpr}
    waiting = [jaxpr]
    while waiting:
        for inner in subjaxprs(waiting.pop()):
            if id(inner) not in found:
                found[id(inner)] = inner
                waiting.append(inner)
    return sum(len(each.eqns) for each in found.values())


# The file


def to_json(record: Record) -> str:
    """A record as sorted JSON, so that versions of it can be compared line by line."""
    functions = {
        function: [
            {
                "arguments": dict(signature.arguments),
                "equations": done.equations,
                "static": dict(signature.static),
                "times": done.times,
            }
            for signature, done in sorted(entry.items())
        ]
        for function, entry in record.items()
    }
    text = json.dumps({"version": 1, "functions": functions}, indent=2, sort_keys=True)
    return text + "\n"


def from_json(text: str) -> Record:
    """The record that ``to_json`` wrote."""
    return {
        function: {
            Signature(_pairs(each["arguments"]), _pairs(each["static"])): Compilations(
                each["times"], each["equations"]
            )
            for each in entry
        }
        for function, entry in json.loads(text)["functions"].items()
    }


def _pairs(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


def _normal(entry: Mapping[Signature, Compilations]) -> dict[Signature, Compilations]:
    return {
        Signature(_pairs(dict(s.arguments)), _pairs(dict(s.static))): done
        for s, done in entry.items()
    }


# Comparing


def compare(agreed: Record, found: Record, tolerance: float) -> tuple[list[str], list[str]]:
    """The compilations that are more, and those that are less, than agreed, as lines of text."""
    grown: list[str] = []
    shrunk: list[str] = []
    for function in sorted({*agreed, *found}):
        before, now = (_normal(record.get(function, {})) for record in (agreed, found))
        if not now:
            shrunk.append(f"{function} is not compiled any more")
            continue
        for signature, done in sorted(now.items()):
            if signature not in before:
                grown.append(f"{function} is compiled {_difference(signature, before)}")
                continue
            was = before[signature]
            kind = f"{function} for {_shown(signature)}"
            if done.times != was.times:
                line = (
                    f"{kind} is compiled {_times(done.times)}, where {_times(was.times)} was agreed"
                )
                (grown if done.times > was.times else shrunk).append(line)
            line = f"{kind} has {done.equations} equations, where {was.equations} were agreed"
            if done.equations > was.equations * (1 + tolerance):
                grown.append(line)
            elif done.equations < was.equations * (1 - tolerance):
                shrunk.append(line)
        gone = [s for s in before if s not in now]
        shrunk += [f"{function} is not compiled for {_shown(s)} any more" for s in sorted(gone)]
    return grown, shrunk


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _shown(signature: Signature) -> str:
    parts = [f"{name}: {kind}" for name, kind in (*signature.arguments, *signature.static)]
    text = ", ".join(parts)
    return f"({text})" if len(text) < 200 else f"({text[:197]}...)"


def _difference(signature: Signature, agreed: Mapping[Signature, Compilations]) -> str:
    """How a signature differs from the most similar one that was agreed."""
    if not agreed:
        return f"for {_shown(signature)}; no compilation of it was agreed"
    nearest = min(agreed, key=lambda other: len(_changes(other, signature)))
    return f"anew: {'; '.join(_changes(nearest, signature)[:5])}"


def _changes(before: Signature, now: Signature) -> list[str]:
    changes = []
    for what, old, new in (
        ("argument", dict(before.arguments), dict(now.arguments)),
        ("static argument", dict(before.static), dict(now.static)),
    ):
        for name in Counter([*old, *new]):
            if name not in new:
                changes.append(f"{what} {name} was {old[name]} and is not given")
            elif name not in old:
                changes.append(f"{what} {name} is {new[name]} and was not given")
            elif old[name] != new[name]:
                changes.append(f"{what} {name} was {old[name]} and is {new[name]}")
    return changes
