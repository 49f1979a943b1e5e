"""What programs with side effects leave to wait for, and the order between them."""

import atexit
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ricci_ir import Effect, ShapedArray
from ricci_xla.arrays._placement import array_from_host
from ricci_xla.arrays._sharding import single_device_sharding
from ricci_xla.devices._jaxlib import runtime

__all__ = [
    "effects_barrier",
]

# What jaxlib takes a token's buffer for.
token_buffer = ShapedArray((0,), np.dtype(bool))

# As many programs with effects may be on their way.
_PENDING = 64


class _Chain:
    """Programs that have been started, one after another.

    Attributes:
      ordered: for each ordered effect and device the token of the last one that had it.
      pending: what to wait for until all have ended.
    """

    __slots__ = ("ordered", "pending")

    def __init__(self):
        self.ordered: dict[tuple[Effect, Any], Any] = {}
        self.pending: deque[Any] = deque()


_outermost = _Chain()


class RuntimeTokens(threading.local):
    """The tokens of programs that have been started.

    A program with ordered effects on one device takes the token of the one before it. On several
    devices it waits for that one, since a token lives on one device.

    What a callback starts is a chain of its own on the thread that runs it: to wait there for the
    program that called would be to wait forever.
    """

    def __init__(self):
        self.chain = _outermost

    @contextmanager
    def inside_callback(self) -> Iterator[None]:
        """Follow what is started inside the ``with`` block by itself."""
        outer, self.chain = self.chain, _Chain()
        try:
            yield
        finally:
            _outermost.pending.extend(self.chain.pending)
            self.chain = outer

    def run(self, executable: Any, arrays: list[Any]) -> list[Any]:
        """Start a program that has effects; its results."""
        loaded, effects = executable.loaded, executable.ordered_effects
        devices = loaded.local_devices()
        keys = [(effect, devices[0]) for effect in effects]
        if len(devices) > 1:
            return self._run_on_several(executable, arrays, keys)
        tokens = [self._token(key) for key in keys]
        started = loaded.execute_sharded([*tokens, *arrays], with_tokens=True)
        self._follow(started.consume_token())
        here = single_device_sharding(devices[0])
        handler = runtime.array_result_handler(token_buffer, here, False)
        results = started.consume_with_handlers([*[handler] * len(keys), *executable.handlers])
        self.chain.ordered.update(zip(keys, results[: len(keys)], strict=True))
        return results[len(keys) :]

    def _run_on_several(self, executable: Any, arrays: list[Any], keys: list[Any]) -> list[Any]:
        if keys:
            self.wait()
        started = executable.loaded.execute_sharded(arrays, with_tokens=True)
        self._follow(started.consume_token())
        return started.consume_with_handlers(executable.handlers)

    def _token(self, key: tuple[Effect, Any]) -> Any:
        token = self.chain.ordered.get(key)
        if token is not None and token.is_ready():
            try:
                token.block_until_ready()
            except runtime.JaxRuntimeError:
                token = None  # reported by the program that failed; this one can still run
        if token is None:
            sharding = single_device_sharding(key[1])
            token = array_from_host(np.zeros((0,), bool), token_buffer, sharding)
        return token

    def _follow(self, token: Any) -> None:
        self.chain.pending.append(token)
        if len(self.chain.pending) > _PENDING:
            self.chain.pending.popleft().block_until_ready()

    def wait(self) -> None:
        """Wait for all programs; the error of the first that failed is raised after that."""
        failure: Exception | None = None
        while self.chain.pending:
            try:
                self.chain.pending.popleft().block_until_ready()
            except runtime.JaxRuntimeError as error:
                failure = failure or error
        if failure is not None:
            self.chain.ordered.clear()
            raise failure


runtime_tokens = RuntimeTokens()
atexit.register(runtime_tokens.wait)


def effects_barrier() -> None:
    """Wait until the side effects of all programs that were started have taken place.

    Raises:
      RuntimeError: if a function that one of them called has failed.

    Example:
      >>> effects_barrier()
    """
    runtime_tokens.wait()
