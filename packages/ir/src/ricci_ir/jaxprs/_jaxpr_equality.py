"""Structural equality of jaxprs, so that a retraced function can reuse a compiled executable."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._jaxpr import Atom, Jaxpr, JaxprEqn, Literal

__all__ = ["same_program"]


def same_program(one: Jaxpr, other: Jaxpr) -> bool:
    """Whether two jaxprs have the same equations on the same types, in the same order.

    The values of their constants are not compared, nor places in the user's code.
    """
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


def _same_params(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if not mine and not theirs:
        return True
    return mine.keys() == theirs.keys() and all(
        _same_value(value, theirs[key]) for key, value in mine.items()
    )


def _same_atoms(mine: Sequence[Atom], theirs: Sequence[Atom], names: dict[Any, Any]) -> bool:
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs, strict=True):
        if type(a) is Literal and type(b) is Literal:
            if a.aval is not b.aval or not _same_value(a.val, b.val):
                return False
        elif names.get(a) is not b:
            return False
    return True


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
