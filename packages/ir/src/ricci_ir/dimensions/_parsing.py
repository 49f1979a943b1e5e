"""A parser of symbolic dimensions and constraints.

::

  shape      = dimensions | "(" dimensions ")"
  dimensions = [dimension {"," dimension} [","]]     with "..." at the end, and "_"
  sum        = ["-"] product {("+" | "-") product}
  product    = power {"*" power}
  power      = atom ["^" number]
  atom       = number | name | ("floordiv" | "mod" | "max" | "min") "(" sum "," sum ")"
  constraint = sum (">=" | "<=" | "==") sum
"""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

__all__ = ["DimensionParser"]

_token = r"\s*(?:(\d+(?:\.\d+)?)|(\.\.\.)|([^\W\d]\w*)|(>=|<=|==|//|\*\*|\S))"
_operations = ("floordiv", "mod", "max", "min")
_comparisons = (">=", "<=", "==")


class DimensionParser:
    """A parser of one text.

    Args:
      text: the text.
      scope: the scope that creates its variables and operations.
      what: the kind of text, for messages.
    """

    __slots__ = ("places", "position", "scope", "text", "tokens", "what")

    def __init__(self, text: str, scope: Any, what: str):
        self.text = text
        self.scope = scope
        self.what = what
        self.position = 0
        matches = list(re.finditer(_token, text))
        # The group that matched is the token without the spaces ahead of it.
        self.tokens = [m.group(m.lastindex or 0) for m in matches]
        self.places = [m.start(m.lastindex or 0) for m in matches]

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, *tokens: str) -> str:
        """Consume and return the next token if it is one of these, else return an empty string."""
        token = self.next
        if token not in tokens:
            return ""
        self.position += 1
        return token

    def fail(self, expected: str) -> NoReturn:
        """Raise ``ValueError`` for the next token, naming the expected one."""
        place = self.places[self.position] if self.next else len(self.text)
        actual = f"{self.next!r} at position {place}" if self.next else "the end"
        raise ValueError(
            f"syntax error in symbolic {self.what} {self.text!r}: expected {expected}, found "
            f"{actual}. Dimensions are sums of products of integers, variables and "
            "floordiv, mod, max, min of two dimensions, such as '2*b + floordiv(c, 4) - 1'."
        )

    def shape(self, like: Sequence[int | None] | None) -> tuple[Any, ...]:
        """The dimensions of a shape."""
        wrapped = bool(self.take("("))
        end = ")" if wrapped else ""
        sizes: list[Any] = []
        while self.next != end:
            if self.take("..."):
                if like is None:
                    raise ValueError(
                        f"symbolic shape {self.text!r}: '...' is the remaining dimensions of "
                        "like=, which was not given."
                    )
                sizes += [self._size_of_like(like, i) for i in range(len(sizes), len(like))]
                self.take(",")
                break
            sizes.append(self._dimension(like, len(sizes)))
            if not self.take(",") and self.next != end:
                self.fail("',' or an operation")
        if self.next != end:
            self.fail("the end of the shape")
        if wrapped:
            self.position += 1
            if self.next:
                self.fail("the end of the shape")
        return tuple(sizes)

    def _size_of_like(self, like: Sequence[int | None], i: int) -> Any:
        if i >= len(like) or like[i] is None:
            raise ValueError(
                f"symbolic shape {self.text!r}: dimension {i} is taken from like={tuple(like)}, "
                "which has no size for it."
            )
        return like[i]

    def _dimension(self, like: Sequence[int | None] | None, i: int) -> Any:
        if self.next == "_":
            self.position += 1
            if like is None:
                raise ValueError(
                    f"symbolic shape {self.text!r}: '_' is a dimension of like=, which was not "
                    "given."
                )
            return self._size_of_like(like, i)
        size = self.sum()
        expected = like[i] if like is not None and i < len(like) else None
        if isinstance(size, int) and isinstance(expected, int) and size != expected:
            raise ValueError(
                f"symbolic shape {self.text!r}: dimension {i} is {size}, but like={tuple(like)} "  # pyright: ignore[reportArgumentType]
                f"has {expected} there."
            )
        return size

    def constraint(self) -> tuple[Any, str, Any]:
        """The sides of a constraint, and the comparison between them."""
        left = self.sum()
        comparison = self.take(*_comparisons)
        if not comparison:
            self.fail("'>=', '<=' or '=='")
        right = self.sum()
        if self.next:
            self.fail("the end of the constraint")
        return left, comparison, right

    # Recursive descent, one method for each rule of the grammar above. Arithmetic is that of
    # dimensions, which brings results into normal form.
    def sum(self) -> Any:
        """A sum of products."""
        total = -self._product() if self.take("-") else self._product()
        while sign := self.take("+", "-"):
            product = self._product()
            total = total + product if sign == "+" else total - product
        return total

    def _product(self) -> Any:
        product = self._power()
        while self.take("*"):
            product = product * self._power()
        return product

    def _power(self) -> Any:
        base = self._atom()
        if self.take("^"):
            if not self.next.isdecimal():
                self.fail("a number")
            self.position += 1
            base = base ** int(self.tokens[self.position - 1])
        return base

    def _atom(self) -> Any:
        token = self.next
        if not (token.isdecimal() or token.isidentifier()):
            self.fail("a number or a name")
        self.position += 1
        if token.isdecimal():
            return int(token)
        if token in _operations and self.next == "(":
            return self._operation(token)
        return self.scope.variable(token)

    def _operation(self, name: str) -> Any:
        self.position += 1
        left = self.sum()
        if not self.take(","):
            self.fail("',' and a second operand")
        right = self.sum()
        if not self.take(")"):
            self.fail("')'")
        if name in ("max", "min"):
            return self.scope.extreme(name, left, right)
        return self.scope.divided(left, right)[name == "mod"]
