"""``sparsify``: apply functions of dense arrays to sparse ones.

The trace holds sparse values, in an environment of arrays. An operation without a sparse operand is
applied unchanged, the others by the rule of their primitive. The function is first traced to a
jaxpr for dense arrays, so that it sees ordinary tracers.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import ricci_ir as ir
from ricci_ir import Array, Jaxpr, Primitive, Tracer
from ricci_pytree import tree_flatten, tree_unflatten
from ricci_sparse._base import is_sparse

from ._values import (
    SparsifyEnv,
    SparsifyValue,
    apply_rule,
    arrays_to_spvalues,
    spvalues_to_arrays,
    spvalues_to_avals,
    to_array,
    to_value,
)

__all__ = ["SparseTrace", "SparseTracer", "eval_sparse", "sparsify", "sparsify_raw"]


class SparseTracer(Tracer):
    """Tracer of a sparse value in ``sparsify``.

    Args:
      trace: the trace that it belongs to.
      spvalue: its value in the environment of the trace.
    """

    __slots__ = ("_spvalue",)

    _trace: "SparseTrace"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, trace: "SparseTrace", *, spvalue: SparsifyValue):
        super().__init__(trace, spvalues_to_avals(trace.spenv, spvalue))
        self._spvalue: SparsifyValue = spvalue

    @property
    def spenv(self) -> SparsifyEnv:
        """The environment of its trace."""
        return self._trace.spenv


class SparseTrace(ir.Trace):
    """Applies primitives to values that may be sparse.

    Args:
      parent_trace: the trace that the arrays of the values belong to.
      tag: an identifier of this trace; not read.
      spenv: the environment of the values.
    """

    __slots__ = ("spenv", "tag")

    def __init__(self, parent_trace: ir.Trace, tag: object, spenv: SparsifyEnv):
        super().__init__(parent_trace)
        self.tag: object = tag
        self.spenv: SparsifyEnv = spenv

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive by its rule, or unchanged if no operand is sparse."""
        assert self.parent is not None
        # Tracers of other traces are dense arrays here.
        is_own = [isinstance(x, SparseTracer) and x._trace is self for x in args]
        with ir.set_trace(self.parent):
            if not any(is_own):
                return primitive.bind(*args, **params)
            values = [
                x._spvalue if mine else self.spenv.dense(x)
                for x, mine in zip(args, is_own, strict=True)
            ]
            outs = apply_rule(primitive, self.spenv, values, params)
            results = [self.result(out) for out in outs]
        return results if primitive.multiple_results else results[0]

    def result(self, spvalue: SparsifyValue) -> Any:
        """A value for the function: a tracer if it is sparse, else the array."""
        if spvalue.is_dense():
            return self.spenv.data(spvalue)
        return SparseTracer(self, spvalue=spvalue)

    def value_of(self, x: Any) -> SparsifyValue:
        """The environment's value of a result of the function."""
        if isinstance(x, SparseTracer) and x._trace is self:
            return x._spvalue
        return to_value(self.spenv, x)


def _run(
    fun: Callable[..., Sequence[Any]], spenv: SparsifyEnv, spvalues: Sequence[SparsifyValue]
) -> list[SparsifyValue]:
    """Apply a function of arrays to values, in a new trace."""
    trace = SparseTrace(ir.context.trace, object(), spenv)
    try:
        with ir.set_trace(trace):
            outs = fun(*map(trace.result, spvalues))
        return [trace.value_of(out) for out in outs]
    finally:
        trace.alive = False


def eval_sparse(
    jaxpr: Jaxpr, consts: Sequence[Array], spvalues: Sequence[SparsifyValue], spenv: SparsifyEnv
) -> Sequence[SparsifyValue]:
    """Evaluate a jaxpr with values that may be sparse.

    Args:
      jaxpr: the jaxpr.
      consts: its constants.
      spvalues: its arguments, values of ``spenv``.
      spenv: the environment, which gets the arrays that are computed.

    Returns:
      The results, as values of ``spenv``.

    Raises:
      NotImplementedError: for a primitive that has no rule for its sparse operands.
    """
    return _run(lambda *xs: ir.eval_jaxpr(jaxpr, consts, *xs), spenv, spvalues)


def sparsify_raw(f: Callable[..., Any]) -> Callable[..., tuple[Sequence[Any], Any, bool]]:
    """``sparsify`` for functions of the values of an environment.

    Args:
      f: a function of pytrees of arrays.

    Returns:
      A function of the environment and of ``f``'s arguments as pytrees of values. It returns the
      flattened results as values, the structure of the results, and whether any is sparse.
    """

    @wraps(f)
    def wrapped(spenv: SparsifyEnv, *spvalues: Any, **params: Any) -> Any:
        is_value = lambda x: isinstance(x, SparsifyValue)
        flat, in_tree = tree_flatten(spvalues, is_leaf=is_value)
        avals = spvalues_to_avals(spenv, flat)
        out_tree: Any = None

        def fun(*xs: Array) -> list[Any]:
            nonlocal out_tree
            leaves, out_tree = tree_flatten(f(*tree_unflatten(in_tree, xs), **params))
            return leaves

        jaxpr = ir.trace_to_jaxpr(fun, avals, ir.DebugInfo("sparsify", getattr(f, "__name__", "f")))
        outs = eval_sparse(jaxpr, jaxpr.consts, flat, spenv)
        return outs, out_tree, any(v.is_sparse() for v in outs)

    return wrapped


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Transform a function of dense arrays to accept sparse arrays as well.

    Results are sparse where the operations' rules give sparse ones. An operation on sparse arrays
    that has no rule raises an error; ``todense`` returns an array that every operation accepts.

    Args:
      f: a function of pytrees of arrays.
      use_tracer: whether ``f`` is called with sparse tracers, instead of being traced to a
        jaxpr first.

    Returns:
      The function of pytrees of arrays, some of them BCOO or BCSR arrays.

    Raises:
      NotImplementedError: when it is called, for an operation that has no rule.

    Example:
      >>> from ricci.experimental import sparse
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci_sparse import BCOO
      >>> M = BCOO.fromdense(np.float32([[0, 2], [1, 0]]))
      >>> sparse.sparsify(lambda M, v: jnp.sin(M) @ v + 1)(M, np.float32([0, 1])).shape
      (2,)
    """

    @wraps(f)
    def wrapped(*args: Any, **params: Any) -> Any:
        spenv = SparsifyEnv()
        if not use_tracer:
            values = arrays_to_spvalues(spenv, args)
            outs, out_tree, _ = sparsify_raw(f)(spenv, *values, **params)
            return tree_unflatten(out_tree, spvalues_to_arrays(spenv, list(outs)))
        flat, in_tree = tree_flatten(args, is_leaf=is_sparse)
        out_tree: Any = None

        def fun(*xs: Any) -> list[Any]:
            nonlocal out_tree
            leaves, out_tree = tree_flatten(f(*tree_unflatten(in_tree, xs), **params))
            return leaves

        outs = _run(fun, spenv, arrays_to_spvalues(spenv, flat))
        return tree_unflatten(out_tree, [to_array(spenv, v) for v in outs])

    return wrapped
