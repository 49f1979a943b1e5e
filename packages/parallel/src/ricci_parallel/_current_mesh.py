"""The mesh that programs are written for without naming it: there is none yet.

Libraries ask which one is current wherever they place an array. They are told that none is, as
they are where nobody has set one. Setting one, and what goes by it, says how to do without.
"""

from collections.abc import Callable, Set
from typing import Any, NoReturn

import numpy as np

from ricci_xla import AbstractMesh, Mesh, Sharding

from ._device_put import device_put

_ADVICE = (
    "is not supported yet. Name the mesh instead: pass NamedSharding(mesh, spec) to device_put, "
    "to with_sharding_constraint, or to jit as in_shardings and out_shardings"
)


def _not_yet(name: str, advice: str = _ADVICE) -> NoReturn:
    raise NotImplementedError(f"{name} {advice}.")


def get_mesh() -> Mesh:
    """The mesh that was set for all programs: one without axes, as none can be set.

    Example:
      >>> get_mesh().empty
      True
    """
    return Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh that was set for all programs: none, as none can be set.

    Example:
      >>> get_abstract_mesh().axis_names
      ()
    """
    return AbstractMesh((), ())


class set_mesh:
    """Not supported yet: sets the mesh that programs go by.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, mesh: Mesh | None):
        _not_yet("set_mesh")

    def __enter__(self) -> NoReturn:
        _not_yet("set_mesh")

    def __exit__(self, *exception: Any) -> None:
        _not_yet("set_mesh")


class use_abstract_mesh(set_mesh):
    """Not supported yet: sets the axes that programs are traced for.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, mesh: AbstractMesh):
        _not_yet("use_abstract_mesh")


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Lay arrays out as shardings say.

    Args:
      xs: a pytree of arrays.
      out_shardings: a ``Sharding``, or a pytree of them, a prefix of ``xs``.

    Raises:
      NotImplementedError: for a ``PartitionSpec``, which needs a mesh that is current.
    """
    if not isinstance(out_shardings, Sharding) and isinstance(out_shardings, tuple):
        _not_yet("reshard(x, PartitionSpec(...))")
    return device_put(xs, out_shardings)


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> NoReturn:
    """Not supported yet: lets the compiler divide the work over axes inside a function.

    Raises:
      NotImplementedError: always.
    """
    _not_yet("auto_axes")


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> NoReturn:
    """Not supported yet: has types say how arrays lie over axes inside a function.

    Raises:
      NotImplementedError: always.
    """
    _not_yet("explicit_axes")


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Any = None,
    axis_names: Set[Any] = frozenset(),
    check_vma: bool = True,
) -> NoReturn:
    """Not supported yet: runs a function on each device's part of the arguments.

    Raises:
      NotImplementedError: always.
    """
    _not_yet(
        "shard_map",
        "is not supported yet. Use pmap, which runs a function on each device's part of arrays "
        "whose leading axis is divided, or jit with NamedSharding, where the compiler divides",
    )
