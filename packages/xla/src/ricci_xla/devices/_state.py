"""Settings that jaxlib's dispatcher reads from C++, and the one that is part of its cache key."""

from typing import Any

from ricci_ir import (
    UNSET,
    State,
    config,
    follow_trace_key,
    global_trace_key,
    staging_switch,
    trace_key,
)

from ._jaxlib import runtime

__all__ = [
    "mirror",
]

Config = runtime.config.Config
_unset = runtime.config.unset

# jaxlib refuses to make arrays or to dispatch until it has been given these three.
disable_jit_state = Config("disable_jit", False)
enable_x64_state = Config("enable_x64", False, include_in_jit_key=True)
post_hook_state = Config("post_hook", None)
runtime.jax_jit.set_disable_jit_state(disable_jit_state)
runtime.jax_jit.set_enable_x64_state(enable_x64_state)
runtime.jax_jit.set_post_hook_state(post_hook_state)

# One value stands for all options that affect tracing: `trace_key()`, unique for its options.
trace_key_state = Config("trace_key", trace_key(), include_in_jit_key=True)

# True while this thread traces a function: calls with no tracer among their arguments are then
# part of the program too, so they must not take the compiled path.
staging_state = Config("staging", False, include_in_jit_key=True)


def mirror(state: State, target: Any) -> None:
    """Keep a setting of jaxlib at the value of an option, in every thread.

    Args:
      state: the option.
      target: a ``Config`` of jaxlib.
    """

    def update(value: Any, local: bool) -> None:
        if local:
            target.set_local(_unset if value is UNSET else value)
        else:
            target.set_global(value)

    state.on_change(update)


def _trace_key_changed(value: Any, local: bool) -> None:
    """Make compiled functions miss their caches when a setting that affects tracing changes."""
    key, everywhere = trace_key(), global_trace_key()
    if trace_key_state.get_global() is not everywhere:
        trace_key_state.set_global(everywhere)
    trace_key_state.set_local(_unset if key is everywhere else key)


staging_switch.swap = staging_state.swap_local
mirror(config.state("jax_disable_jit"), disable_jit_state)
mirror(config.state("jax_enable_x64"), enable_x64_state)
follow_trace_key(_trace_key_changed)
