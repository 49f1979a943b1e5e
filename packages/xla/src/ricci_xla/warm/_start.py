"""``warm_start``: serves the first calls of functions from executables of an earlier run."""

import atexit
import os
from collections.abc import Iterable
from typing import Literal

from ricci_ir import warn_user
from ricci_xla.tracing._warm_start_hook import warm_start_hooks

from ._bundle import Bundle, WarmCall
from ._calls import Calls

__all__ = ["warm_start", "WarmCall", "WarmStart"]


class WarmStart:
    """A bundle in use, returned by ``warm_start``. As a context manager it ends with the block.

    Attributes:
      path: the bundle's file.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Literal["auto", "read"], ignore: Iterable[str]
    ):
        self.path: str = os.fspath(path)
        self._bundle = Bundle(path, ignore)
        self._saves = mode == "auto"
        self._ended = False
        warm_start_hooks.calls = self._calls = Calls(self._bundle)
        warm_start_hooks.compile = self._bundle.programs
        atexit.register(self.end)

    @property
    def calls(self) -> tuple[WarmCall, ...]:
        """The outcomes of the first calls, in order."""
        return tuple(self._bundle.log)

    def save(self) -> bool:
        """Write new calls and executables to the file; return whether there were any.

        Raises:
          OSError: if the file cannot be written.
        """
        return self._bundle.save()

    def end(self) -> None:
        """Stop using the bundle, and save it unless the mode is ``"read"``.

        It is called when the process ends.
        """
        if self._ended:
            return
        self._ended = True
        atexit.unregister(self.end)
        if warm_start_hooks.calls is self._calls:
            warm_start_hooks.calls = warm_start_hooks.compile = None
        self._bundle.prefetch.end()
        if self._saves:
            try:
                self.save()
            except OSError as error:
                warn_user(f"{self.path}: the bundle cannot be written: {error}.")

    def __enter__(self) -> "WarmStart":
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def __str__(self) -> str:
        """A table of the calls with their outcomes and reasons."""
        calls = self.calls
        lines = [
            f"{call.outcome:<9}{call.seconds:7.3f} s  {call.function}"
            + (f" (saved {call.saved:.3f} s)" if call.saved else "")
            + (f": {call.reason}" if call.reason else "")
            for call in calls
        ]
        if self._bundle.changed is not None:
            lines.insert(0, self._bundle.changed)
        warm = sum(call.outcome == "warm" for call in calls)
        return "\n".join([*lines, f"{warm} of {len(calls)} first calls came from {self.path}"])


def warm_start(
    path: str | os.PathLike[str],
    *,
    mode: Literal["auto", "read"] = "auto",
    ignore: Iterable[str] = (),
) -> WarmStart:
    """Serve the first calls of jitted functions from a bundle: no tracing and no compiling.

    The first run traces and compiles as usual, and writes the bundle when it ends. A later process
    on a machine of the same kind loads from it the executables of calls that hit. A call hits if
    nothing has changed that its executable depends on: the function and all Python code that ran
    while it was traced, the values that these close over and the global values that they read, the
    types and shardings of the arguments, static arguments, options, and the versions of Python,
    NumPy, jaxlib and Ricci. A call that misses is traced and compiled, and added.

    A function that reads something that cannot be observed while it is traced, such as a file, the
    clock, or random numbers of NumPy, is not cached, and the call's reason names it. Pass such
    values as static arguments.

    Args:
      path: the bundle's file. It need not exist.
      mode: ``"auto"`` adds new calls to the file when the process ends; ``"read"`` does not write
        the file.
      ignore: global values that do not affect results although traced code reads them, by module
        and name: ``"library.module.counter"``, as the reasons of calls name them.

    Returns:
      A ``WarmStart``. Its ``calls``, and its text, list hits and misses with reasons.

    Raises:
      ValueError: if ``mode`` is neither.

    Example:
      >>> import tempfile
      >>> import os
      >>> import ricci
      >>> file = os.path.join(tempfile.mkdtemp(), "bundle")
      >>> with ricci.warm_start(file) as start:
      ...     ricci.jit(lambda x: x)(1.0)
      Array(1., dtype=float32, weak_type=True)
      >>> start.calls[0].outcome
      'kept'
    """
    if mode not in ("auto", "read"):
        raise ValueError(f'warm_start: mode must be "auto" or "read", got {mode!r}')
    return WarmStart(path, mode, ignore)
