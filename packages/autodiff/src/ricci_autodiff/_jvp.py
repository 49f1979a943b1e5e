"""Forward-mode differentiation: push tangents forward through a function."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir

from ._references import dual_reference
from ._rules import jvp_rules
from ._tangent import Tangent, Zero, tangent_aval
from ._tangent import instantiate as as_array

__all__ = ["JVPTrace", "JVPTracer", "jvp_flat", "jvp_jaxpr"]


class JVPTracer(ir.Tracer):
    """A primal value and its tangent, which is not ``Zero``."""

    __slots__ = ("primal", "tangent")
    is_differentiated = True

    def __init__(self, trace: "JVPTrace", primal: ir.ArrayLike, tangent: ir.ArrayLike):
        self._trace = trace
        self.aval: ir.ShapedArray = ir.get_aval(primal)
        self.primal: ir.ArrayLike = primal
        self.tangent: ir.ArrayLike = tangent

    def concrete(self) -> Any:
        """The primal value if it is known now, else ``None``."""
        return self.primal.concrete() if isinstance(self.primal, ir.Tracer) else self.primal

    def _origin_message(self) -> str:
        return self.primal._origin_message() if isinstance(self.primal, ir.Tracer) else ""

    def __repr__(self) -> str:
        return self._trace.shown(self.primal, self.tangent)  # pyright: ignore


class JVPTrace(ir.Trace):
    """A trace that computes operations and their tangents, both in the parent trace."""

    __slots__ = ()

    parent: ir.Trace  # pyright: ignore[reportIncompatibleVariableOverride]

    def process(
        self, primitive: ir.Primitive, args: tuple[ir.ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Apply the jvp rule of a primitive, unless no operand has a tangent."""
        primals, tangents, active = self.split(args)
        if not active:
            return self.parent.process(primitive, args, params)
        previous = ir.context.trace
        ir.context.trace = self.parent
        try:
            # The rule runs in the parent trace: the operations on its tangents are themselves
            # differentiated by an outer jvp, so that derivatives nest.
            result, tangent = jvp_rules[primitive](primals, tangents, **params)
        finally:
            ir.context.trace = previous
        if primitive.multiple_results:
            return [self.join(r, t) for r, t in zip(result, tangent, strict=True)]
        return self.join(result, tangent)

    def split(self, args: Sequence[ir.ArrayLike]) -> tuple[list[ir.ArrayLike], list[Tangent], bool]:
        """Return the primals, the tangents, and whether any tangent is nonzero."""
        primals: list[ir.ArrayLike] = []
        tangents: list[Tangent] = []
        active = False
        for arg in args:
            if isinstance(arg, JVPTracer) and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                active = True
            else:
                primals.append(arg)
                tangents.append(Zero.from_primal(arg))
        # The type of a Python scalar depends on the settings in force. These may differ from those
        # under which the tracer was made, so scalars are converted to the tracer's type.
        if active and ir.settings_keys.only is None:
            for i, arg in enumerate(args):
                if type(tangents[i]) is not Zero:
                    aval = arg.aval  # pyright: ignore[reportAttributeAccessIssue]
                    primals[i] = ir.of_type(primals[i], aval)
                    tangents[i] = ir.of_type(tangents[i], tangent_aval(aval))
        return primals, tangents, active

    def shown(self, primal: ir.ArrayLike, tangent: ir.ArrayLike) -> str:
        """The printed form of a tracer."""
        return f"JVPTracer(primal={primal}, tangent={tangent})"

    def join(self, primal: ir.ArrayLike, tangent: Tangent) -> ir.ArrayLike:
        """Return a tracer for a primal and its tangent, or the primal if the tangent is zero."""
        if type(tangent) is Zero:
            return primal
        return JVPTracer(self, primal, tangent)  # pyright: ignore[reportArgumentType]


