"""Waiting for values of other processes in the coordinator's key-value store."""

from collections.abc import Callable

from ricci_xla import JaxRuntimeError

# How long one request waits, in milliseconds. In between, the watch can interrupt this thread.
_POLL_MS = 500


def wait_for[T](get: Callable[[str, int], T], key: str) -> T:
    """Wait for the value of a key, without a time limit: that is the watch's.

    Args:
      get: the client's blocking request, for text or for bytes.
      key: the key.
    """
    while True:
        try:
            return get(key, _POLL_MS)
        except JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
