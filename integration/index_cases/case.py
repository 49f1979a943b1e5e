"""A use of an index: an array, the text in the brackets, and the operation, as text."""

import zlib
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

# The methods of `x.at[...]`; "getitem" is `x[...]`.
OPERATIONS = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max", "apply")
METHODS = ("getitem", "get", *OPERATIONS)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an index.

    `value` is what NumPy is given. `text` is what is evaluated; for an operand, which can be
    traced, it is `None`. `safe` selects something of the same shape that is in bounds.
    """

    value: Any
    text: str | None
    safe: Any

    @property
    def is_operand(self) -> bool:
        """Whether the part is an argument of the function, rather than part of its text."""
        return self.text is None


@dataclass(frozen=True, slots=True)
class Case:
    """A call with its operands; `repr` is text that can be run against either side.

    `value` is the operand of an update, `None` where there is none. `one_part` writes the index
    without a tuple where it has one part only.
    """

    shape: tuple[int, ...]
    dtype: str
    parts: tuple[Part, ...]
    method: str
    value: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    in_bounds: bool = True

    @property
    def array(self) -> np.ndarray:
        """The array that is indexed, the same for the same shape and dtype."""
        return numbers(self.shape, self.dtype)

    @property
    def index(self) -> tuple[Any, ...]:
        """The index for NumPy."""
        return tuple(part.value for part in self.parts)

    @property
    def call(self) -> str:
        """The call as a function of the array, of index operands and of the value."""
        names, texts = ["x"], []
        for position, part in enumerate(self.parts):
            texts.append(f"i{position}" if part.text is None else part.text)
            if part.text is None:
                names.append(f"i{position}")
        inside = ", ".join(texts) if texts else "()"
        if len(texts) == 1 and (self.parts[0].is_operand or len(texts[0]) % 2):
            inside += ","
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        if self.method == "getitem":
            return f"lambda {', '.join(names)}: x[{inside}]"
        if self.method == "apply":
            options.insert(0, "lambda e: e * e")
        elif self.method != "get":
            options.insert(0, "v" if isinstance(self.value, np.ndarray) else repr(self.value))
        if isinstance(self.value, np.ndarray):
            names.append("v")
        return f"lambda {', '.join(names)}: x.at[{inside}].{self.method}({', '.join(options)})"

    @property
    def operands(self) -> list[np.ndarray]:
        """The arguments of the call."""
        given = [self.array, *(part.value for part in self.parts if part.is_operand)]
        return [*given, self.value] if isinstance(self.value, np.ndarray) else given

    def __repr__(self) -> str:
        shown = ", ".join(map(_literal, self.operands[1:]))
        return f"({self.call})(numbers({self.shape}, {self.dtype!r}), {shown})"


def _literal(value: np.ndarray) -> str:
    return f"np.array({value.tolist()}, {value.dtype.name!r})"


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small numbers that differ, without zeros, and exact in every dtype but bool."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    generator = np.random.default_rng(zlib.crc32(repr((shape, dtype)).encode()))
    values = generator.permutation(int(np.prod(shape))) % 7 + 1
    if kind.kind == "c":
        values = values + 1j * (values % 3)
    elif kind.kind == "b":
        values = values % 2
    return values.reshape(shape).astype(kind)
