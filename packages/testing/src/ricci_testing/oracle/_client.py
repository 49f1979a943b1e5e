"""Real JAX as a black box in another process, asked what a piece of source text evaluates to."""

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
    """The oracle could not answer: it is missing, it crashed or it took too long."""


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
    """The error that an evaluation raised: its class, the names of its bases, its message.

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
    """What a piece of source text evaluated to: leaves in order, or the error it raised.

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
        """The content of the only leaf; raises `ValueError` where there is not exactly one."""
        if self.error is not None:
            raise ValueError(f"the text raised {self.error.name}: {self.error.message}")
        if len(self.leaves) != 1:
            raise ValueError(f"expected one leaf, found {len(self.leaves)}")
        return self.leaves[0].value


@dataclass(frozen=True, slots=True)
class Request:
    """A piece of source text with its inputs, as `Oracle.run_many` takes it.

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
    r"""Evaluates `source` in this process, as the oracle would in its own.

    Args:
        namespace: what the text's names mean; the oracle's own are `jax`, `jnp`, `lax`, `np` and
            `random`.
        source: an expression, or statements that end in one.
        inputs: values by name; NumPy arrays within them become arrays of `namespace["jnp"]`,
            where there is one.
        config: settings of `namespace["jax"].config` for this evaluation only.
        finish: `"jaxpr"` takes the function that the text evaluates to and prints its program.

    Returns:
      What it evaluated to, or the error it raised.

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
    """Finds the Python that holds real JAX: `$RICCI_ORACLE_PYTHON`, else nox's `oracle` session.

    The second is looked for in the working directory and upwards. Returns None where neither is
    there.

    Raises:
        OracleError: `$RICCI_ORACLE_PYTHON` names a file that is not there.
    """
    named = os.environ.get("RICCI_ORACLE_PYTHON")
    if named:
        if not Path(named).is_file():
            raise OracleError(f"RICCI_ORACLE_PYTHON names no file: {named}")
        return Path(named)
    here = Path.cwd()
    candidates = (folder / _INTERPRETER for folder in (here, *here.parents))
    return next((path for path in candidates if path.is_file()), None)


class Oracle:
    """Real JAX in a process of its own, started at the first question and after a crash.

    Args:
        interpreter: a Python that has JAX; found by `find_interpreter` where not given.
        timeout: seconds allowed for one batch of questions, and for the start.
        server: the program that answers; another one can stand for another implementation.

    Example:
        >>> from ricci_testing import Oracle
        >>> with Oracle() as oracle:  # doctest: +SKIP
        ...     oracle.run("jnp.arange(n).sum()", n=4).leaves[0].dtype
        'int32'
    """

    def __init__(
        self,
        interpreter: str | Path | None = None,
        timeout: float = 120.0,
        server: Path = _SERVER,
    ) -> None:
        self._interpreter = None if interpreter is None else Path(interpreter)
        self._server = server
        self._timeout = timeout
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None  # the file that takes the process's error output
        self._versions: dict[str, str] = {}

    @staticmethod
    def available() -> bool:
        """Says whether an interpreter for the oracle is there to be started."""
        return find_interpreter() is not None

    @property
    def versions(self) -> dict[str, str]:
        """The versions of JAX, jaxlib and NumPy that answer; starts the process."""
        with self._lock:
            self._started(time.monotonic() + self._timeout)
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
        """Asks for one evaluation; the arguments are those of `evaluate_with`.

        Raises:
            OracleError: the oracle is missing, crashed or took longer than `timeout` seconds. It
                starts anew at the next call.
            ValueError: the text does not end in an expression.
        """
        return self.run_many([Request(source, inputs, config)], timeout=timeout)[0]

    def run_many(
        self, requests: Iterable[Request], *, timeout: float | None = None
    ) -> list[Result]:
        """Asks for several evaluations in one exchange, and returns their results in order."""
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
            parse(message["source"])  # a malformed text is refused here, not over there
        with self._lock:
            deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
            self._started(deadline)
            return [_result(answer) for answer in self._exchange(messages, deadline)]

    def close(self) -> None:
        """Ends the process; a later call starts another."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self, deadline: float) -> None:
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
            self._process.stdin.write(struct.pack("<Q", len(payload)) + payload)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("the oracle crashed before it read the question") from None
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
        """Leaves a process that closed its pipe a moment to end, so that its status is its own."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)

    def _failure(self, reason: str) -> OracleError:
        """Ends the process, and tells why with the end of what it wrote to stderr."""
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
            # What was still to be flushed went with the process.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return process.wait() if status is None else status


_shared: Oracle | None = None
_shared_lock = threading.Lock()


def shared_oracle() -> Oracle:
    """The one oracle of this process; each worker of a parallel test run has its own."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Oracle()
            atexit.register(_shared.close)
        return _shared


def _environment() -> dict[str, str]:
    """This process's environment less what would lead the oracle to Ricci's own packages."""
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


def _result(answer: dict[str, Any]) -> Result:
    error = answer["error"]
    raised = error and Raised(error["name"], tuple(error["bases"]), error["message"])
    return Result(tuple(Leaf(**leaf) for leaf in answer["leaves"]), raised)
