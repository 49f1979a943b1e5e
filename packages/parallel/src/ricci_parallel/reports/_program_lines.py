"""Lines of the traced jaxpr: sizes of values, requested shardings, lengths of loops.

The executable has lost these. Its instructions are matched with equations by lines and primitives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ricci_ir as ir
from ricci_batching import axis_name_rules
from ricci_stablehlo import operation_name
from ricci_xla import NamedSharding, Sharding

from ._hlo_text import Line

# Primitives by which the user specifies the sharding or place of an array.
REQUESTS = frozenset({"sharding_constraint", "reshard", "device_put"})
# Primitives whose result may have the operand's shape, while its elements depend on many of the
# operand's. A sharding that is requested of the result is not requested of the operand.
_MIXING = frozenset(
    "sort cumsum cumprod cummax cummin cumlogsumexp rev fft triangular_solve dot_general "
    "conv_general_dilated reduce_window scan while cholesky".split()
)
# Primitives that only rearrange elements, so that an axis shards the operand as it does the
# result.
_ARRANGING = frozenset({"transpose", "reshape", "squeeze", "expand_dims", "broadcast_in_dim"})

# The axes over which the user wants an array sharded; None if they are not named.
type Request = frozenset[Any] | None


@dataclass(slots=True)
class Value:
    """An argument, or the results of the equations of one primitive in one line.

    Attributes:
      function: the user's function that the place is in.
      sizes: the numbers of elements of the whole arrays.
      requests: the shardings that the user requests: for each, the axes that shard an array.
      length: the number of iterations, if the equation is a loop of a known number.
    """

    function: str = ""
    sizes: set[int] = field(default_factory=set)
    requests: set[Request] = field(default_factory=set)
    length: int | None = None


class ProgramLines:
    """The values of a traced jaxpr by the lines that compute them.

    Args:
      jaxpr: the jaxpr.
      arg_names: the user's name of each argument.
      out_shardings: for each result its requested sharding, if any.
    """

    def __init__(
        self, jaxpr: ir.Jaxpr, arg_names: Sequence[str], out_shardings: Sequence[Sharding | None]
    ):
        self.arguments: dict[str, Value] = {}
        self.collectives: set[str] = set()
        self._values: dict[tuple[Line, str], Value] = {}
        self._functions: dict[Line, str] = {}
        result_requests = [set[Request]() if s is None else {_request(s)} for s in out_shardings]
        argument_requests = self._walk(jaxpr, ir.unknown_source, "", result_requests)
        for var, name, requests in zip(jaxpr.invars, arg_names, argument_requests, strict=True):
            self.arguments[name] = Value(sizes={_size(var)}, requests=requests)

    def computed(self, line: Line | None, primitive: str) -> Value | None:
        """Return the results of a primitive's equations in a line."""
        return None if line is None else self._values.get((line, primitive))

    def function(self, line: Line) -> str:
        """Return the user's function that a line is in, if an equation is from it."""
        return self._functions.get(line, "")

    def _walk(
        self, jaxpr: ir.Jaxpr, caller: ir.Source, name: str, result_requests: Sequence[set[Request]]
    ) -> list[set[Request]]:
        """Record the equations, last to first; return the requests for each argument.

        Args:
          jaxpr: the jaxpr.
          caller: the source of the call, for equations without a source.
          name: the name of the called primitive.
          result_requests: the requests for each result.
        """
        requests: dict[int, set[Request]] = {}

        def add(atoms: Sequence[ir.Atom], more: Sequence[set[Request]]) -> None:
            for atom, new in zip(atoms, more, strict=False):
                if new and not isinstance(atom, ir.Literal):
                    requests.setdefault(id(atom), set()).update(new)

        add(jaxpr.outvars, result_requests)
        for eqn in reversed(jaxpr.eqns):
            has_source = eqn.raw_source[0] is not None
            source, operation = (eqn.source, operation_name(eqn)) if has_source else (caller, name)
            outs = [requests.get(id(var), set()) for var in eqn.outvars]
            result = set().union(*outs)
            self._note(eqn, source, operation, result)
            if eqn.primitive.name in REQUESTS:
                result = _requests_of(eqn)
            inner = list(ir.jaxprs_in_params(eqn.params))
            for body in inner:
                inside = outs if len(body.outvars) == len(outs) else [set()] * len(body.outvars)
                inner_requests = self._walk(body, source, operation, inside)
                add(eqn.invars[len(eqn.invars) - len(inner_requests) :], inner_requests)
            if result and eqn.outvars and not inner:
                add(*_forwarded(eqn, result))
        return [requests.get(id(var), set()) for var in jaxpr.invars]

    def _note(
        self, eqn: ir.JaxprEqn, source: ir.Source, operation: str, requests: set[Request]
    ) -> None:
        if eqn.primitive in axis_name_rules:
            self.collectives.add(eqn.primitive.name)
        if source.code is None:
            return
        line = Line(source.file, source.line, source.column)
        self._functions[line] = source.function
        value = self._values.setdefault((line, operation), Value(source.function))
        value.sizes.update(_size(var) for var in eqn.outvars)
        value.requests |= requests
        length: Any = eqn.params.get("length")
        if isinstance(length, int):
            value.length = length


def _forwarded(
    eqn: ir.JaxprEqn, requests: set[Request]
) -> tuple[Sequence[ir.Atom], Sequence[set[Request]]]:
    """Return the operands to which the requests for an equation's result apply as well."""
    name = eqn.primitive.name
    if name in _MIXING:
        return (), ()
    shape = getattr(eqn.outvars[0].aval, "shape", None)
    same = [
        atom
        for atom in eqn.invars
        if name in _ARRANGING or getattr(atom.aval, "shape", None) == shape
    ]
    return same, [requests] * len(same)


def _requests_of(eqn: ir.JaxprEqn) -> set[Request]:
    """Return the shardings that an equation with a sharding parameter requests."""
    parameters = [
        v for value in eqn.params.values() for v in (value if type(value) is tuple else [value])
    ]
    return {_request(v) for v in parameters if isinstance(v, Sharding)} or {None}


def _request(sharding: Sharding) -> Request:
    if not isinstance(sharding, NamedSharding):
        return None
    parts = (part if isinstance(part, tuple) else (part,) for part in sharding.spec)
    return frozenset(name for part in parts for name in part if name is not None)


def _size(var: ir.Var) -> int:
    return getattr(var.aval, "size", 0)
