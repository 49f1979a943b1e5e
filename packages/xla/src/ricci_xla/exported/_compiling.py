"""Compilation of exported functions for devices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_stablehlo as hlo
from ricci_ir import ExtendedDType
from ricci_xla.arrays._layout import HOST_MEMORY, MemorySpace, in_memory
from ricci_xla.compile._compiler import compile_text
from ricci_xla.compile._executable import Executable, buffer_rank, result_shardings
from ricci_xla.devices import Device, DeviceList, canonical_platform
from ricci_xla.files import FileError
from ricci_xla.meshes._encodings import shardy_text
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import GSPMDSharding, HloSharding, NamedSharding, Sharding

from ._functions import call_exported_main, check_module
from ._module_text import from_portable
from ._records import (
    AbstractShardingRecord,
    ExportedRecord,
    Signature,
    decode_abstract_sharding,
    signature_of,
)


class ExportedProgram:
    """An exported function with the devices to compile it for.

    Attributes:
      record: the record of the function.
      signature: the structures and types of its arguments and results.
      devices: the devices.
    """

    def __init__(
        self, record: ExportedRecord, devices: tuple[Device, ...], where: str, unchecked: bool
    ):
        self.record = record
        self.signature: Signature = signature_of(record)
        self.devices = devices
        self._where = where
        self._unchecked = unchecked
        self._platform = canonical_platform(devices[0])
        for aval in (*self.signature.in_types, *self.signature.out_types):
            if isinstance(getattr(aval, "dtype", None), ExtendedDType):
                raise FileError(
                    f"{where}: the function has arguments or results of type {aval.str_short()}, "
                    "but load does not support random keys: export a function of key_data instead."
                )
        if self._platform not in record.platforms and "platform" not in record.disabled_checks:
            raise FileError(
                f"{where}: {record.fun_name} was exported for the platforms "
                f"{', '.join(record.platforms)}, and is loaded for {self._platform}"
            )
        if record.ordered_effects:
            raise FileError(f"{where}: {record.fun_name} has ordered effects, and cannot be loaded")

    def compiled(self, in_types: Sequence[Any], out_types: Sequence[Any]) -> Executable:
        """Compile the function for arguments of static sizes.

        Raises:
          FileError: if it does not compile.
          ValueError: if the sizes do not fit each other.
        """
        record, devices = self.record, self.devices
        try:
            loaded = compile_text(
                self._module(in_types, out_types), devices, num_partitions=len(devices)
            )
        except RuntimeError as error:
            raise FileError(
                f"{self._where}: the program of {record.fun_name} does not compile: {error}"
            ) from error
        is_kept = [i in record.kept_args for i in range(len(in_types))]
        if len(devices) == 1:
            inner, outer = (
                [_on_one(devices[0], sharding) for sharding in shardings]
                for shardings in (record.in_shardings, record.out_shardings)
            )
        else:
            inner, outer = self._shardings(loaded, len(in_types), len(out_types))
        return Executable(
            loaded,
            in_types,
            out_types,
            in_shardings=inner,
            out_shardings=outer,
            used_arguments=is_kept,
            committed=True,
        )

    def _shardings(
        self, loaded: Any, arguments: int, results: int
    ) -> tuple[list[Sharding], list[Sharding]]:
        """The shardings of arguments and results: those of the record, else XLA's choice."""
        devices = DeviceList(self.devices)
        # Arguments that the module does not take may be anywhere; replicated is as good as any.
        inner: list[Sharding] = [GSPMDSharding(devices, HloSharding.replicate())] * arguments
        by_xla = loaded.get_parameter_shardings()
        specified = [_on(self.devices, s) for s in self.record.in_shardings]
        for position, i in enumerate(self.record.kept_args):
            # Positions among the module's parameters count only the arguments that are kept.
            chosen = specified[i]
            if chosen is None and by_xla is not None:
                chosen = GSPMDSharding(devices, by_xla[position])
            inner[i] = chosen or inner[i]
        chosen_outer = (result_shardings(loaded, self.devices) or [])[:results]
        fixed = [_on(self.devices, s) for s in self.record.out_shardings]
        return inner, [s or chosen for s, chosen in zip(fixed, chosen_outer, strict=True)]

    def _module(self, in_types: Sequence[Any], out_types: Sequence[Any]) -> str | bytes:
        """The module for one platform and static sizes."""
        record, exported = self.record, self.signature
        # The module takes the platform's index or dimension variables ahead of its arguments: a
        # caller with static sizes is written around it.
        if record.uses_global_constants:
            return self._specialized(in_types, out_types)
        if self._unchecked:  # a file of JAX's has no digest
            check_module(
                from_portable(record.module),
                [hlo.tensor_type(exported.in_types[i]) for i in record.kept_args],
                list(map(hlo.tensor_type, exported.out_types)),
            )
        return record.module

    def _specialized(self, in_types: Sequence[Any], out_types: Sequence[Any]) -> str:
        record, exported = self.record, self.signature
        module = hlo.Module("jit_main", self._platform, {}, None, record.nr_devices)
        module.names["main"] = 0
        body = hlo.Lowering(module, [0])
        kept_args, index = record.kept_args, None
        if len(record.platforms) > 1:
            # Without the check of platforms another one may be compiled for; it gets the first
            # one's module.
            is_listed = self._platform in record.platforms
            index = record.platforms.index(self._platform) if is_listed else 0
        specified, fixed = (
            [decode_abstract_sharding(s) for s in shardings]
            for shardings in (record.in_shardings, record.out_shardings)
        )
        args = [hlo.Value(f"%arg{n}", in_types[i]) for n, i in enumerate(kept_args)]
        results = call_exported_main(
            body,
            record.module,
            [],
            args,
            [exported.in_types[i] for i in kept_args],
            exported.out_types,
            out_types,
            [None] * len(kept_args),
            fixed,
            index,
        )
        region = hlo.Region(args, body.operations, results, "return")
        module.main = main = hlo.Function("main", region, "public")
        main.arg_attributes = [
            _attributes(module, specified[i], x) for x, i in zip(args, kept_args, strict=True)
        ]
        main.result_attributes = [
            _attributes(module, s, x) if s is not None and s.memory_kind == HOST_MEMORY else []
            for s, x in zip(fixed, results, strict=True)
        ]
        return module.text()


