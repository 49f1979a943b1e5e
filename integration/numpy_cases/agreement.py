"""Evaluate calls in four ways, and list the differences from real JAX.

The ways: ours compiled by XLA (as it stands, and under `jit` together with its derivatives and
mapped calls), ours on the reference backend in a process of its own, and NumPy.
"""

import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from lax_cases.agreement import PRELUDE, Probe, probes

from ricci_testing import (
    RTOL,
    Oracle,
    Request,
    Result,
    compare,
    evaluate_with,
    ricci_namespace,
    shared_oracle,
)

from .case import WEAK, Call
from .differences import ACCIDENTAL, numpy_reason, reason

PROGRAM = 24  # computations that are compiled together: one module costs less than many
TIMEOUT = 600.0
TYPES = """
def types(found):
    if isinstance(found, jax.ShapeDtypeStruct):
        return f"{found.dtype}{found.shape}{' weak' if getattr(found, 'weak_type', False) else ''}"
    if isinstance(found, dict):
        return {key: types(value) for key, value in found.items()}
    return [types(item) for item in found] if isinstance(found, (list, tuple)) else str(found)
"""
SERVER = Path(__file__).with_name("light_server.py")


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement with JAX, or of JAX with NumPy: whose, in what of which call, and why."""

    side: str
    probe: str
    call: Call
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.call}\n{self.side}, {self.probe}: {self.text}"


@cache
def light() -> Oracle:
    """The process of the light install."""
    return Oracle(sys.executable, TIMEOUT, SERVER)


def differences(calls: Iterable[Call]) -> list[Difference]:
    """Return every difference found in the calls, those with a reason too."""
    calls = list(calls)
    disagreements = _typed([call for call in calls if call.programs_only])
    calls = [call for call in calls if not call.programs_only]
    computed = [(call, Probe("eager", call.source, call.inputs)) for call in calls
                if "eager" in call.probes]  # fmt: skip
    answers = _answers([Request(p.function, p.inputs, _config(call)) for call, p in computed])
    for (call, probe), results in zip(computed, answers, strict=True):
        disagreements += _judge(call, probe.name, results)
    for wide in (False, True):
        disagreements += _compiled([call for call in calls if call.x64 is wide])
    return disagreements


def _typed(calls: list[Call]) -> list[Difference]:
    """Compare the types of the results, for which nothing is compiled.

    A call that cannot be traced is made as it stands.
    """
    parts = [(call, probe) for call in calls for probe in _probes(call)]
    parts += [(call, Probe("eager", call.source, call.inputs)) for call in calls
              if not _probes(call)]  # fmt: skip
    differences = []
    for (call, probe), results in zip(parts, _answers(map(_type_request, parts)), strict=True):
        text = None if results[2].error else _unlike(call, "xla", results[0], results[2])
        if text:
            explanation = reason(call, "xla", probe.name, text)
            differences.append(
                Difference("xla", f"the type of {probe.name}", call, text, explanation)
            )
    return differences


def _type_request(part: tuple[Call, Probe]) -> Request:
    call, probe = part
    if probe.name == "eager":
        return Request(probe.function, probe.inputs, _config(call))
    operands = [_weakly_typed(call, name) if call.weak else name for name in probe.inputs]
    shaped = f"jax.eval_shape({probe.function}, {', '.join(operands)})"
    return Request(f"{PRELUDE}{TYPES}types({shaped})", probe.inputs, _config(call))


def _weakly_typed(call: Call, name: str) -> str:
    value = call.inputs[name]
    dtype = WEAK[call.x64].get(str(value.dtype))
    if dtype is None:
        return name
    return f"jax.ShapeDtypeStruct({value.shape}, '{dtype}', weak_type=True)"


def _config(call: Call) -> dict[str, Any] | None:
    return {"jax_enable_x64": True} if call.x64 else None


def _together(parts: list[tuple[Call, Probe]]) -> Request:
    """One program that makes all computations; their results are under their numbers."""
    inputs: dict[str, Any] = {}
    texts = []
    for number, (_, probe) in enumerate(parts):
        renamed = {f"{key}_{number}": value for key, value in probe.inputs.items()}
        inputs |= renamed
        texts.append(f"'{number}': ({probe.function})({', '.join(renamed)})")
    names = ", ".join(inputs)
    source = f"{PRELUDE}jax.jit(lambda {names}: {{{', '.join(texts)}}})({names})"
    return Request(source, inputs, _config(parts[0][0]))


def _compiled(calls: list[Call]) -> list[Difference]:
    differences, spoilt = _grouped([(call, probe) for call in calls for probe in _probes(call)])
    # One computation spoils the program of all: tracing each tells which, and costs little.
    traced = _answers([_traced(call, probe) for call, probe in spoilt])
    sound = []
    for part, results in zip(spoilt, traced, strict=True):
        if any(result.error for result in results):
            differences += _judge(*_named(part), tuple(_emptied(result) for result in results))
        else:
            sound.append(part)
    more, spoilt = _grouped(sound)
    answers = _answers([_together([part]) for part in spoilt])
    for part, results in zip(spoilt, answers, strict=True):
        more += _judge(*_named(part), tuple(_part(result, 0) for result in results))
    return differences + more


def _grouped(parts: list[tuple[Call, Probe]]) -> tuple[list[Difference], list[Any]]:
    """Judge the computations in programs of several; also return those of programs that failed."""
    groups = [parts[i : i + PROGRAM] for i in range(0, len(parts), PROGRAM)]
    differences: list[Difference] = []
    spoilt: list[tuple[Call, Probe]] = []
    for group, results in zip(groups, _answers(map(_together, groups)), strict=True):
        if any(result.error for result in results):
            spoilt += group
            continue
        for number, part in enumerate(group):
            differences += _judge(*_named(part), tuple(_part(result, number) for result in results))
    return differences, spoilt


def _emptied(result: Result) -> Result:
    return replace(result, leaves=())


def _named(part: tuple[Call, Probe]) -> tuple[Call, str]:
    return part[0], part[1].name


def _traced(call: Call, probe: Probe) -> Request:
    return Request(f"{PRELUDE}{probe.function}", probe.inputs, _config(call), "jaxpr")


def _probes(call: Call) -> list[Probe]:
    """The computations of a call that are compiled; of mapped ones the first two."""
    case_probes = probes(call)
    mapped = [probe for probe in case_probes if probe.name.startswith("vmap")]
    return [probe for probe in case_probes if probe not in mapped[2:]]


def _part(result: Result, number: int) -> Result:
    """The leaves of one computation of several."""
    prefix = f"['{number}']"
    if result.error:
        return result
    inner = (leaf for leaf in result.leaves if leaf.path.startswith(prefix))
    return Result(tuple(replace(x, path=x.path.removeprefix(prefix)) for x in inner), None)


def _answers(requests: Iterable[Request]) -> list[tuple[Result, Result, Result]]:
    """Evaluate the requests here, on the reference backend and by JAX, at the same time."""
    requests = list(requests)
    if not requests:
        return []
    results: dict[str, Any] = {}

    def ask(name: str, oracle: Oracle) -> None:
        try:
            results[name] = oracle.run_many(requests, timeout=TIMEOUT)
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            results[name] = error

    threads = [
        threading.Thread(target=ask, args=("reference", light())),
        threading.Thread(target=ask, args=("theirs", shared_oracle())),
    ]
    for thread in threads:
        thread.start()
    space = ricci_namespace()
    ours = [
        evaluate_with(space, r.source, r.inputs, config=r.config, finish=r.finish) for r in requests
    ]
    for thread in threads:
        thread.join()
    for result in results.values():
        if isinstance(result, Exception):
            raise result
    return list(zip(ours, results["reference"], results["theirs"], strict=True))


def _judge(call: Call, probe: str, results: tuple[Result, ...]) -> list[Difference]:
    ours, reference, theirs = results
    differences = _against_numpy(call, probe, results) if probe in ("eager", "value") else []
    if call.bad is (theirs.error is None):
        text = f"must raise: {call.bad}; JAX: {theirs.error or 'a value'}"
        differences.append(
            Difference("table", probe, call, text, reason(call, "table", probe, text))
        )
    for side, result in (("xla", ours), ("reference", reference)):
        text = _unlike(call, side, result, theirs)
        if text:
            differences.append(Difference(side, probe, call, text, reason(call, side, probe, text)))
    return differences


def _unlike(call: Call, side: str, ours: Result, theirs: Result) -> str | None:
    """Say in what two results differ: the error's class, structure, types, values."""
    names = [result.error and result.error.name for result in (ours, theirs)]
    if theirs.error and theirs.error.name in ACCIDENTAL and names[0] in ("TypeError", "ValueError"):
        return None
    # A class of our own below JAX's is as good: who expects JAX's error catches it.
    accepted = names[1] in (ours.error.bases if ours.error else (None,))
    if not accepted:
        shown = [f"{r.error.name}: {r.error.message}" if r.error else f"{r.leaves}"
                 for r in (ours, theirs)]  # fmt: skip
        return f"ours {shown[0][:500]}\ntheirs {shown[1][:500]}"
    if theirs.error:
        return None
    if not call.exact:
        ours, theirs = _without_values(ours), _without_values(theirs)
    try:
        compare(ours, theirs, rtol=call.rtol)
    except AssertionError as error:
        return str(error)
    return None


