"""Rules that the primitives of all custom functions share, and how they call the user's rules."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import ricci_autodiff as autodiff
import ricci_ir as ir
from ricci_stablehlo import Lowering, Value


def is_ours(*functions: Callable[..., Any] | None) -> bool:
    """Whether all functions are Ricci's own, which compute the same in every call."""
    return all(ir.is_internal_module(getattr(f, "__module__", None)) for f in functions)


def is_replayed() -> bool:
    """Whether the operation that is being bound comes from a recorded jaxpr."""
    return ir.context.origin is not None


def array_operand(x: ir.ArrayLike) -> ir.ArrayLike:
    """An operand for a user's rule: an array in place of a Python scalar."""
    if hasattr(x, "dtype"):
        return x
    lifted = ir.context.trace.lift(x)
    if isinstance(lifted, ir.Tracer):
        return lifted
    with ir.set_trace(ir.eval_trace):
        return ir.as_array(lifted)


def rule_pair(name: str, rule: str, second: str, result: object) -> tuple[Any, Any]:
    """Check that a rule of a ``custom_vjp`` function returned a pair; return it."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            f"the custom VJP {rule} of {name} must return a pair (output, {second}), "
            f"but it returned {type(result).__name__}."
        )
    return result[0], result[1]


def check_unwritten(leaves: Sequence[Any], arrays: dict[int, Any]) -> None:
    """Refuse that a function or its rule has written to the references of ``with_references``.

    Raises:
      NotImplementedError: if it has.
    """
    if any(leaves[i].read() is not array for i, array in arrays.items()):
        raise _refused_write()


def split_inline(
    tape: autodiff.Tape, args: Sequence[ir.ArrayLike], *, call_jaxpr: ir.Jaxpr, **_: object
) -> list:
    """The split rule: a function that is applied to tangents is linear, and is inlined.

    A rule may apply the function itself to the tangents. Applying the rule again would not end.
    """
    with ir.set_trace(tape):
        return ir.eval_jaxpr(call_jaxpr, call_jaxpr.consts, *args)


def transpose_inline(
    cts: Sequence[ir.ArrayLike | autodiff.Zero],
    *args: ir.ArrayLike | autodiff.UndefinedPrimal,
    call_jaxpr: ir.Jaxpr,
    **_: object,
) -> list[ir.ArrayLike | autodiff.Zero | None]:
    """The transpose rule of a linear function: transpose its operations."""
    linear = list(map(autodiff.is_undefined_primal, args))
    required = autodiff.required_operands(args)
    arg_cts = iter(autodiff.transpose_flat(call_jaxpr, linear, args, cts, required=required))
    return [next(arg_cts) if lin else None for lin in linear]


def lower_inline(
    ctx: Lowering, *operands: Value, call_jaxpr: ir.Jaxpr, **params: object
) -> list[Value]:
    """Lower a custom function as its body: only transformations use its rule."""
    return ctx.inline(call_jaxpr, operands)


def call_rule[**P, R](rule: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a rule; operations in a user's rule have the rule's source lines, not the call's."""
    if ir.is_internal_module(getattr(rule, "__module__", None)):
        return rule(*args, **kwargs)
    origin, ir.context.origin = ir.context.origin, None
    try:
        return rule(*args, **kwargs)
    finally:
        ir.context.origin = origin


def runs_at_once(operands: Sequence[Any]) -> bool:
    """Whether a primitive bound to these operands now is evaluated, rather than recorded."""
    trace = (
        ir.context.trace.parent if isinstance(ir.context.trace, autodiff.Tape) else ir.context.trace
    )
    return trace is ir.eval_trace and not any(isinstance(x, ir.Tracer) for x in operands)


def bind_once(
    primitive: ir.Primitive, operands: Sequence[Any], params: dict, run: Callable
) -> list:
    """Bind a primitive whose jaxpr was traced for this call; evaluate it on concrete values.

    Every call traces a new jaxpr, so that compiling it would take longer than running its
    operations one by one, as ``run()`` does.
    """
    if runs_at_once(operands):
        return list(map(ir.as_array, run()))
    return primitive.bind(*operands, **params)


def _discharge_custom(primitive: ir.Primitive) -> Any:
    """The discharge rule of a call of a custom function.

    The rules take the referenced array in place of a reference. They cannot describe writes, so
    that a function that writes references is not differentiated.
    """

    def rule(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
        body = ir.discharged(call_jaxpr)
        values = ir.as_values(args, ir.reference_arguments(call_jaxpr))
        if not body.written:
            outs = primitive.bind(*values, call_jaxpr=body.jaxpr, **params)
            ir.free_references(args, body.freed)
            return outs
        # The discharged function also returns the arrays that it has written, for which the user's
        # rule has no derivatives.
        for name in ("jvp", "fwd", "bwd"):
            if name in params:
                params[name] = _Refusal(params[name]).rule
        outs = primitive.bind(*values, call_jaxpr=body.jaxpr, **params)
        count = len(call_jaxpr.outvars)
        ir.write_back([args[i] for i in body.written], outs[count:], outs[:count])
        ir.free_references(args, body.freed)
        return outs[:count]

    return rule


class _Refusal:
    """The derivative rule of a function that writes references: it raises."""

    __slots__ = ("custom",)

    def __init__(self, rule: Any):
        self.custom = getattr(getattr(rule, "__self__", None), "custom", None)

    def rule(self, *args: object, **params: object) -> NoReturn:
        """Refuse to differentiate the function."""
        raise _refused_write()


def _refused_write() -> NotImplementedError:
    return NotImplementedError(
        "a function with a custom derivative rule writes references, and "
        "is differentiated: its rule does not describe these writes. Return the values, and "
        "write them outside of the function."
    )


discharge_custom: ir.derived = ir.derived(_discharge_custom)
