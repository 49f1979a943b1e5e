"""Options that are mirrored to jaxlib: transfer guards, and those that its dispatcher reads.

The options ``jax_transfer_guard*`` and ``jax_array_garbage_collection_guard`` log or forbid
transfers between host and devices, and arrays that only the garbage collector frees. jaxlib
enforces them: it has one state for the process and one for each thread, which the options set.
A transfer is explicit if the user called ``device_put`` or ``device_get``; only
``disallow_explicit`` forbids those.

The dispatcher's are part of its cache's key.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import ricci_ir as ir

from ._jaxlib import runtime
from ._logging import logger
from ._runtime_types import JaxRuntimeError

__all__ = ["device_mesh", "mirror"]

_states = runtime.guard_lib
_Level = _states.TransferGuardLevel
_transfer_levels = {name.lower(): level for name, level in _Level.__members__.items()}
_collection_levels = {
    name.lower(): level for name, level in _states.GarbageCollectionGuardLevel.__members__.items()
}
_directions = ("host_to_device", "device_to_device", "device_to_host")


class _Watch:
    """Whether any guard has ever been set. While none has, explicit transfers are not marked."""

    __slots__ = ("on",)

    def __init__(self):
        self.on = False


watch = _Watch()


def _mirror_to_jaxlib(state: ir.State, attribute: str, levels: Mapping[str, Any]) -> None:
    """Set an attribute of jaxlib's guards whenever an option changes, in every thread."""

    def update(value: Any, local: bool) -> None:
        level = None if value is None or value is ir.UNSET else levels[value]
        if level is not None:
            watch.on = True
        setattr(_states.thread_local_state() if local else _states.global_state(), attribute, level)

    state.on_change(update)


for _direction in _directions:
    _mirror_to_jaxlib(
        ir.config.state(f"jax_transfer_guard_{_direction}"), _direction, _transfer_levels
    )
_mirror_to_jaxlib(ir.array_garbage_collection_guard, "garbage_collect_array", _collection_levels)


def _level(direction: str) -> Any:
    """The guard level of this thread for transfers in a direction."""
    level = getattr(_states.thread_local_state(), direction)
    if level is None:
        level = getattr(_states.global_state(), direction)
    return _Level.ALLOW if level is None else level


def transfers_are_guarded() -> bool:
    """Whether transfers between host and devices are logged or forbidden in this thread."""
    if not watch.on:
        return False
    return any(_level(d) != _Level.ALLOW for d in ("host_to_device", "device_to_host"))


def begin_explicit(attribute: str) -> tuple[str, bool]:
    """Mark the transfers of this thread as explicit, until ``end_explicit``.

    Args:
      attribute: the flag of jaxlib's guards to set, ``"explicit_device_put"`` or
        ``"explicit_device_get"``.

    Returns:
      The flag and its value before, for ``end_explicit``.
    """
    state = _states.thread_local_state()
    before = getattr(state, attribute)
    setattr(state, attribute, True)
    return attribute, before


def end_explicit(mark: tuple[str, bool]) -> None:
    """Set the flag back to the value that it had before ``begin_explicit``."""
    setattr(_states.thread_local_state(), *mark)


def explicit_transfer[**P, R](attribute: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark the transfers that a function makes as explicit; see ``begin_explicit``."""

    def mark(fun: Callable[P, R]) -> Callable[P, R]:
        @wraps(fun)
        def marked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not watch.on:
                return fun(*args, **kwargs)
            mark = begin_explicit(attribute)
            try:
                return fun(*args, **kwargs)
            finally:
                end_explicit(mark)

        return marked

    return mark


class unguarded:
    """Allow all transfers in a ``with`` block, for the library's internal transfers."""

    __slots__ = ("levels",)

    def __enter__(self) -> None:
        self.levels = None
        if watch.on:
            state = _states.thread_local_state()
            self.levels = [getattr(state, direction) for direction in _directions]
            for direction in _directions:
                setattr(state, direction, _Level.ALLOW)

    def __exit__(self, *exception: object) -> None:
        if self.levels is not None:
            state = _states.thread_local_state()
            for direction, level in zip(_directions, self.levels, strict=True):
                setattr(state, direction, level)


def check_device_to_device(aval: ir.ShapedArray, sharding: object) -> None:
    """Apply the guard of device-to-device transfers to a copy that goes through the host.

    jaxlib sees two transfers with the host, and so does not check it.

    Raises:
      JaxRuntimeError: if the transfer is forbidden.
    """
    if not watch.on:
        return
    level = _level("device_to_device")
    explicit = _states.thread_local_state().explicit_device_put
    message = f"device-to-device transfer: aval={aval}, dst_sharding={sharding}"
    if level == _Level.DISALLOW_EXPLICIT or (level == _Level.DISALLOW and not explicit):
        raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {message}")
    if level == _Level.LOG_EXPLICIT or (level == _Level.LOG and not explicit):
        logger("ricci.transfers").warning(message)


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
