"""Settings that jaxlib's C++ dispatcher reads; some are part of its cache's key."""

from typing import Any

import ricci_ir as ir

from ._jaxlib import runtime

__all__ = ["device_mesh", "mirror"]

Config = runtime.config.Config
_unset = runtime.config.unset

# jaxlib neither makes arrays nor dispatches until these three are set.
disable_jit_state = Config("disable_jit", False)
enable_x64_state = Config("enable_x64", False, include_in_jit_key=True)
post_hook_state = Config("post_hook", None)
runtime.jax_jit.set_disable_jit_state(disable_jit_state)
runtime.jax_jit.set_enable_x64_state(enable_x64_state)
runtime.jax_jit.set_post_hook_state(post_hook_state)

# The mesh that executables run on, or None. Jaxprs depend on its axes alone (``current_mesh``), so
# that it is not part of the trace key.
device_mesh: ir.State = ir.State("device_mesh", None, None)

# One value represents all options that affect tracing: `trace_key()` gives one object for each
# combination of their values. A change of options so makes the dispatcher miss its cache. With a
# mesh of devices, or named axes in scope, the value is a pair of `trace_context()` and the mesh.
trace_key_state = Config("trace_key", ir.trace_key(), include_in_jit_key=True)

# True while this thread traces a function. A call without tracers among its arguments is then part
# of the jaxpr too, so it must come to Python instead of running from the cache.
staging_state = Config("staging", False, include_in_jit_key=True)


def mirror(state: ir.State, target: Any) -> None:
    """Set a setting of jaxlib whenever an option changes, in every thread.

    Args:
      state: the option.
      target: a ``Config`` of jaxlib.
    """

    def update(value: Any, local: bool) -> None:
        if local:
            target.set_local(_unset if value is ir.UNSET else value)
        else:
            target.set_global(value)

    state.on_change(update)


def _trace_key_changed(value: object, local: bool) -> None:
    """Make the dispatcher miss its cache when a setting that calls depend on changes."""
    context, everywhere, mesh = ir.trace_context(), ir.global_trace_key(), device_mesh.value
    if trace_key_state.get_global() is not everywhere:
        trace_key_state.set_global(everywhere)
    if mesh is not None or context.axes:
        trace_key_state.set_local((context, mesh))
    else:
        trace_key_state.set_local(_unset if context.settings is everywhere else context.settings)


ir.swap_staging_flag.provide(staging_state.swap_local)
mirror(ir.config.state("jax_disable_jit"), disable_jit_state)
mirror(ir.config.state("jax_enable_x64"), enable_x64_state)
ir.follow_trace_key(_trace_key_changed)
device_mesh.on_change(_trace_key_changed)
ir.axis_sizes.on_change(_trace_key_changed)
