"""``load``: read, compile and run exported functions, with only jaxlib and this package.

Files are Ricci's own or those of JAX.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ricci_ir import ShapedArray, found_dimensions, get_aval, is_static_shape, is_symbolic_dim
from ricci_pytree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.compile import Executable, shard_arg
from ricci_xla.devices import Device, get_default_device
from ricci_xla.devices import devices as all_devices
from ricci_xla.files import FileError, read_file, write_file
from ricci_xla.meshes._sharding_types import Sharding

from ._compiling import ExportedProgram
from ._jax_file import looks_like_jax, read_jax_file, write_jax_file
from ._module_text import from_portable
from ._records import ExportedRecord, checked, export_file

__all__ = ["LoadedFunction", "argument_names", "leaf_name", "load", "module_text", "read_export"]
__all__ += ["sizes_of_call", "with_sizes", "write_export", "write_jax_export"]


def argument_names(in_tree: PyTreeDef) -> list[str]:
    """The names of the leaves of ``(args, kwargs)``, such as ``args[0]['w']``."""
    with_paths, _ = tree_flatten_with_path(tree_unflatten(in_tree, range(in_tree.num_leaves)))
    return [leaf_name(path) for path, _ in with_paths]


def leaf_name(path: Any) -> str:
    """The name of a leaf of ``(args, kwargs)`` by its path."""
    group, *keys = path
    return ("kwargs" if getattr(group, "idx", 0) else "args") + keystr(tuple(keys))


def sizes_of_call(
    names: Sequence[str], avals: Sequence[Any], shapes: Sequence[tuple[Any, ...]]
) -> dict[str, Any] | None:
    """Solve for the dimension variables of an exported function in a call.

    Args:
      names, avals: the name and the exported type of each argument.
      shapes: the shape of each argument of the call. Its sizes may be symbolic themselves.

    Returns:
      The values by name; ``None`` if no size is symbolic.

    Raises:
      ValueError: if the shapes do not fit.
    """
    expected = [getattr(aval, "shape", ()) for aval in avals]
    if all(map(is_static_shape, expected)):
        return None
    return found_dimensions(list(zip(names, expected, strict=True)), shapes)


def with_sizes(aval: Any, values: dict[str, Any] | None) -> Any:
    """Substitute values for the dimension variables of a type."""
    if values is None or is_static_shape(getattr(aval, "shape", ())):
        return aval
    sizes = (size.evaluate(values) if is_symbolic_dim(size) else size for size in aval.shape)
    return aval.resized(tuple(sizes))


def read_export(
    data: bytes | bytearray | memoryview, where: str | os.PathLike[str]
) -> ExportedRecord:
    """Read the record of an exported function from a file in Ricci's format or JAX's.

    Args:
      data: the whole file.
      where: the file's name in messages: its path.

    Raises:
      FileError: if it is neither, is damaged, or of an unsupported version.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"an exported function is read from bytes, got {data!r:.60} of type "
            f"{type(data).__name__}"
        )
    if looks_like_jax(data):
        return read_jax_file(data, where)
    try:
        return checked(read_file(export_file, data, where), where)
    except RecursionError as error:
        raise FileError(f"{where}: the record is nested too deeply") from error


def write_export(record: ExportedRecord) -> bytes:
    """Serialize an exported function in Ricci's format."""
    return write_file(export_file, record)


def write_jax_export(record: ExportedRecord) -> bytes:
    """Serialize an exported function in JAX's format.

    Raises:
      TypeError: if JAX's format cannot represent a part of it.
    """
    return write_jax_file(record)


def module_text(artifact: bytes, *, parsed: bool = False) -> Any:
    """The text of a portable artifact, or with ``parsed`` MLIR's object."""
    module = from_portable(artifact)
    return module if parsed else str(module)


