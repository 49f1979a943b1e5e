"""Functions and classes of JAX that Ricci has in another form."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

import jaxlib.weakref_lru_cache
import jaxlib.xla_client
import numpy as np

from ricci_autodiff import Zero
from ricci_ir import (
    ArrayLike,
    DTypeLike,
    Primitive,
    finfo,
    is_internal_module,
    issubdtype,
    trace_context,
)
from ricci_parallel import cluster
from ricci_pytree import tree_map
from ricci_xla import backends


class _Typed:
    """A Python number of a known dtype. Ricci leaves scalars unchanged, and makes none of these."""

    dtype: np.dtype

    def __new__(cls, value: complex, dtype: DTypeLike) -> "_Typed":
        number = super().__new__(cls, value)  # pyright: ignore[reportCallIssue]
        number.dtype = np.dtype(dtype)
        return number


class TypedInt(_Typed, int):
    """A Python integer of a known dtype."""


class TypedFloat(_Typed, float):
    """A Python float of a known dtype."""


class TypedComplex(_Typed, complex):
    """A Python complex number of a known dtype."""


class TypedNdArray:
    """A NumPy array with a weak type: Ricci makes none."""


def full_lower(x: Any) -> Any:
    """Return a value without superfluous wrappers: Ricci has none."""
    lower = getattr(x, "full_lower", None)
    return x if lower is None else lower()


def get_referent(x: object) -> object:
    """Return the object whose identity is that of a value: the value itself."""
    referent = getattr(x, "get_referent", None)
    return x if referent is None else referent()


def p2tz(primal_value: ArrayLike) -> Zero:
    """Return the symbolic zero of the tangent type of a primal value."""
    return Zero.from_primal(primal_value)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not is_internal_module(frame.f_globals.get("__name__"))


def supports_inf(dtype: Any) -> bool:
    """Whether a floating-point dtype has infinities."""
    return issubdtype(dtype, np.inexact) and bool(np.isinf(np.array(np.inf).astype(dtype)))


# Primitives whose lowering reads the devices, to which libraries add theirs. Here each may.
prim_requires_devices_during_lowering: set[Primitive] = set()


def register_custom_decorator_type[C: type](cls: C) -> C:
    """Return a class of callable objects unchanged: ``jit`` takes them without registration."""
    return cls


_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def to_complex_dtype(dtype: Any) -> np.dtype:
    """Return the complex dtype that a dtype is promoted to."""
    return np.dtype(np.complex128 if np.dtype(dtype) in _WIDE else np.complex64)


def _tolerance(tolerance: float | Mapping[DTypeLike, float] | None, dtype: np.dtype) -> float:
    if isinstance(tolerance, Mapping):
        tolerance = {np.dtype(key): value for key, value in tolerance.items()}.get(dtype)
    if tolerance is None:
        return 10 * float(finfo(dtype).eps) if issubdtype(dtype, np.inexact) else 0.0
    return tolerance


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raise ``AssertionError`` where two pytrees of arrays differ by more than the tolerances.

    Args:
      xs, ys: pytrees of one structure.
      atol, rtol: absolute and relative tolerance, numbers or dictionaries of them by dtype; by
        default, and for other dtypes than those, as precise as the dtype allows. The larger of
        the two arrays' tolerances counts.
      err_msg: the message.
    """

    def check(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        np.testing.assert_allclose(
            x.astype(np.complex128 if np.iscomplexobj(x) else np.float64),
            y.astype(np.complex128 if np.iscomplexobj(y) else np.float64),
            rtol=max(_tolerance(rtol, x.dtype), _tolerance(rtol, y.dtype)),
            atol=max(_tolerance(atol, x.dtype), _tolerance(atol, y.dtype)),
            err_msg=err_msg,
        )

    tree_map(check, xs, ys)


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return numbers and names of the same arguments, given only one of the two."""
    if argnums is None and argnames is None:
        return (), ()
    names = [p.name for p in sig.parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
    if argnums is None:
        as_names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        return tuple(i for i, name in enumerate(names) if name in as_names), as_names
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if argnames is None:
        return numbers, tuple(names[n] for n in numbers if n < len(names))
    return numbers, (argnames,) if isinstance(argnames, str) else tuple(argnames)


class _Clients(Mapping[str, Any]):
    """The clients of the runtime by platform, looked up at each access."""

    def __getitem__(self, platform: str) -> Any:
        return backends()[platform]

    def __iter__(self) -> Iterator[str]:
        return iter(backends())

    def __len__(self) -> int:
        return len(backends())


clients = _Clients()


# The cluster of this process. Orbax reads its `client`, `process_id` and `num_processes`.
processes = cluster


# The number of the build of jaxlib, and the versions of CUDA's libraries: unknown without CUDA.
jaxlib_extension_version: int = jaxlib.xla_client._version
cuda_versions = None


def unzip2[T, S](pairs: Iterable[tuple[T, S]]) -> tuple[tuple[T, ...], tuple[S, ...]]:
    """Return the first and the second elements of pairs."""
    firsts, seconds = [], []
    for first, second in pairs:
        firsts.append(first)
        seconds.append(second)
    return tuple(firsts), tuple(seconds)


def weakref_lru_cache[**P, R](call: Callable[P, R], maxsize: int | None = 2048) -> Callable[P, R]:
    """Return a function with a cache of results, whose first argument is referred to weakly.

    A result is recomputed under other settings, named axes or meshes than those of its first call.

    Args:
      call: the function; its first argument has weak references, all others are hashable.
      maxsize: the number of results in the cache.
    """
    cache = jaxlib.weakref_lru_cache.weakref_lru_cache
    return cache(trace_context, call, sys.maxsize if maxsize is None else maxsize)
