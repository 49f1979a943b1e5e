"""What the program says of its lines: sizes of values, requested shardings, lengths of loops.

The compiled program has lost these. It is matched with the traced one by lines and primitives.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ricci_batching import axis_name_rules
from ricci_ir import Atom, Jaxpr, JaxprEqn, Literal, Source, Var, jaxprs_in_params, unknown_source
from ricci_stablehlo import operation_name
from ricci_xla import NamedSharding, Sharding

from ._hlo_text import Line

# Primitives by which the user says how an array is to be divided, or where it is to be.
REQUESTS = frozenset({"sharding_constraint", "reshard", "device_put"})
# Primitives whose result may have the operand's shape, while its elements depend on many of the
# operand's. A division that is requested of the result is not requested of the operand.
_MIXING = frozenset(
    "sort cumsum cumprod cummax cummin cumlogsumexp rev fft triangular_solve dot_general "
    "conv_general_dilated reduce_window scan while cholesky".split()
)
# Primitives that only arrange elements anew, so that an axis divides the operand as it does the
# result.
_ARRANGING = frozenset({"transpose", "reshape", "squeeze", "expand_dims", "broadcast_in_dim"})

# The axes that divide an array as the user wants it; None if that is not said by axes.
type Request = frozenset[Any] | None


@dataclass(slots=True)
class Value:
    """An argument of the program, or what the equations of one place compute.

    Attributes:
      function: the user's function that the place is in.
      sizes: the numbers of elements of the whole arrays.
      requests: how the user wants them to be divided: for each wish the axes that divide an array.
      length: the number of iterations, if the equation is a loop of a known number.
    """

    function: str = ""
    sizes: set[int] = field(default_factory=set)
    requests: set[Request] = field(default_factory=set)
    length: int | None = None


class ProgramLines:
    """The values of a traced program by the lines that compute them.

    Args:
      jaxpr: the program.
      arg_names: the user's name of each argument.
      out_shardings: for each result its sharding, if it was given.
    """

    def __init__(
        self, jaxpr: Jaxpr, arg_names: Sequence[str], out_shardings: Sequence[Sharding | None]
    ):
        self.arguments: dict[str, Value] = {}
        self.collectives: set[str] = set()
        self._values: dict[tuple[Line, str], Value] = {}
        self._functions: dict[Line, str] = {}
        wanted = [set[Request]() if s is None else {_request(s)} for s in out_shardings]
        found = self._walk(jaxpr, unknown_source, "", wanted)
        for var, name, requests in zip(jaxpr.invars, arg_names, found, strict=True):
            self.arguments[name] = Value(sizes={_size(var)}, requests=requests)

    def computed(self, line: Line | None, primitive: str) -> Value | None:
        """What the equations of a primitive in a line compute."""
        return None if line is None else self._values.get((line, primitive))

    def function(self, line: Line) -> str:
        """The user's function that a line is in, if an equation is from it."""
        return self._functions.get(line, "")

    def _walk(
        self, jaxpr: Jaxpr, caller: Source, name: str, wanted: Sequence[set[Request]]
    ) -> list[set[Request]]:
        """Note the equations, last to first; returns what is requested of each argument.

        Args:
          jaxpr: the program.
          caller: the place of the call; equations that have no place of their own have this one.
          name: the name of what is called there.
          wanted: what is requested of each result.
        """
        requests: dict[int, set[Request]] = {}

        def add(atoms: Sequence[Atom], found: Sequence[set[Request]]) -> None:
            for atom, new in zip(atoms, found, strict=False):
                if new and not isinstance(atom, Literal):
                    requests.setdefault(id(atom), set()).update(new)

        add(jaxpr.outvars, wanted)
        for eqn in reversed(jaxpr.eqns):
            own = eqn.raw_source[0] is not None
            source, operation = (eqn.source, operation_name(eqn)) if own else (caller, name)
            outs = [requests.get(id(var), set()) for var in eqn.outvars]
            here = set().union(*outs)
            self._note(eqn, source, operation, here)
            if eqn.primitive.name in REQUESTS:
                here = _requests_of(eqn)
            inner = list(jaxprs_in_params(eqn.params))
            for body in inner:
                inside = outs if len(body.outvars) == len(outs) else [set()] * len(body.outvars)
                found = self._walk(body, source, operation, inside)
                add(eqn.invars[len(eqn.invars) - len(found) :], found)
            if here and not inner:
                add(*_passed_on(eqn, here))
        return [requests.get(id(var), set()) for var in jaxpr.invars]

    def _note(self, eqn: JaxprEqn, source: Source, operation: str, requests: set[Request]) -> None:
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


def _passed_on(
    eqn: JaxprEqn, requests: set[Request]
) -> tuple[Sequence[Atom], Sequence[set[Request]]]:
    """The operands of an equation to which what is requested of its result applies as well."""
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


def _requests_of(eqn: JaxprEqn) -> set[Request]:
    """What an equation that says how an array is to be divided requests."""
    given = [
        v for value in eqn.params.values() for v in (value if type(value) is tuple else [value])
    ]
    return {_request(v) for v in given if isinstance(v, Sharding)} or {None}


def _request(sharding: Sharding) -> Request:
    if not isinstance(sharding, NamedSharding):
        return None
    parts = (part if isinstance(part, tuple) else (part,) for part in sharding.spec)
    return frozenset(name for part in parts for name in part if name is not None)


def _size(var: Var) -> int:
    return getattr(var.aval, "size", 0)
