"""Reverse mode, first half: run a function and record its derivative on a tape.

The tape is a trace, and jvp rules run under it. An operation of a rule that depends on no tangent
goes to the parent trace, which computes it at once; its result is a residual. The tape records the
other operations, which are linear in the tangents.
"""

from collections.abc import Callable, Sequence
from itertools import compress, repeat
from typing import Any, TypeGuard

import numpy as np

import ricci_ir as ir
from ricci_ir import AbstractValue, ArrayLike, Atom, Jaxpr, Primitive, Var

from ._jvp import JVPTrace, without_dead_code
from ._partial_eval import recompute_cheap
from ._references import dual_reference
from ._rules import jvp_rules, linearize_rules, split_rules
from ._tangent import Tangent, Zero, join_tangents, tangent_aval

__all__ = ["LinearizeTrace", "Linearized", "Tape", "linearize_call", "linearize_flat"]
__all__ += ["linearize_jaxpr", "rewrite_differentiated", "tape_to_jaxpr"]


class TangentTracer(ir.Tracer):
    """A tangent whose value is unknown, represented by the variable ``atom`` on the tape."""

    __slots__ = ("atom",)

    def __init__(self, trace: "Tape", var: Var):
        self._trace = trace
        self.aval: Any = var.aval
        self.atom: Var = var


