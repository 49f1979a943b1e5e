"""Evaluate cases on both sides, and compare them: values, types, printed jaxprs."""

import difflib
import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ricci_testing import Oracle, Request, Result, compare, evaluate_with

from .case import Case, is_inexact
from .differences import reason_for

ASPECTS = ("value", "dtype", "shape", "weak type", "jaxpr")
_SCALAR = re.compile(r"np\.int64\((-?\d+)\)")
_GROUPING = re.compile(r"^ *(ft_in|ft_out|num_carry|num_consts)=.*\n", re.MULTILINE)
# Primitives, and parameters that are one word: not names of jaxprs, nor sizes in parentheses.
_WORD = re.compile(r"(?<== )[a-z]\w*|\b(?!\w*jaxpr=)\w+=(?:<class '[\w.]+|-?\w[\w.]*)")
PRELUDE = """
def direction(o):
    if not jnp.issubdtype(o.dtype, np.inexact):
        return np.zeros(o.shape, jax.dtypes.float0)
    return np.cos(np.arange(np.prod(o.shape, dtype=int))).reshape(o.shape).astype(o.dtype)
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement: in which aspect of which computation, both sides' texts, and the reason.

    Attributes:
        ours, theirs: what the rows of `differences.py` hold; of printed programs the words that
            one side has and the other lacks, as `surplus` counts them.
        detail: the lines by which printed programs differ, or where values do.
    """

    aspect: str
    probe: str
    ours: str
    theirs: str
    detail: str
    reason: str | None

    @property
    def text(self) -> str:
        """Both texts, ready to be copied into a row, and the detail."""
        return f"ours={self.ours!r}, theirs={self.theirs!r}\n{self.detail}".rstrip()


@dataclass(slots=True)
class Outcome:
    """The outcome of a case: the aspects that could be compared, and the differences."""

    case: Case
    compared: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)

    @property
    def unexpected(self) -> list[Difference]:
        """The differences that no table gives a reason for."""
        return [difference for difference in self.differences if difference.reason is None]


@dataclass(frozen=True, slots=True)
class Probe:
    """A function made of a case's call, as text, with its arguments."""

    name: str
    function: str
    inputs: dict[str, Any]


def probes(case: Case) -> list[Probe]:
    """Return the computations of a case, each as a function of named inputs."""
    listed = []
    if "value" in case.probes:
        listed.append(Probe("value", _lambda(case.inputs, case.source), case.inputs))
    if {"jvp", "vjp"} & set(case.probes):
        listed += _derivatives(case)
    if "vmap" in case.probes:
        listed += _mapped(case)
    return listed


def _lambda(inputs: Iterable[str], body: str) -> str:
    return f"lambda {', '.join(inputs)}: {body}"


def _derivatives(case: Case) -> list[Probe]:
    by = ", ".join(case.diff)
    partial = f"lambda {by}: {case.source}"
    listed = []
    if "jvp" in case.probes:
        tangents = {f"d{name}": _direction(case.inputs[name]) for name in case.diff}
        body = f"jax.jvp({partial}, ({by},), ({', '.join(tangents)},))"
        inputs = {**case.inputs, **tangents}
        listed.append(Probe("jvp", _lambda(inputs, body), inputs))
    if "vjp" in case.probes:
        pulled = f"(lambda o, pull: pull(jax.tree.map(direction, o)))(*jax.vjp({partial}, {by}))"
        listed.append(Probe("vjp", _lambda(case.inputs, pulled), case.inputs))
    return listed


def _mapped(case: Case) -> list[Probe]:
    """Map over all operands at an axis that is not the first, then over each alone at the last."""
    choices = [("all", case.mapped, 1)]
    if len(case.mapped) > 1:
        choices += [(name, (name,), 99) for name in case.mapped]
    listed = []
    for label, names, place in choices:
        axes = [min(place, np.ndim(v)) if k in names else None for k, v in case.inputs.items()]
        inputs = {
            key: value if axis is None else _batched(value, axis)
            for (key, value), axis in zip(case.inputs.items(), axes, strict=True)
        }
        call = _lambda(case.inputs, case.source)
        body = f"jax.vmap({call}, {tuple(axes)})({', '.join(case.inputs)})"
        listed.append(Probe(f"vmap over {label}", _lambda(inputs, body), inputs))
    return listed


