"""The progress of a tool as a line on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Show a line on a terminal during a ``with`` block; nothing where stderr is not a terminal."""
    terminal = sys.stderr if sys.stderr.isatty() else None
    if terminal is not None:
        print(f"\r\x1b[K{text}", end="", file=terminal, flush=True)
    try:
        yield
    finally:
        if terminal is not None:
            print("\r\x1b[K", end="", file=terminal, flush=True)
