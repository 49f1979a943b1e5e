"""Finding the values of dimension variables from the shapes of arguments, and checking them.

The same plan runs on numbers, when the shapes are known, and on values of a program that is being
written. It solves for one variable after the other; a dimension with one unknown variable, which
occurs only once and linearly, is solved for it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ricci_ir._errors import InconclusiveDimensionOperation

from ._bounds import terms_of
from ._expressions import Size, SymbolicDimension, python_operations

__all__ = ["found_dimensions", "Requirements", "solve_dimensions"]

# An argument's name, and its shape.
type NamedShape = tuple[str, tuple[Size, ...]]


class Requirements(Protocol):
    """The operations by which ``solve_dimensions`` reads sizes, computes and checks."""

    @property
    def operations(self) -> Mapping[str, Callable[[Any, Any], Any]]:
        """Functions as ``SymbolicDimension.evaluate`` takes them."""
        ...

    def size(self, argument: int, axis: int) -> Any:
        """The size of an argument along an axis."""
        ...

    def require(self, value: Any, zero: bool, message: str, values: Sequence[Any]) -> None:
        """Check that ``value`` is 0, or is not negative; ``{i}`` in the message is a value."""
        ...


class _Problem:
    """The state of solving for the variables: those solved, and the dimensions still open."""

    def __init__(self, shapes: Sequence[NamedShape], how: Requirements):
        self.how = how
        self.solved: dict[str, Any] = {}
        self.sources: dict[str, tuple[str, str, Any]] = {}
        self.scope: Any = None
        self.open: list[tuple[str, int, int, SymbolicDimension]] = []
        described = []
        for i, (name, shape) in enumerate(shapes):
            for axis, size in enumerate(shape):
                if isinstance(size, SymbolicDimension):
                    self.open.append((f"{name}.shape[{axis}]", i, axis, size))
                    if self.scope is None:
                        self.scope = size.scope
                    size.scope.check_same(self.open[0][3], "the arguments' shapes")
            if any(isinstance(size, SymbolicDimension) for size in shape):
                comma = "," if len(shape) == 1 else ""
                described.append(f"{name}.shape = ({', '.join(map(str, shape))}{comma})")
        self.description = "; ".join(described)

    def require(self, value: object, zero: bool, message: str, *values: object) -> None:
        shown = list(values)
        parts = []
        for variable, (place, _, size) in self.sources.items():
            parts.append(f"{variable} = {{{len(shown)}}} ({place} is {{{len(shown) + 1}}})")
            shown += [self.solved[variable], size]
        solved = f" Found: {', '.join(parts)}." if parts else ""
        text = (
            f"Input shapes do not match the symbolic shapes of the function: {message} It was "
            f"traced for {self.description}.{solved}"
        )
        self.how.require(value, zero, text, shown)

    def value(self, x: Size) -> Any:
        return x if isinstance(x, int) else x.evaluate(self.solved, self.how.operations)

    def less(self, x: object, y: object) -> Any:
        operations = self.how.operations
        if isinstance(y, int):
            return operations["add"](x, -y) if y else x
        return operations["add"](x, operations["mul"](y, -1))

    def solve(self) -> None:
        progress = True
        while progress and self.open:
            progress = False
            # Each variable that is solved may leave another dimension with one unknown. A pass that
            # solves none will not be followed by one that does, so the loop ends there.
            for entry in list(self.open):
                place, argument, axis, spec = entry
                solved = self._solvable(spec)
                if solved is None:
                    continue
                name, coefficient, constant = solved
                self.open.remove(entry)
                size = self.how.size(argument, axis)
                self._assign(name, coefficient, constant, place, spec, size)
                progress = True

    def _solvable(self, spec: SymbolicDimension) -> tuple[str, int, Size] | None:
        """The only unsolved variable, if it is linear, its coefficient and the other terms."""
        unknown = spec.variables() - set(self.solved)
        if len(unknown) != 1:
            return None
        (name,) = unknown
        # The dimension is c*v + constant, and v must not occur in the constant, as in v + v*w or v
        # + floordiv(v, 2).
        for monomial, c in spec.terms:
            if len(monomial) == 1 and monomial[0][0].name == name and monomial[0][1] == 1:
                constant = spec - c * self.scope.variable(name)
                if isinstance(constant, int) or name not in constant.variables():
                    return name, c, constant
        return None

    def _assign(
        self, name: str, coefficient: int, constant: Size, place: str, spec: object, size: int
    ) -> None:
        operations = self.how.operations
        value = self.less(size, self.value(constant))
        # size = c*v + constant, so v = (size - constant) / c; the division must leave no remainder.
        if coefficient == -1:
            value = operations["mul"](value, -1)
        elif coefficient != 1:
            remainder = operations["mod"](value, coefficient)
            text = f"{place} is {{0}}, which is {spec} for no integer {name}."
            self.require(remainder, True, text, size)
            value = operations["floordiv"](value, coefficient)
        self.solved[name] = value
        self.sources[name] = place, str(spec), size
        least = self.scope.least(name)
        text = f"{name} is {{0}}, but must be at least {least}."
        self.require(self.less(value, least), False, text, value)

    def check(self) -> None:
        for place, argument, axis, spec in self.open:
            if spec.variables() <= set(self.solved):
                size, expected = self.how.size(argument, axis), self.value(spec)
                text = f"{place} is {{0}}, but {spec} is {{1}}."
                self.require(self.less(size, expected), True, text, size, expected)
        for constraint in self.scope.constraints:
            difference = constraint.difference
            if self._unsolved(difference):
                # An equality of the scope may have replaced the variable since it was parsed.
                difference = self.scope.interned(terms_of(difference))
            if unsolved := self._unsolved(difference):
                raise ValueError(
                    f"The constraint {constraint.text!r} names {', '.join(sorted(unsolved))}, "
                    f"which is not in the shapes of the arguments: {self.description}. Pass an "
                    "argument with it as a dimension, or leave the constraint out."
                )
            if isinstance(difference, SymbolicDimension):
                text = f"the constraint {constraint.text!r} does not hold."
                value = self.value(difference)
                self.require(value, constraint.comparison == "==", text)

    def _unsolved(self, size: Size) -> set[str]:
        if not isinstance(size, SymbolicDimension):
            return set()
        return set(size.variables()).difference(self.solved)


def solve_dimensions(shapes: Sequence[NamedShape], how: Requirements) -> dict[str, Any]:
    """The values of the variables in shapes, with the checks that the shapes allow.

    Args:
      shapes: the name and the symbolic shape of each argument.
      how: reads the sizes of arguments, computes with them, and checks.

    Returns:
      The value of each variable, by name; in the order in which they were solved.

    Raises:
      ValueError: if a variable cannot be solved, or a constraint names another.
    """
    problem = _Problem(shapes, how)
    if not problem.open:
        return {}
    problem.solve()
    unsolved = sorted(set().union(*(e[3].variables() for e in problem.open)) - set(problem.solved))
    if unsolved:
        specs = ", ".join(f"{e[0]} = {e[3]}" for e in problem.open)
        raise ValueError(
            f"Cannot solve for values of dimension variables {', '.join(unsolved)}: each must be "
            "the only unknown of some dimension of an argument, and occur in it linearly; the "
            f"unsolved ones are {specs}. Pass a further argument with the variable as a dimension."
        )
    problem.check()
    return problem.solved


class _ActualSizes:
    """The ``Requirements`` of concrete shapes."""

    operations = python_operations

    def __init__(self, shapes: Sequence[Sequence[int]]):
        self.shapes = shapes

    def size(self, argument: int, axis: int) -> int:
        return self.shapes[argument][axis]

    def require(self, value: int, zero: bool, message: str, values: Sequence[Any]) -> None:
        try:
            fails = value < 0 or (zero and value)
        except InconclusiveDimensionOperation as error:  # the sizes of the call are symbolic, too
            raise ValueError(
                f"{message.format(*values)} That depends on the symbolic sizes of the call: add "
                "a constraint to their scope."
            ) from error
        if fails:
            raise ValueError(message.format(*values))


def found_dimensions(
    shapes: Sequence[NamedShape], actual: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    """The values of the variables in shapes, for arguments of the shapes ``actual``.

    The actual sizes may be symbolic themselves, of another scope.

    Raises:
      ValueError: if the shapes do not match, or a constraint does not hold.

    Example:
      >>> from ricci import export
      >>> from ricci_ir import found_dimensions
      >>> x = export.symbolic_shape("b, 2*b + c")
      >>> found_dimensions([("x", x)], [(3, 10)])
      {'b': 3, 'c': 4}
    """
    for (name, shape), sizes in zip(shapes, actual, strict=True):
        if len(shape) != len(sizes) or any(
            isinstance(n, int) and n != m for n, m in zip(shape, sizes, strict=True)
        ):
            raise ValueError(
                f"Input shapes do not match the symbolic shapes of the function: {name}.shape is "
                f"({', '.join(map(str, sizes))}), but should be ({', '.join(map(str, shape))})."
            )
    return solve_dimensions(shapes, _ActualSizes(actual))
