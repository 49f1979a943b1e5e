"""In what two observations of a program agree."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from lax_cases.bad_differences import ACCIDENTAL

RTOL = {"float16": 1e-2, "bfloat16": 5e-2}
STEP = re.compile(r"\['(\w+)'\](?:\['(\w+)'\])?")

type Observation = Mapping[str, Any]


class Difference(NamedTuple):
    """The values of both sides where they differ, and the aspect: one of `PROBES`, or `run`."""

    probe: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.probe}: {self.ours} and not {self.theirs}"


def differences(ours: Observation, theirs: Observation) -> dict[str, Difference]:
    """Return in what two observations differ, by aspect.

    The aspects are `error`, `value`, `type` (of the results), `place`, `types` (in the program, as
    far as they say something of devices) and `collectives`, of which there may be fewer.
    """
    if "error" in ours or "error" in theirs:
        return {"error": Difference("run", f"{ours.get('message')}", f"{theirs.get('message')}")}
    different: dict[str, Difference] = {}
    steps = map(STEP.match, {**theirs, **ours})
    for probe in dict.fromkeys(step[1] for step in steps if step):
        our, their = _part(ours, probe), _part(theirs, probe)
        one, two = our.get("['error']"), their.get("['error']")
        if one or two:
            if not (one and two and _is_accepted(one.split(), two.split()[0])):
                outcomes = Difference(probe, _outcome(our), _outcome(their))
                different.setdefault("error", outcomes)
            continue
        for aspect, *texts in _compared(probe, our, their):
            different.setdefault(aspect, Difference(probe, *texts))
    return different


def _is_accepted(classes: list[str], expected: str) -> bool:
    """Tell whether an error is of JAX's class, or a deliberate one where JAX's is an accident."""
    if expected in ACCIDENTAL:
        return classes[0] not in ACCIDENTAL or expected in classes
    return expected in classes


def _part(observed: Observation, probe: str) -> dict[str, Any]:
    start = f"['{probe}']"
    return {k.removeprefix(start): v for k, v in observed.items() if k.startswith(start)}


def _outcome(part: dict[str, Any]) -> str:
    if "['error']" not in part:
        return "a result"
    return f"{part["['error']"].split()[0]}: {part["['message']"][:300]}".rstrip()


def _compared(
    probe: str, our: dict[str, Any], their: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield each aspect in which a probe's observations differ, with both texts."""
    if probe == "types":
        one, two = ({t for t in part.values() if _is_marked(t)} for part in (our, their))
        if one != two:
            yield "types", _listed(sorted(one - two)), _listed(sorted(two - one))
        return
    for aspect in ("type", "place"):
        one, two = (
            [v for k, v in part.items() if k.startswith(f"['{aspect}']")] for part in (our, their)
        )
        if one != two:
            yield aspect, _listed(one), _listed(two)
    one, two = (
        Counter({k: v for k, v in part.items() if "collectives" in k and v != "{}"})
        for part in (our, their)
    )
    if sum(one.values()) > sum(two.values()):
        yield "collectives", _counts(one), _counts(two)
    values = [{k: v for k, v in part.items() if k.startswith("['value']")} for part in (our, their)]
    if values[0].keys() != values[1].keys():
        yield "value", _listed(values[0]), _listed(values[1])
        return
    for path, value in values[0].items():
        if not _is_close(value, values[1][path]):
            yield "value", f"{value!s:.200}", f"{values[1][path]!s:.200}"


def _listed(texts: Iterable[str]) -> str:
    """The texts in one line; `nothing` if there are none."""
    return "  ".join(map(str, texts)) or "nothing"


def _counts(collectives: Counter[str]) -> str:
    """Count each collective in a module.

    >>> _counts(Counter({"['collectives']['all-gather']": 2}))
    'all-gather(2)'
    """
    names = {path.split("'")[-2]: number for path, number in collectives.items()}
    return _listed(f"{name}({number})" for name, number in sorted(names.items()))


def _is_marked(text: str) -> bool:
    return "@" in text or "{" in text


def _is_close(one: Any, two: Any) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    one, two = np.asarray(one), np.asarray(two)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    rtol = RTOL.get(one.dtype.name, 2e-5)
    if one.dtype.kind not in "fcV":
        return bool(np.array_equal(one, two))
    wide = one.dtype.kind == "c" and np.complex128 or np.float64
    return bool(
        np.allclose(one.astype(wide), two.astype(wide), rtol=rtol, atol=rtol, equal_nan=True)
    )
