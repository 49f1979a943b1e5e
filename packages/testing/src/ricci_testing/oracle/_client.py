"""Client of the oracle: evaluates source text with real JAX in another process."""

import atexit
import contextlib
import os
import pickle
import selectors
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from ._evaluation import evaluate, parse

_SERVER = Path(__file__).with_name("_server.py")
_INTERPRETER = Path(".nox", "oracle", "bin", "python")
_STDERR_TAIL = 4000


class OracleError(RuntimeError):
    """The oracle is missing, crashed or timed out."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a result: an array, a Python or NumPy scalar, or another object's text.

    Attributes:
      path: the path to it in the result.
      kind: ``"array"``, ``"numpy"``, ``"python"`` or ``"text"``.
      dtype, shape, weak_type: the type of an array.
      value: its content.

    Example:
      >>> from ricci_testing import evaluate_with
      >>> leaf = evaluate_with({}, "[1, 2]", {}).leaves[1]
      >>> leaf.path, leaf.kind, leaf.value
      ('[1]', 'python', 2)
    """

    path: str
    kind: Literal["array", "numpy", "python", "text"]
    dtype: str
    shape: tuple[int, ...]
    weak_type: bool
    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """An error raised by an evaluation: its class, the names of its bases, its message.

    Attributes:
      name: the error's class.
      bases: the names of its bases.
      message: its message.

    Example:
      >>> from ricci_testing import evaluate_with
      >>> evaluate_with({}, "1 / 0", {}).error.name
      'ZeroDivisionError'
    """

    name: str
    bases: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of evaluating source text: leaves in order, or the error it raised.

    Attributes:
      leaves: the leaves of the result.
      error: the error, or ``None``.

    Example:
      >>> from ricci_testing import evaluate_with
      >>> result = evaluate_with({}, "1 + 1", {})
      >>> result.value, result.error
      (2, None)
    """

    leaves: tuple[Leaf, ...]
    error: Raised | None

    @property
    def value(self) -> Any:
        """The value of the only leaf; raises `ValueError` unless there is exactly one."""
        if self.error is not None:
            raise ValueError(f"the text raised {self.error.name}: {self.error.message}")
        if len(self.leaves) != 1:
            raise ValueError(f"expected one leaf, found {len(self.leaves)}")
        return self.leaves[0].value


@dataclass(frozen=True, slots=True)
class Request:
    """Source text with its inputs, for `Oracle.run_many`.

    Attributes:
      source: an expression, or statements that end in one.
      inputs: values by name.
      config, finish: as for ``evaluate_with``.

    Example:
      >>> from ricci_testing import Request
      >>> Request("x + 1", {"x": 2}).source
      'x + 1'
    """

    source: str
    inputs: Mapping[str, Any]
    config: Mapping[str, Any] | None = None
    finish: Literal["value", "jaxpr"] = "value"


def evaluate_with(
    namespace: Mapping[str, Any],
    source: str,
    inputs: Mapping[str, Any],
    *,
    config: Mapping[str, Any] | None = None,
    finish: Literal["value", "jaxpr"] = "value",
) -> Result:
    r"""Evaluate `source` in this process, as the oracle would in another.

    Args:
        namespace: the values of the text's names; the oracle's are `jax`, `jnp`, `lax`, `np` and
            `random`.
        source: an expression, or statements that end in one.
        inputs: values by name; NumPy arrays within them become arrays of `namespace["jnp"]`,
            where there is one.
        config: settings of `namespace["jax"].config` for this evaluation only.
        finish: `"jaxpr"` prints the jaxpr of the function that the text evaluates to.

    Returns:
      The result, or the error that was raised.

    Raises:
        ValueError: the text does not end in an expression.

    Example:
        >>> import numpy as np
        >>> from ricci_testing import evaluate_with
        >>> evaluate_with({"np": np}, "y = x + 1\ny * 2", {"x": 3}).value
        8
    """
    return _result(evaluate(namespace, source, inputs, config, finish))


def find_interpreter() -> Path | None:
    """Find the Python that has real JAX: `$RICCI_ORACLE_PYTHON`, else nox's `oracle` session.

    The second is searched for in the working directory and its parents. Returns None if neither
    exists.

    Raises:
        OracleError: `$RICCI_ORACLE_PYTHON` names a file that does not exist.
    """
    named = os.environ.get("RICCI_ORACLE_PYTHON")
    if named:
        if not Path(named).is_file():
            raise OracleError(f"RICCI_ORACLE_PYTHON does not name a file: {named}")
        return Path(named)
    folder = Path.cwd()
    candidates = (folder / _INTERPRETER for folder in (folder, *folder.parents))
    return next((path for path in candidates if path.is_file()), None)


class Oracle:
    """Real JAX in a separate process, started at the first request and after a crash.

    Args:
        interpreter: a Python that has JAX; by default that of `find_interpreter`.
        timeout: the timeout in seconds for one batch of requests, and for the start.
        server: the script that serves requests; another one can serve another implementation.

    Example:
        >>> from ricci_testing import Oracle
        >>> with Oracle() as oracle:  # doctest: +SKIP
        ...     oracle.run("jnp.arange(n).sum()", n=4).leaves[0].dtype
        'int32'
    """

    def __init__(
        self, interpreter: str | Path | None = None, timeout: float = 120.0, server: Path = _SERVER
    ) -> None:
        self._interpreter = None if interpreter is None else Path(interpreter)
        self._server = server
        self._timeout = timeout
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None  # the file of the process's stderr
        self._versions: dict[str, str] = {}

    @staticmethod
    def available() -> bool:
        """Whether an interpreter for the oracle exists."""
        return find_interpreter() is not None

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the oracle's JAX, jaxlib and NumPy; starts the process."""
        with self._lock:
            self._start(time.monotonic() + self._timeout)
        return dict(self._versions)

    def run(
        self,
        source: str,
        /,
        *,
        config: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        **inputs: Any,
    ) -> Result:
        """Request one evaluation; the arguments are those of `evaluate_with`.

        Raises:
            OracleError: the oracle is missing, crashed or took longer than `timeout` seconds. The
                next call starts it again.
            ValueError: the text does not end in an expression.
        """
        return self.run_many([Request(source, inputs, config)], timeout=timeout)[0]

    def run_many(
        self, requests: Iterable[Request], *, timeout: float | None = None
    ) -> list[Result]:
        """Request several evaluations in one exchange, and return their results in order."""
        messages = [
            {
                "source": request.source,
                "inputs": dict(request.inputs),
                "config": dict(request.config or {}),
                "finish": request.finish,
            }
            for request in requests
        ]
        for message in messages:
            parse(message["source"])  # raise for malformed text before it is sent
        with self._lock:
            deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
            self._start(deadline)
            return [_result(reply) for reply in self._exchange(messages, deadline)]

    def close(self) -> None:
        """End the process; a later call starts another."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, deadline: float) -> None:
        # A process that has ended is replaced, so that one crash does not fail all requests after
        # it.
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        interpreter = self._interpreter or find_interpreter()
        if interpreter is None:
            raise OracleError("oracle environment missing: run nox -s oracle")
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(interpreter), str(self._server)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(),
        )
        self._versions = self._receive(deadline)["versions"]

    def _exchange(self, messages: list[dict[str, Any]], deadline: float) -> list[dict[str, Any]]:
        assert self._process is not None and self._process.stdin is not None
        payload = pickle.dumps(messages, protocol=5)
        try:
            # The length comes first: a pipe has no ends of messages.
            self._process.stdin.write(struct.pack("<Q", len(payload)) + payload)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("the oracle crashed before it read the request") from None
        return self._receive(deadline)

    def _receive(self, deadline: float) -> Any:
        length = struct.unpack("<Q", self._read(8, deadline))[0]
        return pickle.loads(self._read(length, deadline))

    def _read(self, count: int, deadline: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        chunks: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            # A pipe gives the bytes that have arrived; waiting for the rest of the message has the
            # same deadline.
            while count:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise self._failure("the oracle took too long")
                chunk = os.read(descriptor, min(count, 1 << 20))
                if not chunk:
                    self._await_exit()
                    raise self._failure("the oracle crashed")
                chunks.append(chunk)
                count -= len(chunk)
        return b"".join(chunks)

    def _await_exit(self) -> None:
        """Wait for a process that closed its pipe to end, so that its exit status is available."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)

    def _failure(self, reason: str) -> OracleError:
        """End the process, and return an error with the tail of its stderr."""
        errors = self._errors
        self._errors = None
        status = self._stop()
        errors.seek(0, os.SEEK_END)
        errors.seek(max(0, errors.tell() - _STDERR_TAIL))
        tail = errors.read().decode(errors="replace").strip()
        errors.close()
        return OracleError(f"{reason} (exit status {status}); its stderr ends:\n{tail}")

    def _stop(self) -> int | None:
        process, self._process = self._process, None
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        if process is None:
            return None
        status = process.poll()
        if status is None:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            # Unflushed data is lost with the process.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return process.wait() if status is None else status


_shared: Oracle | None = None
_shared_lock = threading.Lock()


def shared_oracle() -> Oracle:
    """The oracle that this process shares; each worker of a parallel test run has another one."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Oracle()
            atexit.register(_shared.close)
        return _shared


def _environment() -> dict[str, str]:
    """This process's environment without the variables that would make Ricci importable."""
    # Ricci and JAX both add methods to jaxlib's array class, and cannot be in one process.
    dropped = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"}
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith("JAX_")
    }
    devices = "--xla_force_host_platform_device_count=8"
    environment["XLA_FLAGS"] = devices
    environment["JAX_PLATFORMS"] = "cpu"
    environment["PYTHONNOUSERSITE"] = "1"
    return environment


def _result(reply: dict[str, Any]) -> Result:
    error = reply["error"]
    raised = error and Raised(error["name"], tuple(error["bases"]), error["message"])
    return Result(tuple(Leaf(**leaf) for leaf in reply["leaves"]), raised)