class LoadedFunction:
    """An exported function, compiled for devices of this process. Call it with NumPy arrays.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of ``(args, kwargs)`` and of the result.
      in_types, out_types: the type of each leaf.
      devices: the devices that it runs on.
    """

    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_types: tuple[ShapedArray, ...]
    out_types: tuple[ShapedArray, ...]

    def __init__(self, exported: ExportedProgram):
        signature = exported.signature
        self.fun_name: str = exported.record.fun_name
        self.in_tree, self.out_tree = signature.in_tree, signature.out_tree
        self.in_types, self.out_types = signature.in_types, signature.out_types
        self.devices: tuple[Device, ...] = exported.devices
        self._exported = exported
        # By the shapes of the arguments, if these are symbolic, else by None.
        self._executables: dict[Any, Executable] = {}
        if all(is_static_shape(aval.shape) for aval in self.in_types):
            self._executables[None] = exported.compiled(self.in_types, self.out_types)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the function.

        If it was exported for symbolic sizes, it is compiled once for each combination of sizes.

        Args:
          args, kwargs: arrays, with the structure, shapes and dtypes that it was exported for.

        Returns:
          Arrays on the devices; ``numpy.asarray`` copies one to NumPy.

        Raises:
          TypeError: if an argument is not an array, or of another shape or dtype.
          ValueError: if the structure differs, or symbolic sizes do not fit each other.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ValueError(
                f"{self.fun_name} takes the arguments {self._signature()}; the call has the "
                f"structure {tree}, expected {self.in_tree}"
            )
        values = [self._checked(i, x) for i, x in enumerate(leaves)]
        # One executable for static types, else one for each combination of shapes.
        executable = self._executables.get(None) or self._for_sizes(values)
        operands = zip(values, executable.in_shardings, executable.used_arguments, strict=True)
        arrays = [_placed(x, sharding) for x, sharding, is_kept in operands if is_kept]
        return tree_unflatten(self.out_tree, executable.execute(executable.arranged(arrays)))

    def _for_sizes(self, values: list[Any]) -> Executable:
        shapes = tuple(np.shape(x) for x in values)
        executable = self._executables.get(shapes)
        if executable is None:
            sizes = sizes_of_call(self._names(), self.in_types, shapes)
            types = (
                [with_sizes(aval, sizes) for aval in avals]
                for avals in (self.in_types, self.out_types)
            )
            executable = self._executables[shapes] = self._exported.compiled(*types)
        return executable

    def _checked(self, i: int, x: object) -> Any:
        expected = self.in_types[i]
        # As weakly typed: the number takes the argument's dtype, unless that would change its kind.
        if isinstance(x, bool | int | float | complex):
            x = np.asarray(x)
            if np.can_cast(x.dtype, expected.dtype, "same_kind"):
                x = x.astype(expected.dtype)
        try:
            # A NumPy array keeps its dtype, whether 64-bit types are on or not.
            actual: Any = x if isinstance(x, np.ndarray | np.generic) else get_aval(x)
        except TypeError as error:
            raise TypeError(
                f"{self._name(i)} of {self.fun_name} must be an array of type "
                f"{expected.str_short()}, got {x!r:.60} of type {type(x).__name__}"
            ) from error
        has_static_shape = is_static_shape(expected.shape)
        if actual.dtype != expected.dtype or (has_static_shape and actual.shape != expected.shape):
            raise TypeError(
                f"{self._name(i)} of {self.fun_name} must be of type {expected.str_short()}, got "
                f"{actual.dtype.name}[{','.join(map(str, actual.shape))}]"
            )
        return x

    def _name(self, i: int) -> str:
        return self._names()[i]

    def _names(self) -> list[str]:
        return argument_names(self.in_tree)

    def _signature(self) -> str:
        names = zip(self._names(), self.in_types, strict=True)
        return f"({', '.join(f'{name}: {aval.str_short()}' for name, aval in names)})"

    def __repr__(self) -> str:
        return f"LoadedFunction({self.fun_name}{self._signature()})"


def _placed(x: object, sharding: Sharding) -> Any:
    """Put an argument on devices with the sharding of the executable's parameter."""
    if isinstance(x, np.ndarray | np.generic):
        return array_from_host(np.asarray(x), ShapedArray(x.shape, x.dtype), sharding)
    return shard_arg(x, sharding)


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
      A function of NumPy arrays.

    Raises:
      FileError: if the file is not an exported function, is damaged or of an unknown version, or
        cannot run on these devices.

    Example:
      >>> from ricci_xla.exported import load
      >>> load(b"other bytes")
      Traceback (most recent call last):
          ...
      ricci_xla.files.FileError: the bytes: not a file of Ricci's, ...
    """
    if isinstance(source, bytes | bytearray | memoryview):
        data, name = source, "the bytes"
    else:
        data, name = Path(source).read_bytes(), os.fspath(source)
    record = read_export(data, name)
    count = record.nr_devices
    if devices is None:
        first = get_default_device()
        devices = [first] if count == 1 else all_devices(first.platform)[:count]
    if len(devices) != count:
        raise FileError(
            f"{name}: {record.fun_name} was exported for {count} devices, and there are "
            f"{len(devices)} to run it on"
        )
    try:
        program = ExportedProgram(record, tuple(devices), name, looks_like_jax(data))
        return LoadedFunction(program)
    except FileError as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise FileError(f"{name}: {error}") from error
