"""Record the operations of a function, with its loops unrolled and its branches decided."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import ArrayLike, Primitive
from ricci_lax.stepping import Interpreter, Location
from ricci_pytree import tree_leaves

from ._formats import REFERENCE, as_reference, is_inexact

# Operations that give other results when they are run again.
_UNREPEATABLE = frozenset({"rng_uniform"})


class Operand(ir.TupleRecord):
    """An operand of a recorded operation.

    Attributes:
      value: the number of the value that it is on the tape, or -1 for a constant.
      constant: the constant: an argument, a literal, an array of integers.
      dtype: its dtype if its elements are real or complex numbers, else ``None``.
      size: the number of its elements.
    """

    value: int
    constant: Any
    dtype: np.dtype | None
    size: int


class Copies(ir.TupleRecord):
    """The parameters of a copy of elements, which the interpreter of a loop or of devices makes.

    Attributes:
      element: from indices to the numbers of their sources and the indices there.
      shape: the shape of the copy.
    """

    element: Callable[..., Any]
    shape: tuple[int, ...]


class Entry:
    """An operation on the tape.

    Attributes:
      primitive: its primitive, or ``None`` for copies of elements.
      operands, params: its operands and parameters; for copies, ``params`` is a ``Copies``.
      results: the numbers of its results' values, or -1 for those that are not inexact.
      dtypes: the dtypes of its inexact results.
      sizes: the numbers of elements of the inexact results.
      place: its location.
      line: the file and the line of the user's code.
      fixed: whether it cannot be run again, as a collective, a callback with effects or a draw.
    """

    __slots__ = (
        "dtypes",
        "fixed",
        "line",
        "operands",
        "params",
        "place",
        "primitive",
        "results",
        "sizes",
    )

    def __init__(
        self,
        primitive: Primitive | None,
        operands: list[Operand],
        params: "dict[str, Any] | Copies",
        results: list[int],
        dtypes: list[np.dtype],
        sizes: list[int],
        place: Location,
        fixed: bool,
    ):
        self.primitive = primitive
        self.operands = operands
        self.params: Any = params
        self.results = results
        self.dtypes = dtypes
        self.sizes = sizes
        self.place = place
        source = ir.Source(*place.origin)
        self.line = source.file, source.line
        self.fixed = fixed

    @property
    def name(self) -> str:
        """The name of the operation."""
        return "copy" if self.primitive is None else self.primitive.name

    @property
    def operation(self) -> tuple[Any, ...]:
        """The operation in the user's code, which may run often."""
        return self.primitive, self.place.origin, self.place.names, self.place.parts


class _Constant(ir.TupleRecord):
    """A constant, the number that it was rounded from, and the place in the user's code."""

    constant: object
    wide: np.ndarray
    source: ir.Source | None


def _in_reference(value: object) -> np.ndarray | None:
    """Numbers of the host in the widest format; ``None`` of anything else."""
    leaves = tree_leaves(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(x, int | float | complex | np.generic | np.ndarray) for x in leaves):
        return None
    try:
        return as_reference(np.asarray(value))
    except (TypeError, ValueError, OverflowError):
        return None


