"""Calling compiled programs from C++, without Python on the way once a call's types are known."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import (
    CacheSize,
    ShapedArray,
    Token,
    Tracer,
    api_boundary,
    float0,
    get_aval,
    register_cache,
)
from ricci_pytree import default_registry
from ricci_xla.arrays._array import ArrayImpl, check_not_deleted
from ricci_xla.arrays._placement import array_from_host, move_array
from ricci_xla.devices._jaxlib import runtime

from ._compile import Executable

__all__ = [
    "default_registry",
    "fast_path",
    "FastPath",
    "make_fast_callable",
    "PjitFunctionCache",
    "shard_arg",
    "shard_args",
]

runtime.set_tracer_class(Tracer)

PjitFunctionCache = runtime.PjitFunctionCache

# Shared by all functions, so that two wrappers of one function with the same key share entries.
_shared_cache = PjitFunctionCache(capacity=8192)


class FastPath(NamedTuple):
    """What jaxlib's dispatcher keeps for one combination of argument types; it reads the names."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[Any]


def fast_path(executable: Executable, out_tree: Any) -> FastPath:
    """What a call's Python side returns for C++ to run a program itself next time.

    Args:
      executable: the program, whose results are all arrays.
      out_tree: the ``PyTreeDef`` of the results.
    """
    # The dispatcher puts the constants before the arguments, and counts them among these.
    consts = executable.consts
    kept = [*(True for _ in consts), *executable.kept]
    shardings = [x.sharding for x in consts]
    shardings += [
        s for s, keep in zip(executable.in_shardings, executable.kept, strict=True) if keep
    ]
    return FastPath(
        executable.loaded,
        out_tree,
        shardings,
        executable.out_shardings,
        executable.out_avals,
        [executable.committed] * len(executable.out_avals),
        kept,
        [None] * len(shardings),
        consts,
    )


def shard_arg(x: Any, sharding: Any) -> Any:
    """An argument as an array where a program needs it.

    Args:
      x: an array, a NumPy array or a Python scalar.
      sharding: where it is needed.

    Raises:
      RuntimeError: if ``x`` is an array that has been deleted.
      TypeError: if ``x`` is none of these.
    """
    if isinstance(x, ArrayImpl):
        if x._sharding is sharding:
            if x.is_deleted():
                check_not_deleted(x)
            return x
        return move_array(x, sharding)
    if isinstance(x, Token):
        return x.buffer
    if hasattr(x, "physical"):  # of a dtype that jaxlib does not know, such as random keys
        return shard_arg(x.physical, sharding)
    if not isinstance(x, np.ndarray) and hasattr(x, "__jax_array__"):
        return shard_arg(x.__jax_array__(), sharding)
    aval: Any = get_aval(x)
    if aval.dtype == float0:  # Booleans stand in its place
        x, aval = np.zeros(aval.shape, bool), ShapedArray(aval.shape, np.dtype(bool))
    return array_from_host(np.asarray(x), aval, sharding)


def shard_args(shardings: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Every argument as an array where a program needs it."""
    return [shard_arg(x, sharding) for x, sharding in zip(args, shardings, strict=True)]


def _shard_arg_fallback(x: Any, sharding: Any, layout: Any) -> Any:
    # Called from C++ for each argument that it cannot place itself: arrays on several devices,
    # and arrays that are elsewhere but not bound to where they are.
    return shard_arg(x, sharding)


def make_fast_callable(
    name: str,
    python_miss: Callable[..., tuple[Any, FastPath | None]],
    *,
    fun: Callable | None = None,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    cache_key: Hashable = (),
    registry: Any = default_registry,
    cache: Any = None,
) -> Any:
    """A callable that runs a known program from C++ and asks Python about unknown calls.

    A call is known by its arguments' pytrees, types, weak types and places, by its static
    arguments, and by the options that affect tracing. Calls with tracers among the arguments
    always go to Python, and so do calls with arguments that have been deleted.

    Args:
      name: what the function is called in profiles.
      python_miss: called with the arguments of an unknown call; returns the result, and
        ``fast_path(...)`` for such calls or ``None`` if they must always come to Python.
      fun: the function that calls are kept for: wrappers of one function with equal
        ``cache_key`` share their programs. Each wrapper keeps its own without it.
      static_argnums: numbers of the arguments that are compared by value; they must be hashable.
      static_argnames: the same for keyword arguments.
      cache_key: what else calls are kept by, such as ``donate_argnums``; hashable.
      registry: the pytree registry of jaxlib.
      cache: a ``PjitFunctionCache``; a shared one by default.

    Returns:
      jaxlib's ``PjitFunction``, with ``_cache_size()`` and ``_clear_cache()``.
    """

    @api_boundary
    def miss(*args, **kwargs):
        result, data = python_miss(*args, **kwargs)
        return result, data, False

    def plain(*args, **kwargs):  # what C++ calls under disable_jit
        return python_miss(*args, **kwargs)[0]

    return runtime.pjit(
        name,
        plain if fun is None else fun,
        miss,
        tuple(static_argnums),
        tuple(static_argnames),
        (tuple(static_argnums), tuple(static_argnames), cache_key),
        registry,
        _shard_arg_fallback,
        _shared_cache if cache is None else cache,
    )


class _DispatchCache:
    """What C++ knows of calls, as one of the caches that are shown and cleared together."""

    name = "calls known to C++"

    @property
    def size(self) -> CacheSize:
        return CacheSize(_shared_cache.size(), _shared_cache.capacity())

    def clear(self) -> None:
        """Forget what every fast callable knows; programs in use are freed when they are done."""
        PjitFunctionCache.clear_all()  # what living callables know
        _shared_cache.clear()  # and what was known by those that are gone


_dispatch_cache = _DispatchCache()
register_cache(_dispatch_cache)
