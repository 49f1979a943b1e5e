"""The current mesh, which is always empty: setting one is not supported yet.

Libraries ask for the current mesh wherever they place an array. They get an empty one, as in JAX
if none is set. The functions that set a mesh, or need one, raise an error that says what to use
instead.
"""

from collections.abc import Callable, Hashable, Set
from typing import Any, NoReturn

import numpy as np

from ricci_ir import PyTree
from ricci_xla import AbstractMesh, Mesh, PartitionSpec, Sharding

from ._device_put import device_put

_ADVICE = (
    "is not supported yet. Name the mesh instead: pass NamedSharding(mesh, spec) to device_put, "
    "to with_sharding_constraint, or to jit as in_shardings and out_shardings"
)


def _not_yet(name: str, advice: str = _ADVICE) -> NoReturn:
    raise NotImplementedError(f"{name} {advice}.")


def get_mesh() -> Mesh:
    """The current mesh. It has no axes, since setting one is not supported yet.

    Example:
      >>> get_mesh().empty
      True
    """
    return Mesh(np.empty((), dtype=object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the current mesh. It has none, since setting one is not supported yet.

    Example:
      >>> get_abstract_mesh().axis_names
      ()
    """
    return AbstractMesh((), ())


class set_mesh:
    """Set the current mesh. Not supported yet.

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
    """Set the axes of the current mesh for tracing. Not supported yet.

    Raises:
      NotImplementedError: always.
    """

    def __init__(self, mesh: AbstractMesh):
        _not_yet("use_abstract_mesh")


def reshard(xs: PyTree, out_shardings: PyTree) -> PyTree:
    """Move arrays to other shardings.

    Args:
      xs: a pytree of arrays.
      out_shardings: a ``Sharding``, or a pytree of them that is a prefix of ``xs``.

    Returns:
      The arrays with these shardings.

    Raises:
      NotImplementedError: for a ``PartitionSpec``, which needs a current mesh.
    """
    if not isinstance(out_shardings, Sharding) and isinstance(out_shardings, tuple):
        _not_yet("reshard(x, PartitionSpec(...))")
    return device_put(xs, out_shardings)


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> NoReturn:
    """Run a function with some axes of the mesh in ``Auto`` mode. Not supported yet.

    In that mode the compiler decides how arrays are divided over the axis.

    Raises:
      NotImplementedError: always.
    """
    _not_yet("auto_axes")


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Sharding | PartitionSpec | None = None,
) -> NoReturn:
    """Run a function with some axes of the mesh in ``Explicit`` mode. Not supported yet.

    In that mode the types of arrays say how they are divided over the axis.

    Raises:
      NotImplementedError: always.
    """
    _not_yet("explicit_axes")


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = None,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> NoReturn:
    """Run a function on each device's shards of the arguments. Not supported yet.

    Raises:
      NotImplementedError: always.
    """
    _not_yet(
        "shard_map",
        "is not supported yet. Use pmap, which runs a function on each device's slice of arrays, "
        "or jit with arrays that have a NamedSharding, where the compiler divides the work",
    )