def _batched(value: np.ndarray, axis: int) -> np.ndarray:
    """Return the array and a variant of it: half of it, which keeps definite matrices definite."""
    variant = (value * 0.5).astype(value.dtype) if is_inexact(value) else np.roll(value, 1)
    return np.stack([value, variant], axis)


def _direction(value: np.ndarray) -> np.ndarray:
    return np.cos(1 + np.arange(value.size)).reshape(value.shape).astype(value.dtype)


def _asked(case: Case, whole: bool) -> Case:
    """Return the case, without the call that is not compiled as a whole where it adds little."""
    if whole and "value" in case.probes and "eager" not in case.probes:
        return replace(case, probes=(*case.probes, "eager"))
    return case


def _requests(case: Case) -> list[Request]:
    """The printed program of each computation, and one compiled program for all of them."""
    config = {"jax_enable_x64": True} if case.x64 else None
    case_probes = probes(case)
    requests = [Request(PRELUDE + p.function, p.inputs, config, "jaxpr") for p in case_probes]
    if case_probes and not case.programs_only:
        requests.append(_together(case_probes, config))
    if "eager" in case.probes:
        requests.append(Request(case.source, case.inputs, config))
    return requests


def _together(parts: list[Probe], config: Any) -> Request:
    inputs: dict[str, Any] = {}
    calls = []
    for number, probe in enumerate(parts):
        renamed = {f"{key}_{number}": value for key, value in probe.inputs.items()}
        inputs |= renamed
        calls.append(f"{probe.name!r}: ({probe.function})({', '.join(renamed)})")
    names = ", ".join(inputs)
    source = f"{PRELUDE}jax.jit(lambda {names}: {{{', '.join(calls)}}})({names})"
    return Request(source, inputs, config)


def evaluate(
    cases: list[Case], namespace: Any, oracle: Oracle, *, whole: bool = False
) -> list[Outcome]:
    """Compare the cases, ours being evaluated while the oracle evaluates its own.

    With `whole`, each call is also evaluated as it stands, primitive by primitive.
    """
    cases = [_asked(case, whole) for case in cases]
    requests = [_requests(case) for case in cases]
    ours, theirs = _both([r for part in requests for r in part], namespace, oracle)
    outcomes = []
    for case, part in zip(cases, requests, strict=True):
        mine, ours = ours[: len(part)], ours[len(part) :]
        their, theirs = theirs[: len(part)], theirs[len(part) :]
        outcomes.append(_judge(case, part, mine, their, namespace, oracle))
    return outcomes


def _both(
    requests: list[Request], namespace: Any, oracle: Oracle
) -> tuple[list[Result], list[Result]]:
    theirs: list[Any] = []

    def ask() -> None:
        try:
            theirs.append(oracle.run_many(requests, timeout=600.0))
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            theirs.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    ours = [
        evaluate_with(namespace, r.source, r.inputs, config=r.config, finish=r.finish)
        for r in requests
    ]
    thread.join()
    if isinstance(theirs[0], Exception):
        raise theirs[0]
    return ours, theirs[0]


def _judge(
    case: Case,
    requests: list[Request],
    ours: list[Result],
    theirs: list[Result],
    namespace: Any,
    oracle: Oracle,
) -> Outcome:
    outcome = Outcome(case)
    case_probes = probes(case)
    for probe, mine, their in zip(case_probes, ours, theirs, strict=False):
        _compare_programs(outcome, probe.name, mine, their)
    if case_probes and not case.programs_only:
        together = len(case_probes)
        if ours[together].error or theirs[together].error:
            # One computation spoilt the program of all: each by itself tells which.
            alone = [_together([probe], requests[0].config) for probe in case_probes]
            for probe, mine, their in zip(
                case_probes, *_both(alone, namespace, oracle), strict=True
            ):
                _compare_values(outcome, probe.name, mine, their)
        else:
            _compare_values(outcome, "", ours[together], theirs[together])
    if "eager" in case.probes:
        _compare_values(outcome, "eager", ours[-1], theirs[-1])
    return outcome


def _note(
    outcome: Outcome, aspect: str, probe: str, ours: str, theirs: str, detail: str = ""
) -> None:
    reason = reason_for(outcome.case.function, aspect, probe, ours, theirs)
    outcome.differences.append(Difference(aspect, probe, ours, theirs, detail, reason))


