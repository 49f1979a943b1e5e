"""The thread that watches over a process of a cluster, and ends it when another one has failed.

Every process has one such thread. Once an interval it sends a heartbeat to rank 0, over the
connection of the rendezvous. Rank 0's thread reads them all, detects failures, and
sends its own heartbeat and the verdict to all. A connection that ends reports at once that a
process has died, and a silent rank 0 is detected by all others. The thread wakes twice a
second, and costs a step nothing.

jaxlib's own service would end the process without naming the other process that failed, and waits
in its collectives end by themselves only if the other process is dead. So the thread interrupts the
main thread, which raises an error with the reason; after a short while it ends the process.
"""

import ctypes
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any, final

from ricci_xla import JaxRuntimeError

from ._heartbeat import Heartbeat, LastHeartbeat, Limits, Observer, detect_failures, located
from ._rendezvous import Connection, Member

__all__ = ["ProcessFailure"]

# The time in which the main thread may end (``finally`` blocks, exit handlers), in seconds.
GRACE = 5.0
_BARRIER_GRACE = 1.5
_INTERVAL = 0.5
_MANY = 100  # processes whose heartbeats rank 0 reads in an interval, which takes it some 4 ms
_CAUSE_WAIT = 3.0  # seconds that an error of the runtime waits for the failure behind it
_LINGER = 2.0  # seconds that rank 0 outlives the others
_ABORT_WAIT = 3.0  # seconds that the runtime's abort is delayed for the watch to report why


