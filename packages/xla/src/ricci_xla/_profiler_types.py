"""The classes of jaxlib's profiler.

jaxlib has no stubs. The file ``_profiler_types.pyi`` tells type checkers what the classes have.
"""

from jaxlib import _profiler  # pyright: ignore[reportAttributeAccessIssue]

ProfileOptions = _profiler.ProfileOptions
ProfilerServer = _profiler.ProfilerServer
ProfilerSession = _profiler.ProfilerSession
TraceMe = _profiler.TraceMe
