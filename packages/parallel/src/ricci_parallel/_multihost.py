"""Communication between the processes of a program.

Programs of several processes are not supported yet: every function raises ``NotImplementedError``
there. In a program of one process, each is the operation on that process alone.
"""

import numpy as np

from ricci_ir import PyTree
from ricci_pytree import tree_map
from ricci_xla import Mesh, NamedSharding, process_count

from ._device_put import device_put


def _require_one_process(name: str) -> None:
    if process_count() > 1:
        raise NotImplementedError(
            f"{name} is not supported yet in programs of several processes: there are "
            f"{process_count()}. Exchange host data with a library of your own."
        )


def sync_global_devices(name: str) -> None:
    """Wait until every process has reached this call.

    Args:
      name: the name of this synchronization point.

    Raises:
      NotImplementedError: in a program of several processes, as all functions of this module.
    """
    _require_one_process("sync_global_devices")


def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree:
    """Return the values of one process in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays.
      is_source: whether this process is the one; by default it is the first process.
    """
    _require_one_process("broadcast_one_to_all")
    return tree_map(np.asarray, in_tree)


def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree:
    """Return the values of all processes in every process, as NumPy arrays.

    Args:
      in_tree: a pytree of arrays.
      tiled: whether arrays are concatenated along their first axis instead of stacked along a new
        one. Scalars are always stacked.

    Example:
      >>> process_allgather(np.ones(2)).shape
      (1, 2)
    """
    _require_one_process("process_allgather")
    join = lambda x: np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[None]
    return tree_map(join, in_tree)


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Raise ``AssertionError`` if the values differ between processes."""
    _require_one_process("assert_equal")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes must save their state at this step, because one will be preempted."""
    _require_one_process("reached_preemption_sync_point")
    return False


def host_local_array_to_global_array(
    local_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Make arrays over the devices of all processes, of which each process holds a part.

    Args:
      local_inputs: a pytree of arrays, the parts of this process.
      global_mesh: the mesh of all devices.
      pspecs: a ``PartitionSpec``, or a pytree of them that is a prefix of ``local_inputs``.
    """
    _require_one_process("host_local_array_to_global_array")
    return device_put(local_inputs, _shardings(global_mesh, pspecs))


def global_array_to_host_local_array(
    global_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Return the part of this process of arrays over the devices of all processes.

    Args:
      global_inputs: a pytree of arrays.
      global_mesh: the mesh of all devices.
      pspecs: a ``PartitionSpec``, or a pytree of them that is a prefix of ``global_inputs``.
    """
    _require_one_process("global_array_to_host_local_array")
    return device_put(global_inputs, _shardings(global_mesh, pspecs))


def _shardings(mesh: Mesh, specs: PyTree) -> PyTree:
    is_spec = lambda x: x is None or isinstance(x, tuple) or hasattr(x, "unreduced")
    if is_spec(specs):
        return NamedSharding(mesh, specs)
    return tree_map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=is_spec)