def _attributes(module: hlo.Module, sharding: NamedSharding | None, x: hlo.Value) -> list[str]:
    texts: list[str] = []
    if sharding is not None and sharding.mesh.axis_names:
        symbol = module.mesh(tuple(sharding.mesh.shape.items()))
        text = shardy_text(sharding, buffer_rank(x.aval))
        texts.append(f"sdy.sharding = #sdy.sharding<@{symbol}, {text}>")
    if sharding is not None and sharding.memory_kind == HOST_MEMORY:
        texts.append(f'mhlo.memory_kind = "{HOST_MEMORY}"')
    return texts


def _on_one(device: Device, record: AbstractShardingRecord | None) -> Sharding:
    """Return the sharding on a device, in the memory that a record names."""
    sharding = single_device_sharding(device)
    on_host = record is not None and record.memory_kind == HOST_MEMORY
    return in_memory(sharding, MemorySpace.Host) if on_host else sharding


def _on(devices: Sequence[Device], record: AbstractShardingRecord | None) -> NamedSharding | None:
    """The sharding of a record on devices, or ``None`` if it is unspecified."""
    sharding = decode_abstract_sharding(record)
    if sharding is None or not sharding.mesh.axis_names:
        return None
    grid: Any = np.empty(len(devices), object)
    grid[:] = devices
    mesh = sharding.mesh
    placed = Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    return NamedSharding(placed, sharding.spec, memory_kind=sharding.memory_kind)
