"""Executables with side effects, in order, and the host callbacks that they call."""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ricci_ir import AbstractToken, AbstractValue, Effect, ShapedArray, ensure_compile_time_eval
from ricci_stablehlo import HostCallback
from ricci_xla.arrays import ArrayImpl, array_from_host
from ricci_xla.devices import Client, Device, JaxRuntimeError, get_backend
from ricci_xla.devices._jaxlib import hlo, load_mlir, runtime
from ricci_xla.devices._jaxlib_options import explicit_transfer
from ricci_xla.meshes._sharding import single_device_sharding

__all__ = ["effects_barrier", "runtime_tokens"]

# The type of a token's buffer in jaxlib.
token_buffer = ShapedArray((0,), np.dtype(bool))

# The number of executables with effects that may run at a time; the next waits for the oldest.
_MAX_PENDING = 64


type _Key = tuple[Effect, Device]


class _Chain:
    """The executables with effects that one thread, or one callback, has started in sequence.

    Attributes:
      ordered: for each ordered effect and device, the token of the last run that had it.
      pending: the tokens of the runs that may not have ended.
    """

    __slots__ = ("ordered", "pending")

    def __init__(self):
        self.ordered: dict[_Key, ArrayImpl] = {}
        self.pending: deque[Any] = deque()


_outermost = _Chain()


class RuntimeTokens(threading.local):
    """The tokens that order executables with effects, and that signal their end.

    An executable with ordered effects on one device takes the token that the one before it
    returned. On several devices it waits until that one has ended, since a token lives on one
    device.

    The executables that a callback starts form a separate chain. They must not wait for the
    executable that called the callback, which in turn waits for the callback.
    """

    def __init__(self):
        self.chain: _Chain = _outermost

    @contextmanager
    def inside_callback(self) -> Iterator[None]:
        """Put the executables that are started in a ``with`` block on a separate chain."""
        outer, self.chain = self.chain, _Chain()
        try:
            yield
        finally:
            # ``effects_barrier`` waits for the executables of callbacks as well.
            _outermost.pending.extend(self.chain.pending)
            self.chain = outer

    def run(self, executable: Any, arrays: list[ArrayImpl]) -> list[Any]:
        """Start an executable that has effects, and return its results.

        Args:
          executable: the ``Executable``.
          arrays: its constants and arguments.
        """
        loaded, effects = executable.loaded, executable.ordered_effects
        devices = loaded.local_devices()
        keys = [(effect, devices[0]) for effect in effects]
        if len(devices) > 1:
            return self._run_on_several(executable, arrays, keys)
        tokens = [self._token(key) for key in keys]
        started = loaded.execute_sharded([*tokens, *arrays], with_tokens=True)
        self._follow(started.consume_token())
        sharding = single_device_sharding(devices[0])
        handler = runtime.array_result_handler(token_buffer, sharding, False)
        results = started.consume_with_handlers([*[handler] * len(keys), *executable.handlers])
        self.chain.ordered.update(zip(keys, results[: len(keys)], strict=True))
        return results[len(keys) :]

    def _run_on_several(
        self, executable: Any, arrays: list[ArrayImpl], keys: list[_Key]
    ) -> list[Any]:
        if keys:
            self.wait()
        started = executable.loaded.execute_sharded(arrays, with_tokens=True)
        self._follow(started.consume_token())
        return started.consume_with_handlers(executable.handlers)

    def _token(self, key: _Key) -> ArrayImpl:
        """Return the token of the last run with an effect on a device, or a new one."""
        token = self.chain.ordered.get(key)
        if token is not None and token.is_deleted():
            token = None  # by a program that deletes all arrays of a client
        # A token of a failed run is an error, which would make this run fail, too.
        if token is not None and token.is_ready():
            try:
                token.block_until_ready()
            except JaxRuntimeError:
                token = None  # `wait` reports the failed run; this one can still start
        if token is None:
            sharding = single_device_sharding(key[1])
            token = array_from_host(np.zeros((0,), bool), token_buffer, sharding)
        return token

    def _follow(self, token: object) -> None:
        self.chain.pending.append(token)
        if len(self.chain.pending) > _MAX_PENDING:
            self.chain.pending.popleft().block_until_ready()

    def wait(self) -> None:
        """Wait for all runs, then raise the error of the first that failed."""
        failure: Exception | None = None
        while self.chain.pending:
            try:
                self.chain.pending.popleft().block_until_ready()
            except JaxRuntimeError as error:
                # All runs are waited for, also after a failure, so that none is still running
                # afterwards.
                failure = failure or error
        if failure is not None:
            self.chain.ordered.clear()
            raise failure

    def block_until_ready(self) -> None:
        """Wait for all runs, under the name of JAX's method."""
        self.wait()

    def clear(self) -> None:
        """Forget the tokens: later runs do not wait for those that were started so far."""
        self.chain.ordered.clear()
        self.chain.pending.clear()


