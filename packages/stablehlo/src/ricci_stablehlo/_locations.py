"""Locations: the names of operations in profiles.

A name is made of the operation's primitive and the scopes around it. XLA keeps it as ``op_name`` in
the metadata of an instruction.
"""

import re

from ricci_ir import JaxprEqn, Primitive, scope_path

from ._types import string

_suffix = re.compile(r" loc\(#loc\d+\)$", re.MULTILINE)
_declaration = re.compile(r"^#loc\d+ = loc\(.*\)\n", re.MULTILINE)


# An equation's name stack and primitive.
type _Key = tuple[tuple[str, ...], Primitive]
# The scope of the operations in an equation's inner jaxprs, and the end of its operations' text.
type _Names = tuple[str, str]


class Locations:
    """The locations of a module; operations of the same name share one."""

    __slots__ = ("_by_name", "_by_scope")

    def __init__(self):
        self._by_scope: dict[str, dict[_Key, _Names]] = {}
        self._by_name: dict[str, str] = {}

    def under(self, scope: str) -> dict[_Key, _Names]:
        """The results of ``add`` under a scope, by the equation's name stack and primitive.

        Args:
          scope: the path of names around a jaxpr, ``""`` or one that ends in a slash.
        """
        return self._by_scope.setdefault(scope, {})

    def add(self, scope: str, eqn: JaxprEqn) -> _Names:
        """The scope of an equation's inner jaxprs, and the text that ends its operations."""
        names = scope_path(eqn.raw_source[2])
        path = f"{scope}{names}{'/' if names else ''}{eqn.primitive.name}"
        end = self._by_name.setdefault(path, f" loc(#loc{len(self._by_name)})")
        found = self.under(scope)[eqn.raw_source[2], eqn.primitive] = (f"{path}/", end)
        return found

    def declarations(self) -> list[str]:
        """The lines that define the locations."""
        return [f"#loc{i} = loc({string(path)})" for i, path in enumerate(self._by_name)]


def without_locations(text: str) -> str:
    """The text of a module without its locations.

    Example:
      >>> without_locations("%1 = stablehlo.sine %0 : tensor<f32> loc(#loc3)")
      '%1 = stablehlo.sine %0 : tensor<f32>'
    """
    return _suffix.sub("", _declaration.sub("", text))
