"""Moves of a program's results to the memories that their shardings name."""

from collections.abc import Callable, Sequence

from ricci_ir import Jaxpr, JaxprEqn, Var
from ricci_xla.arrays._memory import HOST_MEMORY

__all__ = [
    "result_moves",
]


class ResultMoves:
    """The equation that moves a result between memories; ``ricci_parallel`` registers it.

    ``move(x, result, memory)`` returns it; the memory is ``"device"`` or the host's.
    """

    __slots__ = ("move",)

    move: Callable[[Var, Var, str], JaxprEqn] | None

    def __init__(self) -> None:
        self.move = None

    def moved(self, jaxpr: Jaxpr, wanted: Sequence[bool | None], on_host: Sequence[bool]) -> Jaxpr:
        """Return a jaxpr whose results are in the memories that are asked for.

        Args:
          jaxpr: the jaxpr.
          wanted: for each result, whether it must be on the host; ``None`` if that is open.
          on_host: for each result, whether the jaxpr leaves it there.
        """
        move = self.move
        if move is None or not any(wanted) and not any(on_host):
            return jaxpr
        eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
        for i, (wants_host, is_there) in enumerate(zip(wanted, on_host, strict=True)):
            atom = outvars[i]
            if (wants_host or (wants_host is False and is_there)) and isinstance(atom, Var):
                outvars[i] = result = Var(atom.aval)
                eqns.append(move(atom, result, HOST_MEMORY if wants_host else "device"))
        return jaxpr.replace(eqns=eqns, outvars=outvars)


result_moves: ResultMoves = ResultMoves()
