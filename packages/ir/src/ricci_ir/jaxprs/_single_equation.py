"""Jaxprs of one equation."""

from typing import Any

from ricci_ir._cache import Cache
from ricci_ir._settings import trace_key
from ricci_ir._source import no_origin
from ricci_ir.traces._primitive import Primitive

from ._jaxpr import DebugInfo, Jaxpr
from ._staging import trace_to_jaxpr

__all__ = ["equation_program", "single_equation"]

_single_equations: Cache[Any, Jaxpr] = Cache("programs of one equation", 4096)


def equation_program(primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]) -> Jaxpr:
    """Trace a primitive to a jaxpr of one equation."""

    def fun(*args):
        result = primitive.bind(*args, **params)
        return result if primitive.multiple_results else [result]

    return trace_to_jaxpr(fun, avals, DebugInfo("eager", primitive.name), no_origin)


def single_equation(
    primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]
) -> Jaxpr | None:
    """Return the cached jaxpr of one equation; ``None`` if a parameter is not hashable."""
    key = (primitive, avals, tuple(params.items()), trace_key())
    try:
        jaxpr = _single_equations.entries.get(key)
    except TypeError:
        return None
    if jaxpr is None:
        jaxpr = _single_equations.make(key, equation_program, primitive, avals, params)
    return jaxpr
