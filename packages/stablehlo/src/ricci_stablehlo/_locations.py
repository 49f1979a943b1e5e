"""What each operation of a module is called in profiles: its primitive and the scopes around it.

XLA keeps the names as the ``op_name`` of an instruction's metadata.
"""

import re

from ricci_ir import JaxprEqn, scope_path

from ._types import string

_suffix = re.compile(r" loc\(#loc\d+\)$", re.MULTILINE)
_declaration = re.compile(r"^#loc\d+ = loc\(.*\)\n", re.MULTILINE)


class Locations:
    """The locations of a module; operations with one name share one."""

    __slots__ = ("_by_name", "_by_scope")

    def __init__(self):
        self._by_scope: dict[str, dict[tuple, tuple[str, str]]] = {}
        self._by_name: dict[str, str] = {}

    def under(self, scope: str) -> dict[tuple, tuple[str, str]]:
        """What ``add`` returned under a scope, by names and primitive.

        Args:
          scope: what is around a program, ``""`` or a path that ends in a slash.
        """
        return self._by_scope.setdefault(scope, {})

    def add(self, scope: str, eqn: JaxprEqn) -> tuple[str, str]:
        """The scope of what an equation's programs hold, and the end of its operations' text."""
        names = scope_path(eqn.raw_source[2])
        path = f"{scope}{names}{'/' if names else ''}{eqn.primitive.name}"
        end = self._by_name.setdefault(path, f" loc(#loc{len(self._by_name)})")
        found = self.under(scope)[eqn.raw_source[2], eqn.primitive] = (f"{path}/", end)
        return found

    def declarations(self) -> list[str]:
        """The lines that give each location's name."""
        return [f"#loc{i} = loc({string(path)})" for i, path in enumerate(self._by_name)]


def without_locations(text: str) -> str:
    """The text of a module without its locations.

    Example:
      >>> without_locations("%1 = stablehlo.sine %0 : tensor<f32> loc(#loc3)")
      '%1 = stablehlo.sine %0 : tensor<f32>'
    """
    return _suffix.sub("", _declaration.sub("", text))
