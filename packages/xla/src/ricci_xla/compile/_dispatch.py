"""The C++ dispatcher: runs the cached executables of calls without entering Python."""

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, dispatch_registry, tree_unflatten
from ricci_xla.arrays import ArrayImpl, array_from_host, check_not_deleted, move_array
from ricci_xla.devices._client import note_fork
from ricci_xla.devices._jaxlib import runtime
from ricci_xla.devices._runtime_types import LoadedExecutable, PjitFunctionCache
from ricci_xla.meshes._sharding_types import Sharding

from ._executable import Executable

__all__ = ["fast_path", "FastPath", "make_fast_callable", "shard_arg"]
__all__ += ["shard_args", "tree_of_arrays"]

runtime.set_tracer_class(ir.Tracer)

# All functions share one cache, so that two wrappers of one function with the same key share its
# entries.
_shared_cache = PjitFunctionCache(capacity=8192)


class FastPath(ir.TupleRecord):
    """An entry of the C++ dispatcher's cache: the executable for one combination of types.

    The dispatcher reads the attributes by these names.
    """

    xla_executable: LoadedExecutable
    out_pytree_def: PyTreeDef
    in_shardings: Sequence[Sharding]
    out_shardings: Sequence[Sharding]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[None]
    const_args: Sequence[ArrayImpl]


def fast_path(executable: Executable, out_tree: PyTreeDef) -> FastPath:
    """Return the cache entry by which C++ runs an executable itself from the next call on.

    Args:
      executable: the executable. Its results must all be arrays.
      out_tree: the structure of the results.
    """
    # The dispatcher passes the constants before the arguments, and expects shardings for them.
    consts = executable.consts
    used = [*(True for _ in consts), *executable.used_arguments]
    shardings = [x.sharding for x in consts]
    shardings += [
        s
        for s, is_used in zip(executable.in_shardings, executable.used_arguments, strict=True)
        if is_used
    ]
    return FastPath(
        executable.loaded,
        out_tree,
        shardings,
        executable.out_shardings,
        [ir.physical_aval(aval) for aval in executable.out_avals],
        [executable.committed] * len(executable.out_avals),
        used,
        [None] * len(shardings),
        consts,
    )


def tree_of_arrays(out_tree: PyTreeDef, results: Sequence[Any]) -> PyTreeDef | None:
    """Return the structure by which C++ makes a call's results of plain arrays.

    Args:
      out_tree: the structure of the results.
      results: the results. Some are random keys, of which the structure makes containers.

    Returns:
      ``None`` where a result is neither an array nor holds one, such as a token, or is no leaf of
      the structure: the new value of a reference.
    """
    if out_tree.num_leaves != len(results):
        return None
    leaves, tree = dispatch_registry.flatten(tree_unflatten(out_tree, results))
    plain = len(leaves) == len(results) and all(type(x) is ArrayImpl for x in leaves)
    return tree if plain else None


def shard_arg(x: Any, sharding: Sharding) -> Any:
    """Return an argument as an array with a sharding, moved to it if necessary.

    Args:
      x: an array, a NumPy array or a Python scalar; or a token or a random key, which hold arrays.
      sharding: the sharding.

    Raises:
      RuntimeError: if ``x`` is an array that was deleted.
      TypeError: if ``x`` is a value of another kind.
    """
    if type(x) is ArrayImpl:  # not isinstance: proxies of arrays pass that
        if x._sharding is sharding:
            if x.is_deleted():
                check_not_deleted(x)
            return x
        return move_array(x, sharding)
    if isinstance(x, ir.Token):
        return x.buffer
    if hasattr(x, "physical"):  # an extended dtype, such as that of random keys
        return shard_arg(x.physical, sharding)
    if not isinstance(x, np.ndarray) and hasattr(x, "__jax_array__"):
        return shard_arg(x.__jax_array__(), sharding)
    aval = ir.get_aval(x)
    if aval.dtype == ir.float0:  # has no values: executables take Booleans instead
        x, aval = np.zeros(aval.shape, bool), ir.ShapedArray(aval.shape, np.dtype(bool))
    return array_from_host(np.asarray(x), aval, sharding)


def shard_args(shardings: Sequence[Sharding], args: Sequence[Any]) -> list[Any]:
    """Return the arguments as arrays with the given shardings."""
    return [shard_arg(x, sharding) for x, sharding in zip(args, shardings, strict=True)]


def _shard_arg_fallback(x: object, sharding: Sharding, layout: object) -> Any:
    # C++ calls this for each argument that it cannot move itself: arrays on several devices, and
    # uncommitted arrays on another device.
    return shard_arg(x, sharding)


def make_fast_callable(
    name: str,
    python_miss: Callable[..., tuple[Any, FastPath | None]],
    *,
    fun: Callable[..., Any] | None = None,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    cache_key: Hashable = (),
    registry: object = dispatch_registry,
    cache: PjitFunctionCache | None = None,
) -> Any:
    """Make a callable that runs cached calls from C++, and calls a Python function on a miss.

    The cache's key is made of the arguments' tree structures, types, weak types and shardings, of
    the static arguments' values, and of the options that affect tracing. A call always goes to
    Python if a tracer or a deleted array is among its arguments.

    Args:
      name: the function's name in profiles.
      python_miss: called with the arguments on a cache miss. It returns the result, and the cache
        entry (``fast_path``), or ``None`` if such calls must always go to Python.
      fun: the function that is compiled. Wrappers of one function with equal ``cache_key`` share
        cache entries; without it, entries are not shared.
      static_argnums: positions of arguments that are compared by value; they must be hashable.
      static_argnames: names of keyword arguments, likewise.
      cache_key: a further, hashable part of the cache's key, such as ``donate_argnums``.
      registry: the pytree registry of jaxlib.
      cache: the cache; by default one that all callables share.

    Returns:
      jaxlib's ``PjitFunction``, with ``_cache_size()`` and ``_clear_cache()``.
    """

    @ir.api_boundary
    def miss(*args, **kwargs):
        result, data = python_miss(*args, **kwargs)
        return result, data, False

    def plain(*args, **kwargs):  # called by C++ under disable_jit
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
    """Adapts the C++ dispatcher's cache to the registry of caches."""

    name = "calls known to C++"

    @property
    def size(self) -> ir.CacheSize:
        """The number of entries, and the capacity."""
        return ir.CacheSize(_shared_cache.size(), _shared_cache.capacity())

    def clear(self) -> None:
        """Remove all entries. A running executable is freed when it is done."""
        PjitFunctionCache.clear_all()  # the entries of live callables
        _shared_cache.clear()  # and of dead ones


_dispatch_cache = _DispatchCache()
ir.register_cache(_dispatch_cache)


def _after_fork() -> None:
    # C++ would use threads that the child process does not have; Python raises an error instead.
    if note_fork():
        _dispatch_cache.clear()


if hasattr(os, "register_at_fork"):  # missing on platforms without fork
    os.register_at_fork(after_in_child=_after_fork)