runtime_tokens: RuntimeTokens = RuntimeTokens()
atexit.register(runtime_tokens.wait)


def effects_barrier() -> None:
    """Wait until the side effects of everything started so far have taken place.

    Raises:
      RuntimeError: if a callback of one of them failed.

    Example:
      >>> import ricci
      >>> ricci.effects_barrier()
    """
    runtime_tokens.wait()


def parse_module(text: str | bytes) -> Any:
    """Parse a module into an MLIR object; jaxlib compiles no text together with callbacks."""
    ir, context = load_mlir()
    with context:
        return ir.Module.parse(text)


def host_function(callback: HostCallback) -> Callable[..., tuple[Any, ...]]:
    """Wrap a callback for jaxlib, which passes and expects NumPy arrays, with ``None`` for tokens.

    The user's function is called with arrays on the first CPU device, and may compute with them.
    """
    fun, in_avals, out_avals, _ = callback
    num_out_tokens = sum(isinstance(aval, AbstractToken) for aval in out_avals)
    num_in_tokens = sum(isinstance(aval, AbstractToken) for aval in in_avals)
    avals: tuple[Any, ...] = in_avals[num_in_tokens:]

    @explicit_transfer("explicit_device_put")
    def call(*values: object) -> tuple[Any, ...]:
        # jaxlib may make this call on a thread that is tracing; the function must not join in.
        with ensure_compile_time_eval(), runtime_tokens.inside_callback():
            sharding = single_device_sharding(get_backend("cpu").local_devices()[0])
            # In a partitioned module the values are shards: their shapes differ from the types'.
            arrays = [
                array_from_host(value, aval.resized(value.shape), sharding, committed=False)
                for value, aval in zip(map(np.asarray, values[num_in_tokens:]), avals, strict=True)
            ]
            return (*(None,) * num_out_tokens, *map(np.asarray, fun(*arrays)))

    return call


def without_callers(message: str) -> str:
    """Remove from a callback's error message the frames that led to the callback.

    jaxlib writes all frames into it, from the script's first to the callback's last.
    """
    start, heading, traceback = message.partition(_TRACEBACK)
    lines = traceback.splitlines()
    last = max((i for i, line in enumerate(lines) if _FILE in line), default=None)
    if not heading or last is None:
        return message
    frames = [x for x in lines[last + 1 :] if not (x.startswith("  File ") and "/ricci_" in x)]
    head = start + heading if any(x.startswith("  File ") for x in frames) else start.rstrip()
    return "\n".join([head, *frames])


_TRACEBACK = "Traceback (most recent call last):"
_FILE = f'File "{__file__}"'


def host_functions(callbacks: Sequence[HostCallback], client: Client) -> list[Any]:
    """Wrap all callbacks of a module for jaxlib, those by send and receive for a client."""
    return [
        host_function(callback)
        if callback.channels is None
        else client.make_python_callback_from_host_send_and_recv(
            host_function(callback),
            list(map(_runtime_shape, callback.in_avals)),
            list(map(_runtime_shape, callback.out_avals)),
            *map(list, callback.channels),
            serializer=_refuse_serialization,
        )
        for callback in callbacks
    ]


def _refuse_serialization(*args: object) -> bytes:
    """Raise the error of a runtime in another process, which would need the function's bytes."""
    raise NotImplementedError("Python callbacks run in the process that compiled them only.")


def _runtime_shape(aval: AbstractValue) -> object:
    """Return jaxlib's description of an array in row-major order."""
    assert isinstance(aval, ShapedArray)  # tokens have no channels
    layout = list(reversed(range(aval.ndim)))
    return hlo.Shape.array_shape(aval.dtype, aval.shape, layout)
