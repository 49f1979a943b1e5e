"""Calls of the NumPy API written as text, one a line, and tables of such calls.

An operand stands in the text itself: `jnp.sum(f32[2,3], axis=0)`, with a range where the usual one
does not fit, `f32[2,3 in 0 1]`, and `@[2,3]` for each dtype of the row. Names in capitals are the
arrays of `SPECIAL`. Values come of a generator seeded by that text and its place in the call.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from lax_cases.case import DTYPES, WIDE, Case, is_inexact, operand

INTS = "i32 i8 u8 i64"
REALS = "f32 f16 bf16 f64"
COMPLEX = "c64 c128"
FLOATS = f"{REALS} {COMPLEX}"
ORDERED = f"{REALS} {INTS} bool"
ALL = f"{FLOATS} {INTS} bool"

SPECIAL: Mapping[str, np.ndarray] = {
    "CORNERS": np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1e-3, 3e4], np.float32),
    "HALVES": np.array([0.5, 1.5, -2.5, np.nan, np.inf, -0.0], np.float16),
    "HOLES": np.array([[1.0, np.nan, 3.0, -2.0], [np.nan, 0.5, np.nan, 4.0]], np.float32),
    "NOTHING": np.array([[np.nan, np.nan], [np.nan, 1.0]], np.float32),
    "CNAN": np.array([1 + 2j, complex(np.nan, 1), complex(0, np.inf), -1j], np.complex64),
    "TIES": np.array([[3, 1, 3, 1], [2, 2, 0, 2]], np.int32),
    "MASK": np.array([[True, False, True], [False, True, True]]),
    "MASK3": np.array([True, False, True]),
    "UNSET": np.array([[False, False, False], [False, False, False]]),
    "EXTREMES": np.array([-(2**31), 2**31 - 1, 0, -1, 7], np.int32),
    "BYTES": np.array([0, 1, 127, 128, 200, 255], np.uint8),
    "SORTED": np.array([-1.0, 0.0, 0.5, 0.5, 2.0], np.float32),
    "SPD": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], np.float32),
    "SINGULAR": np.array([[1.0, 2.0], [2.0, 4.0]], np.float32),
    "HERMITIAN": np.array([[2.0, 1 + 1j], [1 - 1j, 3.0]], np.complex64),
}
_OPERAND = re.compile(rf"(?<![\w.])(@|{'|'.join(DTYPES)})\[([\d,]*)( in \S+ [^\]\s]+)?\]")
_SPECIAL = re.compile(rf"\b({'|'.join(SPECIAL)})\b")
DERIVATIVES = ("jvp", "vjp", "vmap")


# The operands that can be weakly typed: those of the default dtypes, by width.
WEAK = {
    False: {"float32": "float32", "int32": "int32", "complex64": "complex64"},
    True: {"float32": "float64", "int32": "int64", "complex64": "complex128"},
}


@dataclass(frozen=True, slots=True, eq=False)
class Call(Case):
    """A case of lax's form; `bad` where it must raise.

    `weak`: the operands of default dtypes are weakly typed. Only the type of the result is
    compared then.
    """

    bad: bool = False
    weak: bool = False

    def __str__(self) -> str:
        return Case.__str__(self) + (", weakly typed" if self.weak else "")


def with_weak_types(calls: Iterable[Call], x64: bool) -> list[Call]:
    """The calls that have operands of default dtypes and none of 64 bits, with weak operands."""
    return [
        replace(call, x64=x64, weak=True, programs_only=True, probes=("value",))
        for call in calls
        if not call.bad
        and any(str(value.dtype) in WEAK[x64] for value in call.inputs.values())
        and not any(value.dtype in WIDE for value in call.inputs.values())
    ]


def parse(text: str, dtype: str) -> tuple[str, dict[str, Any]]:
    """Return the text with names for its operands, and the operands by name."""
    inputs: dict[str, Any] = {}

    def written(match: re.Match[str]) -> str:
        kind, shape, limits = match.groups()
        name = f"x{len(inputs)}"
        source = f"{dtype if kind == '@' else kind}[{shape}]{limits or ''}"
        inputs[name] = operand(source, seed=len(inputs))
        return name

    def special(match: re.Match[str]) -> str:
        inputs[match[0]] = SPECIAL[match[0]]
        return match[0]

    text = _SPECIAL.sub(special, _OPERAND.sub(written, text))
    return text, inputs


@dataclass(slots=True)
class Table:
    """The calls of a topic, filled by rows."""

    cases: list[Call] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    def add(
        self,
        functions: str,
        lines: str,
        *,
        dtypes: str = "f32",
        derive: str = "first",
        compiled: bool = True,
        diff: str | None = None,
        mapped: str | None = None,
        rtol: float | None = None,
        exact: bool = True,
        x64: bool = False,
    ) -> None:
        """Add a case for every function named, every line and every dtype.

        Args:
            functions: names, `linalg.` and `fft.` before those of these modules.
            lines: calls, `{f}` being the function.
            dtypes: what `@` stands for; the first is also tried without `jit`.
            derive: of which lines derivatives and mapped calls are made: `first`, `all`, `none`.
            compiled: whether the call can be compiled.
            diff: the operands to differentiate by, where they are not all inexact ones.
            mapped: the operands that can have a batch axis, where they are not all.
            rtol: the relative error allowed, where it is not that of the dtype.
            exact: whether values are compared, not only types.
            x64: whether 64-bit types are enabled whatever the operands are.
        """
        calls = [line.strip() for line in lines.strip().splitlines()]
        for name in functions.split():
            for number, line in enumerate(calls):
                for place, dtype in enumerate(dtypes.split() if "@[" in line else ["f32"]):
                    text, inputs = parse(line.replace("{f}", f"jnp.{name}"), dtype)
                    # The first call of a row both as it stands and under jit, the others in turn.
                    alone = place == 0 and (number % 2 == 1 or number == 0)
                    probes = ("eager",) if alone or not compiled else ()
                    if compiled and (number == 0 or not alone):
                        probes += ("value",)
                    wanted = derive == "all" or (derive == "first" and number == 0)
                    if wanted and compiled and place == 0:
                        probes += DERIVATIVES
                    by = [k for k, v in inputs.items() if is_inexact(v)]
                    wide = x64 or any(v.dtype in WIDE for v in inputs.values())
                    self._append(
                        name, text, inputs, probes,
                        diff=by if diff is None else diff.split(),
                        mapped=list(inputs) if mapped is None else mapped.split(),
                        rtol=rtol, exact=exact, x64=wide or "64" in dtype and dtype != "c64",
                    )  # fmt: skip

    def bad(self, functions: str, lines: str) -> None:
        """Add calls that must raise, for every function named and every line."""
        for name in functions.split():
            for line in lines.strip().splitlines():
                text, inputs = parse(line.strip().replace("{f}", f"jnp.{name}"), "f32")
                self._append(name, text, inputs, ("eager",), diff=[], mapped=[], bad=True)

    def _append(
        self, name: str, text: str, inputs: dict[str, Any], probes: tuple[str, ...],
        *, diff: list[str], mapped: list[str], **options: Any,
    ) -> None:  # fmt: skip
        if not diff:
            probes = tuple(p for p in probes if p not in ("jvp", "vjp"))
        if not mapped:
            probes = tuple(p for p in probes if p != "vmap")
        call = Call(name, text, inputs, probes, tuple(diff), tuple(mapped), **options)
        # Rows share functions, and may come to the same call: it is made once.
        if str(call) not in self._known:
            self._known.add(str(call))
            self.cases.append(call)
