"""Triton IR as text, in MLIR's generic form: values, operations and regions."""

from collections.abc import Callable, Sequence

import numpy as np

import ricci_ir as ir

# The elements that Triton computes with, by the name of a dtype. Integers have no sign in MLIR.
_elements: dict[str, str] = {
    "bool": "i1",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
}


def element_of(dtype: np.dtype) -> str:
    """The type of an element in MLIR's text.

    Raises:
      NotImplementedError: if Triton has no such type.
    """
    element = _elements.get(str(dtype))
    if element is None:
        raise NotImplementedError(
            f"arrays of dtype {dtype} do not exist in Triton. It has bool, integers of 8 to 64 "
            "bits, float16, bfloat16, float32, float64, float8_e4m3fn and float8_e5m2: convert "
            "the array before the kernel."
        )
    return element


class Value(ir.TupleRecord):
    """A value of the program: a scalar, or a tensor that has a shape.

    Attributes:
      name: its name in the text.
      shape: its shape; ``()`` for a scalar.
      element: the type of its elements.
    """

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        """The type in MLIR's text."""
        return type_text(self.shape, self.element)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return self.element[0] in "fb"

    @property
    def bits(self) -> int:
        """The number of bits of an element."""
        if self.element.startswith("f8"):
            return 8
        return int(self.element.lstrip("bfi"))


