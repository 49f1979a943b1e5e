"""Checks of the structure of jaxprs: whether one is well formed, and whether two are equal.

In a well-formed jaxpr variables are bound once and have their declared types. A retraced function
whose jaxpr equals an earlier one reuses its executable.
"""

from collections.abc import Sequence
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from ricci_ir._errors import JaxprTypeError
from ricci_ir.types._abstract_value import AbstractValue
from ricci_ir.types._aval import ShapedArray

from ._effects import program_effects
from ._jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from ._print import Names
from ._scope import call_in_scope

__all__ = ["check_jaxpr", "same_operation", "same_program", "same_value"]


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raise unless a jaxpr, with all jaxprs inside it, is well formed.

    Args:
      jaxpr: the jaxpr.

    Raises:
      JaxprTypeError: if a variable is used before it is bound or is bound twice, if an equation's
        results differ in number or type from those of its primitive's abstract evaluation, or if
        the declared effects are not those of the equations. The message shows the equation.

    Example:
      >>> import ricci
      >>> ricci.core.check_jaxpr(ricci.make_jaxpr(lambda x: x + 1.0)(0.0))
    """
    bound: dict[int, Var] = {}
    for var in jaxpr.all_invars:
        _bind(bound, var, jaxpr, None)
    if len(jaxpr.consts) not in (0, len(jaxpr.constvars)):
        raise _error(
            f"{len(jaxpr.consts)} constants are given for {len(jaxpr.constvars)} variables", jaxpr
        )
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            _check_bound(bound, atom, jaxpr, eqn)
        # Under its settings an equation may be valid that is not outside of them: an ambiguous
        # sharding is, if it was recorded for a reshard that follows.
        with eqn.ctx.manager:
            for inner in jaxprs_in_params(eqn.params):
                # The types inside a ``shard_map`` depend on the axes that it binds.
                call_in_scope(eqn, partial(check_jaxpr, inner))
            _check_equation(eqn, jaxpr)
        for var in eqn.outvars:
            _bind(bound, var, jaxpr, eqn)
    for atom in jaxpr.outvars:
        _check_bound(bound, atom, jaxpr, None)
    effects = program_effects([eqn.effects for eqn in jaxpr.eqns], jaxpr.all_invars)
    if effects != jaxpr.effects:
        raise _error(
            f"the jaxpr declares the effects {_names(jaxpr.effects)}, but its equations have "
            f"{_names(effects)}",
            jaxpr,
        )


def _bind(bound: dict[int, Var], var: Var, jaxpr: Jaxpr, eqn: JaxprEqn | None) -> None:
    if id(var) in bound:
        raise _error(f"variable {Names(jaxpr).of(var)!r} is already bound", jaxpr, eqn)
    bound[id(var)] = var


def _check_bound(bound: dict[int, Var], atom: Atom, jaxpr: Jaxpr, eqn: JaxprEqn | None) -> None:
    if isinstance(atom, Var) and (id(atom) not in bound or type(atom) is DropVar):
        role = "a result of the jaxpr" if eqn is None else "an operand"
        raise _error(f"variable {Names(jaxpr).of(atom)!r}, {role}, is not bound", jaxpr, eqn)


def _check_equation(eqn: JaxprEqn, jaxpr: Jaxpr) -> None:
    primitive = eqn.primitive
    avals = tuple(atom.aval for atom in eqn.invars)
    try:
        result = primitive.types_of_results(avals, eqn.params)
    except (TypeError, ValueError) as error:
        what = f"{primitive.name} does not accept its operands: {error}"
        raise _error(what, jaxpr, eqn) from error
    results: Sequence[Any] = result if primitive.multiple_results else [result]
    if len(results) != len(eqn.outvars):
        raise _error(
            f"{primitive.name} gives {len(results)} results, but the equation binds "
            f"{len(eqn.outvars)}",
            jaxpr,
            eqn,
        )
    for var, aval in zip(eqn.outvars, results, strict=True):
        if _strong(var.aval) is not _strong(aval):
            raise _error(
                f"{primitive.name} gives a result of type {aval}, but the equation binds it to a "
                f"variable of type {var.aval}",
                jaxpr,
                eqn,
            )
    effects = primitive.effects(eqn.params) if primitive.effects is not None else frozenset()
    if effects != eqn.effects:
        raise _error(
            f"{primitive.name} has effects {_names(effects)}, but the equation declares "
            f"{_names(eqn.effects)}",
            jaxpr,
            eqn,
        )


def _strong(aval: AbstractValue) -> AbstractValue:
    # Weak types are not compared: derivatives may lose them, which changes no value.
    return aval.strip_weak_type() if isinstance(aval, ShapedArray) else aval


def _names(effects: frozenset) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"


def _error(what: str, jaxpr: Jaxpr, eqn: JaxprEqn | None = None) -> JaxprTypeError:
    """An error that shows the problem, the equation with its source, and the jaxpr's start."""
    names = Names(jaxpr)
    lines = [what]
    if eqn is not None:
        lines += ["in equation:", *_head(names.equation(eqn)), f"  from {eqn.source}"]
    return JaxprTypeError("\n".join([*lines, "in jaxpr:", *_head(names.text)]))


