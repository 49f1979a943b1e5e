"""The rules of several devices: arrays that the compiler gathers though nobody asked for it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ricci_ir import Jaxpr, Source, array_moves

from ._report import Finding, finding


def involuntary_gathers(
    jaxpr: Jaxpr,
    fun: Callable[..., Any],
    arrays: Sequence[Any],
    traced: object,
    names: dict[str, str],
    where: Source,
) -> Iterator[Finding]:
    """The gathers in the compiled program of a call, if it is for several devices.

    Args:
      jaxpr: the call's program.
      fun: a function of arrays alone, or a jitted function.
      arrays: its arguments.
      traced: the stage of the call, if the function is jitted.
      names: what the user calls an argument, where it is not what ``fun`` does.
      where: the place of a gather of which no line is known.
    """
    for move in array_moves.find(jaxpr, fun, arrays, traced):
        if move.kind != "all-gather":
            continue
        value = names.get(move.value, move.value)
        needs = f"{move.operation or 'the program'} needs {value}"
        cost = f"each device sends {move.bytes_text} a step"
        if move.replicates:
            code, message = (
                "RC802",
                f"{needs} whole on every device, gathered over {move.axes_text}",
            )
        else:
            code, message = "RC801", f"{needs} gathered over {move.axes_text}"
        yield finding(code, move if move.line else where, f"{message}: {cost}")
