"""Changing the functions that a program differentiates, to see what other ones would cost."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# A function of arrays that returns a sequence of them.
type Flat = Callable[..., Sequence[Any]]


class _Rewriting(threading.local):
    """What this thread makes of a function before ``grad`` or ``vjp`` runs it."""

    rewrite: Callable[[Flat], Flat] | None = None


rewriting: _Rewriting = _Rewriting()


@contextmanager
def rewrite_differentiated(rewrite: Callable[[Flat], Flat]) -> Iterator[None]:
    """Differentiate ``rewrite(f)`` in place of each ``f``, on this thread in a ``with`` block.

    Programs that are kept already do not change, so that functions are to be traced anew.

    Args:
      rewrite: from a function of flat arrays to one with the same results.

    Example:
      >>> import ricci
      >>> from ricci_autodiff import rewrite_differentiated
      >>> calls = []
      >>> with rewrite_differentiated(lambda f: calls.append(f) or f):
      ...     _ = ricci.grad(lambda x: x)(1.0)
      >>> len(calls)
      1
    """
    previous, rewriting.rewrite = rewriting.rewrite, rewrite
    try:
        yield
    finally:
        rewriting.rewrite = previous
