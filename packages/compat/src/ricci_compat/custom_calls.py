"""Calls of functions with custom derivatives by traces that are written for JAX."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import instantiate

from .linear_util import WrappedFun, wrap_init


class CustomJVPCall:
    """The primitive that ``Trace.process_custom_jvp_call`` gets."""

    name = "custom_jvp_call"
    multiple_results = True

    def bind(
        self, fun: WrappedFun, jvp: WrappedFun, *args: ir.ArrayLike, symbolic_zeros: bool = False
    ) -> list[Any]:
        """Call a function of flat operands that has a derivative rule, in the current trace.

        Args:
          fun: takes the operands, returns a sequence of results.
          jvp: takes the operands and their tangents, returns the results and their tangents.
          args: the operands.
          symbolic_zeros: whether tangents that are zero are ``SymbolicZero``.
        """

        def call(*operands: ir.ArrayLike) -> list[Any]:
            return list(fun.call_again(*operands))

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            # Each derivative of a recorded call applies the rule again.
            results = list(jvp.call_again(*primals, *tangents))
            half = len(results) // 2
            return results[:half], results[half:]

        custom = lax.custom_jvp(call)
        custom.defjvp(rule, symbolic_zeros=symbolic_zeros)
        return custom(*args)

    def bind_with_trace(
        self, trace: ir.Trace, args: Sequence[Any], avals: object, params: dict[str, Any]
    ) -> list[Any]:
        """Call it in a trace, whichever is the current one.

        Args:
          avals: the operands' types; not needed here.
          params: ``subfuns``, the function and its rule, and ``symbolic_zeros``.
        """
        with ir.set_trace(trace):
            return self.bind(*params["subfuns"], *args, symbolic_zeros=params["symbolic_zeros"])


_custom_jvp_call = CustomJVPCall()


def _process_custom_jvp(
    trace: ir.Trace, primitive: ir.Primitive, args: tuple[Any, ...], params: dict[str, Any]
) -> object:
    if type(trace).process_custom_jvp_call is ir.Trace.process_custom_jvp_call:
        return trace.process_primitive(primitive, args, params)
    rule, count = params["jvp"], len(args)

    def jvp(*operands: ir.ArrayLike) -> list[Any]:
        results, tangents = rule(operands[:count], operands[count:])
        return [*results, *map(instantiate, tangents)]

    return trace.process_custom_jvp_call(
        _custom_jvp_call,
        wrap_init(ir.jaxpr_function(params["call_jaxpr"])),
        wrap_init(jvp),
        args,
        symbolic_zeros=params["symbolic_zeros"],
    )


ir.library_trace_rules[lax.custom_jvp_call_p] = _process_custom_jvp
