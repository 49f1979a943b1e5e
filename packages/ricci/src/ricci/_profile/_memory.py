"""The memory of the process, sampled by a thread."""

import os
import threading
from pathlib import Path
from time import perf_counter_ns

_EVERY = 0.05
_STATUS = Path("/proc/self/statm")


class MemoryRecorder:
    """Samples memory.

    Attributes:
      samples: times, and the bytes of the process in memory then.
    """

    def __init__(self):
        self.samples: list[tuple[int, int]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ricci.profile", daemon=True)

    def start(self) -> None:
        """Begin to sample, if the system shows a process its memory."""
        if _STATUS.exists():
            self._page = os.sysconf("SC_PAGE_SIZE")
            self._sample()
            self._thread.start()

    def stop(self) -> None:
        """Stop sampling."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._sample()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY):
            self._sample()

    def _sample(self) -> None:
        size = int(_STATUS.read_text().split()[1]) * self._page
        self.samples.append((perf_counter_ns(), size))
