"""RC801 and RC802: arrays that the compiler gathers without a request by the user."""

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
    """Yield the gathers in the executable of a call, if it is for several devices.

    Args:
      jaxpr: the call's jaxpr.
      fun: a function of arrays alone, or a jitted function.
      arrays: its arguments.
      traced: the stage of the call, if the function is jitted.
      names: the user's names of arguments, where they differ from those of ``fun``.
      where: the source of a gather whose line is unknown.
    """
    for move in array_moves.call(jaxpr, fun, arrays, traced):
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