class Tape(ir.EquationTrace):
    """A trace that records operations on tangents, and applies all others in the parent trace.

    Residuals are recorded as literals that hold their values.
    """

    __slots__ = ()

    parent: ir.Trace  # pyright: ignore[reportIncompatibleVariableOverride]

    def new_tangent(self, aval: AbstractValue) -> TangentTracer:
        """Return the tangent of an argument of the differentiated function."""
        return TangentTracer(self, Var(aval))

    def has(self, value: object) -> TypeGuard[TangentTracer]:
        """Whether a value is a tangent of this tape."""
        return type(value) is TangentTracer and value._trace is self

    def process(
        self, primitive: Primitive, args: tuple[ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Record an operation on tangents of this tape; apply others in the parent trace."""
        for arg in args:
            if type(arg) is TangentTracer and arg._trace is self:
                rule = split_rules.get(primitive)
                if rule is None:
                    return self.record(primitive, args, params)
                previous = ir.context.trace
                ir.context.trace = self.parent
                try:
                    # A recorded call would move its nonlinear part to the tangent jaxpr, which may
                    # run many times. The rule computes that part now, and records the linear one.
                    return rule(self, args, **params)
                finally:
                    ir.context.trace = previous
        return self.parent.process(primitive, args, params)

    def record(
        self, primitive: Primitive, args: Sequence[ArrayLike], params: dict[str, Any]
    ) -> Any:
        """Append an operation on tangents, and return its results, which are new tangents."""
        atoms: list[Atom] = []
        avals: list[AbstractValue] = []
        for arg in args:
            if type(arg) is TangentTracer and arg._trace is self:
                atoms.append(arg.atom)
                avals.append(arg.aval)
            else:
                aval = ir.get_aval(arg)
                atoms.append(ir.Literal(arg, aval))
                avals.append(aval)
        try:
            result = primitive.result_avals(tuple(avals), params)
        # In ``shard_map``, operands that vary over different mesh axes need casts. These are
        # recorded as well, so that the transpose has their sums over the axes.
        except ir.VaryingMismatch as mismatch:
            return self.record(primitive, mismatch.cast(self, args, avals), params)
        effects = ir.no_effects if primitive.effects is None else primitive.effects(params)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in result]
            self.append_equation(atoms, outvars, primitive, params, effects)
            return [TangentTracer(self, var) for var in outvars]
        var = Var(result)
        self.append_equation(atoms, [var], primitive, params, effects)
        return TangentTracer(self, var)


class LinearizeTrace(JVPTrace):
    """A trace that computes results in the parent trace and records their tangents on ``tape``."""

    __slots__ = ("tape",)

    def __init__(self, parent: ir.Trace):
        super().__init__(parent)
        self.tape: Tape = Tape(parent)

    def process(
        self, primitive: Primitive, args: tuple[ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Linearize an operation, unless no operand has a tangent.

        A primitive's linearize rule comes first. Without one, an eager operation is linearized by
        a compiled jaxpr, and any other by its jvp rule, which runs under the tape.
        """
        primals, tangents, active = self.split(args)
        if not active:
            return self.parent.process(primitive, args, params)
        rule = linearize_rules.get(primitive)
        previous = ir.context.trace
        run: Callable[..., tuple[Any, Any]]
        if rule is not None:
            ir.context.trace = self.parent
            run = rule
            operands = (self.tape, primals, tangents)
        elif self.parent is ir.eval_trace and primitive.impl is None:
            ir.context.trace = self.parent
            run = _linearize_one
            operands = (self.tape, primitive, primals, tangents)
            params = {"params": params}
        else:
            ir.context.trace = self.tape
            run = jvp_rules[primitive]
            operands = (primals, tangents)
        try:
            result, tangent = run(*operands, **params)
        finally:
            ir.context.trace = previous
        if primitive.multiple_results:
            return [self.join(r, self._on_tape(r, t)) for r, t in zip(result, tangent, strict=True)]
        return self.join(result, self._on_tape(result, tangent))

    def shown(self, primal: ArrayLike, tangent: ArrayLike) -> str:
        """The printed form of a tracer."""
        kind = ir.get_aval(tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={primal}, typeof(tangent)={kind})"

    def _on_tape(self, result: ArrayLike, tangent: Tangent) -> Tangent:
        """Return the tangent of a result: ``Zero`` unless it is on the tape.

        It is linear in the tangents of the arguments, so if it depends on none of them it is zero.
        """
        if type(tangent) is TangentTracer and tangent._trace is self.tape:
            return tangent
        return tangent if type(tangent) is Zero else Zero.from_primal(result)


def _linearize_one(
    tape: Tape,
    primitive: Primitive,
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """Linearize an eager operation as a jaxpr of one equation, compiled once for each type.

    So the forward pass and the transpose cost one dispatch each. With parameters that cannot be
    hashed no jaxpr is cached, and the jvp rule runs under the tape.
    """
    # An eager jvp rule would dispatch each of its operations separately.
    jaxpr = ir.single_equation(primitive, tuple(map(ir.get_aval, primals)), params)
    if jaxpr is None:
        ir.context.trace = tape
        return jvp_rules[primitive](primals, tangents, **params)
    results, out_tangents = linearize_call(
        tape, primals, tangents, jaxpr=jaxpr, name=primitive.name, typed=True
    )
    if primitive.multiple_results:
        return results, out_tangents
    return results[0], out_tangents[0]


def linearize_call(
    tape: Tape,
    primals: Sequence[ArrayLike],
    tangents: Sequence[Tangent],
    *,
    jaxpr: Jaxpr,
    name: str,
    typed: bool = False,
    donated_invars: tuple[bool, ...] = (),
) -> tuple[list[ir.Array], list[Tangent]]:
    """Linearize a staged call: call the forward jaxpr, record a call of the tangent jaxpr.

    The tangent jaxpr is typed for tangents of the primals' types. With ``typed`` it is retraced if
    the tangents differ from these in weak types.

    Donated arguments are donated to the forward call, and their tangents to the tangent call,
    except arguments that are residuals or results, which are read later.
    """
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    linearized = linearize_jaxpr(jaxpr, nonzeros)
    call = ir.staged_call.call
    forward, recording = {}, {}
    if donated_invars:
        forward = ir.donation(_last_used_forward(donated_invars, linearized))
        donated_tangents = compress(donated_invars, nonzeros)
        recording = ir.donation((*repeat(False, len(linearized.residuals)), *donated_tangents))
    outputs = call.bind(*primals, jaxpr=linearized.forward, name=name, **forward)
    results = outputs[: len(jaxpr.outvars)]
    values = (*primals, *outputs)
    residuals = [values[i] for i in linearized.residuals]
    in_tangents = [t for t in tangents if type(t) is not Zero]
    tangent_jaxpr = linearized.tangent
    # A tangent jaxpr without results would be dead at once, unless it has effects.
    if tangent_jaxpr.outvars or tangent_jaxpr.effects:
        if typed and [t.aval for t in in_tangents] != linearized.tangent_avals:  # pyright: ignore
            tangent_jaxpr = _typed_for(tangent_jaxpr, in_tangents)
        params = {"jaxpr": tangent_jaxpr, "name": name, **recording}
        recorded = tape.record(call, (*residuals, *in_tangents), params)
    else:
        recorded = ()
    out_tangents = join_tangents(linearized.nonzeros, recorded, results)
    return results, out_tangents


def _last_used_forward(donated: Sequence[bool], linearized: "Linearized") -> list[bool]:
    """Return, for each argument, whether it is donated and neither a residual nor a result."""
    # A residual is read by the tangent call, and a returned argument is the user's: the donation of
    # either would delete an array that is in use.
    residuals, returned = set(linearized.residuals), set(linearized.forward.outvars)
    return [
        flag and i not in residuals and var not in returned
        for i, (flag, var) in enumerate(zip(donated, linearized.forward.invars, strict=True))
    ]


def _typed_for(jaxpr: Jaxpr, tangents: Sequence[Any]) -> Jaxpr:
    """Retrace a jaxpr whose last arguments are tangents with the weak types of these tangents."""
    count = len(jaxpr.invars) - len(tangents)
    avals: list[Any] = jaxpr.in_avals
    weak = tuple(tangent.aval.weak_type for tangent in tangents)
    if weak == tuple(aval.weak_type for aval in avals[count:]):
        return jaxpr
    avals[count:] = [a.update(weak_type=w) for a, w in zip(avals[count:], weak, strict=True)]
    run = lambda *args: ir.eval_jaxpr(jaxpr, jaxpr.consts, *args)
    return jaxpr.derived(("typed", weak), lambda: ir.trace_to_jaxpr(run, avals, jaxpr.debug_info))


class Linearized(ir.TupleRecord):
    """A jaxpr split into the forward jaxpr and the linear jaxpr on tangents.

    Attributes:
      forward: takes the arguments; returns the results, followed by the residuals that are neither
        arguments nor results.
      tangent: takes the residuals and the nonzero tangents of the arguments; returns the tangents
        of the results.
      residuals: the position of each residual in the arguments followed by the outputs of
        ``forward``.
      nonzeros: for each result, whether ``tangent`` returns its tangent. Other tangents are zero.
      tangent_avals: the types of the nonzero tangents of the arguments.
    """

    forward: Jaxpr
    tangent: Jaxpr
    residuals: tuple[int, ...]
    nonzeros: tuple[bool, ...]
    tangent_avals: list[AbstractValue]


def linearize_jaxpr(jaxpr: Jaxpr, nonzeros: Sequence[bool]) -> Linearized:
    """Linearize a jaxpr with respect to the arguments that have tangents; cached on the jaxpr."""
    nonzeros = tuple(nonzeros)
    return jaxpr.derived(("linearize", nonzeros), lambda: _linearize_jaxpr(jaxpr, nonzeros))


def _linearize_jaxpr(jaxpr: Jaxpr, nonzeros: tuple[bool, ...]) -> Linearized:
    live = without_dead_code(jaxpr)

    def run(*args: ir.Array) -> Run:
        flat = lambda *xs: ir.eval_jaxpr(live, live.consts, *xs)
        tape, in_tangents, results, out_tangents = linearize_flat(flat, args, nonzeros)
        return tape, in_tangents, results, [None if type(t) is Zero else t for t in out_tangents]

    return forward_and_tangent(jaxpr, run, jaxpr.in_avals)


# A tape, the tangents of its arguments, the forward results, and the tangent of each result of a
# jaxpr (``None`` if it is zero).
type Run = tuple[Tape, Sequence[TangentTracer], Sequence[ArrayLike], Sequence[TangentTracer | None]]


def forward_and_tangent(
    jaxpr: Jaxpr, run: Callable[..., Run], avals: Sequence[AbstractValue]
) -> Linearized:
    """Trace the forward jaxpr of ``run(*args)``, and make the tangent jaxpr of its tape.

    Args:
      jaxpr: the jaxpr that ``run`` linearizes.
      run: evaluates that jaxpr on arrays under a tape.
      avals: the types of its arguments.
    """
    tangent_jaxpr: Any = None
    positions: tuple[int, ...] = ()
    out_nonzeros: tuple[bool, ...] = ()

    def fun(*args: ir.StagedTracer) -> list[ArrayLike]:
        nonlocal tangent_jaxpr, positions, out_nonzeros
        # Under the jaxpr trace, operations on primals are recorded in the forward jaxpr, and those
        # on tangents on the tape. The residuals are the tracers of the former that the latter
        # reads.
        tape, in_tangents, results, out_tangents = run(*args)
        out_nonzeros = tuple(t is not None for t in out_tangents)
        trace: Any = ir.context.trace
        tangent_jaxpr, residuals = tape_to_jaxpr(
            tape,
            [t.atom for t in in_tangents],
            [t.atom for t in out_tangents if t is not None],
            trace,
            jaxpr.debug_info,
        )
        tangent_jaxpr, residuals = _recompute_residuals(trace, tangent_jaxpr, residuals)
        if ir.hi_values.in_use:
            tangent_jaxpr, residuals = _parted_residuals(tangent_jaxpr, residuals)
        # A residual that is an argument or a result already is not returned once more.
        outputs = list(results)
        indices = {id(a.atom): i for i, a in enumerate(args)}
        for i, r in enumerate(results):
            if isinstance(r, ir.StagedTracer):
                indices.setdefault(id(r.atom), len(args) + i)
        for residual in residuals:
            if id(residual.atom) not in indices:
                indices[id(residual.atom)] = len(args) + len(outputs)
                outputs.append(residual)
        positions = tuple([indices[id(residual.atom)] for residual in residuals])
        return outputs

    # A rule may compute values that no residual of its tangents depends on.
    forward = ir.live_program(ir.trace_to_jaxpr(fun, avals, jaxpr.debug_info)).jaxpr
    tangent_avals = tangent_jaxpr.in_avals[len(positions) :]
    return Linearized(forward, tangent_jaxpr, positions, out_nonzeros, tangent_avals)


def _recompute_residuals(
    trace: ir.JaxprTrace, tangent_jaxpr: Jaxpr, residuals: list[ir.StagedTracer]
) -> tuple[Jaxpr, list[ir.StagedTracer]]:
    """Move the computation of cheap residuals into the tangent jaxpr; see ``recompute_cheap``."""
    # Each residual costs memory from the forward pass to the backward pass, and cheap equations are
    # faster to repeat than to read from memory.
    recomputed, variables = recompute_cheap(trace.eqns, [r.atom for r in residuals])
    if not recomputed:
        return tangent_jaxpr, residuals
    tangents = tangent_jaxpr.invars[len(residuals) :]
    jaxpr = tangent_jaxpr.replace(
        invars=[*variables, *tangents], eqns=[*recomputed, *tangent_jaxpr.eqns]
    )
    return jaxpr, [ir.StagedTracer(trace, var.aval, var) for var in variables]


def _parted_residuals(
    tangent_jaxpr: ir.Jaxpr, residuals: list[ir.StagedTracer]
) -> tuple[ir.Jaxpr, list[ir.StagedTracer]]:
    """Replace residuals that are made of several arrays by their parts, which are joined again."""
    parts: list[ir.StagedTracer] = []
    joined: dict[ir.Atom, ir.Atom] = {}
    eqns: list[ir.JaxprEqn] = []
    for residual in residuals:
        aval: Any = residual.aval
        if not aval.is_high:
            parts.append(residual)
            continue
        own_parts: list[Any] = list(ir.split_parts.call(aval, residual))
        parts.extend(own_parts)
        join = ir.trace_to_jaxpr(lambda *xs, a=aval: [ir.join_parts.call(a, xs)], aval.lo_ty())
        joined[residual.atom] = var = ir.Var(aval)
        eqns.append(join.eqns[-1].replace(invars=[x.atom for x in own_parts], outvars=[var]))
    if not joined:
        return tangent_jaxpr, residuals
    read: Callable[[ir.Atom], ir.Atom] = lambda atom: (
        atom if type(atom) is ir.Literal else joined.get(atom, atom)
    )
    eqns += [eqn.reading(list(map(read, eqn.invars))) for eqn in tangent_jaxpr.eqns]
    invars = [*(part.atom for part in parts), *tangent_jaxpr.invars[len(residuals) :]]
    outvars = list(map(read, tangent_jaxpr.outvars))
    return tangent_jaxpr.replace(invars=invars, eqns=eqns, outvars=outvars), parts


def linearize_flat(
    fun: Callable[..., Sequence[ArrayLike]], primals: Sequence[ArrayLike], nonzeros: Sequence[bool]
) -> tuple[Tape, list[TangentTracer], list[ArrayLike], list[TangentTracer | Zero]]:
    """Run a flat function, and record its derivative.

    Args:
      fun: a function of arrays that returns a sequence of arrays.
      primals: its arguments.
      nonzeros: for each argument, whether to differentiate with respect to it.

    Returns:
      The tape, the tangents of the differentiated arguments, the results, and the tangents of the
      results (``TangentTracer`` or ``Zero``).
    """
    fun = ir.presenting_hi_values(fun)
    trace = LinearizeTrace(ir.context.trace)
    tape = trace.tape
    in_tangents: list[TangentTracer] = []
    args: list[Any] = []
    for primal, nonzero in zip(primals, nonzeros, strict=True):
        if nonzero:
            aval: Any = ir.get_aval(primal)
            if ir.is_reference(primal):
                tangent = tape.new_tangent(tangent_aval(aval.inner_aval))
                args.append(dual_reference(trace, primal, tangent))
            else:
                tangent = tape.new_tangent(tangent_aval(aval))
                args.append(trace.join(primal, tangent))
            in_tangents.append(tangent)
        else:
            args.append(primal)
    previous, names = ir.context.trace, ir.context.name_stack
    ir.context.trace, ir.context.name_stack = trace, ir.jvp_stack(names)
    try:
        outs = fun(*args)
        ir.check_returned(outs, trace)
        results, out_tangents, _ = trace.split(outs)
    finally:
        ir.context.trace, ir.context.name_stack = previous, names
        trace.alive = tape.alive = False
    if ir.check_tracer_leaks.value:
        del args, outs
        ir.check_leaks(trace)
    return tape, in_tangents, results, out_tangents  # pyright: ignore[reportReturnType]


# Applied to each user function that is differentiated, as by ``fit_memory``; hashable.
rewrite_differentiated: ir.State = ir.define_context("rewrite_differentiated", lambda fun: fun)


def linearize_function(
    fun: Callable[..., Sequence[ArrayLike]], primals: Sequence[ArrayLike], nonzeros: Sequence[bool]
) -> tuple[Tape, list[TangentTracer], list[ArrayLike], list[TangentTracer | Zero]]:
    """``linearize_flat`` of a user's function, or of what replaces it."""
    return linearize_flat(rewrite_differentiated.value(fun), primals, nonzeros)


def tape_to_jaxpr(
    tape: Tape,
    in_vars: Sequence[Var],
    out_vars: Sequence[Var],
    residual_trace: ir.Trace,
    debug_info: ir.DebugInfo = ir.unknown_debug_info,
) -> tuple[Jaxpr, list[ir.StagedTracer]]:
    """Return the jaxpr of a tape, without dead equations.

    Args:
      tape: the tape.
      in_vars: the tangents of the arguments.
      out_vars: the tangents of the results.
      residual_trace: residuals that are tracers of this trace become leading arguments, and keep
        their variables. Other residuals that are arrays become constants.
      debug_info: the description of the function.

    Returns:
      The jaxpr, and the values of its leading arguments.
    """
    # The tape also has operations for tangents that the function has dropped, such as those of
    # results that it did not return.
    live = ir.live_equations(tape.eqns, out_vars)
    eqns, residuals, const_vars, consts = residuals_to_variables(live, residual_trace)
    invars = [*(residual.atom for residual in residuals), *in_vars]
    effects = ir.join_effects(eqn.effects for eqn in eqns)
    return Jaxpr(const_vars, invars, out_vars, eqns, effects, debug_info, consts), residuals


def residuals_to_variables(
    eqns: Sequence[ir.JaxprEqn], trace: ir.Trace | None = None
) -> tuple[list[ir.JaxprEqn], list[ir.StagedTracer], list[Var], list[Any]]:
    """Replace the residuals in a tape's equations, which are literals, by variables.

    Args:
      eqns: the equations.
      trace: residuals that are tracers of this trace keep their variables.

    Returns:
      The equations; the residuals that are tracers of ``trace``; and the variables and the values
      of all other arrays. Scalars that are not arrays stay literals.
    """
    tracers: dict[int, ir.StagedTracer] = {}
    variables: dict[int, Var] = {}
    values: list[Any] = []

    def atom(operand: Atom) -> Atom:
        if type(operand) is not ir.Literal:
            return operand
        value = operand.val
        if trace is not None and isinstance(value, ir.StagedTracer) and value._trace is trace:
            var = value.atom
            if type(var) is not ir.Literal:
                tracers.setdefault(id(var), value)
            return var
        if not hasattr(type(value), "aval") and type(value) not in ir.hi_values.rules:
            # A 0-d NumPy array is a literal of a jaxpr, but a leaf of a pullback.
            if not isinstance(value, np.ndarray) or (trace is not None and value.ndim == 0):
                return operand
        if id(value) not in variables:
            variables[id(value)] = Var(operand.aval)
            values.append(value)
        return variables[id(value)]

    replaced = [eqn.reading([atom(a) for a in eqn.invars]) for eqn in eqns]
    return replaced, list(tracers.values()), list(variables.values()), values
