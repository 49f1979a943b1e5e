"""Compile a traced call with the lines of the user's code in the HLO text, for reports."""

from collections.abc import Iterator, Sequence
from typing import Any

from ricci_ir import Jaxpr, TupleRecord
from ricci_xla.compile._compile import compile_lowered
from ricci_xla.compile._executable import Executable
from ricci_xla.compile._lower import argument_names, lower_program
from ricci_xla.compile._operation_meshes import meshes_of
from ricci_xla.compile._place import Placement, place
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding

from ._stages import Traced

__all__ = ["compile_with_lines", "devices_of", "is_spread", "LocatedProgram"]


class LocatedProgram(TupleRecord):
    """An executable whose HLO text names the lines of the user's code.

    Attributes:
      executable: the executable.
      jaxpr: the jaxpr; its constants are leading arguments.
      arg_names: the user's name for each argument, as in the text.
      out_shardings: the specified sharding of each result, if any.
      devices: the devices, in the executable's order.
      meshes: the meshes of arguments, operations and results.
    """

    executable: Executable
    jaxpr: Jaxpr
    arg_names: tuple[str, ...]
    out_shardings: tuple[Sharding | None, ...]
    devices: tuple[Device, ...]
    meshes: tuple[Mesh, ...]

    @property
    def text(self) -> str:
        """The optimized HLO text."""
        return self.executable.as_text()


def is_spread(jaxpr: Jaxpr, arrays: Sequence[Any]) -> bool:
    """Whether a call's arguments or operations are on several devices.

    Args:
      jaxpr: the jaxpr.
      arrays: the arguments, or descriptions of them.
    """
    shardings = (getattr(x, "sharding", None) for x in arrays)
    return any(isinstance(s, Sharding) and s.num_devices > 1 for s in shardings) or any(
        mesh.size > 1 for mesh in meshes_of(jaxpr)
    )


def devices_of(traced: Traced) -> tuple[Device, ...]:
    """Return the devices on which a traced call would run."""
    return place(*traced.discharged_call()).devices


def compile_with_lines(traced: Traced) -> LocatedProgram:
    """Compile a traced call with the lines of the user's code in the HLO text."""
    program, leaves, options = traced.discharged_call()
    placement = place(program, leaves, options)
    lowered = lower_program(program, placement, options, sources=True)
    jaxpr = program.jaxpr
    return LocatedProgram(
        executable=compile_lowered(program, lowered, options).executable,
        jaxpr=jaxpr,
        arg_names=tuple(argument_names(program, range(len(jaxpr.invars)))),
        out_shardings=options.out_shardings or (None,) * len(jaxpr.outvars),
        devices=placement.devices,
        meshes=tuple(dict.fromkeys(_meshes(jaxpr, placement))),
    )


def _meshes(jaxpr: Jaxpr, placement: Placement) -> Iterator[Mesh]:
    """Yield the meshes of arguments, results and operations, with repetitions."""
    for sharding in placement.shardings:
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            yield sharding.mesh
    yield from meshes_of(jaxpr)
    if placement.mesh is not None:
        yield placement.mesh
