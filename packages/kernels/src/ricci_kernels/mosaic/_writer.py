"""The text of a kernel's operations in Mosaic's dialects, by their stable names.

A rule of kind ``mosaic`` is called as ``rule(ctx, *operands, **params)``. The operands are
``Value``, or ``Reference`` for references; ``ctx.out`` is the type of the result. The rule writes
operations through ``ctx`` and returns a ``Value``, or a list of them for several results.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_kernels.blocks._memory_spaces import MemorySpace, SemaphoreType, TPUMemorySpace
from ricci_kernels.calls._compiled_calls import apply_rules, refusal
from ricci_stablehlo import element_type, is_splat, scalar_literal

# Optional, since a primitive without a rule and without a program is refused by name.
mosaic_rules: ir.RuleTable = ir.rule_table("mosaic", required=False)

VERSION = 15  # of the stable names; older libraries read it, and newer ones upgrade it
FAST = "fastmath = #arith.fastmath<none>"
WRAP = "overflowFlags = #arith.overflow<none>"
# Dtypes that a TPU does not compute with, and what to use instead.
UNSUPPORTED = {
    "float16": "bfloat16 or float32",
    "float64": "float32",
    "int64": "int32",
    "uint64": "uint32",
    "complex64": "two arrays of float32",
    "complex128": "two arrays of float32",
}
INT32, BOOL = np.dtype("int32"), np.dtype("bool")
_spaces: dict[object, str] = {
    None: "vmem",
    MemorySpace.DEFAULT: "vmem",
    MemorySpace.ANY: "any",
    MemorySpace.HOST: "host",
    TPUMemorySpace.VMEM: "vmem",
    TPUMemorySpace.VMEM_SHARED: "vmem_shared",
    TPUMemorySpace.SMEM: "smem",
    TPUMemorySpace.CMEM: "cmem",
    TPUMemorySpace.SEMAPHORE: "semaphore_mem",
    TPUMemorySpace.HBM: "hbm",
}


def space_name(space: object, default: str = "vmem") -> str:
    """The name of a memory space in types; ``default`` for one that is not declared."""
    return default if space in (None, MemorySpace.DEFAULT) else _spaces[space]


def memory_element(dtype: np.dtype) -> str:
    """The type of an element in memory, where booleans are integers."""
    return "i32" if dtype == BOOL else _element(dtype)


def _element(dtype: np.dtype) -> str:
    return element_type(np.dtype(dtype)).replace("ui", "i")


def kind_of(dtype: np.dtype) -> str:
    """The kind of a dtype: ``f`` for floats, ``i``, ``u`` for integers, ``b`` for booleans."""
    if dtype == BOOL:
        return "b"
    if ir.issubdtype(dtype, np.floating):
        return "f"
    return "i" if ir.issubdtype(dtype, np.signedinteger) else "u"


def bits_of(dtype: np.dtype) -> int:
    """The number of bits of an element."""
    # "f8E4M3FN" has 8 bits: the digits ahead of the exponent's.
    return int("".join(c for c in _element(dtype).split("E")[0] if c.isdigit()))


def type_text(aval: ir.ShapedArray) -> str:
    """The type of a value: a vector, or a scalar, which has at most 32 bits."""
    if not aval.shape:
        text = _element(aval.dtype)
        return {"i64": "i32", "f64": "f32"}.get(text, text)
    sizes = "".join(f"{n}x" for n in aval.shape)
    return f"vector<{sizes}{_element(aval.dtype)}>"


class Value:
    """A value of the text.

    Attributes:
      name: its name.
      aval: its type.
    """

    __slots__ = ("aval", "name")

    def __init__(self, name: str, aval: ir.ShapedArray):
        self.name = name
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; empty for a scalar."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return self.aval.dtype

    @property
    def type(self) -> str:
        """The text of the type."""
        return type_text(self.aval)


class KeyValue(Value):
    """A key of the text, which has no name.

    Attributes:
      words: its words, scalars.
    """

    __slots__ = ("words",)

    def __init__(self, aval: ir.ShapedArray, words: Sequence[Value]):
        super().__init__("", aval)
        self.words = words


class Reference:
    """A reference of the text: a buffer, of whose dimensions the kernel sees some.

    Attributes:
      name: its name.
      shape: the buffer's shape, with the dimensions that the kernel does not see; a question mark
        is a size that is known when the kernel runs.
      dtype: the dtype.
      space: the name of its memory space.
      dims: the dimensions that the kernel sees.
      kind: the kind of semaphores in it, or ``None``.
    """

    __slots__ = ("dims", "dtype", "kind", "name", "shape", "space")

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: np.dtype,
        space: str,
        dims: tuple[int, ...] | None = None,
        kind: SemaphoreType | None = None,
    ):
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.space = space
        self.dims: tuple[int, ...] = tuple(range(len(shape))) if dims is None else dims
        self.kind = kind

    @property
    def type(self) -> str:
        """The text of the type."""
        static = tuple([0 if n == "?" else n for n in self.shape])
        stored = ir.physical_aval(ir.ShapedArray(static, self.dtype))
        sizes = "".join(f"{n}x" for n in (*self.shape, *stored.shape[len(static) :]))
        element = memory_element(stored.dtype)
        if self.space == "semaphore_mem":
            is_dma = self.kind is SemaphoreType.DMA
            element = "!tpu.dma_semaphore" if is_dma else "!tpu.semaphore"
        return f"memref<{sizes}{element}, #tpu.memory_space<{self.space}>>"


class Writer:
    """A block of operations.

    Attributes:
      lines: the text.
      mesh: the sizes of the axes of the mesh whose devices run the kernel; empty without one.
      device_kind: the kind of the devices; empty if it is unknown.
      eqn: the equation that is being written.
      outs: the types of its results.
    """

    eqn: Any
    outs: Sequence[Any]

    def __init__(
        self,
        names: "count[int] | None" = None,
        mesh: Mapping[Hashable, int] | None = None,
        device_kind: str = "",
    ):
        self.lines: list[str] = []
        self.mesh: Mapping[Hashable, int] = mesh or {}
        self.device_kind: str = device_kind
        self._names = count() if names is None else names

    @property
    def out(self) -> ir.ShapedArray:
        """The type of the single result of the equation."""
        return self.outs[0]

    def new_name(self) -> str:
        """A name that no other value has."""
        return f"%{next(self._names)}"

    def apply(self, jaxpr: ir.Jaxpr, operands: Sequence[Any]) -> list[Any]:
        """Write the equations of a jaxpr."""
        # Inner equations overwrite the current one, which a rule's refusal names afterwards.
        eqn = getattr(self, "eqn", None)
        outs = getattr(self, "outs", ())
        results = apply_rules("TPUs", mosaic_rules, self, jaxpr, operands)
        self.eqn, self.outs = eqn, outs
        return results

    def refuse(self, reason: str) -> Exception:
        """The error for the equation that is being written."""
        return refusal("TPUs", self.eqn, reason)

    def write(
        self,
        name: str,
        operands: Sequence[Any],
        results: Sequence[str] = (),
        attributes: str = "",
        regions: Sequence[str] = (),
    ) -> list[str]:
        """Write an operation; return its results' names.

        Args:
          name: its dialect and name, such as ``"arith.addf"``.
          operands: values and references.
          results: the types of its results.
          attributes: the text of its attributes.
          regions: the text of each region.
        """
        names = [self.new_name() for _ in results]
        left = f"{', '.join(names)} = " if names else ""
        values = ", ".join([x.name for x in operands])
        inside = f" ({', '.join(regions)})" if regions else ""
        types = ", ".join([x.type for x in operands])
        right = results[0] if len(results) == 1 else f"({', '.join(results)})"
        operation = f'{left}"stable_mosaic.{name}"({values}){inside}'
        self.lines.append(f"{operation} {{{attributes}}} : ({types}) -> {right}")
        return names

    def emit(
        self, name: str, operands: Sequence[Any], aval: ir.ShapedArray, attributes: str = ""
    ) -> Value:
        """Write an operation with one result; nothing, where that is empty."""
        if 0 in aval.shape:
            return Value("", aval)
        remedy = UNSUPPORTED.get(np.dtype(aval.dtype).name)
        if remedy is not None and (aval.shape or bits_of(aval.dtype) < 64):
            raise self.refuse(f"its result has the dtype {np.dtype(aval.dtype)}. Use {remedy}.")
        (result,) = self.write(name, operands, [type_text(aval)], attributes)
        return Value(result, aval)

    def block(
        self, arguments: Sequence[Any], run: Callable[["Writer"], Sequence[Any]], end: str
    ) -> str:
        """The text of a region of one block.

        Args:
          arguments: its arguments.
          run: writes its operations, and returns the operands of the last one.
          end: the name of the last operation.
        """
        # Names are unique in the whole module, so that inner blocks may use outer values.
        inner = Writer(self._names, self.mesh, self.device_kind)
        inner.eqn, inner.outs = self.eqn, self.outs
        inner.write(end, run(inner))
        names = ", ".join(f"{x.name}: {x.type}" for x in arguments)
        head = [f"^bb0({names}):"] if arguments else []
        return "\n".join(["{", *head, *inner.lines, "}"])

    def constant(self, value: ir.ArrayLike, aval: ir.ShapedArray) -> Value:
        """Write a constant."""
        array = np.asarray(value, aval.dtype)
        if aval.shape:
            if not is_splat(array):
                raise self.refuse("it has an array as a constant. Pass the array as an input.")
            scalar = self.constant(array.reshape(-1)[0], aval.resized(()))
            return self.broadcast(scalar, aval.shape)
        if bits_of(aval.dtype) == 64:
            array = array.astype(np.float32 if kind_of(aval.dtype) == "f" else np.int32)
        if kind_of(array.dtype) == "u":
            # Types have no sign; literals are written as signed numbers of the same bits.
            array = array.view(f"i{array.dtype.itemsize}") if bits_of(array.dtype) >= 8 else array
        text = scalar_literal(array.flat[0])
        typed = text if aval.dtype == BOOL else f"{text} : {type_text(aval)}"
        return self.emit("arith.constant", [], aval, f"value = {typed}")

    def full(self, shape: tuple[int, ...], value: float, dtype: ir.DTypeLike) -> Value:
        """Write an array of equal elements."""
        return self.constant(
            np.full(shape, value, np.dtype(dtype)), ir.ShapedArray(shape, np.dtype(dtype))
        )

    def dense(self, value: float, aval: ir.ShapedArray) -> Value:
        """Write the accumulator of a reduction or of a matrix product: one constant vector."""
        literal = scalar_literal(np.asarray(value, aval.dtype).flat[0])
        return self.emit(
            "arith.constant", [], aval, f"value = dense<{literal}> : {type_text(aval)}"
        )

    def index(self, value: "int | Value") -> "Index":
        """Write an index into a buffer."""
        if isinstance(value, int):
            (name,) = self.write("arith.constant", [], ["index"], f"value = {value} : index")
        else:
            (name,) = self.write("arith.index_cast", [value], ["index"])
        return Index(name)

    def int32(self, value: "int | Value") -> Value:
        """An int32 scalar."""
        if isinstance(value, Value):
            return value
        return self.constant(value, ir.ShapedArray((), INT32))

    def broadcast(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Broadcast a scalar, or an array of the same rank, to a shape."""
        if x.shape == shape:
            return x
        # Masks of registers have no broadcast, so that they become integers for it.
        if x.dtype == BOOL and x.shape:
            return self.as_bool(self.broadcast(self.as_int(x), shape))
        return self.emit("vector.broadcast", [x], x.aval.resized(shape))

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Reshape an array; one of one element may become a scalar, and the other way round."""
        if x.shape == shape:
            return x
        if not x.shape:
            return self.broadcast(x, shape)
        if x.dtype == BOOL:
            return self.as_bool(self.reshape(self.as_int(x), shape))
        if not shape:
            zeros = ", ".join("0" for _ in x.shape)
            position = f"static_position = array<i64: {zeros}>"
            return self.emit("vector.extract", [x], x.aval.resized(()), position)
        return self.emit("vector.shape_cast", [x], x.aval.resized(shape))

    def as_int(self, x: Value) -> Value:
        """Booleans as int32."""
        return self.emit("arith.extui", [x], x.aval.update(dtype=INT32))

    def as_bool(self, x: Value) -> Value:
        """Integers as booleans."""
        zero = self.full(x.shape, 0, x.dtype)
        return self.compare(x, zero, "ne")

    def compare(self, x: Value, y: Value, direction: str) -> Value:
        """Compare floats or integers: ``eq``, ``ne``, ``lt``, ``le``, ``gt`` or ``ge``."""
        out = ir.ShapedArray(x.shape, BOOL)
        kind = kind_of(x.dtype)
        if kind == "f" and direction == "ne":  # there is no comparison that holds for NaN
            equal = self.compare(x, y, "eq")
            return self.emit("arith.xori", [equal, self.full(x.shape, True, BOOL)], out)
        if kind == "f":
            # MLIR's numbers of predicates: ordered comparisons of floats; of integers the signed
            # ones, and the unsigned ones four later.
            number = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5}[direction]
            return self.emit("arith.cmpf", [x, y], out, f"{FAST}, predicate = {number} : i64")
        number = ["eq", "ne", "lt", "le", "gt", "ge"].index(direction)
        if kind == "u" and number > 1:
            number += 4
        return self.emit("arith.cmpi", [x, y], out, f"predicate = {number} : i64")


class Index:
    """An index into a buffer."""

    __slots__ = ("name",)
    type = "index"

    def __init__(self, name: str):
        self.name = name


def composed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of an operation that is a function of others: ``function(*operands, **params)``."""

    def rule(ctx: Writer, *operands: Value, **params: object) -> Value | list[Value]:
        several = ctx.eqn.primitive.multiple_results

        def run(*xs: ir.Array) -> list[Any]:
            result = function(*xs, **params)
            return list(result) if several else [result]

        results = ctx.apply(ir.trace_to_jaxpr(run, [x.aval for x in operands]), operands)
        return results if several else results[0]

    return rule
