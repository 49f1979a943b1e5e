"""Contracts on the compilations of a test: functions, argument types, numbers of equations.

The first run of a test records its compilations in a file to be put under version control. A
later run fails if it compiles more: a function for new types, more often, or in more equations.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import ricci_ir as ir

__all__ = ["CompileContractError", "CompileContractWarning", "compile_contract"]

UPDATE_VARIABLE = "RICCI_UPDATE_CONTRACTS"
_MOST_LINES = 12


class CompileContractError(AssertionError):
    """A test compiled more than its contract allows."""


class CompileContractWarning(UserWarning):
    """A test compiled less than its contract, which can be updated."""


class Signature(NamedTuple):
    """The arguments that a function was compiled for.

    Attributes:
      arguments: the name and the type of each array among the arguments.
      static: the name and the ``repr`` of each static argument.
    """

    arguments: tuple[tuple[str, str], ...]
    static: tuple[tuple[str, str], ...]


class Compilations(NamedTuple):
    """The number of compilations for one signature, and of the equations of the jaxpr."""

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
      tolerance: the fraction by which the number of equations may grow.

    Only functions called on this thread count, and of nested jitted functions only the outermost.
    All compiled functions are cleared on entry, so that earlier code makes no difference.

    Raises:
      CompileContractError: on leaving the block, if a function was compiled that is not in the
        contract, or for other types, more often, or in more equations. If less is compiled,
        a ``CompileContractWarning`` is issued.

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
        self.update = _update_requested() if update is None else update
        self.tolerance = tolerance
        self.record: Record = {}
        self._observing = ir.observing(self._note)

    def __enter__(self) -> "compile_contract":
        # Programs compiled before the block would otherwise not be compiled in it, and the record
        # would depend on the tests that ran before.
        ir.backend().clear()
        self.record = {}
        self._observing.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        self._observing.__exit__(kind, *exception)
        # A test that failed has not compiled all that it would.
        if kind is None:
            self.settle()

    def _note(self, event: object) -> None:
        if not isinstance(event, ir.ProgramCompiled):
            return
        # The library's own functions may change between versions; the contract is on the user's.
        if ir.is_internal_module(event.function):
            return
        signature = Signature(
            tuple((name, _describe_type(aval)) for name, aval in event.arguments), event.static
        )
        entry = self.record.setdefault(event.function, {})
        times = entry[signature].times if signature in entry else 0
        entry[signature] = Compilations(times + 1, count_equations(event.jaxpr))

    def settle(self) -> None:
        """Write the file, or compare the recorded compilations with it."""
        if self.update or not self.file.exists():
            # A file written there would be lost, and the test would pass without a contract.
            if not self.update and os.environ.get("CI"):
                raise CompileContractError(
                    f"the contract {self.file} is missing, and is not written on a build server "
                    "(CI is set). Run the test elsewhere, and commit the file."
                )
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(to_json(self.record), encoding="utf-8")
            return
        recorded = from_json(self.file.read_text(encoding="utf-8"))
        grown, shrunk = compare(recorded, self.record, self.tolerance)
        advice = f"If this is intended, rewrite {self.file} with {UPDATE_VARIABLE}=1."
        if grown:
            lines = ["more is compiled than recorded:", *_truncate(grown)]
            raise CompileContractError("\n".join([*lines, advice]))
        if shrunk:
            lines = ["less is compiled than recorded:", *_truncate(shrunk)]
            warnings.warn("\n".join([*lines, advice]), CompileContractWarning, stacklevel=3)


def _update_requested() -> bool:
    return os.environ.get(UPDATE_VARIABLE, "0") not in ("", "0")


def _truncate(lines: Sequence[str]) -> list[str]:
    # The heading, the advice and the line that counts the rest.
    most = _MOST_LINES - 3
    more = [f"- and {len(lines) - most} more"] if len(lines) > most else []
    return [*(f"- {line}" for line in lines[:most]), *more]


def _describe_type(aval: ir.AbstractValue) -> str:
    weak = " (weakly typed)" if getattr(aval, "weak_type", False) else ""
    return f"{aval.str_short()}{weak}"


def count_equations(jaxpr: ir.Jaxpr) -> int:
    """The number of equations of a jaxpr and of all nested jaxprs, each counted once."""
    # Jaxprs are kept as well as their ids, so that no id is used again meanwhile.
    jaxprs = {id(jaxpr): jaxpr}
    stack = [jaxpr]
    while stack:
        for inner in ir.subjaxprs(stack.pop()):
            if id(inner) not in jaxprs:
                jaxprs[id(inner)] = inner
                stack.append(inner)
    return sum(len(each.eqns) for each in jaxprs.values())


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


def _pairs(mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(mapping.items()))


def _normal(entry: Mapping[Signature, Compilations]) -> dict[Signature, Compilations]:
    return {
        Signature(_pairs(dict(s.arguments)), _pairs(dict(s.static))): done
        for s, done in entry.items()
    }


# Comparing


def compare(recorded: Record, current: Record, tolerance: float) -> tuple[list[str], list[str]]:
    """Describe the compilations that exceed, and those that fall short of, the recorded ones."""
    grown: list[str] = []
    shrunk: list[str] = []
    for function in sorted({*recorded, *current}):
        # JSON sorts the arguments' names, so that both records are sorted before they are compared.
        before, now = (_normal(record.get(function, {})) for record in (recorded, current))
        if not now:
            shrunk.append(f"{function} is not compiled any more")
            continue
        for signature, done in sorted(now.items()):
            if signature not in before:
                grown.append(f"{function} is compiled {_difference(signature, before)}")
                continue
            was = before[signature]
            kind = f"{function} for {_shown(signature)}"
            # The number of compilations has to be equal, the number of equations only near, as it
            # changes with small improvements of the library.
            if done.times != was.times:
                line = f"{kind} is compiled {_times(done.times)}, {_times(was.times)} was recorded"
                (grown if done.times > was.times else shrunk).append(line)
            line = f"{kind} has {done.equations} equations, {was.equations} were recorded"
            if done.equations > was.equations * (1 + tolerance):
                grown.append(line)
            elif done.equations < was.equations * (1 - tolerance):
                shrunk.append(line)
        missing = [s for s in before if s not in now]
        shrunk += [f"{function} is not compiled for {_shown(s)} any more" for s in sorted(missing)]
    return grown, shrunk


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _shown(signature: Signature) -> str:
    parts = [f"{name}: {kind}" for name, kind in (*signature.arguments, *signature.static)]
    text = ", ".join(parts)
    return f"({text})" if len(text) < 200 else f"({text[:197]}...)"


def _difference(signature: Signature, recorded: Mapping[Signature, Compilations]) -> str:
    """Describe how a signature differs from the most similar recorded one."""
    if not recorded:
        return f"for {_shown(signature)}; no compilation of it was recorded"
    # The one with the fewest changes most likely shows why the function is compiled again.
    nearest = min(recorded, key=lambda other: len(_changes(other, signature)))
    return f"again: {'; '.join(_changes(nearest, signature)[:5])}"


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
