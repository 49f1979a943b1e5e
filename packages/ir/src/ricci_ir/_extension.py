"""Functions on traces, types and jaxprs for interpreters written for JAX."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import ConcretizationTypeError
from ._program_parts import dce_jaxpr
from ._source import unknown_source
from .jaxprs._jaxpr import (
    Jaxpr,
    JaxprEqn,
    Var,
    convert_constvars,
)
from .jaxprs._staging import trace_to_jaxpr
from .jaxprs._wrapped_function import WrappedFun
from .traces._backend import backend
from .traces._named_axes import axis_sizes
from .traces._primitive import Primitive, RuleTable
from .traces._trace import ContextBlock, Trace, Tracer, context, eval_trace
from .types._aval import AbstractValue, get_aval
from .types._dtypes import ExtendedDType, array_dtypes, canonicalize_dtype
from .types._type_sharding import make_type_sharding

__all__ = [
    "apply_primitive",
    "array_types",
    "axis_names",
    "canonicalize_dtype_handlers",
    "concrete_or_error",
    "eval_context",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "mapped_aval",
    "new_jaxpr_eqn",
    "nonempty_axis_env",
    "OpaqueTraceState",
    "ParamDict",
    "physical_aval",
    "RulesInForm",
    "set_current_trace",
    "take_current_trace",
    "trace_state_clean",
    "trace_to_jaxpr_dynamic",
    "TraceTag",
    "unmapped_aval",
    "valid_jaxtype",
    "Value",
]

# For annotations: any value of a jaxpr, and an equation's parameters.
Value = Any
ParamDict = dict[str, Any]

array_types: frozenset[type] = frozenset(
    {np.ndarray, np.longlong, *(dtype.type for dtype in array_dtypes)}
)


def _canonical(x: Any) -> np.ndarray:
    return np.asarray(x, canonicalize_dtype(x.dtype))


class ArrayConversions(dict[type, Callable[[Any], Any]]):
    """By class, the function that converts its instances to arrays of canonical dtypes.

    A class that is added gets the method ``__jax_array__``, so that all functions accept its
    instances. Subclasses of ``np.ndarray`` need no entry: they are converted like it.
    """

    __slots__ = ()

    def __setitem__(self, kind: type, convert: Callable[[Any], Any]) -> None:
        super().__setitem__(kind, convert)
        if not (hasattr(kind, "__jax_array__") or issubclass(kind, np.ndarray)):
            kind.__jax_array__ = lambda x: convert(x)  # pyright: ignore[reportAttributeAccessIssue]


canonicalize_dtype_handlers: dict[type, Callable[[Any], Any]] = ArrayConversions(
    {np.ndarray: _canonical}
)


def apply_primitive(prim: Primitive, *args: object, **params: object) -> Any:
    """Evaluate one primitive on arrays, with the current backend.

    Args:
      prim: the primitive.
      args: arrays.
      params: the primitive's parameters.

    Returns:
      An array, or a list of them.

    Raises:
      TypeError: if one of the arguments is not an array.

    Example:
      >>> from ricci import lax
      >>> from ricci.interpreters.xla import apply_primitive
      >>> float(apply_primitive(lax.neg_p, 2.0))
      -2.0
    """
    return backend().evaluate(prim, args, params)


class RulesInForm[R](MutableMapping[Primitive, R]):
    """A view of a table of rules that converts between JAX's form of a rule and Ricci's.

    Args:
      table: the rules in Ricci's form.
      adapt: converts a rule of this form to Ricci's.
      expose: converts a rule of Ricci's to this form.
    """

    __slots__ = ("_adapt", "_expose", "_originals", "_table")

    def __init__(self, table: RuleTable, adapt: Callable[[R], R], expose: Callable[[R], R]):
        self._table = table
        self._adapt = adapt
        self._expose = expose
        # The rules that were set by this view, in both forms, so that reading returns the original.
        self._originals: dict[Primitive, tuple[R, R]] = {}

    def __getitem__(self, primitive: Primitive) -> R:
        if primitive not in self._table:
            raise KeyError(primitive)
        rule = self._table[primitive]
        entry = self._originals.get(primitive)
        return entry[0] if entry is not None and entry[1] is rule else self._expose(rule)

    def __setitem__(self, primitive: Primitive, rule: R) -> None:
        adapted = self._adapt(rule)
        self._originals[primitive] = rule, adapted
        self._table[primitive] = adapted

    def __delitem__(self, primitive: Primitive) -> None:
        self._originals.pop(primitive, None)
        del self._table[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class TraceTag:
    """A token that identifies the traces of one interpreter."""

    __slots__ = ("__weakref__",)


class OpaqueTraceState:
    """A snapshot of the current trace; equal to another of the same trace."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace):
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    __hash__: None = None  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]


