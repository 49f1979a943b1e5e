"""The stages of ``jit`` ahead of compilation, as objects: ``Traced`` and ``Lowered``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import tree_unflatten
from ricci_stablehlo import without_locations
from ricci_xla.compile._compile import cached_program, compile_lowered
from ricci_xla.compile._effects import parse_module
from ricci_xla.compile._hlo_computation import hlo_text, to_hlo
from ricci_xla.compile._lower import LoweredProgram, lower_program
from ricci_xla.compile._place import (
    Options,
    Placement,
    abstract_shardings,
    over_abstract_mesh,
    place,
)
from ricci_xla.devices._runtime_types import Device
from ricci_xla.devices._topologies import cost_of_module
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.tracing._program import Program

from ._compiled import Compiled, Stage
from ._references import ReferenceCall, reference_call

__all__ = ["Lowered", "Traced"]


@ir.exported
class Traced(Stage):
    """A function traced for given types: ``jit(f).trace(*args)``.

    Args:
      program: the traced function.
      leaves: its flat arguments.
      options: the options of ``jit``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> traced = ricci.jit(lambda x: jnp.sin(x)).trace(ricci.ShapeDtypeStruct((3,), jnp.float32))
      >>> traced.out_info
      ShapeDtypeStruct(shape=(3,), dtype=float32)
      >>> [eqn.primitive.name for eqn in traced.jaxpr.eqns]
      ['sin']
    """

    @property
    def jaxpr(self) -> ir.Jaxpr:
        """The jaxpr, closed over its constants."""
        return self._program.closed_jaxpr()

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._program.name

    @property
    def effects(self) -> frozenset[ir.Effect]:
        """The side effects of the jaxpr."""
        return self._program.jaxpr.effects

    @property
    def out_avals(self) -> ir.PyTree:
        """For each array in the result its type: a pytree like the result."""
        return tree_unflatten(self.out_tree, self._program.jaxpr.out_avals)

    @property
    def out_info(self) -> ir.PyTree:
        """The result described by ``ShapeDtypeStruct``, with shardings."""
        avals: list[Any] = self._program.jaxpr.out_avals
        structs = [
            ir.described_type(a, s) for a, s in zip(avals, self._requested_shardings(), strict=True)
        ]
        return tree_unflatten(self.out_tree, structs)

    @ir.api_boundary
    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> "Lowered":
        """Lower the jaxpr to StableHLO.

        Args:
          lowering_platforms: one platform to lower for (``"cpu"``, ``"cuda"``, ``"rocm"`` or
            ``"tpu"``), which need not be installed; by default that of the devices it runs on.

        Raises:
          NotImplementedError: for several platforms.
        """
        if lowering_platforms is not None and len(lowering_platforms) != 1:
            raise NotImplementedError(
                f"lowering_platforms={tuple(lowering_platforms)!r}: a module is lowered for one "
                "platform only. Lower for each platform separately."
            )
        platform = None if lowering_platforms is None else lowering_platforms[0]
        program, leaves, options = self.discharged_call()
        # Arguments that are described on an abstract mesh are of no device: the module is lowered
        # for as many as the mesh has, and ``compile`` is told which.
        placement = place(program, leaves, options)
        abstract = abstract_shardings(leaves)
        size = max((s.mesh.size for s in abstract if s is not None), default=1)
        shardings = [*[None] * len(program.consts), *abstract]
        extended = over_abstract_mesh(placement, shardings, size)
        lowered = lower_program(program, extended, options, platform)
        is_usual = platform is None and extended is placement
        moved = self if extended is not placement else None
        return Lowered(self._program, leaves, options, lowered, is_usual=is_usual, moved=moved)

    def on_devices(self, devices: Sequence[Device], placement: Placement) -> "Traced":
        """Return the function with arguments on devices in place of abstract meshes.

        Args:
          devices: the devices.
          placement: the placement over an abstract mesh.

        Raises:
          RuntimeError: if their number is not that of the placement.
        """
        count = len(placement.devices)
        if len(devices) != count:
            raise RuntimeError(
                f"{self.fun_name} was lowered over an abstract mesh of {count} devices, and "
                f"device_assignment has {len(devices)}. Pass compile(device_assignment=devices)."
            )
        # The devices in the order of the mesh's axes, as a mesh of the same shape is made.
        grid = np.array(devices, dtype=object)
        leaves = list(self._leaves)
        for i, sharding in enumerate(abstract_shardings(leaves)):
            if sharding is not None:
                axes = sharding.mesh
                mesh = Mesh(grid.reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)
                leaves[i] = leaves[i].update(sharding=sharding.update(mesh=mesh))
        return Traced(self._program, leaves, self._options)

    def discharged_call(self) -> tuple[Program, Sequence[Any], Options]:
        """Return the program to be compiled, its arguments, and the options of ``jit``.

        If the traced function uses references, the program is a function of the arrays in them.
        """
        call = reference_call(self._program, self._leaves)
        if call is None:
            return self._program, self._leaves, self._options
        return call.program, call.leaves(donates=False), call.options(self._options, donates=True)


@ir.exported
class Lowered(Stage):
    """A function as StableHLO: ``jit(f).lower(*args)``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> lowered = ricci.jit(lambda x: jnp.sin(x)).lower(ricci.ShapeDtypeStruct((3,), jnp.float32))
      >>> "stablehlo.sine" in lowered.as_text()
      True
      >>> lowered.compile()(jnp.zeros(3)).tolist()
      [0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        program: Program,
        leaves: Sequence[Any],
        options: Options,
        lowered: LoweredProgram,
        is_usual: bool,
        moved: Traced | None = None,
    ):
        super().__init__(program, leaves, options)
        self._lowered = lowered
        self._is_usual = is_usual  # lowered as a call of the jitted function would be
        self._moved = moved  # the traced function, if it was lowered over an abstract mesh

    def _requested_shardings(self) -> Sequence[Sharding | None]:
        # The arrays of written references come before the results.
        results = self._lowered.placement.results
        return [r.sharding for r in results[len(results) - len(self._out_avals()) :]]

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the module's text, before XLA optimizes it.

        Args:
          dialect: ``"stablehlo"`` (the default) or ``"hlo"``.
          debug_info: whether to add the name of each operation: its primitive and scopes.

        Raises:
          ValueError: for another dialect.
        """
        if _dialect(dialect) == "hlo":
            return hlo_text(to_hlo(self._lowered.text), debug_info)
        return self._lowered.text if debug_info else without_locations(self._lowered.text)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the module as an object of jaxlib.

        Args:
          dialect: ``"stablehlo"`` (the default) for an MLIR module, ``"hlo"`` for an
            ``XlaComputation``.

        Raises:
          ValueError: for another dialect.
        """
        if _dialect(dialect) == "hlo":
            return to_hlo(self._lowered.text)
        return parse_module(self._lowered.text)

    @ir.api_boundary
    def compile(
        self,
        compiler_options: Mapping[str, Any] | None = None,
        *,
        device_assignment: Sequence[Device] | None = None,
    ) -> "Compiled":
        """Compile the module for the devices that it was lowered for.

        A call of the jitted function with such arguments runs the same executable.

        Args:
          compiler_options: XLA options by name, in addition to those given to ``jit``.
          device_assignment: other devices to compile for, the same number; the devices of the
            mesh, if the module was lowered for arguments over an abstract mesh.

        Raises:
          ValueError: if the number of devices differs.
          RuntimeError: if the module was lowered over an abstract mesh, and other devices than it
            needs, or none, are passed.
        """
        if self._moved is not None:
            moved = self._moved.on_devices(device_assignment or (), self._lowered.placement)
            return moved.lower().compile(compiler_options)
        # Arrays of references are further arguments and results of what runs.
        options, lowered = self._options, self._lowered
        if ir.uses_references(self._program.jaxpr.effects):
            program = ReferenceCall(self._program, self._in_avals()).program
        else:
            program = self._program
        if compiler_options:
            merged = {**dict(options.compiler_options), **compiler_options}
            options = options._replace(compiler_options=tuple(sorted(merged.items())))
        # An executable that a call of the function would compile is cached with it.
        checks = lowered.host_checks
        unchecked = checks is not None and checks.omitted
        if device_assignment is None and self._is_usual and not unchecked:
            compiled = cached_program(program, lowered.placement, options, lambda: lowered)
            return Compiled(self._program, self._leaves, options, compiled)
        if device_assignment is not None:
            lowered = _on_devices(lowered, tuple(device_assignment))
        compiled = compile_lowered(program, lowered, options)
        return Compiled(self._program, self._leaves, options, compiled)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates (flops, bytes accessed) for the module before optimizations."""
        module = to_hlo(self._lowered.text).get_hlo_module()
        return cost_of_module(module, self._lowered.placement.devices[0])


# Users get stages from functions, whether or not the namespace that exports the classes is loaded.
for _class in (Traced, Lowered, Compiled):
    ir.guard_class(_class)


def _dialect(name: str | None) -> str:
    if name not in (None, "stablehlo", "hlo"):
        raise ValueError(f"unknown dialect {name!r}: there are 'stablehlo' and 'hlo'.")
    return name or "stablehlo"


def _on_devices(lowered: LoweredProgram, devices: tuple[Device, ...]) -> LoweredProgram:
    placement = lowered.placement
    if devices == placement.devices:
        return lowered
    if len(devices) != len(placement.devices):
        raise ValueError(
            f"device_assignment has {len(devices)} devices, but the program was lowered for "
            f"{len(placement.devices)}."
        )
    if any(argument.sharding is not None for argument in placement.arguments):
        raise ValueError(
            "device_assignment cannot move a program whose arguments have shardings, since these "
            "name their devices. Lower it for arguments on the other devices."
        )
    return lowered._replace(placement=placement._replace(devices=devices))
