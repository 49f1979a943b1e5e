"""Contexts: thread-local settings that traces depend on but that are not options.

A mesh is opaque to this package: its class belongs to the runtime, and ``ricci_parallel`` lets
users set it.
"""

import os
from typing import Any

from ._settings import Override, State, trace_on

__all__ = ["UserContext", "current_mesh", "define_context", "lenient_sharding", "make_user_context"]
__all__ += ["native_kernels", "operation_metadata", "rolled_layers", "varying_axes"]


def define_context(name: str, default: object = None, per_equation: bool = False) -> State:
    """A thread-local setting that affects tracing but is not an option, such as the current mesh.

    Args:
      name: the name in messages.
      default: the value without an override. All its values must be hashable.
      per_equation: whether equations store the value that they were traced under; see
        ``SettingsSwitch``.

    Returns:
      a ``State``; ``with state(value):`` sets it, and each value has its own ``trace_key()``.
    """
    state = State(name, None, default, traced=True, per_equation=per_equation)
    trace_on(state)
    return state


class UserContext:
    """A setting defined by the user; ``jit`` traces a function once for each value of it."""

    __slots__ = ("_state",)

    def __init__(self, default: object):
        self._state = define_context("user_context", default)

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return self._state.value

    def __call__(self, value: object) -> Override:
        return self._state(value)

    def get_global(self) -> Any:
        """The value of threads without an override."""
        return self._state.get_global()

    def set_global(self, value: object) -> None:
        """Set the value of all threads without an override."""
        self._state.set_global(value)


def make_user_context(default_value: object = None) -> UserContext:
    """Define a user's setting; jitted functions are traced once for each of its values.

    Args:
      default_value: the value without an override. All its values must be hashable.

    Returns:
      ``context``; inside ``with context(value):``, ``context.value`` is ``value``.

    Example:
      >>> import ricci
      >>> precision = ricci.make_user_context("fast")
      >>> with precision("exact"):
      ...     precision.value
      'exact'
      >>> precision.value
      'fast'
    """
    return UserContext(default_value)


# ``current_mesh.value`` is this thread's current abstract mesh, or None, and
# ``with current_mesh(mesh):`` overrides it. An equation stores the mesh that it was traced under,
# so that its rules find it when they run later, as when a jaxpr is transposed.
current_mesh: State = define_context("current_mesh", per_equation=True)

# Whether types have varying axes: inside of ``shard_map`` with ``check_vma``.
varying_axes: State = define_context("varying_axes", default=False, per_equation=True)

# Whether an ambiguous sharding of a result is resolved instead of refused. It is where the result
# is resharded to a known sharding afterwards: by ``out_sharding``, and when equations are
# transposed.
lenient_sharding: State = define_context("lenient_sharding", default=False, per_equation=True)

# XLA metadata that ``ricci_lax`` sets: pairs of names and texts, sorted by name. An equation stores
# those that it was traced under, and so do the equations that are derived from it.
operation_metadata: State = define_context("operation_metadata", default=(), per_equation=True)

rolled_layers: State = define_context("rolled_layers", default=False)
"""Whether jitted functions are traced to jaxprs whose equal layers are loops, as by ``roll``.

``with rolled_layers(True):`` holds for the calls inside, and ``rolled_layers.set_global(True)`` for
all. It serves functions that a library jits, such as ``nnx.jit(step)``.
"""

native_kernels: State = define_context("native_kernels", default=True)
"""Whether functions for CPUs call the kernels of ``ricci_native``, where that is installed.

``with native_kernels(False):`` holds for the calls inside, ``native_kernels.set_global(False)`` and
``RICCI_NATIVE=0`` in the environment for all.
"""
# As a value other than the default, which the keys of bundles for warm starts have.
if os.environ.get("RICCI_NATIVE", "").lower() in ("0", "false", "off"):
    native_kernels.set_global(False)