def get_opaque_trace_state(convention: object = None) -> OpaqueTraceState:
    """Return a snapshot of the current trace, to be compared with a later one.

    Args:
      convention: accepted for compatibility; not used.

    Returns:
      The state.

    Example:
      >>> from ricci.extend.core import get_opaque_trace_state
      >>> get_opaque_trace_state() == get_opaque_trace_state()
      True
    """
    return OpaqueTraceState(context.trace.main)


def trace_state_clean() -> bool:
    """Whether nothing is being traced."""
    return context.trace.main is eval_trace


def find_top_trace(_: object) -> Trace:
    """Return the current trace, which processes all operations whatever their operands.

    Example:
      >>> from ricci.extend.core import find_top_trace
      >>> trace = find_top_trace(())
    """
    return context.trace


class set_current_trace(ContextBlock):
    """Make a trace current inside a ``with`` block.

    Args:
      trace: one of Ricci's, or of another class that has ``process_primitive``.
      check_leaks: not used: a leaked tracer raises an error where it is used.
    """

    __slots__ = ("trace",)

    trace: Any

    def __init__(self, trace: Trace, check_leaks: bool = False):
        super().__init__()
        self.trace = trace

    def __enter__(self) -> None:
        trace = self.trace
        if getattr(trace, "parent", None) is None:
            # A trace written for JAX may have its parent in ``parent_trace``.
            trace.parent = None if trace is eval_trace else getattr(trace, "parent_trace", None)
        self._enter(context.trace)
        context.trace = trace

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.trace = previous


class take_current_trace(ContextBlock):
    """Yield the current trace, and evaluate operations at once inside the ``with`` block."""

    __slots__ = ()

    def __enter__(self) -> Trace:
        current = context.trace
        self._enter(current)
        context.trace = eval_trace
        return current

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.trace = previous


@contextmanager
def eval_context() -> Iterator[None]:
    """Evaluate operations at once inside a ``with`` block, even while tracing.

    Example:
      >>> import ricci
      >>> @ricci.jit
      ... def f(x):
      ...     with ricci.core.eval_context():
      ...         y = ricci.numpy.arange(3).sum()  # computed while tracing
      ...     return x + int(y)
      >>> float(f(1.0))
      4.0
    """
    with set_current_trace(eval_trace):
        yield


def nonempty_axis_env() -> bool:
    """Whether an enclosing ``vmap`` or ``pmap`` names an axis."""
    return bool(axis_sizes.value)


def axis_names() -> list[Any]:
    """The named axes in scope."""
    return list(axis_sizes.value)


def valid_jaxtype(x: object) -> bool:
    """Whether a value is an array, or can be an operand as one, as Python scalars can.

    Args:
      x: the value.

    Returns:
      A bool.

    Example:
      >>> from ricci.extend.core import valid_jaxtype
      >>> valid_jaxtype(3.0), valid_jaxtype("text")
      (True, False)
    """
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: object, context: str = "") -> Any:
    """A concrete value, converted by ``force`` if that is given.

    Args:
      force: converts the value, as ``int`` does; ``None`` for an array as it is.
      val: the value.
      context: a sentence for the message on the use of the value.

    Returns:
      The result of ``force``, or the value.

    Raises:
      ConcretizationTypeError: if it is traced.

    Example:
      >>> from ricci.extend.core import concrete_or_error
      >>> concrete_or_error(int, 3.0, "the number of steps")
      3
    """
    if isinstance(val, Tracer):
        concrete = val.concrete()
        if concrete is None:
            raise ConcretizationTypeError(val, context)
        val = concrete
    return val if force is None else force(val)


