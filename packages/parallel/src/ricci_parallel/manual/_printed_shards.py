"""Values of devices in the text of tracers, inside of a ``shard_map`` that is called eagerly.

The function is traced, and compiled as a whole. For the text of a tracer, the equations so far that
it depends on run on the arguments, and their result is printed device by device.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax import squeeze
from ricci_xla import Mesh, device_mesh, on_set_devices

from ._specs import AnyMesh

__all__: list[str] = []


class PrintingTrace(ir.JaxprTrace):
    """Records a function of shards, whose tracers print as the values of all devices."""

    __slots__ = ("_mesh", "_outside", "_run")

    def __init__(
        self,
        parent: ir.Trace,
        debug_info: ir.DebugInfo,
        mesh: AnyMesh,
        outside: Sequence[tuple[ir.State, Any]],
        run: Callable[[ir.Jaxpr], ir.Array],
    ):
        """Begin a trace.

        Args:
          parent, debug_info: as of every trace.
          mesh: the mesh.
          outside: settings, with their values outside of the function.
          run: applies a jaxpr of the shards with one result, and stacks the devices' results.
        """
        super().__init__(parent, debug_info)
        self._mesh = mesh
        self._outside = outside
        self._run = run

    def text_of(self, tracer: ir.StagedTracer) -> str:
        """The values of each device, or the type if they cannot be computed without effects."""
        jaxpr = self._jaxpr_of(tracer.atom) if self.alive else None
        mesh = self._mesh if isinstance(self._mesh, Mesh) else on_set_devices(self._mesh)
        if jaxpr is None or mesh is None:
            return super().text_of(tracer)
        overrides = [state(value) for state, value in self._outside]
        with ir.ensure_compile_time_eval(), overrides[0], overrides[1], overrides[2]:
            # A new leading dimension has the values of the devices.
            stacked: Any = self._run(jaxpr)
            shards = stacked.addressable_shards
            with ir.current_mesh(None), device_mesh(None):
                return _text(mesh, {s.device: str(squeeze(s.data, (0,))) for s in shards})

    def _jaxpr_of(self, var: Any) -> ir.Jaxpr | None:
        """The jaxpr of a variable alone; ``None`` if it has effects, or constants to be traced."""
        # Backwards, an equation is needed if one of its results is.
        needed = {var}
        eqns: list[ir.JaxprEqn] = []
        for eqn in reversed(self.eqns):
            if needed.isdisjoint(eqn.outvars):
                continue
            if eqn.effects:
                return None
            eqns.append(eqn)
            needed.update(eqn.invars)
        if any(isinstance(x, ir.Tracer) for x in self.consts):
            return None
        return ir.Jaxpr(
            list(self.constvars),
            self.invars,
            [var],
            eqns[::-1],
            ir.no_effects,
            self.debug_info,
            list(self.consts),
        )


def _text(mesh: Mesh, texts: dict[Any, str]) -> str:
    axes = ", ".join(map(str, mesh.axis_names))
    blocks = [
        f"On {device.platform}:{device.id} at mesh coordinates ({axes},) = {coordinates}:\n"
        f"{texts[device]}\n"
        for coordinates, device in np.ndenumerate(mesh.devices)
        if device in texts
    ]
    return "\n".join(blocks)
