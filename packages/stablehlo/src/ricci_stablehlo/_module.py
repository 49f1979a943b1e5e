"""A StableHLO module: its functions as records, and its text."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractValue, Jaxpr

from ._host_checks import HostChecks
from ._locations import Locations
from ._operations import Function, print_function
from ._types import string
from ._values import HostCallback

__all__ = ["Module"]

# The names and the sizes of the axes of a device mesh, major to minor.
type MeshAxes = tuple[tuple[Hashable, int], ...]


class Module:
    """A module: its functions, and their shared state under construction.

    Attributes:
      name: the symbol.
      platform: ``cpu``, ``cuda``, ``rocm`` or ``tpu``, which selects the kernels of custom calls.
      axis_sizes: the named axes over which replicas are laid out, major to minor.
      locations: the locations of operations; ``None`` if the text has none.
      num_partitions: the number of devices that share the work.
      num_replicas: the number of groups of such devices.
      main: the public function, set last.
      functions: the private functions, records or the text of other modules' functions.
      shardy: whether shardings are written by mesh axes (Shardy) instead of by tiles (GSPMD).
      manual: whether the operations being written run per device, on shards.
      host_callbacks: the Python functions that the module calls, by index.
      host_checks: the checks of the module whose failures the host raises.
      host_channels: the number of channels to and from the host.
      devices: the devices on which the module will run, if known.
      large_constants: constants that the text has zeros for, with their position in this list as
        the attribute ``ricci.constant``; ``None`` if the text has all constants.
      symbolic: whether some shapes are symbolic.
      uses_host_memory: whether any value may be in host memory.
      calls_native_kernels: whether operations may be calls of kernels that this process registers.
      only_operation: the name of the primitive that the module applies to its arguments, if it is
        a single one, and the type of its result.
      huge_values: the number of values in huge pages of memory.
    """

    main: Function

    def __init__(
        self,
        name: str,
        platform: str,
        axis_sizes: Mapping[Any, int],
        locations: Locations | None = None,
        num_partitions: int = 1,
        shardy: bool = True,
        *,
        write: "Callable[[Module, Jaxpr, str], Function] | None" = None,
    ):
        self._write = write
        self.name: str = name
        self.platform: str = platform
        self.locations: Locations | None = locations
        self.num_partitions: int = num_partitions
        self.num_replicas: int = 1
        self.shardy: bool = shardy
        self.manual: bool = False
        self.symbolic: bool = False
        self.uses_host_memory: bool = False
        self.calls_native_kernels: bool = False
        self.only_operation: tuple[str, AbstractValue] | None = None
        self.huge_values: int = 0
        self.host_callbacks: list[HostCallback] = []
        self.host_channels: int = 0
        self.host_checks: HostChecks = HostChecks()
        self.devices: Sequence[Any] = ()
        self.large_constants: list[np.ndarray] | None = None
        self.single_devices: dict[int, str] = {}
        self.axis_sizes: dict[Any, int] = dict(axis_sizes)
        self.functions: list[Function | str] = []
        self.names: dict[str, int] = {}
        self.private: dict[Jaxpr, str] = {}
        self.meshes: dict[MeshAxes, str] = {}

    def text(self, *, locations: bool = True) -> str:
        """Return the text of the module, with or without the locations of operations."""
        lines: list[str] = []
        if locations and self.locations is not None:
            lines += self.locations.declarations()
        # By this attribute, readers of exported modules know that shapes have to be refined first.
        polymorphic = "jax.uses_shape_polymorphism = true, " if self.symbolic else ""
        lines.append(
            f"module @{self.name} attributes {{{polymorphic}"
            f"mhlo.num_partitions = {self.num_partitions} : i32, "
            f"mhlo.num_replicas = {self.num_replicas} : i32}} {{"
        )
        for axes, symbol in self.meshes.items():
            sizes = ", ".join([f"{string(str(name))}={size}" for name, size in axes])
            lines.append(f"  sdy.mesh @{symbol} = <[{sizes}]>")
        for device, symbol in self.single_devices.items():
            lines.append(f"  sdy.mesh @{symbol} = <[], device_ids=[{device}]>")
        # Functions given as text come from modules that were written before.
        for function in (self.main, *self.functions):
            if isinstance(function, str):
                lines.append(function)
            else:
                print_function(function, locations, lines)
        return "\n".join([*lines, "}", ""])

    def mesh(self, axes: Sequence[tuple[Hashable, int]]) -> str:
        """Return the symbol of a mesh with these axes (names and sizes), declared on first use."""
        key = tuple(axes)
        symbol = self.meshes.get(key)
        if symbol is None:
            symbol = self.meshes[key] = self.unique_name("mesh")
        return symbol

    def single_device_mesh(self, device: int) -> str:
        """Return the symbol of the mesh of the device at a position, declared on first use."""
        symbol = self.single_devices.get(device)
        if symbol is None:
            symbol = self.single_devices[device] = self.unique_name(f"maximal_mesh_{device}")
        return symbol

    def unique_name(self, name: str) -> str:
        """Return a symbol unused in the module, made from a name."""
        # Names come from Python functions, which may be ``<lambda>`` or have letters that MLIR's
        # symbols lack.
        name = "".join(c if c.isascii() and (c.isalnum() or c in "_$.") else "_" for c in name)
        if not (name[:1].isalpha() or name[:1] == "_"):
            name = "_" + name
        count = self.names.get(name)
        if count is None:
            self.names[name] = 0
            return name
        # The count says which number to try first, so that many functions of one name take linear
        # time. A candidate may still be the name of another function.
        while True:
            candidate = f"{name}_{count}"
            count += 1
            if candidate not in self.names:
                self.names[name] = count
                self.names[candidate] = 0
                return candidate

    def function_for(self, jaxpr: Jaxpr, name: str) -> str:
        """Return the symbol of the private function of a jaxpr, written on first use."""
        # The key is the jaxpr, which so stays alive; its id could be reused by another jaxpr.
        symbol = self.private.get(jaxpr)
        if symbol is None:
            symbol = self.private[jaxpr] = self.unique_name(name)
            # Writing it may add functions that it calls; they follow it in the text.
            position = len(self.functions)
            assert self._write is not None, "this module is not lowered from jaxprs"
            self.functions.insert(position, self._write(self, jaxpr, symbol))
        return symbol