def mapped_aval(size: int, axis: int | None, aval: Any) -> AbstractValue:
    """The type of a slice of an array along an axis; ``aval`` itself for the axis ``None``.

    Args:
      size: the size of the axis.
      axis: the axis, or ``None``.
      aval: the type of the array.

    Returns:
      The type.

    Raises:
      ValueError: if the axis is of another size.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.extend.core import mapped_aval
      >>> mapped_aval(3, 0, ShapedArray((3, 2), "float32"))
      ShapedArray(float32[2])
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval.str_short()} is of another size than {size}")
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(
    size: int, axis: int | None, aval: Any, explicit_mesh_axis: object = None
) -> AbstractValue:
    """The type of ``size`` slices stacked along a new axis; ``aval`` itself for ``None``.

    Args:
      size: the size of the new axis.
      axis: its position, or ``None``.
      aval: the type of a slice.
      explicit_mesh_axis: accepted for compatibility; not used.

    Returns:
      The type.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.extend.core import unmapped_aval
      >>> unmapped_aval(3, 0, ShapedArray((2,), "float32"))
      ShapedArray(float32[3,2])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def physical_aval(aval: Any) -> Any:
    """The type of the array of numbers that holds an array of an extended dtype; else ``aval``."""
    dtype = aval.dtype
    if not isinstance(dtype, ExtendedDType):
        return aval
    physical = dtype.physical_aval(aval)
    sharding = aval.type_sharding
    if sharding is None:
        return physical
    parts = (*sharding.parts, *((),) * (physical.ndim - aval.ndim))
    return physical.with_sharding(make_type_sharding(sharding.mesh, parts, *sharding.manual))


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Iterable[Any] = (),
    source_info: Any = None,
    ctx: object = None,
) -> JaxprEqn:
    """A new equation.

    Args:
      invars: the operands, variables or literals.
      outvars: the variables of the results.
      primitive: the operation.
      params: its parameters.
      effects: its effects.
      source_info, ctx: accepted for compatibility.

    Returns:
      The equation.
    """
    source = unknown_source if source_info is None else tuple(source_info)
    return JaxprEqn(list(invars), list(outvars), primitive, params, frozenset(effects), source)


def gensym() -> Callable[[Any], Var]:
    """A function that makes a new variable of a type.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.extend.core import gensym
      >>> gensym()(ShapedArray((2,), "float32")).aval
      ShapedArray(float32[2])
    """
    return Var


def trace_to_jaxpr_dynamic(
    fun: WrappedFun,
    in_avals: Sequence[Any],
    *,
    keep_inputs: list[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Jaxpr, list[AbstractValue], list[Any]]:
    """Trace a function of arrays to a jaxpr.

    Args:
      fun: takes and returns flat sequences of arrays.
      in_avals: the arguments' types.
      keep_inputs: for each argument, whether it stays an argument of the jaxpr.
      lower: accepted for compatibility; not used.
      auto_dce: whether to drop equations that no result depends on.

    Returns:
      The jaxpr, whose first arguments are the arrays that the function closes over; the types of
      the results; and these arrays.
    """
    closed = trace_to_jaxpr(lambda *args: fun.call_wrapped(*args), in_avals, fun.debug_info)
    jaxpr = convert_constvars(closed)
    if keep_inputs is not None:
        flags = [True] * len(closed.consts) + list(keep_inputs)
        jaxpr = jaxpr.replace(
            invars=[var for var, keep in zip(jaxpr.invars, flags, strict=True) if keep]
        )
    if auto_dce:
        jaxpr, _ = dce_jaxpr(jaxpr, True, instantiate=True)
    return jaxpr, jaxpr.out_avals, list(closed.consts)