class Tape(Interpreter):
    """An interpreter that records operations with inexact results.

    Attributes:
      entries: the operations, in the order of their execution.
      values: the inexact results, as they were computed.
    """

    def __init__(self):
        self.entries: list[Entry] = []
        self.values: list[np.ndarray] = []
        # By the identity of arrays, with a reference so that ids are not reused.
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._place: Location | None = None
        # By the identity of constants, with a reference to each as well.
        self._constants: dict[int, _Constant] = {}

    def number(self, array: object) -> int:
        """The number of an array on the tape, or -1."""
        return self._numbers.get(id(array), (None, -1))[1]

    def observe(self, event: object) -> None:
        """Take note of a number of the user's code that became a constant."""
        if not isinstance(event, ir.ConstantRounded):
            return
        constant: Any = event.constant
        if isinstance(constant, ir.StagedTracer):
            constant = constant.atom.val if type(constant.atom) is ir.Literal else None
        if hasattr(constant, "dtype") and is_inexact(ir.get_aval(constant)):
            # A number may be rounded in several steps.
            earlier = self._constants.get(id(event.value))
            wide = _in_reference(event.value) if earlier is None else earlier.wide
            source = event.source if earlier is None else earlier.source
            if wide is not None and wide.shape == np.shape(constant):
                self._constants[id(constant)] = _Constant(constant, wide, source)

    def operand(self, array: ArrayLike) -> Operand:
        """The operand that an array is."""
        number = self.number(array)
        if number < 0 and self._place is not None:
            number = self._rounded(array, self._place)
        aval: Any = ir.get_aval(array)
        dtype = aval.dtype if is_inexact(aval) else None
        size = int(np.prod(getattr(aval, "shape", ())))
        if number >= 0:
            return Operand(number, None, dtype, size)
        return Operand(-1, array if dtype is None else np.asarray(array, dtype), dtype, size)

    def _rounded(self, array: ArrayLike, place: Location) -> int:
        """Record the rounding of a constant; return its number, or -1 if it is exact."""
        constant = self._constants.get(id(array))
        if constant is None:
            if type(array) is not float:
                return -1
            constant = _Constant(array, np.asarray(array, REFERENCE), None)
        aval: Any = ir.get_aval(array)
        narrow = np.asarray(array, aval.dtype)
        if np.array_equal(as_reference(narrow), constant.wide, equal_nan=True):
            return -1
        source = constant.source
        if source is not None and source.code is not None:
            place = place._replace(origin=(source.code, source.offset))
        wide = Operand(-1, constant.wide, constant.wide.dtype, narrow.size)
        params = {"new_dtype": aval.dtype, "weak_type": False, "sharding": None}
        number = len(self.values)
        self._numbers[id(array)] = array, number
        self.values.append(narrow)
        convert = ir.primitives["convert_element_type"]
        self.entries.append(
            Entry(
                convert, [wide], params, [number], [aval.dtype], [narrow.size], place, fixed=False
            )
        )
        return number

    def computed(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: Location,
        params: dict[str, Any],
        whole: bool = True,
    ) -> None:
        """Record an operation."""
        self._place = place
        effects = primitive.effects
        fixed = not whole or primitive.name in _UNREPEATABLE
        fixed = fixed or (effects is not None and bool(effects(params)))
        self._record(primitive, operands, params, results, place, fixed)

    def made(self, array: ArrayLike, element: Callable[..., Any], *sources: ArrayLike) -> ArrayLike:
        """Record that an array holds elements of ``sources``; returns the array."""
        aval: Any = ir.get_aval(array)
        followed = any(self.number(x) >= 0 for x in sources)
        if is_inexact(aval) and followed and self._place is not None:
            copies = Copies(element, aval.shape)
            self._record(None, sources, copies, [array], self._place, False)
        return array

    def _record(
        self,
        primitive: Primitive | None,
        operands: Sequence[Any],
        params: "dict[str, Any] | Copies",
        results: Sequence[Any],
        place: Location,
        fixed: bool,
    ) -> None:
        recorded = list(map(self.operand, operands))
        numbers, dtypes, sizes = [], [], []
        for result in results:
            aval: Any = ir.get_aval(result)
            # An operand that is returned has a number already.
            if not is_inexact(aval) or any(result is x for x in operands):
                numbers.append(-1)
                continue
            numbers.append(len(self.values))
            self._numbers[id(result)] = result, len(self.values)
            self.values.append(np.asarray(result))
            dtypes.append(aval.dtype)
            sizes.append(int(np.prod(aval.shape)))
        if dtypes:
            entry = Entry(primitive, recorded, params, numbers, dtypes, sizes, place, fixed)
            self.entries.append(entry)