def type_text(shape: Sequence[int], element: str) -> str:
    """The text of a type."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element


# The bits of the floating-point numbers that have no decimal text.
_dtypes: dict[str, np.dtype] = {
    element: ir.canonicalize_dtype(name, allow_extended_dtype=False)
    if name != "float64"
    else np.dtype(name)
    for name, element in _elements.items()
    if element[0] in "fb"
}


def number_text(value: float | bool | np.generic, element: str) -> str:
    """The text of a number of a type."""
    if element == "i1":
        return "true" if value else "false"
    if element[0] == "i":
        number, bits = int(value), int(element[1:])
        # MLIR's integers have no sign, and their text is that of a signed number of the same bits.
        return str(number - (1 << bits) if number >= 1 << (bits - 1) else number)
    rounded = np.asarray(value).astype(_dtypes[element])
    number = float(rounded)
    # Infinities and NaN are written as their bits, the highest byte first.
    if not np.isfinite(number):
        return f"0x{rounded.tobytes()[::-1].hex().upper()}"
    # A float's text must have a point, which Python leaves out before an exponent.
    mantissa, exponent, power = repr(number).partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + exponent + power


class Writer:
    """The text of a kernel, to which operations are appended.

    Attributes:
      lines: the text.
      reads, writes: the names of the operands that several steps of the grid read and write at
        the same place.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self._count = 0
        self._depth = 2

    def _name(self) -> str:
        self._count += 1
        return f"%{self._count - 1}"

    def ops(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[tuple[tuple[int, ...], str]],
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> list[Value]:
        """Append an operation.

        Args:
          name: its name, with the dialect.
          operands: its operands.
          results: the shape and the element of each result.
          attributes: the text of its properties.
          regions: the texts of its regions.
        """
        values = [Value(self._name(), *result) for result in results]
        text = "  " * self._depth
        if values:
            text += f"{', '.join([v.name for v in values])} = "
        text += f'"{name}"({", ".join([v.name for v in operands])})'
        if attributes:
            text += f" <{{{attributes}}}>"
        if regions:
            text += f" ({', '.join(regions)})"
        types = ", ".join([v.type for v in values])
        text += f" : ({', '.join([v.type for v in operands])}) -> "
        self.lines.append(text + (types if len(values) == 1 else f"({types})"))
        return values

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        shape: tuple[int, ...],
        element: str,
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> Value:
        """Append an operation with one result, and return that."""
        (value,) = self.ops(name, operands, [(shape, element)], attributes, regions)
        return value

    def region(
        self, arguments: Sequence[tuple[tuple[int, ...], str]], write: Callable[[list[Value]], None]
    ) -> str:
        """Return the text of a region.

        Args:
          arguments: the shape and the element of each argument of its block.
          write: appends the region's operations, the last of which ends the block.
        """
        outer, self.lines = self.lines, []
        self._depth += 1
        values = [Value(self._name(), *argument) for argument in arguments]
        write(values)
        self._depth -= 1
        body, self.lines = self.lines, outer
        indent = "  " * self._depth
        header = ", ".join([f"{v.name}: {v.type}" for v in values])
        block = [f"{indent}^bb0({header}):"] if values else []
        return "\n".join(["{", *block, *body, indent + "}"])

    # Constants and shapes

    def constant(
        self, value: float | bool | np.generic, element: str, shape: tuple[int, ...] = ()
    ) -> Value:
        """A number, repeated along a shape."""
        text, type_ = number_text(value, element), type_text(shape, element)
        if element == "i1":
            attribute = f"dense<{text}> : {type_}" if shape else text
        else:
            attribute = f"{f'dense<{text}>' if shape else text} : {type_}"
        return self.op("arith.constant", [], shape, element, f"value = {attribute}")

    def like(self, x: Value, value: float | bool | np.generic) -> Value:
        """A number of the type of a value."""
        return self.constant(value, x.element, x.shape)

    def spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        """A value broadcast to a shape of its rank, or of any rank if it is a scalar."""
        if x.shape == shape:
            return x
        if not x.shape:
            return self.op("tt.splat", [x], shape, x.element)
        return self.op("tt.broadcast", [x], shape, x.element)

    def expanded(self, x: Value, shape: tuple[int, ...], axes: Sequence[int]) -> Value:
        """A value whose dimensions are some axes of a shape, broadcast to it.

        Args:
          x: the value.
          shape: the shape.
          axes: the axis of the shape for each dimension of ``x``, in order.
        """
        if x.shape:
            # From the first axis on, so that the axes that follow are at their final places.
            for axis in range(len(shape)):
                if axis not in axes:
                    wide = (*x.shape[:axis], 1, *x.shape[axis:])
                    x = self.op("tt.expand_dims", [x], wide, x.element, f"axis = {axis} : i32")
        return self.spread(x, shape)

    def reshaped(self, x: Value, shape: tuple[int, ...]) -> Value:
        """A value of another shape with as many elements."""
        if x.shape == shape:
            return x
        if not x.shape:
            return self.spread(x, shape)
        # A scalar is taken out of a tensor of one element and one axis.
        if not shape:
            flat = self.reshaped(x, (1,))
            return self.op("tt.unsplat", [flat], (), x.element)
        return self.op("tt.reshape", [x], shape, x.element)

    def transposed(self, x: Value, order: Sequence[int]) -> Value:
        """A value with its axes in another order."""
        if list(order) == sorted(order):
            return x
        shape = tuple([x.shape[axis] for axis in order])
        axes = ", ".join(map(str, order))
        return self.op("tt.trans", [x], shape, x.element, f"order = array<i32: {axes}>")

    def positions(self, size: int, element: str = "i32") -> Value:
        """The numbers from 0 on, along one axis."""
        if size == 1:
            return self.constant(0, element, (1,))
        bounds = f"end = {size} : i32, start = 0 : i32"
        x = self.op("tt.make_range", [], (size,), "i32", bounds)
        return x if element == "i32" else self.resized(x, element)

    # Arithmetic of several kinds of elements

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """An operation of two values of one type."""
        return self.op(name, [x, y], x.shape, x.element)

    def add(self, x: Value, y: Value) -> Value:
        """A sum of integers or floating-point numbers."""
        return self.binary("arith.addf" if x.is_float else "arith.addi", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        """A product of integers or floating-point numbers."""
        return self.binary("arith.mulf" if x.is_float else "arith.muli", x, y)

    def scaled(self, x: Value, factor: int) -> Value:
        """An integer times a static one."""
        return x if factor == 1 else self.mul(x, self.like(x, factor))

    def compare(self, predicate: int, x: Value, y: Value) -> Value:
        """A comparison, with the number of MLIR's predicate."""
        name = "arith.cmpf" if x.is_float else "arith.cmpi"
        return self.op(name, [x, y], x.shape, "i1", f"predicate = {predicate} : i64")

    def select(self, which: Value, x: Value, y: Value) -> Value:
        """``x`` where a condition holds, else ``y``."""
        return self.op("arith.select", [self.spread(which, x.shape), x, y], x.shape, x.element)

    def resized(self, x: Value, element: str, signed: bool = True) -> Value:
        """Integers of another number of bits."""
        if x.element == element:
            return x
        shrinks = x.bits > int(element[1:])
        name = "arith.trunci" if shrinks else "arith.extsi" if signed else "arith.extui"
        return self.op(name, [x], x.shape, element)