def run_jvp(
    trace: JVPTrace,
    fun: Callable[..., Sequence[ir.ArrayLike]],
    primals: Sequence[ir.ArrayLike],
    tangents: Sequence[Tangent],
) -> tuple[list[ir.ArrayLike], list[Tangent]]:
    """Run a flat function of arrays under a jvp trace.

    Returns:
      The results and their tangents, which may be ``Zero``, as may those in ``tangents``.
    """
    fun = ir.presenting_hi_values(fun)
    previous, names = ir.context.trace, ir.context.name_stack
    args = [
        dual_reference(trace, x, t) if ir.is_reference(x) else trace.join(x, t)
        for x, t in zip(primals, tangents, strict=True)
    ]
    ir.context.trace, ir.context.name_stack = trace, ir.jvp_stack(names)
    try:
        outs = fun(*args)
        ir.check_returned(outs, trace)
        out_primals, out_tangents, _ = trace.split(outs)
    finally:
        ir.context.trace, ir.context.name_stack = previous, names
        trace.alive = False
    if ir.check_tracer_leaks.value:
        del args, outs
        ir.check_leaks(trace)
    return out_primals, out_tangents


def jvp_flat(
    fun: Callable[..., Sequence[ir.ArrayLike]],
    primals: Sequence[ir.ArrayLike],
    tangents: Sequence[Tangent],
) -> tuple[list[ir.ArrayLike], list[Tangent]]:
    """Return the results of a flat function of arrays and their tangents, perhaps ``Zero``."""
    return run_jvp(JVPTrace(ir.context.trace), fun, primals, tangents)


def jvp_jaxpr(
    jaxpr: ir.Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[ir.Jaxpr, list[bool]]:
    """Return the jaxpr that computes a jaxpr's results and their tangents; cached on the jaxpr.

    Args:
      jaxpr: the jaxpr to differentiate.
      nonzeros: for each argument, whether its tangent is an argument. Other tangents are zero.
      instantiate: for each result (or for all), whether its tangent is returned even if it is
        zero.

    Returns:
      A jaxpr that takes the arguments and their nonzero tangents, and returns the results and their
      tangents; and for each result, whether its tangent is returned.
    """
    nonzeros = tuple(nonzeros)
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(jaxpr.outvars)
    instantiated = tuple(instantiate)
    return jaxpr.derived(
        ("jvp", nonzeros, instantiated), lambda: _jvp_jaxpr(jaxpr, nonzeros, instantiated)
    )


def without_dead_code(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """Return a jaxpr without dead equations, to be differentiated in place of a traced one.

    The rule of a dead equation may fail if it closes over a value of the function that was traced,
    such as the rule of a ``custom_jvp`` function of which only the derivative is used.
    """
    return ir.live_program(jaxpr).jaxpr if ir.may_have_dead_code(jaxpr) else jaxpr


def _jvp_jaxpr(
    jaxpr: ir.Jaxpr, nonzeros: tuple[bool, ...], instantiated: tuple[bool, ...]
) -> tuple[ir.Jaxpr, list[bool]]:
    count = len(jaxpr.invars)
    live = without_dead_code(jaxpr)
    out_nonzeros: list[bool] = []

    def fun(*args: ir.Array) -> list[Any]:
        primals, nonzero_tangents = args[:count], iter(args[count:])
        tangents: list[Tangent] = [
            next(nonzero_tangents) if nz else Zero(tangent_aval(v.aval))
            for nz, v in zip(nonzeros, jaxpr.invars, strict=True)
        ]
        run = lambda *xs: ir.eval_jaxpr(live, live.consts, *xs)
        results, result_tangents = jvp_flat(run, primals, tangents)
        result_tangents = [
            as_array(t) if as_zeros else t
            for t, as_zeros in zip(result_tangents, instantiated, strict=True)
        ]
        out_nonzeros.extend(type(t) is not Zero for t in result_tangents)
        return [*results, *(t for t in result_tangents if type(t) is not Zero)]

    avals = jaxpr.in_avals
    tangent_avals = [tangent_aval(a) for a, nz in zip(avals, nonzeros, strict=True) if nz]
    return ir.trace_to_jaxpr(fun, [*avals, *tangent_avals], jaxpr.debug_info), out_nonzeros