def _head(text: str) -> list[str]:
    lines = [f"  {line}" for line in text.split("\n")]
    return lines if len(lines) <= 2 else [*lines[:2], f"  ({len(lines) - 2} more lines)"]


def same_program(one: Jaxpr, other: Jaxpr) -> bool:
    """Whether two jaxprs have the same equations on the same types, in the same order.

    The values of their constants are not compared, nor places in the user's code.
    """
    # Each variable of one corresponds to the variable of the other that is bound at the same place.
    names: dict[Any, Any] = {}
    inputs = (one.constvars, other.constvars), (one.invars, other.invars)
    if any(len(mine) != len(theirs) for mine, theirs in (*inputs, (one.eqns, other.eqns))):
        return False
    for mine, theirs in inputs:
        for a, b in zip(mine, theirs, strict=True):
            if a.aval is not b.aval:
                return False
            names[a] = b
    for mine, theirs in zip(one.eqns, other.eqns, strict=True):
        if not _same_equation(mine, theirs, names):
            return False
    return _same_atoms(one.outvars, other.outvars, names)


def _same_equation(one: JaxprEqn, other: JaxprEqn, names: dict[Any, Any]) -> bool:
    """Whether two equations are the same, if ``names`` maps the variables of one to the other's."""
    if (
        one.primitive is not other.primitive
        or one.settings is not other.settings
        or not _same_atoms(one.invars, other.invars, names)
        or not _same_params(one.params, other.params)
        or len(one.outvars) != len(other.outvars)
    ):
        return False
    for a, b in zip(one.outvars, other.outvars, strict=True):
        if a.aval is not b.aval:
            return False
        names[a] = b
    return True


def same_operation(one: JaxprEqn, other: JaxprEqn) -> bool:
    """Whether two equations apply one operation, with equal literals, to values of equal types."""
    if (
        one.primitive is not other.primitive
        or one.settings is not other.settings
        or len(one.invars) != len(other.invars)
        or len(one.outvars) != len(other.outvars)
    ):
        return False
    for a, b in zip(one.invars, other.invars, strict=True):
        if a.aval is not b.aval or type(a) is not type(b):
            return False
        if type(a) is Literal and type(b) is Literal and not same_value(a.val, b.val):
            return False
    for a, b in zip(one.outvars, other.outvars, strict=True):
        if a.aval is not b.aval:
            return False
    return _same_params(one.params, other.params)


def _same_params(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if len(mine) != len(theirs):
        return False
    for key, value in mine.items():
        other = theirs.get(key, mine)  # which no parameter is
        if value is not other and not same_value(value, other):
            return False
    return True


def _same_atoms(mine: Sequence[Atom], theirs: Sequence[Atom], names: dict[Any, Any]) -> bool:
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs, strict=True):
        if type(a) is Literal and type(b) is Literal:
            if a.aval is not b.aval or not same_value(a.val, b.val):
                return False
        elif names.get(a) is not b:
            return False
    return True


def same_value(one: Any, other: Any) -> bool:
    """Whether two parameters of equations have the same meaning: equal values of equal types."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Jaxpr):
        consts = zip(one.consts, other.consts, strict=False)
        # An inner jaxpr's constants are part of the computation, so they are compared, by identity.
        return same_program(one, other) and all(a is b for a, b in consts)
    if isinstance(one, MethodType):  # Python compares the objects of methods by identity
        return one.__func__ is other.__func__ and bool(one.__self__ == other.__self__)
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return False
        for a, b in zip(one, other, strict=True):
            if a is not b and not same_value(a, b):
                return False
        return True
    if isinstance(one, float | complex | np.generic):
        return repr(one) == repr(other)  # distinguishes -0.0 from 0.0, and NaN equals itself
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays are compared element by element
        return False
