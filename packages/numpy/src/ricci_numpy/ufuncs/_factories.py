"""Factories of elementwise functions, each with a fast path for operands that need no promotion.

Most calls take arrays of one type, or an array and a Python scalar. The fast path recognises them
by the identity of types and dtypes, which are interned, and passes them to the operation unchanged;
other operands go through the checks and conversions of ``_promotion``. An object that wraps an
array and forwards its attributes is not an array: its class has no ``aval``.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import context, eval_trace
from ricci_lax.authoring import BinaryFunction, UnaryFunction

from ._ufunc_examples import EXAMPLES, NEIGHBOURS, NOTES

Operation = Callable[..., ir.Array]

_FIRST_CALLS = 3
# By function and types, the number of calls that ran operation by operation.
_calls: ir.Cache[tuple[str, Any, Any], int] = ir.Cache("first calls of promoted operands", 1024)


def unary(
    operation: Operation,
    accepted: frozenset[np.dtype[Any]],
    general: Operation,
    *,
    is_identity: bool = False,
) -> UnaryFunction:
    """A function of one operand.

    Args:
      operation: applied to arrays whose dtype is among ``accepted``.
      accepted: the dtypes that need no promotion.
      general: applied to other operands; it checks and promotes them.
      is_identity: whether it returns some arrays as they are, which needs no dispatch.
    """

    calls = ir.PublicFunction(general, getattr(operation, "__name__", "unary"))
    operation = getattr(operation, "bind", operation)  # without the wrapper of lax's function
    template = _unary_or_identity if is_identity else _unary
    return ir.with_constants(
        template, operation=operation, accepted=accepted, general=general, calls=calls
    )


@ir.boundary
def _unary(x, /):
    calls: Any = "<calls>"
    try:
        if context.trace is eval_trace:
            return calls.dispatch(x)
        operation: Any = "<operation>"
        accepted: Any = "<accepted>"
        general: Any = "<general>"
        try:
            type(x).aval  # noqa: B018
            dtype = x.aval.dtype
        except AttributeError:
            return general(x)
        return operation(x) if dtype in accepted else general(x)
    except Exception as error:
        ir.leave(error)
        raise


@ir.boundary
def _unary_or_identity(x, /):
    operation: Any = "<operation>"
    accepted: Any = "<accepted>"
    general: Any = "<general>"
    calls: Any = "<calls>"
    try:
        try:
            type(x).aval  # noqa: B018
            dtype = x.aval.dtype
        except AttributeError:
            return general(x)
        if dtype not in accepted:
            return general(x)
        if context.trace is not eval_trace:
            return operation(x)
        return calls.dispatch(x)
    except Exception as error:
        ir.leave(error)
        raise


def binary(
    operation: Operation, accepted: frozenset[np.dtype[Any]], general: Operation
) -> BinaryFunction:
    """A function of two operands; see ``unary``.

    A Python scalar beside an array of the default float or integer dtype is passed on as a weakly
    typed literal: a float beside floats, an integer beside integers.
    """
    calls = ir.PublicFunction(general, getattr(operation, "__name__", "binary"))
    operation = getattr(operation, "bind", operation)

    def others(x, y):
        """Apply the function where an operand is not an array."""
        if context.trace is eval_trace and _takes_values(x, y):
            return calls.dispatch(x, y)
        return general(x, y)

    def function(x, y, /):
        kind = type(y)
        if kind is float or kind is int:
            array, scalar = x, y
        else:
            kind = type(x)
            if kind is not float and kind is not int:
                try:
                    # Classes of arrays have this; other objects may compute it at a cost.
                    type(x).aval, type(y).aval  # pyright: ignore[reportUnusedExpression]
                    a = x.aval
                    b = y.aval
                except AttributeError:
                    return others(x, y)
                fits = a is b or (
                    a.dtype is b.dtype
                    and a.weak_type is b.weak_type
                    and (not a.shape or not b.shape or a.shape == b.shape)
                )
                if not fits or a.dtype not in accepted:
                    return general(x, y)
                if a.weak_type and (a.dtype == ir.BOOL or ir.is_narrowed(a.dtype)):
                    return general(x, y)  # two weak booleans are a strong one
                return operation(x, y)
            array, scalar = y, x
        try:
            type(array).aval  # noqa: B018
            dtype = array.aval.dtype
        except AttributeError:
            return general(x, y)
        if dtype not in accepted:
            return general(x, y)
        if dtype is ir.python_scalar_dtype(float):
            if kind is int:
                if not -0x80000000 <= scalar < 0x80000000:
                    return general(x, y)
                scalar = float(scalar)
        elif kind is float or dtype is not ir.python_scalar_dtype(int):
            return general(x, y)
        return operation(array, scalar) if array is x else operation(scalar, array)

    return function


def in_one_step(name: str, general: Operation) -> Operation:
    """``general`` of two arrays as one dispatch, where operations are not recorded.

    Promoting an array's rank or dtype by a separate dispatch costs as much as the operation. The
    first calls run operation by operation, since a backend may run a single one without compiling.
    Option ``jax_numpy_rank_promotion`` warns in each call, so executables cached by types would not
    do.
    """
    step = ir.inlined(name)(general)

    def promoted(x, y):
        arrays = _is_array(x) and _is_array(y)
        if not arrays or ir.is_recording() or ir.numpy_rank_promotion.value != "allow":
            return general(x, y)
        if ir.context.trace is ir.eval_trace:
            types = name, ir.get_aval(x), ir.get_aval(y)
            before = _calls.recall(types) or 0
            if before < _FIRST_CALLS:
                _calls.put(types, before + 1)
                return general(x, y)
        return step(x, y)

    return promoted


def _takes_values(x: object, y: object) -> bool:
    """Whether the operands are arrays or values of NumPy, which the dispatcher copies."""
    if hasattr(type(x), "aval"):
        return ir.is_host_operand(y)
    return ir.is_host_operand(x) and (hasattr(type(y), "aval") or ir.is_host_operand(y))


def _is_array(x: object) -> bool:
    """Whether ``x`` is an array, or a value of NumPy that the backend takes as it is."""
    if hasattr(type(x), "aval") or ir.is_host_operand(x):
        return True
    return isinstance(x, np.integer | np.bool_) and not ir.is_narrowed(x.dtype)


FLOATS = "of a float or complex dtype"
PROMOTED = "of the promoted dtype"
BOOLEANS = "of booleans"


def publish[F: UnaryFunction | BinaryFunction](
    function: F,
    name: str,
    summary: str,
    example: str,
    result: str,
    *parameters: str,
    gives: str = "",
) -> F:
    """Give a function built from a row of a table its name, signature and documentation.

    Args:
      function: the function, which is returned.
      summary: a sentence that describes its result.
      example: an expression of ``jnp``; a row of ``EXAMPLES`` takes its place.
      result: the value of the example, as it is printed.
      parameters: the names of the positional arguments.
      gives: of which dtype the result is; by default that of a single operand.
    """
    target: Any = function
    target.__name__ = target.__qualname__ = name
    target.__module__ = "ricci_numpy"
    target.__signature__ = _signature(parameters)
    arguments = f"{', '.join(parameters)}: {_OPERANDS[len(parameters)]}"
    shape = f"the shape of ``{parameters[0]}``" if len(parameters) == 1 else "the broadcast shape"
    lines = EXAMPLES.get(name, f">>> {example}\n{result}").replace("\n", "\n  ")
    note = f"\n\n{NOTES[name]}" if name in NOTES else ""
    see = f"\n\nSee also:\n  {NEIGHBOURS[name]}" if name in NEIGHBOURS else ""
    target.__doc__ = (
        f"{summary}\n\nArgs:\n  {arguments}\n\nReturns:\n  An array of {shape}, "
        f"{gives or 'of the same dtype'}.\n\nRaises:\n  TypeError: if an operand is not an array "
        f"or scalar, or of an unsupported dtype.{note}\n\nExample:\n"
        f"  >>> import ricci.numpy as jnp\n  {lines}{see}\n\nSource: numpy.{name}."
    )
    return function


_OPERANDS = {
    1: "an array or a scalar.",
    2: "arrays or scalars; their dtypes are promoted and their shapes broadcast.",
}
_signatures: dict[tuple[str, ...], inspect.Signature] = {}


def _signature(names: tuple[str, ...]) -> inspect.Signature:
    if names not in _signatures:
        kind = inspect.Parameter.POSITIONAL_ONLY
        _signatures[names] = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    return _signatures[names]
