"""Symbolic dimensions: sizes of arrays that are known only when a program runs.

Dimensions have a normal form and are interned by their scope: equal forms are one object, so they
are cheap to hash and to compare. Comparisons (is ``b`` at least 3?) are decided by the scope, which
has the constraints.

A dimension is a sum of terms, a term an integer times a monomial, a monomial a product of powers of
factors. A factor is a variable, or an operation that polynomials lack: ``floordiv``, ``mod``,
``max`` or ``min`` of two dimensions. A scope makes each factor once, so factors are compared by
identity.

The order of terms is that in which JAX prints them: by size, which counts variables and operations,
then by the greatest factor in which two monomials differ.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, final

import numpy as np

from ricci_ir._errors import InconclusiveDimensionOperation
from ricci_ir._hook import Hook

__all__ = ["SymbolicDimension", "dimension_as_array"]


@final
class Factor:
    """A variable, or an operation on two dimensions.

    Attributes:
      name: the variable's name, or that of the operation.
      operands: the operands of the operation; a variable has none. They are ints or dimensions.
      key: the sort key: the size, the name and the keys of the operands.
      text: the printed form.
    """

    __slots__ = ("key", "name", "operands", "text")

    def __init__(self, name: str, operands: tuple[Any, ...] = ()):
        self.name: str = name
        self.operands: tuple[Any, ...] = operands
        keys = [_operand_key(x) for x in operands]
        # JAX orders terms by this size, so equal dimensions are printed alike by both.
        size = 1 + sum(1 + abs(c) * key[0] for terms in keys for key, c in terms)
        self.key: tuple[Any, ...] = (size, name, *keys)
        self.text: str = f"{name}({', '.join(map(_operand_text, operands))})" if operands else name

    def __repr__(self) -> str:
        return self.text

    def evaluate(
        self, variables: Mapping[str, Any], operations: Mapping[str, Callable[[Any, Any], Any]]
    ) -> Any:
        """The value of the factor; see ``SymbolicDimension.evaluate``."""
        if not self.operands:
            return variables[self.name]
        left, right = (
            x if isinstance(x, int) else x.evaluate(variables, operations) for x in self.operands
        )
        return operations[self.name](left, right)


# Powers of factors in increasing order; the empty product is the monomial of constants.
type Monomial = tuple[tuple[Factor, int], ...]


def _operand_key(x: Any) -> tuple[Any, ...]:
    return ((monomial_key(()), x),) if isinstance(x, int) else x.key


def _operand_text(x: object) -> str:
    return f"- {-x}" if isinstance(x, int) and x < 0 else str(x)


def monomial_key(monomial: Monomial) -> tuple[Any, ...]:
    """The sort key of monomials: the size, then the greatest factors and their powers."""
    size = sum(1 + factor.key[0] * power for factor, power in monomial)
    return size, tuple((factor.key, power) for factor, power in reversed(monomial))


def times(x: Monomial, y: Monomial, power: int = 1) -> Monomial | None:
    """``x * y**power``; ``None`` if the product has a negative power."""
    if not x and power == 1:
        return y
    powers = dict(x)
    for factor, n in y:
        powers[factor] = powers.get(factor, 0) + power * n
    if any(n < 0 for n in powers.values()):
        return None
    return tuple(sorted(((f, n) for f, n in powers.items() if n), key=lambda pair: pair[0].key))


def monomial_text(monomial: Monomial) -> str:
    """The printed form of a monomial, such as ``a*b^2``."""
    return "*".join(f.text if n == 1 else f"{f.text}^{n}" for f, n in monomial)


class Scope(Protocol):
    """The part of ``SymbolicScope`` that dimensions use."""

    def interned(self, terms: dict[Monomial, int]) -> "Size":
        """The dimension with these terms, or an int if it is constant."""
        ...

    def divided(self, left: "Size", right: "Size") -> tuple["Size", "Size"]:
        """The quotient, rounded down, and the remainder."""
        ...

    def extreme(self, kind: str, left: "Size", right: "Size") -> "Size":
        """The ``max`` or the ``min`` of two dimensions."""
        ...

    def holds(self, comparison: str, left: "Size", right: "Size") -> bool:
        """Whether a comparison (``>=``, ``>``, ``<=`` or ``<``) holds for all values."""
        ...

    def bounds(self, dimension: "Size") -> tuple[float, float]:
        """The least and the greatest value, infinite where there is none."""
        ...

    def check_same(self, other: "SymbolicDimension", operation: str) -> None:
        """Raise ``ValueError`` if a dimension belongs to another scope."""
        ...


# A dimension as an integer array.
dimension_as_array: Hook[Callable[["SymbolicDimension"], Any]] = Hook(
    "arrays of symbolic dimensions", provided_by="ricci_lax"
)

python_operations: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


@final
class SymbolicDimension:
    """A size that is known only when a program runs: a polynomial of variables and operations.

    ``symbolic_shape`` makes them. They have Python's arithmetic on integers. Comparisons hold for
    all values of the variables, or raise ``InconclusiveDimensionOperation``; two dimensions that
    are not known to be equal count as different.

    Attributes:
      scope: the scope that its variables belong to.
      terms: its monomials and their coefficients, as printed; at least one is not constant.
    """

    __slots__ = ("__weakref__", "_key", "_text", "scope", "terms")

    __array_priority__: ClassVar[float] = 1000.0  # so that NumPy's operators call these

    def __init__(self, scope: Scope, terms: tuple[tuple[Monomial, int], ...]):
        self.scope: Any = scope
        self.terms: tuple[tuple[Monomial, int], ...] = terms
        self._text: str | None = None
        self._key: tuple[Any, ...] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key of dimensions in printed form."""
        if self._key is None:
            self._key = tuple((monomial_key(m), c) for m, c in self.terms)
        return self._key

    def factors(self) -> list[Factor]:
        """The variables and operations in its terms, without those inside of operations."""
        return list(dict.fromkeys(f for monomial, _ in self.terms for f, _ in monomial))

    def variables(self) -> set[str]:
        """The names of all variables in it."""
        names: set[str] = set()
        for factor in self.factors():
            inner = [x for x in factor.operands if isinstance(x, SymbolicDimension)]
            names |= {factor.name} if not factor.operands else set()
            names.update(*(x.variables() for x in inner))
        return names

    get_vars = variables

    def evaluate(
        self,
        variables: Mapping[str, Any],
        operations: Mapping[str, Callable[[Any, Any], Any]] = python_operations,
    ) -> Any:
        """The value for given values of the variables.

        Args:
          variables: the value of each variable, by name: ints, or other operands of ``operations``.
          operations: functions for ``add``, ``mul``, ``floordiv``, ``mod``, ``max`` and ``min``;
            their operands may be ints. By default Python's.
        """
        total = None
        for monomial, coefficient in self.terms:
            product = None
            for factor, power in monomial:
                value = factor.evaluate(variables, operations)
                for _ in range(power):
                    product = value if product is None else operations["mul"](product, value)
            if product is None:
                product = coefficient
            elif coefficient != 1:
                product = operations["mul"](product, coefficient)
            total = product if total is None else operations["add"](total, product)
        return total

    def _evaluate(self, env: Mapping[str, Any]) -> Any:
        return self.evaluate(env)

    def __str__(self) -> str:
        if self._text is None:
            parts = []
            for i, (monomial, c) in enumerate(self.terms):
                sign = "- " if c < 0 else "+ " if i else ""
                text = monomial_text(monomial)
                number = str(abs(c)) if not text else f"{abs(c)}*" if abs(c) != 1 else ""
                parts.append(f"{sign}{number}{text}")
            self._text = " ".join(parts)
        return self._text

    def __repr__(self) -> str:
        return str(self)

    # Arithmetic. With an array, a dimension is an array.

    def _operand(self, other: object, name: str) -> Any:
        """Another operand as an int or a dimension; ``None`` if it is neither."""
        kind = type(other)
        if kind is int:
            return other
        if kind is SymbolicDimension:
            self.scope.check_same(other, name)
            return other
        if isinstance(other, int | np.integer) and not isinstance(other, bool | np.bool_):
            return int(other)
        if isinstance(other, np.ndarray) and other.ndim == 0 and other.dtype.kind in "iu":
            return int(other)
        return None

    def __jax_array__(self) -> Any:
        return dimension_as_array.call(self)

    dimension_as_value = __jax_array__

    def _with_array(self, operation: Callable[[Any, Any], Any], x: object, y: object) -> Any:
        other = y if x is self else x
        is_scalar = isinstance(other, int | float | complex | SymbolicDimension)
        if not (is_scalar or hasattr(other, "dtype")):
            return NotImplemented
        x, y = (v.__jax_array__() if isinstance(v, SymbolicDimension) else v for v in (x, y))
        return operation(x, y)

    def _plus(self, other: Any, sign: int, own_sign: int = 1) -> Any:
        terms = {m: own_sign * c for m, c in self.terms}
        for monomial, c in (((), other),) if isinstance(other, int) else other.terms:
            terms[monomial] = terms.get(monomial, 0) + sign * c
        return self.scope.interned(terms)

    def __add__(self, other: object) -> Any:
        operand = self._operand(other, "+")
        if operand is None:
            return self._with_array(operator.add, self, other)
        return self._plus(operand, 1)

    def __radd__(self, other: object) -> Any:
        operand = self._operand(other, "+")
        if operand is None:
            return self._with_array(operator.add, other, self)
        return self._plus(operand, 1)

    def __sub__(self, other: object) -> Any:
        operand = self._operand(other, "-")
        if operand is None:
            return self._with_array(operator.sub, self, other)
        return self._plus(operand, -1)

    def __rsub__(self, other: object) -> Any:
        operand = self._operand(other, "-")
        if operand is None:
            return self._with_array(operator.sub, other, self)
        return self._plus(operand, 1, -1)

    def __neg__(self) -> Any:
        return self._plus(0, 1, -1)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.scope.extreme("max", self, -self)

    def _product(self, other: Any) -> Any:
        terms: dict[Monomial, int] = {}
        for x, c in self.terms:
            for y, d in (((), other),) if isinstance(other, int) else other.terms:
                monomial: Any = times(x, y)
                terms[monomial] = terms.get(monomial, 0) + c * d
        return self.scope.interned(terms)

    def __mul__(self, other: object) -> Any:
        operand = self._operand(other, "*")
        if operand is None:
            return self._with_array(operator.mul, self, other)
        return self._product(operand)

    def __rmul__(self, other: object) -> Any:
        operand = self._operand(other, "*")
        if operand is None:
            return self._with_array(operator.mul, other, self)
        return self._product(operand)

    def __pow__(self, power: object) -> Any:
        if not isinstance(power, int | np.integer) or isinstance(power, bool):
            return self._with_array(operator.pow, self, power)
        if power < 0:
            raise ValueError(
                f"A symbolic dimension has no negative powers: ({self}) ** {power}. Make it an "
                "array first: jnp.asarray(dimension, float)."
            )
        result: Any = 1
        for _ in range(int(power)):
            result = self * result
        return result

    def __rpow__(self, base: object) -> Any:
        return self._with_array(operator.pow, base, self)

    def __truediv__(self, other: object) -> Any:
        return self._with_array(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Any:
        return self._with_array(operator.truediv, other, self)

    def __divmod__(self, other: object) -> Any:
        operand = self._operand(other, "divmod")
        if operand is None:
            return self._with_array(divmod, self, other)
        return self.scope.divided(self, operand)

    def __rdivmod__(self, other: object) -> Any:
        operand = self._operand(other, "divmod")
        if operand is None:
            return self._with_array(divmod, other, self)
        return self.scope.divided(operand, self)

    def __floordiv__(self, other: object) -> Any:
        if self._operand(other, "//") is None:
            return self._with_array(operator.floordiv, self, other)
        return divmod(self, other)[0]

    def __rfloordiv__(self, other: object) -> Any:
        if self._operand(other, "//") is None:
            return self._with_array(operator.floordiv, other, self)
        return divmod(other, self)[0]

    def __mod__(self, other: object) -> Any:
        if self._operand(other, "%") is None:
            return self._with_array(operator.mod, self, other)
        return divmod(self, other)[1]

    def __rmod__(self, other: object) -> Any:
        if self._operand(other, "%") is None:
            return self._with_array(operator.mod, other, self)
        return divmod(other, self)[1]

    # Comparisons. They raise where the result depends on the values.

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if isinstance(other, SymbolicDimension):
            if other.scope is not self.scope:
                return False
        elif isinstance(other, int | np.integer):
            other = int(other)
        elif hasattr(other, "dtype"):
            return self._with_array(operator.eq, self, other)
        else:
            return NotImplemented
        return self.scope.bounds(self - other) == (0, 0)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return equal
        return not equal if isinstance(equal, bool) else self._with_array(operator.ne, self, other)

    def _compared(
        self, comparison: str, operation: Callable[[Any, Any], Any], other: object
    ) -> Any:
        operand = self._operand(other, comparison)
        if operand is None:
            return self._with_array(operation, self, other)
        return self.scope.holds(comparison, self, operand)

    def __ge__(self, other: object) -> Any:
        if isinstance(other, float):  # infinity, say
            return self.scope.holds(">=", self, other)
        return self._compared(">=", operator.ge, other)

    def __gt__(self, other: object) -> Any:
        if isinstance(other, float):
            return self.scope.holds(">", self, other)
        return self._compared(">", operator.gt, other)

    def __le__(self, other: object) -> Any:
        if isinstance(other, float):
            return self.scope.holds("<=", self, other)
        return self._compared("<=", operator.le, other)

    def __lt__(self, other: object) -> Any:
        if isinstance(other, float):
            return self.scope.holds("<", self, other)
        return self._compared("<", operator.lt, other)

    def __bool__(self) -> bool:
        return self.scope.bounds(self) != (0, 0)  # consistent with ``self != 0``

    # Conversions to numbers raise.

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(self._no_number("int"))

    def __index__(self) -> int:
        raise TypeError(self._no_number("an index"))

    def __float__(self) -> float:
        raise TypeError(self._no_number("float"))

    def _no_number(self, use: str) -> str:
        return (
            f"The symbolic dimension {self} has no value while a function is traced, and {use} "
            "needs one. To compute with it in the program, make it an array: "
            "jnp.asarray(dimension). Loops over it are lax.fori_loop or lax.scan, ranges "
            "jnp.arange(dimension)."
        )

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __copy__(self) -> "SymbolicDimension":
        return self

    def __deepcopy__(self, memo: object) -> "SymbolicDimension":
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"The symbolic dimension {self} belongs to a scope of this process and cannot be "
            "pickled. Save its text and the scope's constraints; symbolic_shape reads them."
        )


# A size of an array.
type Size = int | SymbolicDimension


def sum_of_terms(scope: Scope, terms: Mapping[Monomial, int]) -> Size:
    """The dimension with these terms, in printed order; an int if it is constant."""
    nonzero = [(m, c) for m, c in terms.items() if c]
    if not nonzero:
        return 0
    if len(nonzero) == 1 and not nonzero[0][0]:
        return nonzero[0][1]
    nonzero.sort(key=lambda term: monomial_key(term[0]), reverse=True)
    return SymbolicDimension(scope, tuple(nonzero))