def _without_values(result: Result) -> Result:
    return replace(result, leaves=tuple(
        replace(leaf, value=np.zeros(leaf.shape)) if leaf.kind == "array" else leaf
        for leaf in result.leaves))  # fmt: skip


def _against_numpy(call: Call, probe: str, results: tuple[Result, ...]) -> list[Difference]:
    """Compare our value with that of the same text on NumPy's own functions."""
    ours, _, theirs = results
    if theirs.error or ours.error or not call.exact or "jax." in call.source:
        return []
    if any(getattr(v, "dtype", np.dtype(float)).kind == "V" for v in call.inputs.values()):
        return []  # NumPy has no bfloat16 of its own
    with np.errstate(all="ignore"):
        numpys = evaluate_with({"jnp": np, "np": np}, call.source, call.inputs)
    text = _unlike_numpy(call, ours, numpys)
    return [Difference("numpy", probe, call, text, numpy_reason(call, text))] if text else []


def _unlike_numpy(call: Call, ours: Result, numpys: Result) -> str | None:
    if numpys.error:
        return f"NumPy raises {numpys.error.name}: {numpys.error.message[:300]}"
    if len(ours.leaves) != len(numpys.leaves):
        return f"{len(ours.leaves)} results, NumPy has {len(numpys.leaves)}"
    for our, their in zip(ours.leaves, numpys.leaves, strict=True):
        if our.kind == "text" or their.kind == "text":
            if our.value != their.value:
                return f"{our.value!r}, NumPy {their.value!r}"
            continue
        value, expected = np.asarray(our.value), np.asarray(their.value)
        if value.shape != expected.shape:
            return f"shape {value.shape}, NumPy {expected.shape}"
        with np.errstate(all="ignore"):
            as_ours = replace(our, value=expected.astype(value.dtype))
        # NumPy computes functions of small integers and booleans in float16.
        rtol = call.rtol or RTOL.get(str(expected.dtype), 0) or None
        rtol = None if rtol is None else max(rtol, RTOL.get(our.dtype, 0))
        try:
            compare(Result((our,), None), Result((as_ours,), None), rtol=rtol)
        except AssertionError as error:
            return str(error)
    return None
