"""Reverse mode, first half: run a function and record its derivative on a tape.

The tape is a trace of its own, and jvp rules run under it. An operation of a rule that depends on
no tangent goes to the parent trace, which computes it at once; its result is a residual. The tape
records the other operations, which are linear in the tangents.
"""

from collections.abc import Callable, Sequence
from itertools import compress, repeat
from typing import Any, TypeGuard

from ricci_ir import (
    AbstractValue,
    Array,
    ArrayLike,
    Atom,
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    JaxprTrace,
    Literal,
    Primitive,
    StagedTracer,
    Trace,
    TraceKey,
    Tracer,
    TupleRecord,
    Var,
    VaryingMismatch,
    caller_source,
    check_leaks,
    check_returned,
    check_tracer_leaks,
    context,
    donation,
    eval_jaxpr,
    eval_trace,
    get_aval,
    is_reference,
    join_effects,
    jvp_stack,
    live_equations,
    live_program,
    no_effects,
    settings_keys,
    single_equation,
    staged_call,
    trace_key,
    trace_to_jaxpr,
    unknown_debug_info,
)

from ._jvp import JVPTrace, without_dead_code
from ._linear_programs import params_without_rules
from ._references import dual_reference
from ._rules import jvp_rules, linearize_rules, split_rules
from ._splitting import repeated
from ._tangent import Tangent, Zero, instantiate, join_tangents, tangent_aval


class TangentTracer(Tracer):
    """A tangent whose value is not known yet: the variable ``atom`` stands for it on the tape."""

    __slots__ = ("atom",)

    aval: Any
    atom: Var

    def __init__(self, trace: "Tape", var: Var):
        self._trace = trace
        self.aval = var.aval
        self.atom = var


