"""Evaluates programs on both sides, and lists their differences.

JAX also evaluates each program for arguments that are moved by a few roundings. Where that moves a
result, the result may differ by eight times as much, and an integer is not compared. A result of
which that exchanges elements (they are sorted by what rounding decides) is not compared either.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import batched

import numpy as np

from ricci_testing import (
    Leaf,
    Oracle,
    Raised,
    Request,
    Result,
    compare,
    evaluate_with,
    ricci_namespace,
    shared_oracle,
)

from .features_prelude import FEATURES_PRELUDE
from .prelude import PRELUDE
from .programs import Program

BATCH = 8  # programs in one exchange with the oracle
KEPT = 25  # exchanges after which both sides clear their caches: memory maps run out
TIMEOUT = 900.0
ROUNDINGS = {"bfloat16": 2.0**-7, "float16": 2.0**-9, "float32": 2.0**-22}
TOLERANCES = {"bfloat16": 6e-2, "float16": 1.5e-2, "float32": 3e-4}
# JAX fails by accident with these; a deliberate error of ours is as good.
ACCIDENTAL = {"AssertionError", "AttributeError", "KeyError", "IndexError", "UnboundLocalError"}
DELIBERATE = {"TypeError", "ValueError", "NotImplementedError"}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference between the two sides in a program.

    Attributes:
        part: `eager`, `transformed` or `again`.
        kind: what differs: `outcome`, `leaves`, `dtype`, `shape`, `weak_type`, `values` …
        text: what both sides have.
    """

    program: Program
    part: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.program}\n# {self.part}: {self.kind}\n{self.text}"


def disagreements(programs: Sequence[Program]) -> list[Disagreement | None]:
    """Evaluate programs on both sides at the same time; return the first difference of each."""
    found: list[Disagreement | None] = []
    for number, batch in enumerate(batched(programs, BATCH)):
        answers = list(zip(batch, *_both(batch), strict=True))
        found += [_first(program, ours, theirs) for program, ours, theirs in answers]
        if number % KEPT == KEPT - 1:
            forget = Request("jax.clear_caches()\n0", {})
            shared_oracle().run_many([forget], timeout=TIMEOUT)
            evaluate_with(ricci_namespace(), forget.source, {})
    return found


def _both(batch: Sequence[Program]) -> tuple[list[Result], list[Result]]:
    theirs: list[Result] = []
    errors: list[Exception] = []

    def ask(oracle: Oracle) -> None:
        try:
            questions = [question(program, theirs=True) for program in batch]
            theirs.extend(oracle.run_many(questions, timeout=TIMEOUT))
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=ask, args=(shared_oracle(),))
    thread.start()
    space = ricci_namespace()
    requests = [question(p, theirs=False) for p in batch]
    ours = [evaluate_with(space, r.source, r.inputs, config=r.config) for r in requests]
    thread.join()
    if errors:
        raise errors[0]
    return ours, theirs


def question(program: Program, theirs: bool) -> Request:
    """The question about a program, for JAX or for this side.

    JAX compiles the program and its transformed form together, which costs least, and also gives
    what they are for arguments moved by a few roundings.
    """
    functions = {"eager": "program", "transformed": program.form}
    if not program.forms:
        del functions["transformed"]
    if theirs:
        named = ", ".join(f"'{name}': {text}" for name, text in functions.items())
        steps = [f"answers({{{named}}}, args, {ROUNDINGS[program.narrowest]})"]
    else:
        steps = [f"{name} = attempt({text}, args)" for name, text in functions.items()]
        if program.forms:
            steps[1] = steps[1].replace("attempt(", "attempt(form := ")
        if not program.eager_first:
            steps.reverse()
        if program.forms:
            steps.append("again = attempt(form, args)")
            functions["again"] = "form"
        steps.append("{" + ", ".join(f"'{name}': {name}" for name in functions) + "}")
    text = "\n".join([PRELUDE, FEATURES_PRELUDE, program.text(), *steps])
    return Request(text, {}, {"jax_enable_x64": program.wide})


