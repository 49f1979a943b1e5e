"""``fit_memory``: the same function with the rewrite that brings its peak under a limit."""

import math
import re
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import rewrite_differentiated
from ricci_pytree import tree_flatten
from ricci_xla import jit

from ._fit_planner import FitPlanner
from ._memory_fit import MemoryFit

__all__ = ["FittedFunction", "fit_memory"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)
}
_LIMIT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


@overload
def fit_memory[**P, R](f: Callable[P, R], limit: int | str) -> "FittedFunction[P, R]": ...
@overload
def fit_memory[R](
    f: Callable[..., R], limit: int | str, *args: ir.PyTree, **kwargs: ir.PyTree
) -> R: ...
def fit_memory(
    f: Callable[..., object], limit: int | str, *args: ir.PyTree, **kwargs: ir.PyTree
) -> object:
    """Keep a function's peak memory under a limit, by recomputation or a batch in pieces.

    Every function that ``f`` differentiates, also inside of what it calls, is cut into segments
    where few bytes cross, as between the layers of a model. The backward pass recomputes some of
    them instead of reading residuals, all but results that cost many operations for each byte. How
    many segments, which of them, and which results are saved is chosen at the first call for
    arguments of given types: the choice with the least cost of repeated operations and of residuals
    in memory, as estimated, among those whose peak is under the limit, as compiled.

    On TPUs and GPUs results that are costly, and what checkpoints read, may be saved in the host's
    memory instead: where the link to the host is fast enough for their bytes to be moved beside the
    computation, or no recomputation is enough. CPUs have no other memory.

    If no recomputation is enough, and what is differentiated is a sum or a mean over the examples
    of a batch, the batch runs in pieces, whose gradients are added: the values are equal up to
    rounding.

    Args:
      f: a function of pytrees of arrays, jitted or not, which is compiled. A library's own jitted
        functions, such as ``nnx.jit(step)``, are called as they are.
      limit: the bytes on each device: a number, or a text such as ``"8GiB"`` or ``"500MB"``.
      args, kwargs: arguments of ``f``, or none: ``fit_memory(f, limit, x)`` is
        ``fit_memory(f, limit)(x)``.

    Returns:
      A function with the arguments and results of ``f``, whose method ``plan`` returns the plan for
      arguments, which may be ``ShapeDtypeStruct``s; with arguments, the results of ``f``.

    Raises:
      TypeError: if ``f`` cannot be called.
      ValueError: if the limit is not a number of bytes of at least 1.
      MemoryLimitError: from a call, if no choice brings the peak under the limit. The message says
        what the least peak is.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def loss(w, x):
      ...     for _ in range(8):
      ...         x = jnp.tanh(jnp.sin(x @ w) * jnp.cos(x))
      ...     return jnp.sum(x)
      >>> w, x = jnp.eye(64), jnp.ones((512, 64))
      >>> step = ricci.fit_memory(ricci.grad(loss), "2MB")
      >>> fit = step.plan(w, x)
      >>> fit.peak_bytes <= 2_000_000 < fit.unlimited
      True
      >>> bool(jnp.allclose(step(w, x), ricci.grad(loss)(w, x), rtol=1e-5))
      True

    See also:
      ``memory_plan``, which lists what is in memory; ``checkpoint``, to choose by hand.
    """
    if not callable(f):
        raise TypeError(f"fit_memory expects a function, got {f!r:.60} of type {type(f).__name__}.")
    fitted = FittedFunction(f, _bytes(limit))
    return fitted(*args, **kwargs) if args or kwargs else fitted


class FittedFunction[**P, R]:
    """A function whose peak memory stays under a limit, returned by ``fit_memory``.

    Args:
      f: the function.
      limit: the limit in bytes.

    Example:
      >>> import ricci
      >>> float(ricci.fit_memory(ricci.grad(lambda x: x**2), 1000)(3.0))
      6.0
    """

    def __init__(self, f: Callable[P, R], limit: int):
        self._fun: Callable[P, R] = f
        # A jitted function, which may be a library's that keeps state, is called as it is.
        jitted = ir.has_stages(f) or hasattr(f, "trace") or hasattr(f, "lower")
        self._calls = None if jitted else ir.ArrayCalls("fit_memory", f, jit)
        self._limit: int = limit
        self._fits: dict[Any, MemoryFit] = {}
        update_wrapper(self, f, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        call, args_, kwargs_ = self._jitted(args, kwargs)
        change = self._plan(call, args_, kwargs_).rewrite
        if change is None:
            return call(*args_, **kwargs_)
        with rewrite_differentiated(change):
            return call(*args_, **kwargs_)

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> MemoryFit:
        """Return the plan for these arguments, made once for their types and shardings."""
        return self._plan(*self._jitted(args, kwargs))

    def _jitted(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return a jitted function and its arguments for a call."""
        if self._calls is None:
            return self._fun, args, kwargs
        call, arrays = self._calls.of(args, kwargs)
        return call, tuple(arrays), {}

    def _plan(
        self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> MemoryFit:
        leaves, tree = tree_flatten((args, kwargs))
        key = (call, tree, tuple(map(_kind, leaves)), ir.trace_key())
        fit = self._fits.get(key)
        if fit is None:
            fit = self._fits[key] = FitPlanner(call, args, kwargs, self._limit).fit()
        return fit


def _kind(leaf: object) -> object:
    """Return a leaf's type and sharding; the leaf itself if it is not an array."""
    try:
        return ir.argument_aval(leaf), getattr(leaf, "sharding", None)
    except TypeError:
        return leaf


def _bytes(limit: object) -> int:
    """Parse a limit to a number of bytes."""
    size = limit
    if isinstance(limit, str):
        match = _LIMIT.fullmatch(limit)
        unit = None if match is None else _UNITS.get(match[2].lower())
        size = None if match is None or unit is None else float(match[1]) * unit
    is_number = isinstance(size, int | float | np.integer | np.floating)
    # Less than a byte is meant as a share of something.
    if not is_number or isinstance(size, bool) or not 1 <= size < math.inf:
        raise ValueError(
            "the limit must be a number of bytes, at least 1, or a text such as '8GiB', "
            f"got {limit!r}."
        )
    return int(size)
