"""Substitute the functions that grad and vjp differentiate, to see what others would cost."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# A function of arrays that returns a sequence of them.
type Flat = Callable[..., Sequence[Any]]


class _Substitution(threading.local):
    """The function that this thread applies to each function that is differentiated."""

    rewrite: Callable[[Flat], Flat] | None = None


substitution: _Substitution = _Substitution()


def substituted(fun: Flat) -> Flat:
    """Return the function to differentiate in place of another: that one itself by default."""
    return fun if substitution.rewrite is None else substitution.rewrite(fun)


@contextmanager
def rewrite_differentiated(rewrite: Callable[[Flat], Flat]) -> Iterator[None]:
    """Differentiate ``rewrite(f)`` in place of each ``f``, on this thread in a ``with`` block.

    Cached jaxprs and executables do not change, so functions must be traced again.

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
    previous, substitution.rewrite = substitution.rewrite, rewrite
    try:
        yield
    finally:
        substitution.rewrite = previous
