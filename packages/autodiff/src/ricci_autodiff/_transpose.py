"""Reverse mode, second half: transpose linear equations, to pull cotangents back through them."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import ricci_ir as ir

from ._rules import UndefinedPrimal, required_operands, transpose_rules, transposes_zeros
from ._tangent import Tangent, Zero, add_tangents, cotangent_aval, tangent_aval, with_type

__all__ = ["transpose_call", "transpose_flat", "transpose_jaxpr"]


def pull_back(
    eqns: Sequence[ir.JaxprEqn],
    cotangents: dict[ir.Atom, Tangent],
    primals: dict[ir.Atom, ir.ArrayLike],
    required: set[ir.Atom] | None = None,
) -> None:
    """Transpose linear equations, from the last to the first.

    Args:
      eqns: the equations, in forward order.
      cotangents: the cotangents of the results, by variable. The cotangents of the arguments are
        added to it.
      primals: the values of the nonlinear variables. All other variables are linear.
      required: the linear variables whose cotangents are used, from ``_required_equations``;
        ``None`` for all.
    """
    names, origin = ir.context.name_stack, ir.context.origin
    switch = ir.SettingsSwitch()
    try:
        _pull_back(eqns, cotangents, primals, required, names, origin, switch)
    finally:
        switch.to(None)
        ir.context.name_stack, ir.context.origin = names, origin


def _pull_back(
    eqns: Sequence[ir.JaxprEqn],
    cotangents: dict[ir.Atom, Tangent],
    primals: dict[ir.Atom, ir.ArrayLike],
    required: set[ir.Atom] | None,
    names: tuple[str, ...],
    origin: tuple[Any, int] | None,
    switch: ir.SettingsSwitch,
) -> None:
    # The equations of a scope share their name stack, so its transposed form is cached by identity.
    transposed: dict[int, tuple[str, ...]] = {}
    # Variables for which a rule has returned a zero cotangent. Unused variables are not among them.
    zeros: set[ir.Atom] = set()
    # A variable is read only after the equation that defines it. In reverse order, its cotangent
    # is therefore complete when that equation is reached, and can be taken out of the table.
    for eqn in reversed(eqns):
        primitive = eqn.primitive
        if primitive.multiple_results:
            ct = _collect(eqn, cotangents)
        else:
            ct = cotangents.pop(eqn.outvars[0], None)
        if ct is None:
            if not zeros or zeros.isdisjoint(eqn.outvars):
                continue
            # A linear function maps zero cotangents to zeros. The rule of a primitive in this table
            # may return others, so it is called even then.
            if primitive not in transposes_zeros:
                zeros.update(
                    a for a in eqn.invars if type(a) is not ir.Literal and a not in primals
                )
                continue
            ct = [Zero(cotangent_aval(var.aval)) for var in eqn.outvars]
            ct = ct if primitive.multiple_results else ct[0]
        # An equation that was recorded under other settings, as inside of ``enable_x64``, is
        # transposed under these.
        if eqn.settings is not switch.key:
            switch.to(eqn.settings)
        if switch.key is not None:
            ct = _typed(ct, eqn)
        operands = []
        sharded = False
        for atom in eqn.invars:
            if atom.aval.type_sharding is not None:
                sharded = True
            if type(atom) is ir.Literal:
                operands.append(atom.operand())
            elif atom in primals:
                operands.append(primals[atom])
            else:
                operands.append(UndefinedPrimal(atom.aval, required is None or atom in required))
        code, offset, recorded = eqn.raw_source
        ir.context.origin = (code, offset) if code is not None else origin or ir.no_origin
        stack = transposed.get(id(recorded))
        if stack is None:
            stack = transposed[id(recorded)] = ir.transposed_stack(names, recorded)
        ir.context.name_stack = stack
        if sharded:
            results = _transposed_on_mesh(eqn, ct, operands)
        else:
            results = transpose_rules[primitive](ct, *operands, **eqn.params)
        for atom, operand, result in zip(eqn.invars, operands, results, strict=True):
            if type(operand) is not UndefinedPrimal or not operand.required:
                continue
            if result is None or type(result) is Zero:
                zeros.add(atom)
            else:
                earlier = cotangents.get(atom)
                # A variable that is read several times gets the sum: the transpose of copying is
                # addition.
                cotangents[atom] = result if earlier is None else add_tangents(earlier, result)


def _required_equations(
    eqns: Sequence[ir.JaxprEqn], variables: Sequence[ir.Var], flags: Sequence[bool]
) -> tuple[Sequence[ir.JaxprEqn], set[ir.Atom] | None]:
    """Drop the equations through which no required cotangent passes.

    Args:
      eqns: linear equations, in forward order.
      variables: their arguments.
      flags: for each argument, whether its cotangent is required.

    Returns:
      The equations that depend on a required argument, and the variables that do.
    """
    # Values also flow through references, which these sets of variables do not follow.
    if any(ir.uses_references(eqn.effects) for eqn in eqns):
        return eqns, None
    # A forward pass over the linear equations: one that reads no marked variable does not lead from
    # a required argument to a result, so no cotangent passes through it to such an argument.
    required: set[ir.Atom] = set(compress(variables, flags))
    live = []
    for eqn in eqns:
        if not required.isdisjoint(eqn.invars):
            required.update(eqn.outvars)
            live.append(eqn)
    return live, required


def _transposed_on_mesh(eqn: ir.JaxprEqn, ct: object, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the cotangents of an equation's operands, whose types have shardings.

    A cotangent has the sharding of its operand. So an operation of the rule may leave an ambiguous
    sharding of its result open: the result is resharded in the end. If values only vary along
    manual axes, nothing is ambiguous, and the setting, which costs more than the rule, is not made.
    """
    if any(a.aval.type_sharding and a.aval.type_sharding.mesh for a in eqn.invars):
        with ir.lenient_sharding(True):
            return _transposed_as_operands(eqn, ct, operands)
    return _transposed_as_operands(eqn, ct, operands)


