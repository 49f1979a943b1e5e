"""The parts of symbolic dimensions: variables, operations, and products of them.

A dimension is a sum of terms, a term an integer times a monomial, a monomial a product of powers of
factors. A factor is a variable, or an operation that polynomials lack: ``floordiv``, ``mod``,
``max`` or ``min`` of two dimensions. A scope makes each factor once, so factors are compared by
identity.

The order of terms is that in which JAX prints them: by size, which counts variables and operations,
then by the greatest factor in which two monomials differ.
"""

from collections.abc import Callable, Mapping
from typing import Any, final

__all__ = ["Factor", "Monomial", "monomial_key", "monomial_text", "times"]


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

    name: str
    operands: tuple[Any, ...]
    key: tuple[Any, ...]
    text: str

    def __init__(self, name: str, operands: tuple[Any, ...] = ()):
        self.name = name
        self.operands = operands
        keys = [_operand_key(x) for x in operands]
        size = 1 + sum(1 + abs(c) * key[0] for terms in keys for key, c in terms)
        self.key = (size, name, *keys)
        self.text = f"{name}({', '.join(map(_operand_text, operands))})" if operands else name

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
