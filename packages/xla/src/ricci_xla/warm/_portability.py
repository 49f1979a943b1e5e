"""The check that another process can run an executable."""

from typing import Any

import ricci_ir as ir
from ricci_xla.compile import Executable

from ._classes import NoFingerprint

# Settings by which libraries compile without calls of Python, by the called function's module.
_WITHOUT_CALLBACKS = {
    "equinox._errors": "Set EQX_ON_ERROR=nan or EQX_ON_ERROR=off in the environment to compile "
    "error_if without it"
}


def check_portable(executable: Executable, text: str, jaxpr: ir.Jaxpr) -> None:
    """Check that another process can run an executable.

    Args:
      executable: the executable.
      text: its optimized module.
      jaxpr: the jaxpr that it was compiled from.

    Raises:
      NoFingerprint: if none can: it has side effects, calls Python functions, or is compiled for a
        topology or for arguments in layouts of their own.
    """
    if executable.effects:
        raise NoFingerprint(f"it has side effects: {', '.join(map(str, executable.effects))}")
    if "xla_ffi_python" in text or "xla_python" in text:
        raise NoFingerprint(_callback_reason(jaxpr))
    if not executable.is_loaded:
        raise NoFingerprint("it is compiled for a topology")
    if any(layout is not None for layout in executable.in_layouts):
        raise NoFingerprint("its arguments have layouts of their own")


def _callback_reason(jaxpr: ir.Jaxpr) -> str:
    eqn = _find_callback(jaxpr)
    reason = "it calls Python functions"
    if eqn is None:
        return f"{reason}, which no other process has"
    function: Any = getattr(eqn.params["callback"], "callback_func", None)
    module = getattr(function, "__module__", "")
    remedy = _WITHOUT_CALLBACKS.get(module, "Move the call out of the jitted function")
    name = getattr(function, "__qualname__", repr(function))
    at = f"{eqn.primitive} at {eqn.source}"
    return f"{reason} ({module}.{name}, by {at}), which no other process has. {remedy}"


def _find_callback(jaxpr: ir.Jaxpr) -> ir.JaxprEqn | None:
    for eqn in jaxpr.eqns:
        if "callback" in eqn.params:
            return eqn
    inner = map(_find_callback, ir.subjaxprs(jaxpr))
    return next((eqn for eqn in inner if eqn is not None), None)
