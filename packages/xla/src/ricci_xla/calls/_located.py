"""Compiling a function so that the program's operations name the lines of the user's code."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ricci_ir import Jaxpr
from ricci_xla.devices._runtime_types import Device
from ricci_xla.executables._compiled import argument_names, compile_lowered, lower_program
from ricci_xla.executables._program_devices import Options, Placement, meshes_of, place
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding

from ._jit import jit
from ._stages import Traced

__all__ = ["compile_with_lines", "LocatedProgram"]


class LocatedProgram(NamedTuple):
    """A program that was compiled to be read.

    Attributes:
      text: the optimized program, in the notation of HLO.
      jaxpr: what was compiled; its constants are leading arguments.
      arg_names: the user's name for each argument, which its parameter has in the text.
      out_shardings: for each result its sharding, if it was given.
      devices: the devices that it is for, in the program's order.
      meshes: the meshes of arguments, operations and results.
    """

    text: str
    jaxpr: Jaxpr
    arg_names: tuple[str, ...]
    out_shardings: tuple[Sharding | None, ...]
    devices: tuple[Device, ...]
    meshes: tuple[Mesh, ...]


def compile_with_lines(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> LocatedProgram:
    """Compile a function for a call, with the lines of the user's code in the program's text.

    Args:
      fun: the function, jitted or not.
      args, kwargs: the call's arguments, or descriptions of them.
    """
    stage = fun if hasattr(fun, "trace") else jit(fun)
    traced: Traced = stage.trace(*args, **kwargs)
    program, options = traced._program, traced._options
    placement = place(program, traced._leaves, options)
    lowered = lower_program(program, placement, options, sources=True)
    jaxpr = program.jaxpr
    return LocatedProgram(
        text=compile_lowered(program, lowered, options).executable.as_text(),
        jaxpr=jaxpr,
        arg_names=tuple(argument_names(program, range(len(jaxpr.invars)))),
        out_shardings=options.out_shardings or (None,) * len(jaxpr.outvars),
        devices=placement.devices,
        meshes=tuple(dict.fromkeys(_meshes(jaxpr, placement, options))),
    )


def _meshes(jaxpr: Jaxpr, placement: Placement, options: Options) -> Iterator[Mesh]:
    """The meshes of a program, with repetitions."""
    for sharding in (*placement.in_shardings, *(options.out_shardings or ())):
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            yield sharding.mesh
    yield from meshes_of(jaxpr)
    if placement.mesh is not None:
        yield placement.mesh
