"""What interpreters and libraries written outside of Ricci ask of traces, types and programs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import ConcretizationTypeError
from ._source import unknown_source
from .programs._jaxpr import (
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    convert_constvars,
    join_effects,
    no_effects,
)
from .programs._staging import trace_to_jaxpr
from .programs._wrapped_function import WrappedFun
from .traces._backend import backend
from .traces._primitive import Primitive
from .traces._trace import Trace, Tracer, context, eval_trace
from .types._aval import AbstractValue, get_aval
from .types._dtypes import ExtendedDType, array_dtypes, canonicalize_dtype

__all__ = [
    "apply_primitive",
    "array_types",
    "axis_names",
    "canonicalize_dtype_handlers",
    "concrete_or_error",
    "dce_jaxpr",
    "eval_context",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "mapped_aval",
    "max_dim",
    "min_dim",
    "new_jaxpr_eqn",
    "nonempty_axis_env",
    "OpaqueTraceState",
    "ParamDict",
    "physical_aval",
    "set_current_trace",
    "take_current_trace",
    "trace_state_clean",
    "trace_to_jaxpr_dynamic",
    "TraceTag",
    "unmapped_aval",
    "valid_jaxtype",
    "Value",
]

# For annotations: what a value of a traced program can be, and an equation's parameters.
Value = Any
ParamDict = dict[str, Any]

array_types: frozenset[type] = frozenset(
    {np.ndarray, np.longlong, *(dtype.type for dtype in array_dtypes)}
)


def _canonical(x: Any) -> np.ndarray:
    return np.asarray(x, canonicalize_dtype(x.dtype))


# How values of a class become arrays of dtypes that are in use. Subclasses of NumPy's arrays need
# no entry of their own: their type and conversion are NumPy's.
canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = {np.ndarray: _canonical}


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Apply one primitive to arrays, now, on the backend.

    Raises:
      TypeError: if one of the arguments is no array.
    """
    return backend().evaluate(prim, args, params)


class TraceTag:
    """Tells the traces of one interpretation from those of others, by its identity."""

    __slots__ = ("__weakref__",)


class OpaqueTraceState:
    """Which trace was current at some time; two are equal if it was the same."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace):
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Which trace is current now, to be compared with another time.

    Args:
      convention: who asks; not needed.
    """
    return OpaqueTraceState(context.trace)


def trace_state_clean() -> bool:
    """Whether nothing is being traced."""
    return context.trace is eval_trace


def find_top_trace(_: Any) -> Trace:
    """The current trace, which has to process operations on any values."""
    return context.trace


class set_current_trace:
    """Make a trace current inside a ``with`` block.

    Args:
      trace: one of Ricci's, or of another class that has ``process_primitive``.
      check_leaks: not needed: a leaked tracer is found where it is used.
    """

    __slots__ = ("previous", "trace")

    def __init__(self, trace: Any, check_leaks: bool = False):
        self.trace = trace

    def __enter__(self) -> None:
        trace = self.trace
        if getattr(trace, "parent", None) is None:
            # One from outside keeps what it is built on where it likes to.
            trace.parent = None if trace is eval_trace else getattr(trace, "parent_trace", None)
        self.previous = context.trace
        context.trace = trace

    def __exit__(self, *exception: Any) -> None:
        context.trace = self.previous


class take_current_trace:
    """Give the current trace to a ``with`` block, in which plain evaluation is current."""

    __slots__ = ("previous",)

    def __enter__(self) -> Trace:
        self.previous = context.trace
        context.trace = eval_trace
        return self.previous

    def __exit__(self, *exception: Any) -> None:
        context.trace = self.previous


@contextmanager
def eval_context() -> Iterator[None]:
    """Evaluate what follows now, in a ``with`` block, whatever is being traced."""
    with set_current_trace(eval_trace):
        yield


def nonempty_axis_env() -> bool:
    """Whether an enclosing ``vmap`` or ``pmap`` names an axis."""
    return bool(context.axis_sizes)


