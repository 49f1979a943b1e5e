"""Meshes: devices in a grid whose axes have names."""

import enum
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ricci_ir import Override, State, config, define_context
from ricci_xla.devices._client import devices as all_devices
from ricci_xla.devices._runtime_types import Device, DeviceList

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "create_device_mesh",
    "entered_mesh",
    "make_mesh",
    "Mesh",
]


class AxisType(enum.Enum):
    """How it is decided how arrays are divided along a mesh axis.

    ``Auto``: the compiler decides. ``Explicit``: the arrays' types say it. ``Manual``: the program
    itself works on the part of one device.
    """

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class _Axes:
    """The axes of a mesh, with or without devices: their names, sizes and types."""

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Hashable, int]:
        """The size of each axis by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """Pairs of each axis's name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def _axes_of(self, kind: AxisType) -> tuple[Hashable, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, type_ in pairs if type_ is kind)

    @property
    def auto_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Auto``."""
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Explicit``."""
        return self._axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Hashable, ...]:
        """The axes of type ``Manual``."""
        return self._axes_of(AxisType.Manual)

    def _all(self, *kinds: AxisType) -> bool:
        return all(kind in kinds for kind in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether every axis is of type ``Auto``."""
        return self._all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether every axis is of type ``Explicit``."""
        return self._all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether every axis is of type ``Manual``."""
        return self._all(AxisType.Manual)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        """Whether no axis is of type ``Auto``."""
        return self._all(AxisType.Explicit, AxisType.Manual)

    def _axes_text(self) -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or "()"
        return f"{sizes}, axis_types={_types_text(self.axis_types)}"


def _types_text(axis_types: tuple[AxisType, ...]) -> str:
    names = ", ".join(kind.name for kind in axis_types)
    return f"({names},)" if len(axis_types) == 1 else f"({names})"


def _checked_types(
    axis_names: tuple[Hashable, ...],
    axis_types: AxisType | Sequence[AxisType] | None,
    default: AxisType,
) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (default,) * len(axis_names)
    if isinstance(axis_types, AxisType):
        axis_types = (axis_types,)
    axis_types = tuple(axis_types)
    if len(axis_types) != len(axis_names):
        raise ValueError(
            f"axis_types={axis_types} does not give one type for each of axis_names={axis_names}."
        )
    return axis_types


@dataclass(frozen=True, slots=True)
class AbstractDevice:
    """The kind of device that an abstract mesh stands for."""

    device_kind: str
    num_cores: int | None
    platform: str

    def __str__(self) -> str:
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )


class AbstractMesh(_Axes):
    """The axes of a mesh, without devices.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType`` for each axis; all ``Explicit`` by default.
      abstract_device: the kind of device, if it is known.

    Raises:
      ValueError: if the arguments differ in length.
    """

    # jaxlib reads this when a sharding is made on the mesh.
    _internal_device_list: None = None
    abstract_device: AbstractDevice | None

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[Hashable],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ):
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                "AbstractMesh needs one name for each size, but got "
                f"axis_sizes={self.axis_sizes} and axis_names={self.axis_names}"
            )
        self.axis_types = _checked_types(self.axis_names, axis_types, AxisType.Explicit)
        self.abstract_device = abstract_device
        self._key = (self.axis_sizes, self.axis_names, self.axis_types, abstract_device)

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: str | Sequence[Hashable] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "AbstractMesh":
        """This mesh with some parts replaced."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh itself."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        device = f", {self.abstract_device}" if self.abstract_device else ""
        return f"AbstractMesh({self._axes_text()}{device})"


_meshes: weakref.WeakValueDictionary[tuple, "Mesh"] = weakref.WeakValueDictionary()
_lock = threading.Lock()

# The mesh of the innermost ``with mesh:`` block. Its devices become part of traced programs.
_entered: State = define_context("entered_mesh")


class Mesh(_Axes):
    """Devices in a grid whose axes have names.

    Meshes that are equal are the same object.

    Args:
      devices: an array of devices, or a sequence of them for a mesh of one axis.
      axis_names: a name for each dimension of ``devices``.
      axis_types: an ``AxisType`` for each axis; all ``Auto`` by default.

    Raises:
      ValueError: if names and dimensions differ in number.

    Example:
      >>> Mesh(all_devices("cpu")[:1], "x")
      Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    devices: np.ndarray
    _internal_device_list: DeviceList
    _block: Override | None = None  # what `with mesh:` enters

    def __new__(
        cls,
        devices: np.ndarray | Sequence[Any],
        axis_names: str | Sequence[Hashable],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "Mesh":
        grid = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise ValueError(
                f"Mesh: devices has rank {grid.ndim}, but axis_names={names} names {len(names)} "
                "axes. Reshape the devices, or name each axis."
            )
        types = _checked_types(names, axis_types, AxisType.Auto)
        flat = tuple(grid.flat)
        key = (flat, grid.shape, names, types)
        with _lock:  # equal meshes are one object, so that comparing them is quick
            mesh = _meshes.get(key)
            if mesh is None:
                mesh = _meshes[key] = object.__new__(cls)
                grid.flags.writeable = False
                mesh.devices = grid
                mesh.axis_names, mesh.axis_sizes, mesh.axis_types = names, grid.shape, types
                mesh._internal_device_list = DeviceList(flat)
        return mesh

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def update(
        self,
        devices: np.ndarray | Sequence[Any] | None = None,
        axis_names: str | Sequence[Hashable] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "Mesh":
        """This mesh with some parts replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def size(self) -> int:
        """The number of devices."""
        return self.devices.size

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return self.devices.ndim == 0

    @property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in the same grid."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=np.int64).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Device]:
        """The devices that belong to this process."""
        return [d for d in self.devices.flat if d.process_index == d.client.process_index()]

    @property
    def is_multi_process(self) -> bool:
        """Whether any device belongs to another process."""
        return self.size != len(self.local_devices)

    @property
    def local_mesh(self) -> "Mesh":
        """The part of the mesh that belongs to this process.

        Raises:
          ValueError: if that part is not a grid itself.
        """
        if not self.is_multi_process:
            return self
        here = {d.client.process_index() for d in self.devices.flat}
        mine = np.vectorize(lambda d: d.process_index in here, otypes=[bool])(self.devices)
        grid = self.devices
        for axis in range(grid.ndim):
            others = tuple(i for i in range(grid.ndim) if i != axis)
            grid = np.compress(mine.any(axis=others), grid, axis=axis)
        if grid.size != len(self.local_devices):
            raise ValueError("this process's devices in the mesh do not form a grid")
        return Mesh(grid, self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The same axes without devices."""
        device = None
        if self.size:
            first = self.devices.flat[0]
            cores = getattr(first, "num_cores", None)
            device = AbstractDevice(first.device_kind, cores, first.platform)
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device
        )

    def __enter__(self) -> "Mesh":
        if config.jax_disallow_mesh_context_manager:
            raise RuntimeError(
                "the option jax_disallow_mesh_context_manager forbids `with mesh:`. Name the mesh "
                "where it is used: NamedSharding(mesh, spec)."
            )
        if self._block is None:
            self._block = _entered(self)
        self._block.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._block is not None:
            self._block.__exit__(*exc_info)

    def __call__[**P, R](self, fun: Callable[P, R]) -> Callable[P, R]:
        """A function that runs in a ``with mesh:`` block."""

        @wraps(fun)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return fun(*args, **kwargs)

        return inside

    def __str__(self) -> str:
        return f"Mesh({self._axes_text()})"

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={_types_text(self.axis_types)})"
        )


def entered_mesh() -> Mesh | None:
    """The mesh of the innermost ``with mesh:`` block that this thread is in, if any."""
    return _entered.value


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices, as many as it needs.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType`` for each axis; all ``Auto`` by default, since the types of arrays
        do not say yet how these are divided over ``Explicit`` axes.
      devices: the devices to take from; all of the default platform by default.

    Raises:
      ValueError: if there are too few devices.
    """
    sizes = tuple(axis_sizes)
    found = list(all_devices() if devices is None else devices)
    if prod(sizes) > len(found):
        raise ValueError(
            f"a mesh of shape {sizes} needs {prod(sizes)} devices, but there are {len(found)}. "
            "Make it smaller."
        )
    names = tuple(axis_names)
    types = _checked_types(names, axis_types, AxisType.Auto)
    grid = np.array(found[: prod(sizes)], dtype=object).reshape(sizes)
    return Mesh(grid, names, types)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices for a mesh, in the order in which the runtime lists them.

    Args:
      mesh_shape: the size of each axis.
      devices: the devices to arrange; all of the default platform by default.
      contiguous_submeshes, allow_split_physical_axes: have no effect, since the physical network
        between devices is not considered.

    Raises:
      ValueError: if the sizes do not multiply to the number of devices.
    """
    found = list(all_devices() if devices is None else devices)
    if prod(mesh_shape) != len(found):
        raise ValueError(
            f"create_device_mesh: mesh_shape={tuple(mesh_shape)} needs {prod(mesh_shape)} devices, "
            f"but there are {len(found)}. Pass as many with devices=."
        )
    return np.array(found, dtype=object).reshape(tuple(mesh_shape))
