"""Checks, decorators and caches of functions, and the user's line, in JAX's private forms."""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import NamedTuple

from ricci_ir import Cache, Source, trace_context


def check_callable(fun: object) -> None:
    """Raise ``TypeError`` for an object that transformations do not take as a function."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}")
    if not callable(fun):
        raise TypeError(f"expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"expected a function, got a generator function: {fun}")


def _name(fun: Callable[..., object]) -> str:
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", "<unnamed function>")


def wraps[F: Callable[..., object]](
    wrapped: Callable[..., object],
    namestr: str | None = None,
    docstr: str | None = None,
    **kwargs: object,
) -> Callable[[F], F]:
    """Return a decorator that gives a function the name and the docstring of another.

    Args:
      wrapped: the other function; of a ``partial``, the function inside.
      namestr: a template of the name, with ``{fun}`` for the other's name.
      docstr: a template of the docstring, with ``{fun}``, ``{doc}`` and the names of ``kwargs``.
      **kwargs: values for the template of the docstring.
    """

    def decorate(fun: F) -> F:
        name, doc = _name(wrapped), getattr(wrapped, "__doc__", "") or ""
        functools.update_wrapper(fun, wrapped)
        fun.__name__ = name if namestr is None else namestr.format(fun=name)
        fun.__qualname__ = getattr(wrapped, "__qualname__", fun.__name__)
        fun.__doc__ = doc if docstr is None else docstr.format(fun=name, doc=doc, **kwargs)
        return fun

    return decorate


def cache[**P, R](
    max_size: int | None = 4096,
    trace_context_in_key: bool | Callable[[], object] = True,
    num_shards: int = 64,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that caches the results of a function of hashable arguments.

    Args:
      max_size: the number of results in the cache.
      trace_context_in_key: whether results are computed anew under other settings, named axes or
        meshes; or a function that returns what they depend on.
      num_shards: ignored.
    """
    if callable(trace_context_in_key):
        context = trace_context_in_key
    else:
        context = trace_context if trace_context_in_key else lambda: None

    def decorate(fun: Callable[P, R]) -> Callable[P, R]:
        # A result may be None, which a `Cache` does not hold: hence the tuples.
        results = Cache[object, tuple[R]](_name(fun), sys.maxsize if max_size is None else max_size)

        @functools.wraps(fun)
        def cached(*args: P.args, **kwargs: P.kwargs) -> R:
            key = (context(), args, tuple(kwargs.items()))
            return results.make(key, lambda: (fun(*args, **kwargs),))[0]

        cached.cache_clear = results.clear  # pyright: ignore[reportAttributeAccessIssue]
        return cached

    return decorate


class Frame(NamedTuple):
    """A place in the user's code, and the function that it is in."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


def user_frame(traceback: Source | None) -> Frame | None:
    """Return the place of a traceback, or of an equation's ``source_info``, if it is known."""
    if traceback is None or traceback.code is None:
        return None
    start, end, column, end_column = traceback.position
    return Frame(traceback.file, traceback.function, start, column, end or start, end_column)
