"""What the classes of jaxlib's profiler have.

``packages/xla/tests/test_stubs.py`` compares these with the classes.
"""

from typing import Any, Self

class ProfileOptions:
    """What a profile records."""

    advanced_configuration: dict[str, Any]
    duration_ms: int
    enable_hlo_proto: bool
    host_tracer_level: int
    include_dataset_ops: bool
    python_tracer_level: int
    raise_error_on_start_failure: bool
    repository_path: str
    session_id: str
    start_timestamp_ns: int

    def __init__(self) -> None: ...

class ProfilerServer:
    """A server by which tools profile this process."""

class ProfilerSession:
    """A profile that is being recorded."""

    def __init__(self, options: ProfileOptions = ..., /) -> None: ...
    def stop(self) -> bytes:
        """Stop the profile, and return it."""

    def export(self, recorded: bytes, folder: str, /) -> None:
        """Write a profile that was stopped to a folder."""

    def stop_and_export(self, folder: str, /) -> None:
        """Stop the profile, and write it to a folder."""

class TraceMe:
    """Names a ``with`` block of this thread in profiles."""

    def __init__(self, name: str, /, **kwargs: Any) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc_info: object) -> None: ...
    def set_metadata(self, **kwargs: Any) -> None:
        """Add facts to show with the block."""

    @staticmethod
    def is_enabled() -> bool:
        """Whether a profile is being recorded."""
