"""A call of a public lax function with its operands, and tables of such calls.

Operands are written `f32[2,3]`, with a range where the usual one does not fit: `f32[2,3] in 0 1`.
Their values come of a generator seeded by that text, so that every run and both sides see the same.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: Mapping[str, Any] = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
WIDE = {np.dtype(DTYPES[name]) for name in ("i64", "u64", "f64", "c128")}
INTS = "i32 i8 u8 u32 i64"
REALS = "f32 f16 bf16 f64"
COMPLEX = "c64 c128"
FLOATS = f"{REALS} {COMPLEX}"
NUMBERS = f"{FLOATS} {INTS}"
ALL = f"{NUMBERS} bool"

# The computations of a call: its value; its derivative along, and back from, a direction; the calls
# mapped over axes of its operands. "eager" is its value without compiling the call as a whole.
PROBES = ("value", "jvp", "vjp", "vmap")


def operand(text: str, seed: int = 0) -> np.ndarray:
    """Return the array for `f32[2,3]` or `i32[4] in 0 9`; integers include the upper end.

    Operands of the same text with different seeds have different values.
    """
    match = re.fullmatch(r"(\w+)\[([\d,]*)\](?: in (\S+) (\S+))?", text)
    if match is None:
        raise ValueError(f"not an operand: {text!r}")
    name, sizes, *limits = match.groups()
    shape = tuple(int(size) for size in sizes.split(",") if size)
    dtype = np.dtype(DTYPES[name])
    generator = np.random.default_rng(zlib.crc32(text.encode(), seed))
    if dtype.kind == "b":
        return generator.integers(0, 1, shape, endpoint=True).astype(dtype)
    if dtype.kind in "iu":
        low, high = map(int, limits) if limits[0] else (0 if dtype.kind == "u" else -5, 7)
        return generator.integers(low, high, shape, endpoint=True).astype(dtype)
    low, high = map(float, limits) if limits[0] else (-2.0, 2.0)
    values = generator.uniform(low, high, shape)
    if dtype.kind == "c":
        values = values + 1j * generator.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def is_inexact(value: Any) -> bool:
    """Tell whether a value is an array of real or complex floating-point numbers."""
    return isinstance(value, np.ndarray) and (
        value.dtype.kind in "fc" or "float" in str(value.dtype)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One call: the function's name, the call as text, its operands by name, the computations.

    `diff` names the operands to differentiate by, all inexact arrays where not given; `mapped`
    those that can have a batch axis. `exact=False`: values are not compared, only their types.
    `x64`: 64-bit types are enabled. `programs_only`: the program of each computation is compared
    (of calls of the NumPy API its type), and nothing is run.
    """

    function: str
    source: str
    inputs: dict[str, Any]
    probes: tuple[str, ...] = PROBES
    diff: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()
    rtol: float | None = None
    exact: bool = True
    x64: bool = False
    programs_only: bool = False

    def __str__(self) -> str:
        shown = {k: describe(v) for k, v in self.inputs.items()}
        width = "" if not self.x64 or self._has_wide_operands() else ", 64-bit types enabled"
        return f"{self.source}  with " + ", ".join(f"{k}={v}" for k, v in shown.items()) + width

    def _has_wide_operands(self) -> bool:
        return any(getattr(value, "dtype", None) in WIDE for value in self.inputs.values())


def with_wide_types[C: Case](cases: Iterable[C]) -> list[C]:
    """The cases that have no 64-bit types, where those are enabled.

    Their own operands stay as they are; default dtypes, Python scalars, and what functions make
    for themselves have another width then.
    """
    return [replace(case, x64=True) for case in cases if not case.x64]


def describe(value: Any) -> str:
    """Return an operand's type, or a Python scalar's text."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return repr(value)


@dataclass(slots=True)
class Table:
    """The cases of a topic, filled by rows."""

    cases: list[Case] = field(default_factory=list)

    def each(
        self,
        functions: str,
        source: str,
        *,
        dtypes: str = "f32",
        probes: str | None = None,
        diff: str | None = None,
        mapped: str | None = None,
        rtol: float | None = None,
        exact: bool = True,
        x64: bool = False,
        **operands: Any,
    ) -> None:
        """Add a case for every function named and every dtype.

        In `source`, `{name}` is the function; in texts of operands `@` is the dtype. Operands that
        are no text stand for themselves.
        """
        for name in functions.split():
            for dtype in dtypes.split():
                inputs = {
                    key: operand(value.replace("@", dtype)) if isinstance(value, str) else value
                    for key, value in operands.items()
                }
                arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
                inexact = [k for k, v in arrays.items() if is_inexact(v)]
                by = tuple(inexact if diff is None else diff.split())
                over = tuple(arrays if mapped is None else mapped.split())
                asked = PROBES if probes is None else tuple(probes.split())
                if not by:
                    asked = tuple(p for p in asked if p not in ("jvp", "vjp"))
                if not over:
                    asked = tuple(p for p in asked if p != "vmap")
                wide = x64 or any(a.dtype in WIDE for a in arrays.values())
                text = source.replace("{name}", name).replace("@", dtype)
                case = Case(name, text, inputs, asked, by, over, rtol, exact, wide)
                self.cases.append(case)