def axis_names() -> list[Any]:
    """The named axes in scope."""
    return list(context.axis_sizes)


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array, or is taken for one."""
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """A value that must be known now, turned into a Python value by ``force``.

    Raises:
      ConcretizationTypeError: if it is traced.
    """
    if isinstance(val, Tracer):
        known = val.concrete()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


def mapped_aval(size: int, axis: int | None, aval: Any) -> AbstractValue:
    """The type of one slice of an array along an axis of a size; ``aval`` itself for ``None``.

    Raises:
      ValueError: if the axis is of another size.
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval.str_short()} is of another size than {size}")
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(
    size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None
) -> AbstractValue:
    """The type of an array of ``size`` slices along a new axis; ``aval`` itself for ``None``."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def physical_aval(aval: Any) -> Any:
    """The type of the plain array behind one of an extended dtype; other types stay."""
    dtype = aval.dtype
    return dtype.physical_aval(aval) if isinstance(dtype, ExtendedDType) else aval


def min_dim(d1: int, d2: int) -> int:
    """The smaller of two sizes."""
    return min(d1, d2)


def max_dim(d1: int, d2: int) -> int:
    """The larger of two sizes."""
    return max(d1, d2)


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Iterable[Any] = (),
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation.

    Args:
      source_info: the ``source_info`` of another equation, whose place in the user's code this
        one takes.
      ctx: not needed.
    """
    source = unknown_source if source_info is None else tuple(source_info)
    return JaxprEqn(list(invars), list(outvars), primitive, params, frozenset(effects), source)


def gensym() -> Callable[[Any], Var]:
    """A function that makes a new variable of a type."""
    return Var


def trace_to_jaxpr_dynamic(
    fun: WrappedFun,
    in_avals: Sequence[Any],
    *,
    keep_inputs: list[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Jaxpr, list[AbstractValue], list[Any]]:
    """Record what a function of arrays does.

    Args:
      fun: takes and returns flat sequences of arrays.
      in_avals: the arguments' types.
      keep_inputs: for each argument, whether it stays one of the program's.
      lower: not needed.
      auto_dce: whether to leave out what no result needs.

    Returns:
      The program, whose first arguments are what the function closes over; the results' types; and
      the values that the function closes over.
    """
    closed = trace_to_jaxpr(lambda *args: fun.call_wrapped(*args), in_avals, fun.debug_info)
    jaxpr = convert_constvars(closed)
    if keep_inputs is not None:
        kept = [True] * len(closed.consts) + list(keep_inputs)
        jaxpr = jaxpr.replace(
            invars=[var for var, keep in zip(jaxpr.invars, kept, strict=True) if keep]
        )
    if auto_dce:
        jaxpr, _ = dce_jaxpr(jaxpr, True, instantiate=True)
    return jaxpr, jaxpr.out_avals, list(closed.consts)


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """A program without what some of its results do not need.

    Args:
      jaxpr: the program. What has side effects stays.
      used_outputs: for each result, or for all, whether it is needed.
      instantiate: for each argument, or for all, whether it stays if it is not needed.

    Returns:
      The program of the results that are needed, and for each argument whether it takes it.
    """
    wanted = _for_each(used_outputs, jaxpr.outvars)
    outvars = [atom for atom, used in zip(jaxpr.outvars, wanted, strict=True) if used]
    needed = {id(atom) for atom in outvars if type(atom) is not Literal}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(id(var) in needed for var in eqn.outvars):
            needed.update(id(atom) for atom in eqn.invars if type(atom) is not Literal)
            eqns.append(eqn)
    eqns.reverse()
    stays = _for_each(instantiate, jaxpr.invars)
    used = [id(v) in needed or stay for v, stay in zip(jaxpr.invars, stays, strict=True)]
    constants = [
        pair for pair in zip(jaxpr.constvars, jaxpr.consts, strict=True) if id(pair[0]) in needed
    ]
    smaller = jaxpr.replace(
        constvars=[var for var, _ in constants],
        consts=[value for _, value in constants],
        invars=[var for var, keep in zip(jaxpr.invars, used, strict=True) if keep],
        outvars=outvars,
        eqns=eqns,
        effects=join_effects(eqn.effects for eqn in eqns) if eqns else no_effects,
    )
    return smaller, used


def _for_each(given: bool | Sequence[bool], things: Sequence[Any]) -> list[bool]:
    return [given] * len(things) if isinstance(given, bool) else list(given)