def _transposed_as_operands(eqn: ir.JaxprEqn, ct: object, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the cotangents of an equation's operands, with the operands' shardings."""
    results = transpose_rules[eqn.primitive](ct, *operands, **eqn.params)
    return [
        with_type.call(result, cotangent_aval(atom.aval))
        if result is not None and type(result) is not Zero and not atom.aval.is_high
        else result
        for result, atom in zip(results, eqn.invars, strict=True)
    ]


def _collect(eqn: ir.JaxprEqn, cotangents: dict[ir.Atom, Tangent]) -> list[Tangent] | None:
    """Pop the cotangents of an equation's results; ``None`` if all of them are zero."""
    if len(eqn.outvars) == 1:
        ct = cotangents.pop(eqn.outvars[0], None)
        return None if ct is None else [ct]
    cts = [cotangents.pop(var, None) for var in eqn.outvars]
    if all(ct is None for ct in cts):
        return None
    return [
        Zero(cotangent_aval(var.aval)) if ct is None else ct
        for ct, var in zip(cts, eqn.outvars, strict=True)
    ]


def _typed(ct: Any, eqn: ir.JaxprEqn) -> Any:
    """Convert cotangents that are Python scalars and have another type in the current settings."""
    cts = ct if eqn.primitive.multiple_results else [ct]
    typed = [
        c if type(c) is Zero else ir.of_type(c, tangent_aval(var.aval))
        for c, var in zip(cts, eqn.outvars, strict=True)
    ]
    return typed if eqn.primitive.multiple_results else typed[0]


def pull_back_tape(
    eqns: Sequence[ir.JaxprEqn],
    in_vars: Sequence[ir.Var],
    out_vars: Sequence[ir.Var | None],
    cts: Sequence[Tangent],
    required: Sequence[bool] | None = None,
) -> list[Tangent]:
    """Return the cotangents of the arguments of a tape, as arrays or ``Zero``.

    Args:
      eqns: the equations of the tape.
      in_vars: the tangents of the arguments.
      out_vars: the tangents of the results; ``None`` for a zero.
      cts: the cotangents of the results.
      required: for each argument, whether its cotangent is computed; by default, all are.
    """
    cotangents: dict[ir.Atom, Tangent] = {}
    for var, ct in zip(out_vars, cts, strict=True):
        if var is not None and type(ct) is not Zero:
            earlier = cotangents.get(var)
            cotangents[var] = ct if earlier is None else add_tangents(earlier, ct)
    variables = None
    if required is not None:
        eqns, variables = _required_equations(eqns, in_vars, required)
    pull_back(eqns, cotangents, {}, variables)
    return [_cotangent(cotangents, var) for var in in_vars]


def transpose_flat(
    jaxpr: ir.Jaxpr,
    linear: Sequence[bool],
    args: Sequence[Any],
    cts: Sequence[Tangent],
    sums: Sequence[Tangent] = (),
    required: Sequence[bool] | None = None,
) -> list[Tangent]:
    """Pull cotangents back through a jaxpr that is linear in some of its arguments.

    Args:
      jaxpr: the jaxpr.
      linear: for each argument, whether the jaxpr is linear in it.
      args: the arguments; the values of the linear ones are not used.
      cts: the cotangents of the results.
      sums: cotangents to which those of the first linear arguments are added.
      required: for each linear argument, whether its cotangent is computed; others are ``Zero``. By
        default, all are.

    Returns:
      The cotangent of each linear argument, an array or ``Zero``.
    """
    # Reads and writes of references have an order, which the reversal below would not respect.
    # Discharged, they are pure functions of arrays.
    if ir.uses_references(jaxpr.effects):
        jaxpr = ir.discharged(jaxpr).jaxpr
    env: dict[ir.Atom, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    depends: set[ir.Atom] = set()
    for var, is_linear, arg in zip(jaxpr.invars, linear, args, strict=True):
        if is_linear:
            depends.add(var)
        else:
            env[var] = arg

    # Equations that depend on no linear argument are evaluated forwards; the others are transposed.
    eqns, nonlinear = [], []
    for eqn in jaxpr.eqns:
        if depends.isdisjoint(eqn.invars):
            nonlinear.append(eqn)
        else:
            depends.update(eqn.outvars)
            eqns.append(eqn)
    ir.run_equations(nonlinear, env)

    variables = list(compress(jaxpr.invars, linear))
    # A linear loop adds to the cotangents of its constants in each iteration. Starting from the sum
    # so far spares an addition of zeros.
    cotangents: dict[ir.Atom, Tangent] = {
        var: ct for var, ct in zip(variables, sums, strict=False) if type(ct) is not Zero
    }
    for atom, ct in zip(jaxpr.outvars, cts, strict=True):
        if type(atom) is not ir.Literal and atom in depends and type(ct) is not Zero:
            earlier = cotangents.get(atom)
            cotangents[atom] = ct if earlier is None else add_tangents(earlier, ct)
    required_variables = None
    if required is not None:
        eqns, required_variables = _required_equations(eqns, variables, required)
    pull_back(eqns, cotangents, env, required_variables)
    if required is not None:
        # An argument that is itself a result has a cotangent all the same.
        for var in compress(variables, [not flag for flag in required]):
            cotangents.pop(var, None)
    return [_cotangent(cotangents, var) for var in variables]


def _cotangent(cotangents: dict[ir.Atom, Tangent], var: ir.Var) -> Tangent:
    cotangent = cotangents.get(var)
    return Zero(cotangent_aval(var.aval)) if cotangent is None else cotangent


def transpose_jaxpr(
    jaxpr: ir.Jaxpr,
    linear: Sequence[bool],
    ct_nonzeros: Sequence[bool],
    ct_weak: Sequence[bool] | None = None,
    required: Sequence[bool] | None = None,
) -> tuple[ir.Jaxpr, list[bool]]:
    """Return the jaxpr that pulls cotangents back through a jaxpr; cached on that jaxpr.

    Args:
      jaxpr: the jaxpr.
      linear: for each argument, whether the jaxpr is linear in it.
      ct_nonzeros: for each result, whether its cotangent is an argument. Other cotangents are zero.
      ct_weak: for each result, whether its cotangent is weakly typed. By default, the cotangents of
        weakly typed results are.
      required: for each linear argument, whether its cotangent is computed; by default, all are.

    Returns:
      A jaxpr that takes the nonlinear arguments and the nonzero cotangents, and returns the
      cotangents of the linear arguments that are not zero; and for each linear argument, whether
      its cotangent is returned.
    """
    linear = tuple(linear)
    ct_nonzeros = tuple(ct_nonzeros)
    key = ("transpose", linear, ct_nonzeros)
    if ct_weak is not None:
        ct_weak = tuple(ct_weak)
        key = (*key, ct_weak)
    if required is not None:
        required = tuple(required)
        key = (*key, "required", required)
    return jaxpr.derived(
        key, lambda: _transpose_jaxpr(jaxpr, linear, ct_nonzeros, ct_weak, required)
    )


def _transpose_jaxpr(
    jaxpr: ir.Jaxpr,
    linear: tuple[bool, ...],
    ct_nonzeros: tuple[bool, ...],
    ct_weak: tuple[bool, ...] | None,
    required: tuple[bool, ...] | None,
) -> tuple[ir.Jaxpr, list[bool]]:
    arg_avals = [v.aval for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin]
    ct_avals: list[Any] = [cotangent_aval(v.aval) for v in jaxpr.outvars]
    if ct_weak is not None:
        ct_avals = [a.update(weak_type=w) for a, w in zip(ct_avals, ct_weak, strict=True)]
    ct_avals = list(compress(ct_avals, ct_nonzeros))
    nonzeros: list[bool] = []

    def fun(*flat: ir.Array) -> list[Any]:
        nonlinear, nonzero_cts = iter(flat[: len(arg_avals)]), iter(flat[len(arg_avals) :])
        args = [None if is_linear else next(nonlinear) for is_linear in linear]
        cts: list[Tangent] = [
            next(nonzero_cts) if nz else Zero(cotangent_aval(v.aval))
            for nz, v in zip(ct_nonzeros, jaxpr.outvars, strict=True)
        ]
        results = transpose_flat(jaxpr, linear, args, cts, required=required)
        nonzeros.extend(type(r) is not Zero for r in results)
        return [r for r in results if type(r) is not Zero]

    transposed = ir.trace_to_jaxpr(fun, [*arg_avals, *ct_avals], jaxpr.debug_info)
    # `transpose_flat` also evaluates nonlinear equations that only zero cotangents would have read.
    return ir.live_program(transposed).jaxpr, nonzeros


def transpose_call(
    ct: Sequence[Tangent],
    args: Sequence[ir.ArrayLike | UndefinedPrimal],
    jaxpr: ir.Jaxpr,
    apply: Callable[[ir.Jaxpr, list[Any]], Sequence[ir.Array]],
    *,
    typed: bool = False,
) -> list[ir.Array | None]:
    """Transpose a primitive that calls a jaxpr: call the transposed jaxpr.

    Args:
      ct: the cotangents of the results.
      args: the operands; the linear ones are ``UndefinedPrimal``.
      jaxpr: the jaxpr that is called.
      apply: ``apply(jaxpr, args)`` calls a jaxpr by the same primitive.
      typed: whether the transposed jaxpr has the weak types of the cotangents, rather than those of
        the results.

    Returns:
      The cotangent of each operand; ``None`` if it is zero, or the operand is not linear.
    """
    linear = [type(a) is UndefinedPrimal for a in args]
    nonzeros = [type(c) is not Zero for c in ct]
    weak = _weak_types(jaxpr, ct) if typed else None
    required = required_operands(args)
    transposed, out_nonzeros = transpose_jaxpr(jaxpr, linear, nonzeros, weak, required)
    nonlinear = [a for a in args if type(a) is not UndefinedPrimal]
    results = iter(apply(transposed, [*nonlinear, *[c for c in ct if type(c) is not Zero]]))
    flags = iter(out_nonzeros)
    return [next(results) if is_linear and next(flags) else None for is_linear in linear]


def _weak_types(jaxpr: ir.Jaxpr, cts: Sequence[Tangent]) -> list[bool] | None:
    """Whether each cotangent is weakly typed; ``None`` if all agree with their results."""
    for var, ct in zip(jaxpr.outvars, cts, strict=True):
        aval: Any = var.aval
        if type(ct) is not Zero:
            ct_aval = ir.get_aval(ct)
            if ct_aval is not aval and ct_aval.weak_type != aval.weak_type:
                break
    else:
        return None
    ct_avals: list[Any] = [ct.aval if type(ct) is Zero else ir.get_aval(ct) for ct in cts]
    return [ct_aval.weak_type for ct_aval in ct_avals]
