"""Calls whose operands have symbolic dimensions: from the tables of other tests, and a list."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import lax_cases
import numpy as np
import numpy_cases
from numpy_cases.case import parse

_PER_FUNCTION = 3
_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


class Case(NamedTuple):
    """A call.

    Attributes:
      topic: the table that it is from.
      function: the function's name.
      source: the call, with names for its operands.
      inputs: the operands, and other values, by name.
    """

    topic: str
    function: str
    source: str
    inputs: Mapping[str, Any]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The operands that have dimensions."""
        return {k: v for k, v in self.inputs.items() if isinstance(v, np.ndarray) and v.ndim}

    @property
    def size(self) -> int:
        """The size that becomes a variable: the first of the first operand that is at least 2."""
        return next(v.shape[0] for v in self.arrays.values() if v.shape[0] >= 2)

    def __str__(self) -> str:
        shapes = ", ".join(f"{k}: {v.dtype}{list(v.shape)}" for k, v in self.arrays.items())
        return f"{self.source}  with {shapes}"


def _from_tables() -> Iterator[Case]:
    for topic, tables in (("numpy", numpy_cases), ("lax", lax_cases)):
        for function, calls in tables.by_function().items():
            seen: set[str] = set()
            for call in calls:
                if getattr(call, "bad", False) or call.source in seen:
                    continue
                case = Case(topic, function, call.source, call.inputs)
                if _can_be_symbolic(case) and len(seen) < _PER_FUNCTION:
                    seen.add(call.source)
                    yield case


def _can_be_symbolic(case: Case) -> bool:
    values = [v for v in case.inputs.values() if isinstance(v, np.ndarray)]
    if any(v.dtype in _WIDE for v in values):
        return False
    return any(v.shape[0] >= 2 for v in case.arrays.values())


def _from_list() -> Iterator[Case]:
    topic = ""
    for line in Path(__file__).with_name("calls.txt").read_text().splitlines():
        if line.startswith("#"):
            topic = line.strip("# ")
        elif line:
            text, inputs = parse(line, "f32")
            yield Case(topic, line.partition("(")[0], text, inputs)


@cache
def cases() -> tuple[Case, ...]:
    """All calls."""
    return (*_from_tables(), *_from_list())
