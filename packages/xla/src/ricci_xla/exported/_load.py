"""Running exported functions with nothing but jaxlib and this package."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ricci_ir import ExtendedDType, ShapedArray, get_aval
from ricci_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_stablehlo import Lowering, Module, Value, tensor_type
from ricci_xla.devices._client import devices as all_devices
from ricci_xla.devices._client import get_default_device
from ricci_xla.devices._runtime_types import Device, DeviceList
from ricci_xla.executables._compile import (
    Executable,
    buffer_rank,
    compile_text,
    result_shardings,
)
from ricci_xla.executables._dispatch import shard_args
from ricci_xla.files import FileError
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    Sharding,
)
from ricci_xla.meshes._shardy import shardy_text

from ._functions import call_exported_main, check_program
from ._jax_file import looks_like_jax
from ._portable import from_portable
from ._reading import read_export
from ._records import (
    AbstractShardingRecord,
    ExportedRecord,
    decode_abstract_sharding,
    signature_of,
)

__all__ = [
    "load",
    "LoadedFunction",
]


class LoadedFunction:
    """An exported function that was compiled for the devices here. Call it with arrays of NumPy.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
      in_types, out_types: the type of each leaf.
      devices: the devices that it runs on.
    """

    fun_name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_types: tuple[ShapedArray, ...]
    out_types: tuple[ShapedArray, ...]
    devices: tuple[Device, ...]

    def __init__(
        self, record: ExportedRecord, devices: tuple[Device, ...], where: str, unchecked: bool
    ):
        self.fun_name = record.fun_name
        signature = signature_of(record)
        self.in_tree, self.out_tree = signature.in_tree, signature.out_tree
        self.in_types = _without_keys(signature.in_types, where)
        self.out_types = _without_keys(signature.out_types, where)
        self.devices = devices
        self._executable = _compiled(
            record, self.in_types, self.out_types, devices, where, unchecked
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function.

        Args:
          args, kwargs: arrays, with the structure, shapes and dtypes that it was exported for.

        Returns:
          Arrays on the devices; ``numpy.asarray`` copies one to NumPy.

        Raises:
          TypeError: if an argument is no array, or of another shape or dtype.
          ValueError: if the structure differs.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ValueError(
                f"{self.fun_name} takes the arguments {self._signature()}; the call has the "
                f"structure {tree}, expected {self.in_tree}"
            )
        values = [self._checked(i, x) for i, x in enumerate(leaves)]
        executable = self._executable
        arrays = shard_args(
            [s for s, keep in zip(executable.in_shardings, executable.kept, strict=True) if keep],
            [x for x, keep in zip(values, executable.kept, strict=True) if keep],
        )
        return tree_unflatten(self.out_tree, executable.execute(arrays))

    def _checked(self, i: int, x: Any) -> Any:
        expected = self.in_types[i]
        if isinstance(x, bool | int | float | complex):
            x = np.asarray(x)
            if np.can_cast(x.dtype, expected.dtype, "same_kind"):
                x = x.astype(expected.dtype)
        try:
            found: Any = get_aval(x)
        except TypeError as error:
            raise TypeError(
                f"{self._name(i)} of {self.fun_name} must be an array of type "
                f"{expected.str_short()}, got {x!r:.60} of type {type(x).__name__}"
            ) from error
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"{self._name(i)} of {self.fun_name} must be of type {expected.str_short()}, got "
                f"{found.str_short()}"
            )
        return x

    def _name(self, i: int) -> str:
        (where, *rest), _ = self._paths()[i]
        return ("kwargs" if where.idx else "args") + keystr(tuple(rest))

    def _paths(self) -> list[Any]:
        return tree_flatten_with_path(tree_unflatten(self.in_tree, range(len(self.in_types))))[0]

    def _signature(self) -> str:
        names = (f"{self._name(i)}: {t.str_short()}" for i, t in enumerate(self.in_types))
        return f"({', '.join(names)})"

    def __repr__(self) -> str:
        return f"LoadedFunction({self.fun_name}{self._signature()})"


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    devices: Sequence[Device] | None = None,
) -> LoadedFunction:
    """Load an exported function and compile it.

    Args:
      source: the path of a file that ``Exported.serialize`` wrote, in Ricci's format or JAX's; or
        its bytes.
      devices: the devices to run on; by default the default device, or the first of its platform
        if the function needs several.

    Returns:
      A function of arrays of NumPy.

    Raises:
      FileError: if the file is no exported function, is damaged or of a version unknown here, or
        cannot run on these devices.

    Example:
      >>> from ricci_xla.exported import load
      >>> load(b"no such thing")
      Traceback (most recent call last):
          ...
      ricci_xla.files._container.FileError: the bytes given: no file of Ricci's, ...
    """
    if isinstance(source, bytes | bytearray | memoryview):
        data, where = source, "the bytes given"
    else:
        data, where = Path(source).read_bytes(), os.fspath(source)
    record = read_export(data, where)
    count = record.nr_devices
    if devices is None:
        first = get_default_device()
        there = all_devices(first.platform)
        devices = [first] if count == 1 else there[:count]
    if len(devices) != count:
        raise FileError(
            f"{where}: {record.fun_name} was exported for {count} devices, and there are "
            f"{len(devices)} to run it on"
        )
    try:
        return LoadedFunction(record, tuple(devices), where, looks_like_jax(data))
    except FileError as error:
        if str(error).startswith(f"{where}: "):
            raise
        raise FileError(f"{where}: {error}") from error


def _without_keys(found: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    for aval in found:
        if isinstance(getattr(aval, "dtype", None), ExtendedDType):
            raise FileError(
                f"{where}: the function has arguments or results of type {aval.str_short()}, and "
                "only ricci-random knows random keys: export a function of key_data instead."
            )
    return found


def canonical_platform(device: Device) -> str:
    """The platform of a device, as exports name it."""
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def _compiled(
    record: ExportedRecord,
    in_types: tuple[Any, ...],
    out_types: tuple[Any, ...],
    devices: tuple[Device, ...],
    where: str,
    unchecked: bool,
) -> Executable:
    platform = canonical_platform(devices[0])
    if platform not in record.platforms and "platform" not in record.disabled_checks:
        raise FileError(
            f"{where}: {record.fun_name} was exported for the platforms "
            f"{', '.join(record.platforms)}, and is loaded for {platform}"
        )
    if record.ordered_effects:
        raise FileError(f"{where}: {record.fun_name} has ordered effects, which need its tracing")
    inner = [_on(devices, s) for s in record.in_shardings]
    outer = [_on(devices, s) for s in record.out_shardings]
    program = record.module
    if record.uses_global_constants:
        program = _for_platform(record, in_types, out_types, platform)
    elif unchecked:  # a file of JAX's has no digest
        kept_types = [tensor_type(in_types[i]) for i in record.kept]
        check_program(from_portable(program), kept_types, list(map(tensor_type, out_types)))
    try:
        loaded = compile_text(program, devices, num_partitions=len(devices))
    except RuntimeError as error:
        raise FileError(
            f"{where}: the program of {record.fun_name} does not compile: {error}"
        ) from error
    kept = [i in record.kept for i in range(len(in_types))]
    if len(devices) == 1:
        here = single_device_sharding(devices[0])
        return Executable(
            loaded,
            in_types,
            out_types,
            in_shardings=[here] * len(in_types),
            out_shardings=[here] * len(out_types),
            kept=kept,
            committed=True,
        )
    everywhere = GSPMDSharding(DeviceList(devices), HloSharding.replicate())
    wanted = loaded.get_parameter_shardings()
    chosen: list[Sharding] = [everywhere] * len(in_types)
    for position, i in enumerate(record.kept):
        if inner[i] is not None:
            chosen[i] = inner[i]
        elif wanted is not None:
            chosen[i] = GSPMDSharding(DeviceList(devices), wanted[position])
    made = (result_shardings(loaded, devices) or [])[: len(out_types)]
    return Executable(
        loaded,
        in_types,
        out_types,
        in_shardings=chosen,
        out_shardings=[given or own for given, own in zip(outer, made, strict=True)],
        kept=kept,
        committed=True,
    )


def _on(devices: Sequence[Device], record: AbstractShardingRecord | None) -> Any:
    """A sharding over these devices; ``None`` where it is open."""
    sharding = decode_abstract_sharding(record)
    if sharding is None or not sharding.mesh.axis_names:
        return None
    grid: Any = np.empty(len(devices), object)
    grid[:] = devices
    mesh = sharding.mesh
    placed = Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    return NamedSharding(placed, sharding.spec, memory_kind=sharding.memory_kind)


def _for_platform(
    record: ExportedRecord, in_types: tuple[Any, ...], out_types: tuple[Any, ...], platform: str
) -> str:
    """The module for one platform, of a module for several."""
    module = Module("main", platform, {}, None, record.nr_devices)
    module.names["main"] = 0
    body = Lowering(module, [0], "    ")
    given = [decode_abstract_sharding(s) for s in record.in_shardings]
    kept = record.kept
    args = [Value(f"%arg{n}", in_types[i]) for n, i in enumerate(kept)]
    results = call_exported_main(
        body,
        record.module,
        [],
        args,
        out_types,
        [None] * len(kept),
        [decode_abstract_sharding(s) for s in record.out_shardings],
        record.platforms.index(platform) if platform in record.platforms else 0,
    )
    params = ", ".join(
        f"{x}: {tensor_type(x.aval)}{_attribute(module, given[i], x)}"
        for x, i in zip(args, kept, strict=True)
    )
    types = ", ".join(tensor_type(x.aval) for x in results)
    returned = f" {', '.join(map(str, results))} : {types}" if results else ""
    head = (
        f"module @jit_main attributes {{mhlo.num_partitions = {record.nr_devices} : i32, "
        "mhlo.num_replicas = 1 : i32} {"
    )
    main = [
        f"  func.func public @main({params}) -> ({types}) {{",
        *body.lines,
        f"    return{returned}",
        "  }",
    ]
    return "\n".join([head, *module.declarations(), *main, *module.functions, "}", ""])


def _attribute(module: Module, sharding: NamedSharding | None, x: Value) -> str:
    if sharding is None or not sharding.mesh.axis_names:
        return ""
    symbol = module.mesh(tuple(sharding.mesh.shape.items()))
    text = shardy_text(sharding, buffer_rank(x.aval))
    return f" {{sdy.sharding = #sdy.sharding<@{symbol}, {text}>}}"
