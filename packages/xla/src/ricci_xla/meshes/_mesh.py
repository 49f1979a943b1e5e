"""Meshes: devices in a grid whose axes have names."""

import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ricci_ir import Override, State, config, define_context, looks_like
from ricci_xla.devices._runtime_types import Device, DeviceList

from ._abstract_mesh import AbstractDevice, AbstractMesh
from ._axes import Axes, AxisType, checked_names, checked_types, types_text

__all__ = ["entered_mesh", "Mesh"]

_meshes: weakref.WeakValueDictionary[tuple, "Mesh"] = weakref.WeakValueDictionary()
_lock = threading.Lock()

# The mesh of the innermost ``with mesh:`` block. Its devices become part of jaxprs.
_entered: State = define_context("entered_mesh")


class Mesh(Axes):
    """Devices in a grid whose axes have names.

    Meshes that are equal are the same object.

    Args:
      devices: an array of devices, or a sequence of them for a mesh of one axis.
      axis_names: a name for each dimension of ``devices``.
      axis_types: an ``AxisType`` for each axis; all ``Auto`` by default.

    Raises:
      TypeError: if a type is not an ``AxisType``.
      ValueError: if names and dimensions differ in number, or two axes have the same name.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.sharding import Mesh
      >>> devices = np.array(ricci.devices()[:1]).reshape(1, 1)
      >>> mesh = Mesh(devices, ("data", "model"))
      >>> mesh.shape["model"], mesh.axis_names
      (1, ('data', 'model'))

    Notes:
      The axes are ``Auto``: the compiler chooses the shardings of arrays inside of jitted
      functions. Those of ``make_mesh`` are ``Explicit``.

    See also:
      ``make_mesh``, which arranges the devices.
    """

    devices: np.ndarray
    _block: Override | None = None  # the context that `with mesh:` enters

    def __new__(
        cls,
        devices: np.ndarray | Sequence[Any],
        axis_names: str | Sequence[Hashable],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> "Mesh":
        grid = np.array(devices, dtype=object)
        names = checked_names(axis_names, "Mesh")
        if grid.ndim != len(names):
            raise ValueError(
                f"Mesh: devices has rank {grid.ndim}, but axis_names={names} names {len(names)} "
                "axes. Reshape the devices, or name each axis."
            )
        types = checked_types(names, axis_types, AxisType.Auto, "Mesh")
        key = (tuple(grid.flat), grid.shape, names, types)
        with _lock:  # equal meshes are one object, so that comparing them is quick
            mesh = _meshes.get(key)
            if mesh is None:
                mesh = _meshes[key] = object.__new__(cls)
                grid.flags.writeable = False
                mesh._set(devices=grid, axis_names=names, axis_sizes=grid.shape, axis_types=types)
        return mesh

    # jaxlib reads this when a sharding is made on the mesh.
    @cached_property
    def _internal_device_list(self) -> DeviceList:
        return DeviceList(tuple(self.devices.flat))

    def __reduce__(self) -> tuple[Any, ...]:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __copy__(self) -> "Mesh":
        return self

    def __deepcopy__(self, memo: object) -> "Mesh":
        return self

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
        return 0 if self.devices.ndim == 0 and self.devices[()] is None else self.devices.size

    @property
    def is_scalar(self) -> bool:
        """Whether it is one device without axes."""
        return not self.axis_names and not self.empty

    @cached_property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in the same grid."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=np.int64).reshape(self.devices.shape)

    @cached_property
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
        processes = {d.client.process_index() for d in self.devices.flat}
        mine = np.vectorize(lambda d: d.process_index in processes, otypes=[bool])(self.devices)
        grid = self.devices
        for axis in range(grid.ndim):
            others = tuple(i for i in range(grid.ndim) if i != axis)
            grid = np.compress(mine.any(axis=others), grid, axis=axis)
        if grid.size != len(self.local_devices):
            raise ValueError("this process's devices in the mesh do not form a grid")
        return Mesh(grid, self.axis_names, self.axis_types)

    @cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The same axes without devices."""
        device = None
        if self.size and self.axis_names:
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
            self._set(_block=_entered(self))
        self._block.__enter__()  # pyright: ignore[reportOptionalMemberAccess]
        return self

    def __exit__(self, *exc_info: object) -> bool:
        if self._block is not None:
            self._block.__exit__(*exc_info)
        return False

    def __call__[**P, R](self, fun: Callable[P, R]) -> Callable[P, R]:
        """A function that runs in a ``with mesh:`` block."""

        @looks_like(fun)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return fun(*args, **kwargs)

        return inside

    def __str__(self) -> str:
        return "Mesh()" if self.empty else f"Mesh({self._axes_text()})"

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={types_text(self.axis_types)})"
        )


def entered_mesh() -> Mesh | None:
    """The mesh of the innermost ``with mesh:`` block that this thread is in, if any."""
    return _entered.value
