"""``linear_util.cache``: cached results of functions of a ``WrappedFun``."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ._by_function import TracedFunctions
from ._wrapped_function import Store, WrappedFun

__all__ = [
    "cache_by_function",
]

_LIMIT = 256


def cache_by_function(call: Callable[..., Any], *, explain: object = None) -> Callable[..., Any]:
    """Cache the results of a function of a ``WrappedFun`` and further, hashable, arguments.

    A cached result is returned for an equal function: the same Python function, with the same
    keyword arguments and transformations around it. The side results of these transformations,
    such as an output tree, are then those of the first call. Entries live as long as the function.

    Args:
      call: ``call(fun, *args)``.
      explain: accepted for compatibility; not used.

    Returns:
      The function, with the methods ``cache_clear()`` and ``evict_function(f)``.

    Example:
      >>> from ricci.extend.linear_util import cache, wrap_init
      >>> calls = []
      >>> @cache
      ... def traced(fun, n):
      ...     calls.append(n)
      ...     return fun.call_wrapped(n)
      >>> def double(x):
      ...     return 2 * x
      >>> traced(wrap_init(double), 2), traced(wrap_init(double), 2), calls
      (4, 4, [2])
    """
    tables = [_new_table()]

    @wraps(call)
    def cached(fun: WrappedFun, *args: object) -> Any:
        key = (fun.transforms, tuple(fun.params.items()), args)
        entry = tables[0].recall(fun.f, key)
        if entry is not None:
            result, stores = entry
            fun.populate_stores(stores)
            return result
        result = call(fun, *args)
        tables[0].put(fun.f, key, (result, fun.stores))
        return result

    def cache_clear() -> None:
        tables[0] = _new_table()

    cached.cache_clear = cache_clear  # pyright: ignore[reportAttributeAccessIssue]
    cached.evict_function = lambda f: tables[0].drop(f)  # pyright: ignore[reportAttributeAccessIssue]
    return cached


# For each key a result, and the cells with the side results of the call that gave it.
def _new_table() -> TracedFunctions[Any, tuple[Any, tuple[Store | None, ...]]]:
    return TracedFunctions("results by wrapped function", _LIMIT)
