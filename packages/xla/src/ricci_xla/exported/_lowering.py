"""Lowering of a traced function to one module for all platforms of an export."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import ordered_among
from ricci_xla.arrays._layout import MemorySpace, in_memory
from ricci_xla.calls._stages import Traced
from ricci_xla.compile._lower import lower_program
from ricci_xla.compile._place import Buffer, abstract_shardings, over_abstract_mesh, place
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding, SingleDeviceSharding
from ricci_xla.meshes._spec import PartitionSpec
from ricci_xla.tracing._program import Program

from ._module_text import for_platforms

__all__ = ["ExportedModule", "lower_for_export"]

_CUSTOM_CALL = re.compile(r'call_target_name = "((?:[^"\\]|\\.)*)"')


class ExportedModule(NamedTuple):
    """A function lowered for export.

    Attributes:
      text: the StableHLO module.
      large_constants: the constants that are not in the text: see ``to_portable``.
      name: the function's name.
      in_avals, out_avals: the types of its arguments and results.
      in_shardings, out_shardings: the sharding of each, over an abstract mesh; ``None`` if it is
        unspecified.
      placed: the shardings of the arguments and of the results on this process's devices.
      nr_devices: the number of devices that it runs on.
      kept_args: the positions of the arguments that the module takes.
      effects: its side effects.
      custom_calls: the targets of its custom calls.
    """

    text: str
    large_constants: tuple[np.ndarray, ...]
    name: str
    in_avals: tuple[ir.AbstractValue, ...]
    out_avals: tuple[ir.AbstractValue, ...]
    in_shardings: tuple[NamedSharding | None, ...]
    out_shardings: tuple[NamedSharding | None, ...]
    placed: tuple[tuple[Sharding | None, ...], tuple[Sharding | None, ...]]
    nr_devices: int
    kept_args: tuple[int, ...]
    effects: frozenset[ir.Effect]
    custom_calls: frozenset[str]


def lower_for_export(
    traced: Traced,
    platforms: Sequence[str],
    out_shardings: Sequence[NamedSharding | None] | None = None,
) -> ExportedModule:
    """Lower a traced function for export.

    Args:
      traced: the result of ``jit(f).trace(...)``.
      platforms: the platforms to lower for; they need not be installed.
      out_shardings: the shardings of the results over an abstract mesh, or ``None``.

    Raises:
      NotImplementedError: if the function calls Python, or has a ``GSPMDSharding``.
      ValueError: for other reasons why the function cannot be lowered.
    """
    program = _with_host_constants(traced._program)
    # A function may be exported while another is traced, for the types of its arguments.
    leaves = [ir.described_type(x.aval) if isinstance(x, ir.Tracer) else x for x in traced._leaves]
    placement = place(program, leaves, traced._options)
    abstract = abstract_shardings(leaves)
    meshes = [ir.current_mesh.value, *(s.mesh for s in abstract if s is not None)]
    meshes += _abstract_meshes(program.jaxpr)
    size = max((mesh.size for mesh in meshes if isinstance(mesh, AbstractMesh)), default=1)
    shardings = [*[None] * len(program.consts), *abstract]
    placement = over_abstract_mesh(placement, shardings, size)
    if out_shardings is not None:
        placement = placement._replace(results=_with_shardings(placement.results, out_shardings))
    options = traced._options
    constants: list[np.ndarray] = []
    by_platform = {
        platform: lower_program(program, placement, options, platform, closed=constants)
        for platform in dict.fromkeys(platforms)
    }
    lowered = next(iter(by_platform.values()))
    if any(each.host_callbacks for each in by_platform.values()):
        raise NotImplementedError(
            f"{program.name} cannot be exported: it calls Python (pure_callback, io_callback, "
            "debug.print, debug.callback), and a file cannot hold a Python function. Export the "
            "function without these calls."
        )
    if not lowered.shardy and len(placement.devices) > 1:
        raise NotImplementedError(
            f"{program.name} cannot be exported: an argument has a GSPMDSharding, which names no "
            "mesh. Give it a NamedSharding."
        )
    count = len(program.consts)
    kept_args = tuple(i - count for i in lowered.used)
    in_avals, out_avals = program.jaxpr.in_avals[count:], program.jaxpr.out_avals
    effects = program.jaxpr.effects
    text = lowered.text
    if len(platforms) > 1:
        # On one device, ordered effects have tokens ahead of the operands and the results.
        tokens = len(ordered_among(effects)) if len(placement.devices) == 1 else 0
        text = for_platforms(
            {platform: each.text for platform, each in by_platform.items()},
            [*[ir.abstract_token] * tokens, *(in_avals[i] for i in kept_args)],
            [*[ir.abstract_token] * tokens, *out_avals],
        )
    # JAX specializes a module for its platform if this attribute is true; for sizes it always does.
    if "jax.uses_shape_polymorphism" not in text:
        polymorphic = str(len(platforms) > 1).lower()
        attribute = f"attributes {{jax.uses_shape_polymorphism = {polymorphic}, "
        text = text.replace("attributes {", attribute, 1)
    specified = [argument.sharding for argument in placement.arguments[count:]]
    fixed = [result.sharding for result in placement.results]
    inner = [_or_own_sharding(s, x) for s, x in zip(specified, leaves, strict=True)]
    outer = list(fixed)
    if len(placement.devices) == 1 and any(result.on_host for result in placement.results):
        on_host = in_memory(single_device_sharding(placement.devices[0]), MemorySpace.Host)
        outer = [on_host if result.on_host else result.sharding for result in placement.results]
    return ExportedModule(
        text,
        tuple(constants),
        program.name,
        tuple(in_avals),
        tuple(out_avals),
        tuple(_without_devices(s, a) for s, a in zip(inner, in_avals, strict=True)),
        tuple(_without_devices(s, a) for s, a in zip(outer, out_avals, strict=True)),
        (tuple(specified), tuple(fixed)),
        len(placement.devices),
        kept_args,
        effects,
        frozenset(_CUSTOM_CALL.findall(text)),
    )


def _with_shardings(
    buffers: Sequence[Buffer], shardings: Sequence[Sharding | None]
) -> tuple[Buffer, ...]:
    pairs = zip(buffers, shardings, strict=True)
    return tuple([Buffer(sharding, b.layout, b.on_host) for b, sharding in pairs])


def _abstract_meshes(jaxpr: ir.Jaxpr) -> list[AbstractMesh]:
    """The abstract meshes in the parameters of a jaxpr's equations."""
    meshes: list[AbstractMesh] = []
    for eqn in jaxpr.eqns:
        for value in eqn.params.values():
            mesh = getattr(value, "mesh", value)
            if isinstance(mesh, AbstractMesh):
                meshes.append(mesh)
        for inner in ir.jaxprs_in_params(eqn.params):
            meshes += _abstract_meshes(inner)
    return meshes


def _with_host_constants(program: Program) -> Program:
    """Copy a program with its constants as NumPy arrays, which are not committed to devices.

    Random keys are not converted.
    """
    consts = tuple(
        x if isinstance(x.dtype, ir.ExtendedDType) else np.asarray(x) for x in program.consts
    )
    return program._replace(consts=consts)


def _or_own_sharding(sharding: Sharding | None, x: object) -> Sharding | None:
    """The specified sharding of an argument, else the single device that it is committed to."""
    if sharding is not None:
        return sharding
    own_sharding = getattr(x, "sharding", None)
    is_committed = isinstance(own_sharding, SingleDeviceSharding) and getattr(x, "committed", True)
    return own_sharding if is_committed else None


def _without_devices(sharding: Sharding | None, aval: ir.AbstractValue) -> NamedSharding | None:
    memory = None if sharding is None else sharding.memory_kind
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh.abstract_mesh, sharding.spec, memory_kind=memory)
    if isinstance(sharding, SingleDeviceSharding):
        spec = PartitionSpec(*[None] * getattr(aval, "ndim", 0))
        return NamedSharding(AbstractMesh((), ()), spec, memory_kind=memory)
    return None
