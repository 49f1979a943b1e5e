"""Parameters of equations under the names by which interpreters written for JAX read them."""

from importlib import import_module
from typing import Any

from ricci_ir.traces._primitive import Primitive
from ricci_ir.traces._trace import library_form_modules, library_forms

__all__: list[str] = []

# The names of primitives whose parameters have other names in JAX.
differing_names = frozenset({"jit", "scan", "custom_jvp_call", "custom_vjp_call"})


class LibraryParams(dict[str, Any]):
    """The parameters of an equation; brackets return what JAX's have as well.

    The dict itself has the primitive's own parameters alone, and so do its copies. Another name is
    looked up in the table of forms when it is read, so that recording an equation costs no more.

    Attributes:
      primitive: the primitive of the equation.
    """

    __slots__ = ("primitive",)

    primitive: Primitive

    def __missing__(self, name: str) -> object:
        for module in library_form_modules:
            import_module(module)
        form = library_forms.get(self.primitive)
        if form is None:
            raise KeyError(name)
        return form.write(self)[name]


def readable_by_libraries(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an equation of such a primitive as ``LibraryParams``."""
    if type(params) is LibraryParams and params.primitive is primitive:
        return params
    readable = LibraryParams(params)
    readable.primitive = primitive
    return readable