def _compare_values(outcome: Outcome, probe: str, ours: Result, theirs: Result) -> None:
    outcome.compared.update(ASPECTS[:4])
    if _compare_errors(outcome, probe, ours, theirs):
        return
    paths = [[leaf.path for leaf in result.leaves] for result in (ours, theirs)]
    if paths[0] != paths[1]:
        _note(outcome, "value", probe, f"results {paths[0]}", f"results {paths[1]}")
        return
    for our, their in zip(ours.leaves, theirs.leaves, strict=True):
        location = probe or our.path.split("'")[1]
        for aspect in ("dtype", "shape", "weak type"):
            field_name = aspect.replace(" ", "_")
            mine, other = getattr(our, field_name), getattr(their, field_name)
            if mine != other:
                _note(outcome, aspect, location, str(mine), str(other), f"of result{our.path}")
        if our.kind != their.kind or our.shape != their.shape:
            _note(outcome, "value", location, our.kind, their.kind, f"of result{our.path}")
            continue
        if outcome.case.exact:
            alike = replace(our, dtype=their.dtype, weak_type=their.weak_type)
            _compare_leaf(outcome, location, alike, their)


def _compare_errors(outcome: Outcome, probe: str, ours: Result, theirs: Result) -> bool:
    """Note different errors, and tell whether there was any."""
    both = (ours, theirs)
    names = [result.error and result.error.name for result in both]
    if names[0] != names[1]:
        texts = [f"{r.error.name}: {r.error.message}" if r.error else "a value" for r in both]
        _note(outcome, "value", probe, texts[0][:600], texts[1][:600])
    return any(names)


def _compare_leaf(outcome: Outcome, where: str, our: Any, their: Any) -> None:
    try:
        compare(Result((our,), None), Result((their,), None), rtol=outcome.case.rtol)
    except AssertionError as error:
        detail, _, sides = str(error).rpartition("\nours:   ")
        mine, _, other = sides.partition("\ntheirs: ")
        _note(outcome, "value", where, mine, other, detail)


def _compare_programs(outcome: Outcome, probe: str, ours: Result, theirs: Result) -> None:
    if theirs.error or ours.error:
        if outcome.case.programs_only:  # otherwise the values tell
            _compare_errors(outcome, probe, ours, theirs)
        return
    outcome.compared.add("jaxpr")
    if ours.value != theirs.value and not _same_program(ours.value, theirs.value):
        lines = difflib.unified_diff(
            theirs.value.splitlines(), ours.value.splitlines(), "theirs", "ours", lineterm="", n=2
        )
        both = surplus(ours.value, theirs.value), surplus(theirs.value, ours.value)
        _note(outcome, "jaxpr", probe, *both, "\n".join(lines))


def surplus(program: str, other: str) -> str:
    """The primitives and one-word parameters that a printed program has more often than another.

    >>> surplus("b:f32[] = neg a  c:f32[] = neg b  d:i32[] = iota[dtype=int32] ", "b:f32[] = neg a")
    'dtype=int32 iota neg'
    >>> surplus("b:f32[] = neg a  c:f32[] = sin b  d:f32[] = sin c", "b:f32[] = neg a")
    'sin(2)'
    >>> surplus("c:f32[] = sin a  b:f32[] = neg a", "b:f32[] = neg a  c:f32[] = sin a")
    'the same words, otherwise'
    """
    words, others = (Counter(_WORD.findall(_GROUPING.sub("", p))) for p in (program, other))
    if words == others:
        return "the same words, otherwise"
    more = sorted((words - others).items())
    return " ".join(f"{word}({n})" if n > 1 else word for word, n in more) or "nothing more"


def _same_program(ours: str, theirs: str) -> bool:
    """Tell whether jaxprs differ only in parameters that JAX prints as objects.

    That is NumPy scalars, as in `np.int64(1)`, and how the operands of a scan are grouped, where
    ours has two numbers. Lines are broken elsewhere then: white space does not count.
    """
    plain = "".join(_SCALAR.sub(r"\1", _GROUPING.sub("", theirs)).split())
    return plain == "".join(_GROUPING.sub("", ours).split())
