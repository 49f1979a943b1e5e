"""In what two observations of a program agree."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from lax_cases.bad_differences import ACCIDENTAL

RTOL = {"float16": 1e-2, "bfloat16": 5e-2}
STEP = re.compile(r"\['(\w+)'\](?:\['(\w+)'\])?")

type Observation = Mapping[str, Any]


def differences(ours: Observation, theirs: Observation) -> dict[str, str]:
    """Return in what two observations differ, and how, by aspect.

    The aspects are `error`, `value`, `type` (of the results), `place`, `types` (in the program, as
    far as they say something of devices) and `collectives`, of which there may be fewer.
    """
    if "error" in ours or "error" in theirs:
        return {"error": f"not run: {ours.get('message')}, {theirs.get('message')}"}
    found: dict[str, str] = {}
    for probe in dict.fromkeys(STEP.match(path)[1] for path in {**theirs, **ours}):
        our, their = _part(ours, probe), _part(theirs, probe)
        one, two = our.get("['error']"), their.get("['error']")
        if one or two:
            if not (one and two and _is_accepted(one.split(), two.split()[0])):
                found.setdefault("error", f"{probe}: {_told(our)} and not {_told(their)}")
            continue
        for aspect, text in _compared(probe, our, their):
            found.setdefault(aspect, f"{probe}: {text}")
    return found


def _is_accepted(classes: list[str], expected: str) -> bool:
    """Tell whether an error is of JAX's class, or a deliberate one where JAX's is an accident."""
    if expected in ACCIDENTAL:
        return classes[0] not in ACCIDENTAL or expected in classes
    return expected in classes


def _part(observed: Observation, probe: str) -> dict[str, Any]:
    start = f"['{probe}']"
    return {k.removeprefix(start): v for k, v in observed.items() if k.startswith(start)}


def _told(part: dict[str, Any]) -> str:
    if "['error']" not in part:
        return "a result"
    return f"{part["['error']"].split()[0]}: {part["['message']"][:300]}"


def _compared(probe: str, our: dict[str, Any], their: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if probe == "types":
        one, two = ({t for t in part.values() if _is_marked(t)} for part in (our, their))
        if one != two:
            yield "types", f"{sorted(one - two)} and not {sorted(two - one)}"
        return
    for aspect in ("type", "place"):
        one, two = (
            [v for k, v in part.items() if k.startswith(f"['{aspect}']")] for part in (our, their)
        )
        if one != two:
            yield aspect, f"{one} and not {two}"
    one, two = (
        Counter({k: v for k, v in part.items() if "collectives" in k and v != "{}"})
        for part in (our, their)
    )
    if sum(one.values()) > sum(two.values()):
        yield "collectives", f"{dict(one)} and not {dict(two)}"
    values = [{k: v for k, v in part.items() if k.startswith("['value']")} for part in (our, their)]
    if values[0].keys() != values[1].keys():
        yield "value", f"{sorted(values[0])} and not {sorted(values[1])}"
        return
    for path, value in values[0].items():
        if not _is_close(value, values[1][path]):
            yield "value", f"{value!s:.200} and not {values[1][path]!s:.200}"


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
