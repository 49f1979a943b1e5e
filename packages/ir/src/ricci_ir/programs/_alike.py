"""Comparing programs: a function traced anew often gives the program that is kept already."""

from typing import Any

import numpy as np

from ._jaxpr import Atom, Jaxpr, JaxprEqn, Literal

__all__ = [
    "same_program",
]


def same_program(one: Jaxpr, other: Jaxpr) -> bool:
    """Whether two programs have the same operations on the same types, in the same order.

    The values of their constants are not compared, nor places in the user's code.
    """
    names: dict[int, int] = {}
    givens = (one.constvars, other.constvars), (one.invars, other.invars)
    if any(len(mine) != len(theirs) for mine, theirs in (*givens, (one.eqns, other.eqns))):
        return False
    for mine, theirs in givens:
        for a, b in zip(mine, theirs, strict=True):
            if a.aval is not b.aval:
                return False
            names[id(a)] = id(b)
    return all(
        _same_equation(a, b, names) for a, b in zip(one.eqns, other.eqns, strict=True)
    ) and _same_atoms(one.outvars, other.outvars, names)


def _same_equation(one: JaxprEqn, other: JaxprEqn, names: dict[int, int]) -> bool:
    """Whether two equations are the same, if ``names`` maps the variables of one to the other's."""
    if (
        one.primitive is not other.primitive
        or one.settings is not other.settings
        or not _same_atoms(one.invars, other.invars, names)
        or one.params.keys() != other.params.keys()
        or not all(_same_value(value, other.params[key]) for key, value in one.params.items())
        or len(one.outvars) != len(other.outvars)
    ):
        return False
    for a, b in zip(one.outvars, other.outvars, strict=True):
        if a.aval is not b.aval:
            return False
        names[id(a)] = id(b)
    return True


def _same_atoms(mine: list[Atom] | Any, theirs: list[Atom] | Any, names: dict[int, int]) -> bool:
    return len(mine) == len(theirs) and all(
        a.aval is b.aval and _same_value(a.val, b.val)
        if type(a) is Literal and type(b) is Literal
        else names.get(id(a)) == id(b)
        for a, b in zip(mine, theirs, strict=True)
    )


def _same_value(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Jaxpr):
        consts = zip(one.consts, other.consts, strict=False)
        return same_program(one, other) and all(a is b for a, b in consts)
    if isinstance(one, tuple | list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same_value(a, b) for a, b in pairs)
    if isinstance(one, float | complex | np.generic):
        return repr(one) == repr(other)  # distinguishes -0.0 from 0.0, and NaN equals itself
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays are compared element by element
        return False
