"""Run the operations on a tape again, some lines in their own formats and others in wider ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._formats import REFERENCE, as_reference, cast, is_inexact, real_bytes, widened
from ._tape import Copies, Entry, Operand, Tape

# Lines that are computed in other formats than their own: ``float32`` or ``float64``.
type Formats = Mapping[tuple[str, int], np.dtype]

# Operations that round nothing: they move or select elements, change signs, or take integer parts.
# Their results are in the widest format of their operands, so that a line which only moves values
# does not round them.
_EXACT = frozenset(
    "abs all_gather argsort broadcast_in_dim ceil clamp complex concatenate conj copy copy_p "
    "cummax cummin device_put dynamic_slice dynamic_update_slice expand_dims floor gather imag "
    "max min neg optimization_barrier pad pbroadcast pvary real reduce_max reduce_min "
    "reduce_window_max reduce_window_min reshape reshard rev round scatter scatter-max scatter-min "
    "select_and_gather_add select_n sharding_constraint sign slice sort split squeeze stack "
    "stop_gradient tile top_k transpose unstack".split()
)

# Operations whose results have the relative errors of their operands, but for their own rounding.
_PROPORTIONAL = frozenset({"div", "mul"})

_NOISE = 2.0**-40

# Operations on the bits of a format, which a wider one does not have.
_BITWISE = frozenset({"bitcast_convert_type", "reduce_precision"})


class Replay:
    """Runs of the operations on a tape.

    Attributes:
      reference: the values of a run in wide formats.
      unfollowed: the names of operations that cannot be run in a wider format.
    """

    def __init__(self, tape: Tape):
        self.entries = tape.entries
        self.unfollowed: set[str] = set()
        self._recorded = tape.values
        self._roots: list[int] = _roots(tape)
        self.reference: list[Any] = [None] * len(tape.values)
        for entry in self.entries:
            self._store(self.reference, entry, self.evaluate(entry, self.reference, REFERENCE))

    def run(self, formats: Formats) -> list[Any]:
        """The values when some lines are computed in wider formats, and others as they are."""
        values: list[Any] = [None] * len(self.reference)
        for entry in self.entries:
            results = self.evaluate(entry, values, formats.get(entry.line))
            self._store(values, entry, results)
        return values

    def run_noisy(self) -> list[Any]:
        """The values of a run in wide formats whose operations make errors of about 1e-12."""
        random = np.random.default_rng(0)
        values: list[Any] = [None] * len(self.reference)
        for entry in self.entries:
            results = self.evaluate(entry, values, REFERENCE)
            if not is_exact(entry):
                results = [
                    None if x is None else x * (1 + random.uniform(-_NOISE, _NOISE, x.shape))
                    for x in results
                ]
            self._store(values, entry, results)
        return values

    def run_alone(self, line: tuple[str, int], local: Mapping[int, Any]) -> dict[int, Any]:
        """The values that differ from the reference when one line alone is as it is.

        Args:
          line: the line.
          local: the results of operations on the reference's values, where they differ from it.
        """
        changed: dict[int, Any] = {}
        for entry in self.entries:
            is_own = entry.line == line
            if any(operand.value in changed for operand in entry.operands):
                values = _Overlay(changed, self.reference)
                results = (
                    self.alone(entry, values) if is_own else self.evaluate(entry, values, REFERENCE)
                )
                for number, result in zip(entry.results, results, strict=True):
                    if number >= 0 and not _same(result, self.reference[number]):
                        changed[number] = result
            elif is_own:
                changed.update((n, local[n]) for n in entry.results if n in local)
        return changed

    def alone(self, entry: Entry, values: "Sequence[Any] | _Overlay") -> list[Any]:
        """The results of an operation as it is, on operands of any format.

        The rounding of the operands to its own formats belongs to it if there are several: their
        difference may be small beside them. A function of one value, also of its elements as in
        ``x - max(x)``, cannot be computed otherwise, and a product or a quotient is not smaller
        beside its operands: that rounding belongs to the lines that made the values.
        """
        narrow = self.evaluate(entry, values, None)
        operands = [x for x in entry.operands if x.dtype is not None]
        belongs_to_others = entry.name in _PROPORTIONAL or self._is_of_one_value(operands)
        if is_exact(entry) or not belongs_to_others:
            return narrow
        wide = {x.value: self._operand(x, values) for x in operands}
        cut = {x.value: cast(wide[x.value], x.dtype or REFERENCE) for x in operands}
        if all(_same(cut[number], wide[number]) for number in wide):
            return narrow
        exact = self.evaluate(entry, values, REFERENCE)
        rounded = self.evaluate(entry, _Overlay(cut, values), REFERENCE)
        is_factor = entry.name in _PROPORTIONAL
        transfer = _with_own_factor if is_factor else _with_own_error
        return list(map(transfer, narrow, rounded, exact))

    def _is_of_one_value(self, operands: Sequence[Operand]) -> bool:
        """Whether operands hold elements of one value."""
        if len(operands) == 1:
            return True
        numbers = {x.value for x in operands}
        return -1 not in numbers and len({self._roots[n] for n in numbers}) == 1

    def evaluate(
        self, entry: Entry, values: "Sequence[Any] | _Overlay", real: np.dtype | None
    ) -> list[Any]:
        """Run an operation.

        Args:
          entry: the operation.
          values: the values by their numbers.
          real: the format of real numbers in which it is computed; ``None`` for its own.
        """
        if entry.fixed:
            self.unfollowed.add(entry.name)
            return [self._recorded[n] if n >= 0 else None for n in entry.results]
        operands = [self._operand(operand, values) for operand in entry.operands]
        if entry.primitive is None:
            return [_copied(entry.params, operands)]
        if is_exact(entry):
            widest = max((real_bytes(x.dtype) for x in _inexact(entry, operands)), default=0)
            real = np.dtype(f"f{widest}") if widest >= 4 else None
        if real is not None and not self._is_narrow_only(entry):
            try:
                return _apply(entry, operands, real)
            except (TypeError, ValueError, NotImplementedError):
                # Its rules or parameters fix the types; the report says so.
                self.unfollowed.add(entry.name)
        return _apply(entry, operands, None)

    def _is_narrow_only(self, entry: Entry) -> bool:
        if entry.name in self.unfollowed:
            return True
        # From the same key, other numbers are drawn in another format.
        is_drawn = entry.primitive in ir.key_roles
        if entry.name in _BITWISE or is_drawn or entry.primitive in ir.host_rules:
            if any(operand.value >= 0 for operand in entry.operands):
                self.unfollowed.add(entry.name)
            return True
        return False

    def _operand(self, operand: Operand, values: "Sequence[Any] | _Overlay") -> np.ndarray:
        return operand.constant if operand.value < 0 else values[operand.value]

    @staticmethod
    def _store(values: list[Any], entry: Entry, results: Sequence[Any]) -> None:
        for number, result in zip(entry.results, results, strict=True):
            if number >= 0:
                values[number] = result


class _Overlay:
    """The values of a list, some of them replaced."""

    __slots__ = ("_all", "_changed")

    def __init__(self, changed: Mapping[int, Any], values: "Sequence[Any] | _Overlay"):
        self._changed = changed
        self._all = values

    def __getitem__(self, number: int) -> np.ndarray:
        return self._changed[number] if number in self._changed else self._all[number]


def _roots(tape: Tape) -> list[int]:
    """By the number of a value that of the one whose elements it holds, or its own."""
    roots = [*range(len(tape.values))]
    for entry in tape.entries:
        numbers = {x.value for x in entry.operands if x.dtype is not None}
        if is_exact(entry) and -1 not in numbers:
            sources = {roots[n] for n in numbers}
            if len(sources) == 1:
                (root,) = sources
                for number in entry.results:
                    if number >= 0:
                        roots[number] = root
    return roots


def is_exact(entry: Entry) -> bool:
    """Whether an operation rounds nothing, whatever its operands are."""
    if entry.primitive is None or entry.fixed or entry.name in _EXACT:
        return True
    if entry.name != "convert_element_type":
        return False
    dtype = entry.operands[0].dtype
    return dtype is not None and np.promote_types(dtype, entry.dtypes[0]) == entry.dtypes[0]


def _inexact(entry: Entry, operands: Sequence[Any]) -> list[Any]:
    return [
        x for x, operand in zip(operands, entry.operands, strict=True) if operand.dtype is not None
    ]


def _apply(entry: Entry, operands: Sequence[Any], real: np.dtype | None) -> list[Any]:
    """Run an operation on operands that are rounded to its formats, or to wider ones."""
    primitive, params = entry.primitive, entry.params
    assert primitive is not None
    args = []
    for operand, x in zip(entry.operands, operands, strict=True):
        if operand.dtype is None:
            args.append(x)
        else:
            args.append(cast(x, operand.dtype if real is None else widened(operand.dtype, real)))
    if real is not None:
        params = {key: _widened_parameter(value, real) for key, value in params.items()}
    if not ir.is_internal_module(getattr(primitive.impl, "__module__", "ricci")):
        # A library's own evaluation expects arrays with their methods.
        make = ir.backend().array
        args = [make(x, ir.ShapedArray(x.shape, x.dtype)) for x in map(np.asarray, args)]
    results = ir.eval_trace.process(primitive, tuple(args), params)
    results = list(results) if primitive.multiple_results else [results]
    return [
        np.asarray(x) if number >= 0 else None
        for x, number in zip(results, entry.results, strict=True)
    ]


def _widened_parameter(value: object, real: np.dtype) -> object:
    if isinstance(value, np.dtype) and ir.issubdtype(value, np.inexact):
        return widened(value, real)
    # Cached, so that the operation is compiled once.
    if isinstance(value, ir.Jaxpr):
        return value.derived(("widened", real), lambda: _widened_jaxpr(value, real))
    if isinstance(value, tuple) and any(isinstance(x, ir.Jaxpr) for x in value):
        return tuple(_widened_parameter(x, real) for x in value)
    return value


def _widened_jaxpr(jaxpr: ir.Jaxpr, real: np.dtype) -> ir.Jaxpr:
    """Return a jaxpr in a wider format, such as the one by which a scatter combines elements."""

    def wide(x: ir.ArrayLike) -> ir.ArrayLike:
        aval: Any = ir.get_aval(x)
        return np.asarray(x, widened(aval.dtype, real)) if is_inexact(aval) else x

    def combine(*args: object) -> list[Any]:
        values = [*map(wide, jaxpr.consts), *args]
        env: dict[Any, Any] = dict(zip(jaxpr.all_invars, values, strict=True))
        read = lambda atom: wide(atom.operand()) if type(atom) is ir.Literal else env[atom]
        for eqn in jaxpr.eqns:
            params = {key: _widened_parameter(x, real) for key, x in eqn.params.items()}
            results = eqn.primitive.bind(*map(read, eqn.invars), **params)
            outs = results if eqn.primitive.multiple_results else [results]
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    in_avals: list[Any] = jaxpr.in_avals
    avals = [
        aval.update(dtype=widened(aval.dtype, real)) if is_inexact(aval) else aval
        for aval in in_avals
    ]
    return ir.trace_to_jaxpr(combine, avals)


def _copied(copies: Copies, sources: Sequence[Any]) -> np.ndarray:
    """Copies of elements, in the widest format of their sources."""
    arrays = [np.asarray(x) for x in sources]
    dtype = max((x.dtype for x in arrays), key=real_bytes)
    numbers, index = copies.element(tuple(np.indices(copies.shape, sparse=False)))
    numbers = np.broadcast_to(numbers, copies.shape)
    index = [np.broadcast_to(i, copies.shape) for i in index]
    result = np.empty(copies.shape, dtype)
    for number in np.unique(numbers):
        chosen = numbers == number
        result[chosen] = arrays[number][tuple(i[chosen] for i in index)].astype(dtype)
    return result


def _with_own_error(
    narrow: np.ndarray | None, rounded: np.ndarray | None, exact: np.ndarray | None
) -> np.ndarray | None:
    """Return a result with the error that the operation makes on rounded operands."""
    if narrow is None or rounded is None or exact is None:
        return None
    narrow, exact = as_reference(narrow), as_reference(exact)
    with np.errstate(all="ignore"):
        error = narrow - as_reference(rounded)
        return np.where(np.isfinite(error) & np.isfinite(exact), exact + error, narrow)


def _with_own_factor(
    narrow: np.ndarray | None, rounded: np.ndarray | None, exact: np.ndarray | None
) -> np.ndarray | None:
    """Return a result with the relative error that a product makes of rounded operands.

    So a product that becomes 0 is 0, also where the operands are smaller than their rounded values.
    """
    if narrow is None or rounded is None or exact is None:
        return None
    narrow, rounded, exact = map(as_reference, (narrow, rounded, exact))
    with np.errstate(all="ignore"):
        factor = np.where(rounded == 0, 1.0, narrow / rounded)
        return np.where(np.isfinite(factor) & np.isfinite(exact), exact * factor, narrow)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(as_reference(a), as_reference(b), equal_nan=True)


def rounded(results: Callable[[int], np.ndarray], operand: Operand) -> np.ndarray:
    """A result in the dtype that it has in the function."""
    value = operand.constant if operand.value < 0 else results(operand.value)
    return value if operand.dtype is None else cast(value, operand.dtype)
