"""Profiles of the host and of devices, for XProf, TensorBoard and Perfetto.

jaxlib records the profiles. This module starts and stops its sessions, one at a time.
"""

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from jaxlib import _profiler  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib._profile_data import ProfileData as ProfileData
from jaxlib._profile_data import ProfileEvent as ProfileEvent
from jaxlib._profile_data import ProfileLine as ProfileLine
from jaxlib._profile_data import ProfilePlane as ProfilePlane

from ricci_xla.tracing._compile_log import profiling

from ._perfetto import write_for_perfetto
from ._profiler_types import ProfileOptions as ProfileOptions
from ._profiler_types import ProfilerServer, ProfilerSession
from ._trace_annotations import StepTraceAnnotation as StepTraceAnnotation
from ._trace_annotations import TraceAnnotation as TraceAnnotation
from ._trace_annotations import annotate_function as annotate_function
from .devices._client import get_backend
from .devices._plugins import find_plugins, likely_plugins


class _Running:
    """The session and the server that run in this process, at most one of each."""

    def __init__(self):
        self.lock = threading.Lock()
        self.recorder: ProfilerSession | None = None
        self.session: ProfileSession | None = None
        self.server: ProfilerServer | None = None


_running = _Running()


class ProfileSession:
    """A profile: it is recorded between ``start`` and ``stop``, or in a ``with`` block.

    One session runs at a time. A session can record again; it holds the last profile.

    Args:
      log_dir: the folder to write to when the profile ends; by default nothing is written.
      create_perfetto_link, create_perfetto_trace, profiler_options: as for ``start_trace``.

    Raises:
      TypeError: if the folder is not a path.
      ValueError: if a file for Perfetto is asked for without a folder.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> with ricci.profiler.ProfileSession() as session:
      ...     _ = jnp.ones(3).block_until_ready()
      >>> session.is_running, any("host" in plane.name for plane in session.profile_data.planes)
      (False, True)

    See also:
      ``trace``; ``export_profile_data``, which writes a profile that was kept.
    """

    def __init__(
        self,
        log_dir: os.PathLike[str] | str | None = None,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        profiler_options: ProfileOptions | None = None,
    ):
        self.log_dir: str | None = None if log_dir is None else os.fspath(log_dir)
        self.create_perfetto_link: bool = create_perfetto_link
        self.create_perfetto_trace: bool = create_perfetto_trace
        self.profiler_options: ProfileOptions | None = profiler_options
        self.profile_data: ProfileData | None = None
        self._recorded: tuple[ProfilerSession, bytes] | None = None
        if log_dir is None and (create_perfetto_link or create_perfetto_trace):
            raise ValueError("a file for Perfetto needs a folder: give log_dir.")

    @property
    def is_running(self) -> bool:
        """Whether the profile is being recorded."""
        return _running.session is self

    def start(self) -> None:
        """Start to record.

        Raises:
          RuntimeError: if a profile is running already.
        """
        with _running.lock:
            _check_none_runs()
            get_backend()  # a client that is created later would not be in the profile
            _start(self.profiler_options)
            _running.session = self

    def stop(self) -> ProfileData:
        """Stop, write the profile if there is a folder for it, and return it.

        Raises:
          RuntimeError: if this session is not running.
        """
        with _running.lock:
            if not self.is_running:
                raise RuntimeError("this profile is not running: call start() first")
            recorder = _end()
            recorded = recorder.stop()
            self._recorded = recorder, recorded
            self.profile_data = data = ProfileData.from_serialized_xspace(recorded)
            if self.log_dir is not None:
                self.export_profile_data(
                    self.log_dir, self.create_perfetto_link, self.create_perfetto_trace
                )
            return data

    def export_profile_data(
        self,
        log_dir: os.PathLike[str] | str,
        create_perfetto_link: bool = False,
        create_perfetto_trace: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Write the profile to a folder; see the function ``export_profile_data``."""
        if self._recorded is None or self.profile_data is None:
            raise RuntimeError("the session has no profile: it has not been stopped yet")
        folder = os.fspath(log_dir)
        if session_id:
            _export(self.profile_data, folder, session_id)
        else:
            recorder, recorded = self._recorded
            recorder.export(recorded, folder)
        write_for_perfetto(folder, create_perfetto_link, create_perfetto_trace)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()


def export_profile_data(
    profile_data: ProfileData | ProfileSession,
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    session_id: str | None = None,
) -> None:
    """Write a profile to a folder, for XProf, TensorBoard and Perfetto.

    Args:
      profile_data: a profile, or the session that recorded it.
      log_dir: the folder to write to.
      create_perfetto_link, create_perfetto_trace: as for ``start_trace``.
      session_id: the name of the folder of this profile in ``log_dir``, by default the time.

    Raises:
      TypeError: if it is neither a profile nor a session, or the folder is not a path.
      RuntimeError: if the session has no profile yet.
      NotImplementedError: if jaxlib is older than 0.12, for a profile without its session, or with
        a ``session_id``.

    Example:
      >>> import tempfile
      >>> from pathlib import Path
      >>> from ricci import profiler
      >>> with profiler.ProfileSession() as session:
      ...     pass
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     profiler.export_profile_data(session, folder)
      ...     len(list(Path(folder).rglob("*.xplane.pb")))
      1
    """
    if isinstance(profile_data, ProfileSession):
        profile_data.export_profile_data(
            log_dir, create_perfetto_link, create_perfetto_trace, session_id
        )
        return
    if not isinstance(profile_data, ProfileData):
        raise TypeError(
            "export_profile_data: expected a ProfileData or a ProfileSession, got "
            f"{type(profile_data).__name__}."
        )
    folder = os.fspath(log_dir)
    _export(profile_data, folder, session_id or "")
    write_for_perfetto(folder, create_perfetto_link, create_perfetto_trace)


def _export(profile_data: ProfileData, folder: str, session_id: str) -> None:
    export = getattr(_profiler, "export_to_xprof", None)
    if export is None:
        raise NotImplementedError(
            "export_profile_data: a profile without its session, and session_id, need jaxlib 0.12. "
            "Pass the ProfileSession alone."
        )
    export(profile_data, folder, session_id)


def start_trace(
    log_dir: os.PathLike[str] | str | None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> ProfileSession:
    """Start a profile, which ``stop_trace`` ends.

    Functions that are compiled while a profile is recorded have the lines of your code in it, but
    not those from a compilation cache (``jax_compilation_cache_dir``).

    Args:
      log_dir: the folder to write to; ``None`` writes nothing.
      create_perfetto_link: when the profile is stopped, print a link that opens it in Perfetto, and
        wait until it was opened. It is read from this machine; nothing else is sent anywhere.
      create_perfetto_trace: whether to write ``perfetto_trace.json.gz`` too.
      profiler_options: a ``ProfileOptions``.

    Returns:
      The session that runs.

    Raises:
      RuntimeError: if a profile is running already.
      TypeError: if the folder is not a path.

    Example:
      >>> import tempfile
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     session = ricci.profiler.start_trace(folder)
      ...     _ = jnp.ones(3).block_until_ready()
      ...     profile = ricci.profiler.stop_trace()
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    session.start()
    return session


def start_recording(options: ProfileOptions) -> None:
    """Start a profile of a script that may still set its devices; ``stop_recording`` returns it.

    CPU devices are in the profile even if they are created later. If there are others, the clients
    are created now.

    Raises:
      RuntimeError: if a profile is running already.
    """
    with _running.lock:
        _check_none_runs()
        if likely_plugins(find_plugins()):
            get_backend()
        _start(options)


def stop_recording() -> ProfileData:
    """Stop the profile, and return it; no file is written.

    Raises:
      RuntimeError: if no profile is running.
    """
    with _running.lock:
        return ProfileData.from_serialized_xspace(_end().stop())


def _check_none_runs() -> None:
    if _running.recorder is not None:
        raise RuntimeError("a profile is running already: call stop_trace() first")


def _start(options: ProfileOptions | None) -> None:
    _running.recorder = ProfilerSession(*(() if options is None else (options,)))
    profiling.begin(TraceAnnotation)


def _end() -> ProfilerSession:
    recorder = _running.recorder
    if recorder is None:
        raise RuntimeError("no profile is running: call start_trace(log_dir) first")
    _running.recorder = _running.session = None
    profiling.end()
    return recorder


def stop_trace() -> ProfileData:
    """Stop the profile, write it to its folder if it has one, and return it.

    Raises:
      RuntimeError: if no profile is running.

    Example:
      >>> import tempfile
      >>> import ricci
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     session = ricci.profiler.start_trace(folder)
      ...     profile = ricci.profiler.stop_trace()
    """
    session = _running.session
    if session is None:
        raise RuntimeError("no profile is running: call start_trace(log_dir) first")
    return session.stop()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[ProfileSession]:
    """Profile a ``with`` block. The arguments are those of ``start_trace``.

    Args:
      log_dir, create_perfetto_link, create_perfetto_trace, profiler_options: as for
        ``start_trace``.

    Returns:
      A context manager, whose value is the session; after the block it holds the profile.

    Raises:
      RuntimeError: if a profile is running already.

    Example:
      >>> import tempfile
      >>> from pathlib import Path
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     with ricci.profiler.trace(folder):
      ...         _ = jnp.ones((8, 8)).block_until_ready()
      ...     files = list(Path(folder).rglob("*.xplane.pb"))
      >>> len(files)
      1

    Notes:
      Wait for results inside the block (``block_until_ready``): computations that still run at its
      end are not in the profile. The first call of a function compiles; call it once before.

    See also:
      ``python -m ricci.profile``, which writes a page about a script's profile.
    """
    session = ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    with session:
        yield session


def get_profiled_instructions_proto(tensorboard_dir: str | os.PathLike[str]) -> bytes:
    """Extract the cost of instructions from a profile, for profile-guided compilation.

    Args:
      tensorboard_dir: the folder of ``start_trace`` or ``trace``.

    Returns:
      A serialized ``ProfiledInstructionsProto`` of XLA. It is empty if no device in the profile
      measures single instructions.

    Raises:
      RuntimeError: if there is no such folder.
    """
    return _profiler.get_profiled_instructions_proto(os.fspath(tensorboard_dir))


def start_server(port: int, requires_backend: bool = True) -> ProfilerServer:
    """Start a server by which tools can profile this process.

    Args:
      port: the port that it listens on.
      requires_backend: whether to create the clients of devices first.

    Returns:
      The server, which ends with ``stop_server``.

    Raises:
      ValueError: if a server is running already.
    """
    with _running.lock:
        if _running.server is not None:
            raise ValueError("a profiler server is running already: call stop_server() first")
        if requires_backend:
            get_backend()
        server: ProfilerServer = _profiler.start_server(port)
        _running.server = server
        profiling.begin(TraceAnnotation)
        return server


def stop_server() -> None:
    """Stop the server.

    Raises:
      ValueError: if no server is running.
    """
    with _running.lock:
        if _running.server is None:
            raise ValueError("no profiler server is running: call start_server(port) first")
        _running.server = None
        profiling.end()


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Include a subprocess in profiles; returns a function that removes it again.

    Args:
      pid: the number of the process.
      port: the port of its server.

    Returns:
      A function without arguments that removes it again.
    """
    return _profiler.register_subprocess(pid, port)


def device_memory_profile(backend: str | None = None) -> bytes:
    r"""A profile of the devices' memory, in the format of pprof, compressed with gzip.

    Args:
      backend: the platform's name; without it, the default platform.

    Returns:
      The bytes of the profile, for the tool ``pprof``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.ones((100, 100))
      >>> profile = ricci.profiler.device_memory_profile()
      >>> profile[:2] == b"\x1f\x8b"  # gzip
      True
    """
    return gzip.compress(get_backend(backend).heap_profile())


def save_device_memory_profile(
    filename: os.PathLike[str] | str, backend: str | None = None
) -> None:
    """Write the profile that ``device_memory_profile`` returns to a file.

    Args:
      filename: the file to write.
      backend: the platform's name; without it, the default platform.

    Example:
      >>> import tempfile
      >>> from pathlib import Path
      >>> import ricci
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     ricci.profiler.save_device_memory_profile(f"{folder}/memory.prof")
      ...     print(Path(folder, "memory.prof").stat().st_size > 0)
      True
    """
    Path(filename).write_bytes(device_memory_profile(backend))
