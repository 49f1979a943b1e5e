"""Abstract meshes: axes without devices."""

from collections.abc import Hashable, Mapping, Sequence
from operator import index
from typing import Any, NoReturn

from ricci_ir import Record

from ._axes import Axes, AxisType, checked_names, checked_types

__all__ = ["AbstractDevice", "AbstractMesh"]


class AbstractDevice(Record):
    """The kind of device of an abstract mesh.

    Attributes:
      device_kind: the name of the kind, such as ``"TPU v5 lite"``.
      num_cores: the number of cores of a chip, if it is known.
      platform: the platform, if it is known.

    Example:
      >>> from ricci.sharding import AbstractDevice, AbstractMesh
      >>> device = AbstractDevice("TPU v5 lite", 1, "tpu")
      >>> mesh = AbstractMesh((4,), ("x",), abstract_device=device)
      >>> mesh.abstract_device.device_kind
      'TPU v5 lite'
    """

    device_kind: str
    num_cores: int | None
    platform: str

    def _text(self) -> str:
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )

    def __repr__(self) -> str:
        return f"AbstractDevice({self._text()})"


def _of_devices(name: str) -> property:
    def refuse(self: "AbstractMesh") -> NoReturn:
        raise ValueError(f"{self} has no devices, and so no {name}. A Mesh has.")

    return property(refuse, doc=f"Refused: an abstract mesh has no {name}.")


class AbstractMesh(Axes):
    """The axes of a mesh, without devices.

    Args:
      axis_sizes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: an ``AxisType`` for each axis; all ``Explicit`` by default.
      abstract_device: the kind of device, if it is known.

    Raises:
      TypeError: if a size is not an integer, or a type not an ``AxisType``.
      ValueError: if the arguments differ in length, or two axes have the same name.

    Example:
      >>> from ricci.sharding import AbstractMesh
      >>> AbstractMesh((4, 2), ("x", "y"))
      AbstractMesh('x': 4, 'y': 2, axis_types=(Explicit, Explicit))
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
        sizes = tuple(map(index, axis_sizes))
        names = checked_names(tuple(axis_names), "AbstractMesh")
        if len(sizes) != len(names):
            raise ValueError(
                f"AbstractMesh needs one name for each size, but got axis_sizes={sizes} and "
                f"axis_names={names}."
            )
        types = checked_types(names, axis_types, AxisType.Explicit, "AbstractMesh")
        self._set(
            axis_sizes=sizes,
            axis_names=names,
            axis_types=types,
            abstract_device=abstract_device,
            # Computed once: meshes are parts of types, and these of the keys of most caches.
            _hash=hash((sizes, names, types, abstract_device)),
        )

    _hash: int

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: str | Sequence[Hashable] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
        **changes: object,
    ) -> "AbstractMesh":
        """This mesh with some parts replaced; ``abstract_device`` is given by name."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            **{"abstract_device": self.abstract_device, **changes},
        )

    def update_axis_types(self, name_to_type: Mapping[Hashable, AxisType]) -> "AbstractMesh":
        """This mesh with other types for some axes, given by name."""
        new = {**self._name_to_type, **name_to_type}
        return self.update(axis_types=tuple(new[name] for name in self.axis_names))

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh itself."""
        return self

    devices: Any = _of_devices("devices")
    device_ids: Any = _of_devices("device_ids")
    local_devices: Any = _of_devices("local_devices")
    local_mesh: Any = _of_devices("local_mesh")
    is_multi_process: Any = _of_devices("processes")

    def __enter__(self) -> NoReturn:
        raise ValueError(
            f"{self} has no devices, and is entered with use_abstract_mesh: `with "
            "use_abstract_mesh(mesh):`."
        )

    def __exit__(self, *exception: object) -> NoReturn:
        self.__enter__()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, AbstractMesh)
            and self._hash == other._hash
            and self.shape_tuple == other.shape_tuple
            and self.axis_types == other.axis_types
            and self.abstract_device == other.abstract_device
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device
        return _rebuild, state

    def __repr__(self) -> str:
        device = f", {self.abstract_device._text()}" if self.abstract_device else ""
        return f"AbstractMesh({self._axes_text('()')}{device})"


def _rebuild(
    sizes: tuple[int, ...],
    names: tuple[Hashable, ...],
    types: tuple[AxisType, ...],
    device: AbstractDevice | None,
) -> AbstractMesh:
    return AbstractMesh(sizes, names, types, abstract_device=device)