@final
class Watch:
    """Watches over this process and, as rank 0, over all.

    Args:
      rank: the number of this process.
      members: all processes by rank; other ranks than 0 need only rank 0.
      connections: as rank 0 a connection to each other rank, else one to rank 0.
      limits: when a process counts as failed.
      count: the number of all processes.
    """

    def __init__(
        self,
        rank: int,
        members: Mapping[int, Member],
        connections: Mapping[int, Connection],
        limits: Limits,
        count: int,
    ):
        self.rank = rank
        self.members = dict(members)
        self.connections = dict(connections)
        self.limits = limits
        self.observer = Observer(rank)
        self.verdict: str | None = None
        self.all_ended = threading.Event()
        self._interval = interval(limits, count)
        self._heartbeats = {r: Heartbeat(r, "the start") for r in self.members if r != rank}
        self._times = dict.fromkeys(self._heartbeats, time.monotonic())
        self._gone: set[int] = set()
        self._stop = False
        # A pipe, since the thread waits in ``select`` for sockets, which an event cannot interrupt.
        self._wake_read, self._wake_write = os.pipe()
        self.main_is_ending = False  # whether an exception has ended the main thread's work
        self._decided = threading.Event()
        self._told = threading.Event()  # whether the others know that this process has failed
        self._thread = threading.Thread(target=self._run, name="ricci-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch; all processes have ended well."""
        self._stop = True
        self.wake()
        self._thread.join(timeout=GRACE)
        for connection in self.connections.values():
            connection.close()

    def wake(self) -> None:
        """Make the thread send a heartbeat now, not only after the interval."""
        os.write(self._wake_write, b".")

    def failed(self, message: str, line: str) -> None:
        """Tell the others that this process is about to end with an exception."""
        self.observer.failed, self.observer.failed_at = message, line
        self._told.clear()
        self.wake()
        self._told.wait(1.0)

    def ended(self) -> None:
        """Tell the others that this process has come to its end."""
        self.observer.ended = True
        self.wake()

    def not_ended(self) -> str:
        """List the lines of the processes that have not ended, by their last heartbeats."""
        return "\n".join(
            f"{self.members[rank]} is at {heartbeat.line}."
            for rank, heartbeat in self._heartbeats.items()
            if not heartbeat.ended
        )

    def wait_for_verdict(self, seconds: float) -> str | None:
        """Wait for the verdict at most some seconds; return it."""
        self._decided.wait(seconds)
        return self.verdict

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            for rank, connection in self.connections.items():
                selector.register(connection.sock, selectors.EVENT_READ, rank)
            due = time.monotonic()
            while not self._stop:
                urgent = self._take_in(selector, max(0.0, due - time.monotonic()))
                if not self._stop and (urgent or time.monotonic() >= due):
                    due = time.monotonic() + self._interval
                    # This thread may have been starved, while heartbeats were waiting.
                    self._take_in(selector, 0.0)
                    self._send_and_detect()
                if self.verdict is not None:
                    self._end_process(self.verdict)
                    return

    def _take_in(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Process messages, waiting at most some seconds.

        Returns whether one cannot wait: a request of this process, or an end.
        """
        urgent = False
        for key, _ in selector.select(seconds):
            if key.fd == self._wake_read:
                os.read(self._wake_read, 4096)
                urgent = True
            elif not self._listen(key.data):
                selector.unregister(key.fileobj)
                urgent = True
        return urgent

    def _listen(self, rank: int) -> bool:
        """Process the messages of a rank; return false if it is gone."""
        try:
            for message in self.connections[rank].receive():
                self._hear(rank, message)
        except TimeoutError:
            return True
        except (EOFError, OSError):
            heartbeat = self._heartbeats[rank]
            # A connection also ends when all processes have come to their end.
            if not (heartbeat.ended and self.all_ended.is_set()):
                self._gone.add(rank)
            return False
        return True

    def _hear(self, rank: int, message: Mapping[str, Any]) -> None:
        if "heartbeat" in message:
            self._heartbeats[rank] = Heartbeat(*message["heartbeat"])
            self._times[rank] = time.monotonic()
        if message.get("all_ended"):
            self.all_ended.set()
        if message.get("verdict"):
            self._decide(message["verdict"])

    def _send_and_detect(self) -> None:
        heartbeat = self.observer.heartbeat()
        now = time.monotonic()
        last = {
            rank: LastHeartbeat(
                self.members[rank], beat, now - self._times[rank], rank in self._gone
            )
            for rank, beat in self._heartbeats.items()
        }
        message: dict[str, Any] = {"heartbeat": heartbeat}
        if self.rank == 0:
            last[0] = LastHeartbeat(self.members[0], heartbeat)
            self._decide(detect_failures(last, self.limits))
            if all(h.heartbeat.ended for h in last.values()):
                self.all_ended.set()
            message |= {"verdict": self.verdict, "all_ended": self.all_ended.is_set()}
        elif not self.verdict:
            # Rank 0 detects failures of all; the others need only detect the end of rank 0.
            self._decide(detect_failures(last, self.limits._replace(stall=None)))
        for rank, connection in self.connections.items():
            if rank not in self._gone:
                self._send(rank, connection, message)
        if heartbeat.failed:
            self._told.set()

    def _end_process(self, reason: str) -> None:
        """End this process, since another one has failed.

        The main thread is interrupted: in Python, and in most waits, it raises `ProcessFailure`.
        Where it never comes back from C++, or the exception is caught, the process ends without it.
        """
        main = threading.main_thread()
        if main.ident is not None and main.is_alive() and not self.main_is_ending:
            signal.pthread_kill(main.ident, signal.SIGINT)
        # A wait at a barrier is not interrupted, and nothing of the user's runs meanwhile.
        main.join(_BARRIER_GRACE if self.observer.in_wait else GRACE)
        if main.is_alive():
            sys.stderr.write(f"\nricci: rank {self.rank} cannot go on, and ends.\n{reason}\n")
        self.let_others_end()
        sys.stderr.flush()
        os._exit(1)

    def let_others_end(self) -> None:
        """As rank 0: give the others a moment to end before the coordinator is gone.

        jaxlib's client aborts a process as soon as it has lost the coordinator.
        """
        if self.rank != 0:
            return
        until = time.monotonic() + _LINGER
        for connection in self.connections.values():
            while (left := until - time.monotonic()) > 0:
                connection.sock.settimeout(left)
                try:
                    connection.receive()
                except (EOFError, OSError):
                    break

    def _send(self, rank: int, connection: Connection, message: Mapping[str, Any]) -> None:
        try:
            connection.send(message)
        except OSError:
            if not self.all_ended.is_set():
                self._gone.add(rank)

    def _decide(self, verdict: str | None) -> None:
        if verdict is not None and self.verdict is None:
            self.verdict = verdict
            self._decided.set()


def interval(limits: Limits, count: int) -> float:
    """Return the seconds between heartbeats: enough for rank 0 to read those of all.

    Args:
      limits: the time limits, each of which must hold several intervals.
      count: the number of processes.
    """
    shortest = min(limits.heartbeat, limits.stall or limits.heartbeat)
    # Rank 0 reads all heartbeats, so the interval grows with the number of processes; a time limit
    # still spans eight intervals.
    return min(_INTERVAL * max(1.0, count / _MANY), shortest / 8)


class ProcessFailure(RuntimeError):
    """Another process of the computation has failed, so that this one cannot go on.

    It is raised in the main thread, wherever that is. The process ends in any case after a short
    while, also if this is caught.
    """


@final
class AbortGuard:
    """Delays an abort by the runtime until the watch has reported which process failed.

    When rank 0 has died, jaxlib's client ends the process by ``abort()`` from its own thread.
    The handler of SIGABRT waits until the watch has reported the reason and ended the process.

    Args:
      watch: the watch.
    """

    def __init__(self, watch: Watch):
        self.watch = watch
        self._libc = ctypes.CDLL(None)
        # A handler of Python's ``signal`` runs in the main thread only, which may be inside of C++.
        # This one runs in the thread that aborts. The attribute keeps ctypes' function alive.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._aborted)
        self._libc.signal.restype = ctypes.c_void_p
        self._libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        self._previous: int | None = None

    def install(self) -> None:
        """Take over SIGABRT."""
        address = ctypes.cast(self._handler, ctypes.c_void_p)
        self._previous = self._libc.signal(signal.SIGABRT, address)

    def remove(self) -> None:
        """Restore the previous handler of SIGABRT."""
        self._libc.signal(signal.SIGABRT, self._previous)

    def _aborted(self, number: int) -> None:
        if self.watch.wait_for_verdict(_ABORT_WAIT) is not None:
            time.sleep(2 * GRACE)  # the watch ends the process


@final
class MainThread:
    """Handlers of the main thread for failures of this process or another.

    An exception that ends this process is reported to the others. When another one has failed, the
    watching thread interrupts this one, and `ProcessFailure` is raised wherever it is; waiting
    for a result is interrupted, too.

    Args:
      watch: the watch.
    """

    def __init__(self, watch: Watch):
        self.watch = watch
        self._previous_hook: Callable[..., Any] | None = None
        self._previous_handler: Any = None

    def install(self) -> None:
        """Take over uncaught exceptions, and the signal that the watch interrupts with."""
        self._previous_hook, sys.excepthook = sys.excepthook, self._uncaught
        if threading.current_thread() is threading.main_thread():
            self._previous_handler = signal.signal(signal.SIGINT, self._interrupted)

    def remove(self) -> None:
        """Restore both handlers."""
        sys.excepthook = self._previous_hook or sys.__excepthook__
        if threading.current_thread() is threading.main_thread() and self._previous_handler:
            signal.signal(signal.SIGINT, self._previous_handler)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self.watch.verdict is not None:
            if self._is_in_hook(frame):
                return
            message = f"rank {self.watch.rank} cannot go on.\n{self.watch.verdict}"
            raise ProcessFailure(message) from None
        if callable(self._previous_handler):
            self._previous_handler(number, frame)

    def _is_in_hook(self, frame: FrameType | None) -> bool:
        """Whether an exception has ended the thread's work already, and is being reported."""
        while frame is not None:
            if frame.f_code is MainThread._uncaught.__code__:
                return True
            frame = frame.f_back
        return False

    def _uncaught(
        self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        watch = self.watch
        watch.main_is_ending = True
        if self._previous_hook is not None:
            self._previous_hook(kind, error, traceback)
        # A collective fails when the process at its other end dies: the watch detects which.
        verdict = watch.wait_for_verdict(_CAUSE_WAIT if issubclass(kind, JaxRuntimeError) else 0.0)
        if verdict is None:
            while traceback is not None and traceback.tb_next is not None:
                traceback = traceback.tb_next
            line = "an unknown line"
            if traceback is not None:
                line = located(traceback.tb_frame, traceback.tb_lineno)
            watch.failed(f"{kind.__name__}: {str(error)[:400]}", line)
        elif kind is not ProcessFailure:
            sys.stderr.write(f"ricci: {verdict}\n")