class Tape(Trace):
    """Records the operations on tangents, and passes all others on to the parent trace.

    Residuals are recorded as literals that hold their values.
    """

    __slots__ = ("eqns", "settings")

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride]
    eqns: list[JaxprEqn]
    settings: TraceKey

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.eqns = []
        self.settings = trace_key()

    def new_tangent(self, aval: AbstractValue) -> TangentTracer:
        """The tangent of an argument of the differentiated function."""
        return TangentTracer(self, Var(aval))

    def has(self, value: object) -> TypeGuard[TangentTracer]:
        """Whether a value is a tangent of this tape."""
        return type(value) is TangentTracer and value._trace is self

    def process(
        self, primitive: Primitive, args: tuple[ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Record an operation if an operand is a tangent of this tape, else pass it on."""
        for arg in args:
            if type(arg) is TangentTracer and arg._trace is self:
                rule = split_rules.get(primitive)
                if rule is None:
                    return self.record(primitive, args, params)
                previous = context.trace
                context.trace = self.parent
                try:
                    return rule(self, args, **params)
                finally:
                    context.trace = previous
        return self.parent.process(primitive, args, params)

    def record(
        self, primitive: Primitive, args: Sequence[ArrayLike], params: dict[str, Any]
    ) -> Any:
        """Append an operation on tangents; its results are new tangents."""
        atoms: list[Atom] = []
        avals: list[AbstractValue] = []
        for arg in args:
            if type(arg) is TangentTracer and arg._trace is self:
                atoms.append(arg.atom)
                avals.append(arg.aval)
            else:
                aval = get_aval(arg)
                atoms.append(Literal(arg, aval))
                avals.append(aval)
        try:
            result = primitive.result_avals(tuple(avals), params)
        except VaryingMismatch as mismatch:
            return self.record(primitive, mismatch.cast(self, args, avals), params)
        names = context.name_stack
        origin = context.origin
        source = caller_source(2, names) if origin is None else (*origin, names)
        effects = no_effects if primitive.effects is None else primitive.effects(params)
        many = primitive.multiple_results
        outvars = [Var(aval) for aval in result] if many else [Var(result)]
        eqn = JaxprEqn(atoms, outvars, primitive, params, effects, source)
        if settings_keys.only is not self.settings and settings_keys.here() is not self.settings:
            eqn = eqn.under(self.settings.otherwise_held())
        self.eqns.append(eqn)
        if many:
            return [TangentTracer(self, var) for var in outvars]
        return TangentTracer(self, outvars[0])


class LinearizeTrace(JVPTrace):
    """Computes results in the parent trace and records their tangents on ``tape``."""

    __slots__ = ("tape",)

    tape: Tape

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.tape = Tape(parent)

    def process(
        self, primitive: Primitive, args: tuple[ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Linearize an operation, unless no operand has a tangent.

        A primitive's linearize rule comes first. Without one, an eager operation is linearized by
        a compiled program, and any other by its jvp rule, which runs under the tape.
        """
        primals, tangents, active = self.split(args)
        if not active:
            return self.parent.process(primitive, args, params)
        rule = linearize_rules.get(primitive)
        previous = context.trace
        run: Callable[..., tuple[Any, Any]]
        if rule is not None:
            context.trace = self.parent
            run = rule
            operands = (self.tape, primals, tangents)
        elif self.parent is eval_trace and primitive.impl is None:
            context.trace = self.parent
            run = _linearize_one
            operands = (self.tape, primitive, primals, tangents)
            params = {"params": params}
        else:
            context.trace = self.tape
            run = jvp_rules[primitive]
            operands = (primals, tangents)
        try:
            result, tangent = run(*operands, **params)
        finally:
            context.trace = previous
        if primitive.multiple_results:
            return [self.join(r, self._on_tape(r, t)) for r, t in zip(result, tangent, strict=True)]
        return self.join(result, self._on_tape(result, tangent))

    def shown(self, primal: ArrayLike, tangent: ArrayLike) -> str:
        """The printed form of a tracer."""
        kind = get_aval(tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={primal}, typeof(tangent)={kind})"

    def _on_tape(self, result: ArrayLike, tangent: Tangent) -> Tangent:
        """The tangent of a result: ``Zero`` unless it is on the tape.

        A tangent is linear in the given tangents, so one that depends on none of them is zero.
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
    """Linearize an eager operation by a program of one equation, compiled once for each type.

    The forward pass and the transpose cost one dispatch each so. Parameters that cannot be hashed
    have no kept program; the jvp rule then runs under the tape.
    """
    jaxpr = single_equation(primitive, tuple(map(get_aval, primals)), params)
    if jaxpr is None:
        context.trace = tape
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
) -> tuple[list[Array], list[Tangent]]:
    """The linearize rule of a staged call: call the forward program, record the tangent program.

    That is typed for tangents of the primals' types, so its results are weakly typed where it says
    so; ``typed`` asks for a program that is typed for the given tangents.

    Arguments that are donated are donated to the forward program, and their tangents to the other;
    but for what is needed later: arguments that are residuals, or results.
    """
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    linearized = linearize_jaxpr(jaxpr, nonzeros)
    call = staged_call.call
    forward, recording = {}, {}
    if donated_invars:
        forward = donation(_not_needed_later(donated_invars, linearized))
        donated_tangents = compress(donated_invars, nonzeros)
        recording = donation((*repeat(False, len(linearized.residuals)), *donated_tangents))
    outputs = call.bind(*primals, jaxpr=linearized.forward, name=name, **forward)
    results = outputs[: len(jaxpr.outvars)]
    values = (*primals, *outputs)
    residuals = [values[i] for i in linearized.residuals]
    given = [t for t in tangents if type(t) is not Zero]
    program = linearized.tangent
    if program.outvars or program.effects:
        if typed and [t.aval for t in given] != linearized.given:  # pyright: ignore
            program = _typed_for(program, given)
        params = {"jaxpr": program, "name": name, **recording}
        recorded = tape.record(call, (*residuals, *given), params)
    else:
        recorded = ()
    out_tangents = join_tangents(linearized.nonzeros, recorded, results)
    return results, out_tangents


def _not_needed_later(donated: Sequence[bool], linearized: "Linearized") -> list[bool]:
    """For each donated argument, whether it is neither a residual nor a result."""
    kept, returned = set(linearized.residuals), set(linearized.forward.outvars)
    invars = linearized.forward.invars
    return [flag and i not in kept and invars[i] not in returned for i, flag in enumerate(donated)]


def _typed_for(program: Jaxpr, tangents: Sequence[Any]) -> Jaxpr:
    """The program where its last arguments are weakly typed as the given tangents are."""
    known = len(program.invars) - len(tangents)
    avals: list[Any] = program.in_avals
    weak = tuple(tangent.aval.weak_type for tangent in tangents)
    if weak == tuple(aval.weak_type for aval in avals[known:]):
        return program
    avals[known:] = [a.update(weak_type=w) for a, w in zip(avals[known:], weak, strict=True)]
    run = lambda *args: eval_jaxpr(program, program.consts, *args)
    return program.derived(("typed", weak), lambda: trace_to_jaxpr(run, avals, program.debug_info))


class Linearized(TupleRecord):
    """A jaxpr as two programs: the forward program, and the linear program on tangents.

    Attributes:
      forward: takes the arguments; returns the results, followed by the residuals that are neither
        arguments nor results.
      tangent: takes the residuals and the given tangents; returns the tangents of the results.
      residuals: the position of each residual in the arguments followed by the outputs of
        ``forward``.
      nonzeros: for each result, whether ``tangent`` returns its tangent. Other tangents are zero.
      given: the types of the given tangents.
    """

    forward: Jaxpr
    tangent: Jaxpr
    residuals: tuple[int, ...]
    nonzeros: tuple[bool, ...]
    given: list[AbstractValue]


def linearize_jaxpr(jaxpr: Jaxpr, nonzeros: Sequence[bool]) -> Linearized:
    """Linearize a jaxpr, given which arguments have a tangent; the jaxpr keeps the result."""
    nonzeros = tuple(nonzeros)
    return jaxpr.derived(("linearize", nonzeros), lambda: _linearize_jaxpr(jaxpr, nonzeros))


def _linearize_jaxpr(jaxpr: Jaxpr, nonzeros: tuple[bool, ...]) -> Linearized:
    live = without_dead_code(jaxpr)

    def run(*args: Array) -> _Run:
        flat = lambda *xs: eval_jaxpr(live, live.consts, *xs)
        tape, given, results, out_tangents = linearize_flat(flat, args, nonzeros)
        return tape, given, results, [None if type(t) is Zero else t for t in out_tangents]

    return _two_programs(jaxpr, run, jaxpr.in_avals)


# A tape, the tangents given to it, the forward results, and the tangent of each result of a jaxpr
# (``None`` if it is zero).
type _Run = tuple[
    Tape, Sequence[TangentTracer], Sequence[ArrayLike], Sequence[TangentTracer | None]
]


def _two_programs(
    jaxpr: Jaxpr, run: Callable[..., _Run], avals: Sequence[AbstractValue]
) -> Linearized:
    """The forward program of ``run(*args)``, and the program of its tape.

    Args:
      jaxpr: the program that ``run`` linearizes.
      run: runs that program on arrays under a tape.
      avals: the types of its arguments.
    """
    tangent_program: Any = None
    positions: tuple[int, ...] = ()
    out_nonzeros: tuple[bool, ...] = ()

    def fun(*args: StagedTracer) -> list[ArrayLike]:
        nonlocal tangent_program, positions, out_nonzeros
        tape, given, results, out_tangents = run(*args)
        out_nonzeros = tuple(t is not None for t in out_tangents)
        trace: Any = context.trace
        tangent_program, values = tape_to_jaxpr(
            tape,
            [t.atom for t in given],
            [t.atom for t in out_tangents if t is not None],
            trace,
            jaxpr.debug_info,
        )
        tangent_program, values = _with_repeats(trace, tangent_program, values)
        # A residual that is an argument or a result already is not returned once more.
        outputs = list(results)
        known = {id(a.atom): i for i, a in enumerate(args)}
        for i, r in enumerate(results):
            if isinstance(r, StagedTracer):
                known.setdefault(id(r.atom), len(args) + i)
        where: list[int] = []
        for value in values:
            if id(value.atom) not in known:
                known[id(value.atom)] = len(args) + len(outputs)
                outputs.append(value)
            where.append(known[id(value.atom)])
        positions = tuple(where)
        return outputs

    # A rule may compute more than its tangents' residuals turn out to need.
    forward = live_program(trace_to_jaxpr(fun, avals, jaxpr.debug_info)).jaxpr
    given = tangent_program.in_avals[len(positions) :]
    return Linearized(forward, tangent_program, positions, out_nonzeros, given)


def _with_repeats(
    trace: JaxprTrace, tangent_program: Jaxpr, values: list[StagedTracer]
) -> tuple[Jaxpr, list[StagedTracer]]:
    """A program and its residuals, without those that it can make itself; see ``repeated``."""
    repeats, residuals = repeated(trace.eqns, [value.atom for value in values])
    if not repeats:
        return tangent_program, values
    given = tangent_program.invars[len(values) :]
    program = tangent_program.replace(
        invars=[*residuals, *given], eqns=[*repeats, *tangent_program.eqns]
    )
    return program, [StagedTracer(trace, var.aval, var) for var in residuals]


def split_call(
    tape: Tape,
    args: Sequence[ArrayLike],
    *,
    jaxpr: Jaxpr,
    name: str,
    donated_invars: tuple[bool, ...] = (),
) -> list[Array]:
    """The split rule of a staged call.

    A program of what depends on no tangent is called, and a call of the rest is recorded. Nothing
    is donated to either, since both may need the same arrays.
    """
    linear = tuple(map(tape.has, args))
    parts = jaxpr.derived(("split tape", linear), lambda: _split_jaxpr(jaxpr, linear))
    call = staged_call.call
    if all(parts.nonzeros) and not parts.forward.eqns:
        return tape.record(call, args, {"jaxpr": jaxpr, "name": name})
    known = [arg for arg, lin in zip(args, linear, strict=True) if not lin]
    outputs = call.bind(*known, jaxpr=parts.forward, name=name)
    values = (*known, *outputs)
    operands = [values[i] for i in parts.residuals]
    operands += [arg for arg, lin in zip(args, linear, strict=True) if lin]
    recorded: Any = ()
    if parts.tangent.outvars:
        recorded = tape.record(call, operands, {"jaxpr": parts.tangent, "name": name})
    computed, tangents = iter(outputs), iter(recorded)
    return [next(tangents if nonzero else computed) for nonzero in parts.nonzeros]


def split_by_linearizing(
    rule: Callable[..., tuple[Sequence[Array], Sequence[Tangent]]],
) -> Callable[..., list[Array]]:
    """The split rule of a primitive with several results, derived from its linearize rule.

    The operation is linear in the tangents of the tape, so it is its own derivative with respect to
    them: it is linearized at zero, and the tangents take the place of the derivative's argument.

    Args:
      rule: the linearize rule.
    """

    def split(tape: Tape, args: Sequence[ArrayLike], **params: object) -> list[Array]:
        primals = [instantiate(Zero(x.aval)) if tape.has(x) else x for x in args]
        tangents = [x if tape.has(x) else Zero.from_primal(x) for x in args]
        params = params_without_rules(params)
        results, out_tangents = rule(tape, primals, tangents, **params)
        return [t if tape.has(t) else r for r, t in zip(results, out_tangents, strict=True)]

    return split


def _split_jaxpr(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> Linearized:
    """Split a jaxpr that is linear in some of its arguments.

    ``forward`` takes the other arguments, and returns the results that depend on no linear one.
    """

    def run(*args: Array) -> _Run:
        tape, known = Tape(context.trace), iter(args)
        operands: list[Any] = [
            tape.new_tangent(v.aval) if lin else next(known)
            for v, lin in zip(jaxpr.invars, linear, strict=True)
        ]
        previous = context.trace
        context.trace = tape
        try:
            outs = eval_jaxpr(jaxpr, jaxpr.consts, *operands)
        finally:
            context.trace = previous
            tape.alive = False
        mine = list(map(tape.has, outs))
        return (
            tape,
            [x for x, lin in zip(operands, linear, strict=True) if lin],
            [out for out, m in zip(outs, mine, strict=True) if not m],
            [out if m else None for out, m in zip(outs, mine, strict=True)],
        )

    avals = [aval for aval, lin in zip(jaxpr.in_avals, linear, strict=True) if not lin]
    return _two_programs(jaxpr, run, avals)


def linearize_flat(
    fun: Callable[..., Sequence[ArrayLike]],
    primals: Sequence[ArrayLike],
    nonzeros: Sequence[bool],
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
    trace = LinearizeTrace(context.trace)
    tape = trace.tape
    given: list[TangentTracer] = []
    args: list[Any] = []
    for primal, nonzero in zip(primals, nonzeros, strict=True):
        if nonzero:
            aval: Any = get_aval(primal)
            if is_reference(primal):
                tangent = tape.new_tangent(tangent_aval(aval.inner_aval))
                args.append(dual_reference(trace, primal, tangent))
            else:
                tangent = tape.new_tangent(tangent_aval(aval))
                args.append(trace.join(primal, tangent))
            given.append(tangent)
        else:
            args.append(primal)
    previous, names = context.trace, context.name_stack
    context.trace, context.name_stack = trace, jvp_stack(names)
    try:
        outs = fun(*args)
        check_returned(outs, trace)
        results, out_tangents, _ = trace.split(outs)
    finally:
        context.trace, context.name_stack = previous, names
        trace.alive = tape.alive = False
    if check_tracer_leaks.value:
        del args, outs
        check_leaks(trace)
    return tape, given, results, out_tangents  # pyright: ignore[reportReturnType]


def tape_to_jaxpr(
    tape: Tape,
    in_vars: Sequence[Var],
    out_vars: Sequence[Var],
    residual_trace: Trace,
    debug_info: DebugInfo = unknown_debug_info,
) -> tuple[Jaxpr, list[StagedTracer]]:
    """The jaxpr of a tape, without the equations that its results do not need.

    Args:
      tape: the tape.
      in_vars: the given tangents.
      out_vars: the tangents of the results.
      residual_trace: residuals that are tracers of this trace become leading arguments, and keep
        their variables. Other residuals that are arrays become constants.
      debug_info: the description of the function.

    Returns:
      The jaxpr, and the values of its leading arguments.
    """
    eqns = live_equations(tape.eqns, out_vars)
    residuals: dict[int, StagedTracer] = {}
    const_vars: dict[int, Var] = {}
    consts: list[Any] = []

    def atom(known: Atom) -> Atom:
        if type(known) is not Literal:
            return known
        value = known.val
        if isinstance(value, StagedTracer) and value._trace is residual_trace:
            var = value.atom
            if type(var) is not Literal:
                residuals.setdefault(id(var), value)
            return var
        if known.aval.shape == () and not hasattr(type(value), "aval"):
            return known
        if id(value) not in const_vars:
            const_vars[id(value)] = Var(known.aval)
            consts.append(value)
        return const_vars[id(value)]

    eqns = [eqn.reading([atom(a) for a in eqn.invars]) for eqn in eqns]
    known = list(residuals.values())
    invars = [*(value.atom for value in known), *in_vars]
    jaxpr = Jaxpr(
        list(const_vars.values()),
        invars,
        out_vars,
        eqns,
        join_effects(eqn.effects for eqn in eqns),
        debug_info,
        consts,
    )
    return jaxpr, known