def _first(program: Program, ours: Result, theirs: Result) -> Disagreement | None:
    parts = ["eager", "transformed", "again"] if program.forms else ["eager"]
    if not program.eager_first:
        parts = ["transformed", "again", "eager"] if program.forms else parts
    if ours.error or theirs.error:  # the arguments could not be made
        names = [result.error and result.error.name for result in (ours, theirs)]
        same = names[0] == names[1]
        return None if same else Disagreement(program, "args", "outcome", str(names))
    for part in parts:
        same = "transformed" if part == "again" else part
        expected, moved = _part(theirs, same), _part(theirs, f"{same}_moved")
        problem = _unlike(_part(ours, part), expected, moved, program.narrowest)
        if problem:
            return Disagreement(program, part, *problem)
    return None


def _part(result: Result, name: str) -> Result:
    """The result or the error that is under a name of the answer."""
    prefix = f"[{name!r}]"
    leaves = [leaf for leaf in result.leaves if leaf.path.startswith(prefix)]
    errors = {leaf.path.removeprefix(prefix): leaf.value for leaf in leaves}
    if "['error']" in errors:
        bases = tuple(str(errors["['error']"]).split())
        return Result((), Raised(bases[0], bases, str(errors["['message']"])))
    prefix += "['value']"
    return Result(tuple(replace(x, path=x.path.removeprefix(prefix)) for x in leaves), None)


def _unlike(ours: Result, theirs: Result, moved: Result, narrow: str) -> tuple[str, str] | None:
    """Say in what two results differ: the kind of the difference, and both sides of it."""
    if ours.error or theirs.error:
        return _unlike_errors(ours, theirs)
    try:
        compare(_without_values(ours), _without_values(theirs))
    except AssertionError as error:
        kind, _, text = str(error).partition("\n")
        return kind.removesuffix(" differs").removesuffix(" differ"), text
    if moved.error or len(moved.leaves) != len(theirs.leaves):
        return None
    for found, expected, other in zip(ours.leaves, theirs.leaves, moved.leaves, strict=True):
        if expected.kind == "text":
            continue
        text = _far_apart(found, expected, other, narrow)
        if text:
            return "values", f"at result{found.path}\n{text}"
    return None


def _unlike_errors(ours: Result, theirs: Result) -> tuple[str, str] | None:
    our, their = ours.error, theirs.error
    if our and their:
        accidental = their.name in ACCIDENTAL and DELIBERATE & set(our.bases)
        if their.name in our.bases or accidental:
            return None
    shown = [f"{e.name}: {e.message[:700]}" if e else "a value" for e in (our, their)]
    return "outcome", f"ours:   {shown[0]}\ntheirs: {shown[1]}"


def _without_values(result: Result) -> Result:
    return replace(result, leaves=tuple(
        leaf if leaf.kind == "text" else replace(leaf, value=np.zeros(leaf.shape))
        for leaf in result.leaves))  # fmt: skip


def _is_exchanged(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays have the same elements in another order, up to a tolerance."""
    if not np.any(np.abs(a - b) > tolerance):
        return False
    return bool(np.all(np.abs(np.sort(a, axis=None) - np.sort(b, axis=None)) <= tolerance))


def _far_apart(ours: Leaf, theirs: Leaf, moved: Leaf, narrow: str) -> str:
    found, expected, other = (np.asarray(leaf.value) for leaf in (ours, theirs, moved))
    if "float0" in theirs.dtype:
        return ""
    if expected.shape != other.shape or not expected.size:
        return ""
    if expected.dtype.kind in "iub":
        wrong = (found != expected) & (other == expected)
    else:
        kind = np.complex128 if expected.dtype.kind == "c" else np.float64
        found, expected, other = (x.astype(kind) for x in (found, expected, other))
        with np.errstate(all="ignore"):
            finite = np.isfinite(expected)
            magnitude = max(1.0, float(np.max(np.abs(expected), where=finite, initial=0.0)))
            if _is_exchanged(expected, other, TOLERANCES[narrow] * magnitude):
                return ""
            allowed = TOLERANCES[narrow] * magnitude + 8 * np.abs(other - expected)
            same = (found == expected) | (np.isnan(found) & np.isnan(expected))
            settled = np.isfinite(other) == finite
            wrong = ~same & settled & ~(finite & (np.abs(found - expected) <= allowed))
    if not np.any(wrong):
        return ""
    return f"ours:   {found.tolist()}\ntheirs: {expected.tolist()}\nmoved:  {other.tolist()}"
