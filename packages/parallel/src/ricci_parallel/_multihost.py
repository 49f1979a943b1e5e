"""What the processes of one program tell each other; a program of one process tells itself.

Programs of several processes are not supported yet, and each function says so there.
"""

from typing import Any

import numpy as np

from ricci_pytree import tree_map
from ricci_xla import NamedSharding, process_count

from ._device_put import device_put


def _alone(name: str) -> None:
    if process_count() > 1:
        raise NotImplementedError(
            f"{name} is not supported yet in programs of several processes: there are "
            f"{process_count()}. Exchange host data with a library of your own."
        )


def sync_global_devices(name: str) -> None:
    """Wait until every process has come here.

    Args:
      name: which place this is.

    Raises:
      NotImplementedError: where there are several processes; so do all functions of this module.
    """
    _alone("sync_global_devices")


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return one process's values in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays.
      is_source: whether they are this process's; by default they are the first one's.
    """
    _alone("broadcast_one_to_all")
    return tree_map(np.asarray, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return every process's values in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays.
      tiled: whether they are put together along their first axis, else along a new one. Scalars
        are put together along a new one.

    Example:
      >>> process_allgather(np.ones(2)).shape
      (1, 2)
    """
    _alone("process_allgather")
    join = lambda x: np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[None]
    return tree_map(join, in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise ``AssertionError`` if processes have different values: one process never has."""
    _alone("assert_equal")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether every process is to save its state at this step, as one is about to be ended."""
    _alone("reached_preemption_sync_point")
    return False


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return arrays over all processes' devices, of which each process gives its own part.

    Args:
      local_inputs: a pytree of arrays.
      global_mesh: the mesh.
      pspecs: a ``PartitionSpec``, or a pytree of them, a prefix of ``local_inputs``.
    """
    _alone("host_local_array_to_global_array")
    return device_put(local_inputs, _shardings(global_mesh, pspecs))


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return each process's part of arrays over all processes' devices.

    Args: as those of ``host_local_array_to_global_array``.
    """
    _alone("global_array_to_host_local_array")
    return device_put(global_inputs, _shardings(global_mesh, pspecs))


def _shardings(mesh: Any, specs: Any) -> Any:
    is_spec = lambda x: x is None or isinstance(x, tuple) or hasattr(x, "unreduced")
    if is_spec(specs):
        return NamedSharding(mesh, specs)
    return tree_map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=is_spec)
