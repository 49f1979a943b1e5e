"""RC103: NumPy or Python random numbers drawn while tracing; they become constants of the jaxpr."""

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

import numpy as np

from ricci_ir import Source, is_internal_module

from ._report import Finding, finding

_GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
# Methods of generators that do not draw.
_OTHERS = frozenset({"seed", "setstate", "getstate", "set_state", "get_state", "spawn"})


@contextmanager
def report_host_draws(findings: list[Finding]) -> Iterator[None]:
    """Add a finding for each line of the user's code that draws such a number in a ``with`` block.

    Python reports each call in this thread (``sys.monitoring``). If all of Python's ids for
    such tools are in use, nothing is reported.
    """
    monitoring = sys.monitoring
    tool = next((i for i in (3, 4, 0, 1) if monitoring.get_tool(i) is None), None)
    if tool is None:
        yield
        return
    thread = threading.get_ident()

    def called(code: CodeType, offset: int, function: object, first: object) -> None:
        if threading.get_ident() != thread:
            return
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        owner = owner if isinstance(owner, _GENERATORS) else first
        if not isinstance(owner, _GENERATORS) or name in _OTHERS or not hasattr(owner, name):
            return
        module = sys._getframe(1).f_globals.get("__name__")
        if module == random.__name__ or is_internal_module(module):
            return
        library = "Python's random" if isinstance(owner, random.Random) else "NumPy"
        message = f"{name} of {library} is called while tracing, once for all calls of the function"
        findings.append(finding("RC103", Source(code, offset), message))

    monitoring.use_tool_id(tool, "ricci_check")
    try:
        monitoring.register_callback(tool, monitoring.events.CALL, called)
        monitoring.set_events(tool, monitoring.events.CALL)
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.CALL, None)
        monitoring.free_tool_id(tool)
