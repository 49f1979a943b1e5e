"""Traces, types and equations: the internal functions of ``jax.core`` and ``jax.extend.core``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from . import custom_calls as _custom_calls  # noqa: F401 - registers its rule
from . import library_forms as _library_forms  # noqa: F401 - registers the forms

array_types: frozenset[type] = frozenset(
    {np.ndarray, np.longlong, *(dtype.type for dtype in ir.array_dtypes)}
)


class TraceTag:
    """A token that identifies the traces of one interpreter."""

    __slots__ = ("__weakref__",)


class OpaqueTraceState:
    """A snapshot of the current trace; equal to another of the same trace."""

    __slots__ = ("_trace",)

    def __init__(self, trace: ir.Trace):
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
    return OpaqueTraceState(_innermost())


def trace_state_clean() -> bool:
    """Whether nothing is being traced."""
    return _innermost() is ir.eval_trace


def _innermost() -> ir.Trace:
    """Return the trace that the user's code runs in, also in ``ensure_compile_time_eval``."""
    trace, put_aside = ir.context.trace, ir.context.put_aside
    return (put_aside[-1] if put_aside and trace is ir.eval_trace else trace).main


def find_top_trace(_: object) -> ir.Trace:
    """Return the current trace, which processes all operations whatever their operands.

    Example:
      >>> from ricci.extend.core import find_top_trace
      >>> trace = find_top_trace(())
    """
    return ir.context.trace


class set_current_trace(ir.set_trace):
    """Make a trace current inside a ``with`` block.

    Args:
      trace: one of Ricci's, or of another class that has ``process_primitive``.
      check_leaks: not used: a leaked tracer raises an error where it is used.
    """

    __slots__ = ()

    def __init__(self, trace: ir.Trace, check_leaks: bool = False):
        super().__init__(trace)

    def __enter__(self) -> ir.Trace:
        trace: Any = self.trace
        if getattr(trace, "parent", None) is None:
            # A trace written for JAX may have its parent in ``parent_trace``.
            trace.parent = None if trace is ir.eval_trace else getattr(trace, "parent_trace", None)
        return super().__enter__()


class take_current_trace(ir.set_trace):
    """Yield the current trace, and evaluate operations at once inside the ``with`` block."""

    __slots__ = ()

    def __init__(self):
        super().__init__(ir.eval_trace)

    def __enter__(self) -> ir.Trace:
        current = ir.context.trace
        super().__enter__()
        return current


def nonempty_axis_env() -> bool:
    """Whether an enclosing ``vmap`` or ``pmap`` names an axis."""
    return bool(ir.axis_sizes.value)


def axis_names() -> list[Any]:
    """The named axes in scope."""
    return list(ir.axis_sizes.value)


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
        ir.get_aval(x)
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
    if isinstance(val, ir.Tracer):
        concrete = val.concrete()
        if concrete is None:
            raise ir.ConcretizationTypeError(val, context)
        val = concrete
    return val if force is None else force(val)


def mapped_aval(size: int, axis: int | None, aval: Any) -> ir.AbstractValue:
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
    return aval.remove_dimension(axis)


def unmapped_aval(
    size: int, axis: int | None, aval: Any, explicit_mesh_axis: object = None
) -> ir.AbstractValue:
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
    return aval.insert_dimension(axis, size)


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[ir.Var],
    primitive: ir.Primitive,
    params: dict[str, Any],
    effects: Iterable[Any] = (),
    source_info: Any = None,
    ctx: ir.EqnContext | None = None,
) -> ir.JaxprEqn:
    """A new equation.

    Args:
      invars: the operands, variables or literals.
      outvars: the variables of the results.
      primitive: the operation.
      params: its parameters.
      effects: its effects.
      source_info: the user's line and the name stack.
      ctx: the settings, as ``ctx`` of another equation.

    Returns:
      The equation.
    """
    source = ir.unknown_source if source_info is None else tuple(source_info)
    eqn = ir.JaxprEqn(list(invars), list(outvars), primitive, params, frozenset(effects), source)
    return eqn if ctx is None else eqn.under(ctx.settings)


def gensym() -> Callable[[Any], ir.Var]:
    """A function that makes a new variable of a type.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.extend.core import gensym
      >>> gensym()(ShapedArray((2,), "float32")).aval
      ShapedArray(float32[2])
    """
    return ir.Var
