"""Locations: the names of operations in profiles.

A name consists of the operation's primitive and the scopes around it. XLA stores it as ``op_name``
in the metadata of an instruction, with the line of the user's code if locations have sources.
"""

import re

from ricci_ir import JaxprEqn, Primitive, Source, scope_path, unknown_source

from ._types import string

__all__ = ["operation_name", "without_locations"]

# Matches at the start of any text, which has the declarations.
_declarations = r"(?:#loc[0-9]+ = loc\(.*\)\n)*"
# Most locations end a line. A pattern for these alone is several times faster.
_line_end = r"(?m) loc\(#loc[0-9]+\)$"
_argument_end = r" loc\(#loc[0-9]+\)(?=, %arg|\) ->)"


# The scope of the operations in an equation's inner jaxprs, and the location of its operations.
type _Names = tuple[str, str]
# The names by an equation's name stack and primitive.
type _ByEquation = dict[tuple[str, ...], dict[Primitive, _Names]]


class Locations:
    """The locations of a module; operations of the same name share one.

    Attributes:
      separate_calls: whether a jaxpr that is called several times is inlined in each place, since
        its operations have different locations.
    """

    __slots__ = ("_by_name", "_by_scope")

    separate_calls: bool = False

    def __init__(self):
        self._by_scope: dict[str, _ByEquation] = {}
        self._by_name: dict[str, str] = {}

    def under(self, scope: str) -> _ByEquation:
        """Return the cached results of ``add`` under a scope, by name stack and primitive.

        Args:
          scope: the path of names around a jaxpr, ``""`` or one that ends in a slash.
        """
        return self._by_scope.setdefault(scope, {})

    def add(self, scope: str, eqn: JaxprEqn) -> _Names:
        """Return the scope of an equation's inner jaxprs, and the location of its operations."""
        scopes = scope_path(eqn.raw_source[2])
        path = f"{scope}{scopes}{'/' if scopes else ''}{eqn.primitive.name}"
        end = self._by_name.setdefault(path, f" loc(#loc{len(self._by_name)})")
        by_primitive = self.under(scope).setdefault(eqn.raw_source[2], {})
        names = by_primitive[eqn.primitive] = (f"{path}/", end)
        return names

    def declarations(self) -> list[str]:
        """Return the lines that define the locations."""
        return [f"#loc{i} = loc({string(path)})" for i, path in enumerate(self._by_name)]


class _Scope(str):
    """A path of names, and the line of the user's code of its innermost call."""

    __slots__ = ("source",)

    source: Source


def operation_name(eqn: JaxprEqn) -> str:
    """Return the name of an equation for users: its primitive's, or a called function's."""
    name = eqn.params.get("name") if eqn.primitive.name == "jit" else None
    return name if isinstance(name, str) else eqn.primitive.name


class SourceLocations(Locations):
    """Locations that include the line of the user's code.

    An equation of a jaxpr that many callers share has no source line; its location has the name and
    the line of its caller.
    """

    __slots__ = ()

    separate_calls = True

    def under(self, scope: str) -> _ByEquation:
        """Return an empty cache: equations of one name may have different source lines."""
        return {}

    def add(self, scope: str, eqn: JaxprEqn) -> _Names:
        """Return the scope of an equation's inner jaxprs, and the location of its operations."""
        source = eqn.source
        path = scope.removesuffix("/")
        if source.code is None:
            source = getattr(scope, "source", unknown_source)
        else:
            names = scope_path(source.name_stack)
            path = f"{scope}{names}{'/' if names else ''}{operation_name(eqn)}"
        text = string(path)
        if source.code is not None:
            text = f"{text}({string(source.file)}:{source.line}:{source.column})"
        inner = _Scope(f"{path}/")
        inner.source = source
        return inner, self._end(text)

    def argument(self, name: str) -> str:
        """Return the text that ends the declaration of an argument, whose location is its name."""
        return self._end(string(name))

    def _end(self, text: str) -> str:
        return self._by_name.setdefault(text, f" loc(#loc{len(self._by_name)})")

    def declarations(self) -> list[str]:
        """Return the lines that define the locations."""
        return [f"#loc{i} = loc({text})" for i, text in enumerate(self._by_name)]


def without_locations(text: str) -> str:
    """Remove the locations from the text of a module.

    Example:
      >>> without_locations("%1 = stablehlo.sine %0 : tensor<f32> loc(#loc3)")
      '%1 = stablehlo.sine %0 : tensor<f32>'
    """
    text = re.sub(_line_end, "", re.sub(_declarations, "", text, count=1))
    return re.sub(_argument_end, "", text) if " loc(#loc" in text else text
