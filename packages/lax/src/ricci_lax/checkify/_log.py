"""Evaluation of a jaxpr with checks.

The equations are bound one after another, as ``eval_jaxpr`` does. A primitive may have a check
rule, which binds it and reports errors to the log. An inner jaxpr of an equation is checked
separately: it returns its errors ahead of its results, and does not see earlier errors. So its
checked form depends only on the jaxpr, and is cached on it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise._comparison import bitwise_or, eq, ne
from ricci_lax.reductions._axis_reductions import reduce_or
from ricci_lax.rules._checkify import bound, check_rules
from ricci_lax.structure._operand_types import shape_of
from ricci_pytree import tree_flatten

from ._error import (
    Error,
    ErrorEffect,
    Slot,
    check_effect,
    collapsed,
    earlier,
    error_of,
    leaf_count,
    no_error,
    shifted,
    slots_in,
    slots_of,
)
from ._exceptions import DivisionByZeroError, JaxException, NaNError, Site

Enabled = frozenset[type[JaxException]]


def any_of(flags: ir.Array) -> ir.Array:
    """Whether any element of an array of booleans is true."""
    rank = len(shape_of(flags))
    return reduce_or(flags, tuple(range(rank))) if rank else flags


class Checked(NamedTuple):
    """A jaxpr that returns its errors ahead of its results.

    Attributes:
      jaxpr: the jaxpr.
      effects: the kinds of errors that it returns, a slot for each.
      sites: the locations in it that can have an error; the code in a slot is the number of one.
    """

    jaxpr: ir.Jaxpr
    effects: tuple[ErrorEffect, ...]
    sites: tuple[Site, ...]

    @property
    def leaf_count(self) -> int:
        """The number of the jaxpr's results that are errors."""
        return leaf_count(self.effects)


class CheckLog:
    """The errors so far of a jaxpr that is being evaluated with checks.

    Attributes:
      enabled: the classes of errors to check for.
      source: where the current equation is.
      equations: the identities of the equations that are checked, and of those that contain them;
        ``None`` for all.
    """

    __slots__ = ("enabled", "equations", "sites", "slots", "source")

    def __init__(
        self,
        enabled: Enabled,
        source: tuple[Any, ...] = (None, 0, ()),
        equations: frozenset[int] | None = None,
    ):
        self.enabled: Enabled = enabled
        self.equations: frozenset[int] | None = equations
        self.source: tuple[Any, ...] = source
        self.slots: dict[ErrorEffect, Slot] = {}
        self.sites: list[Site] = []

    def report(
        self,
        error_type: type[JaxException],
        failed: ir.ArrayLike,
        facts: tuple[Any, ...] = (),
        payload: ir.PyTree = None,
    ) -> None:
        """Report whether there is an error at the current equation.

        Args:
          error_type: the class of the error.
          failed: a boolean scalar.
          facts: static facts about the error; hashable.
          payload: a pytree of arrays with the values that the message shows.
        """
        leaves, tree = tree_flatten(payload)
        effect = ErrorEffect(error_type, tuple(map(ir.get_aval, leaves)))
        self._add(effect, Slot(failed, np.int32(len(self.sites)), tuple(leaves)))
        self.sites.append(Site(error_type, self.source, facts, tree))

    def report_nans(self, primitive: ir.Primitive, results: Sequence[Any]) -> None:
        """Report whether there is a NaN among the results of a primitive."""
        if NaNError not in self.enabled:
            return
        failed = None
        for x in results:
            aval: Any = ir.get_aval(x)
            if ir.issubdtype(aval.dtype, np.inexact):
                any_nan = any_of(ne(x, x))
                failed = any_nan if failed is None else bitwise_or(failed, any_nan)
        if failed is not None:
            self.report(NaNError, failed, (primitive.name,))

    def report_zeros(self, divisor: ir.ArrayLike) -> None:
        """Report whether there is a zero in a divisor."""
        if DivisionByZeroError in self.enabled:
            zero = np.zeros((), ir.get_aval(divisor).dtype)[()]
            self.report(DivisionByZeroError, any_of(eq(divisor, zero)))

    def absorb(self, checked: Checked, results: Sequence[Any]) -> list[Any]:
        """Add the errors among a checked jaxpr's results to the log; returns its results."""
        count = checked.leaf_count
        self._take(slots_of(checked.effects, results[:count]), checked.sites)
        return list(results[count:])

    def absorb_error(self, error: Error) -> None:
        """Add the errors of an ``Error`` to the log, those of the enabled classes."""
        slots = slots_in(error)
        enabled = {e: slot for e, slot in slots.items() if e.error_type in self.enabled}
        if enabled:
            self._take(enabled, list(error._metadata.values()))

    def _take(self, slots: dict[ErrorEffect, Slot], sites: Sequence[Site]) -> None:
        # The codes of an inner jaxpr number its own sites from 0, which are appended to those so
        # far.
        offset = len(self.sites)
        for effect, slot in slots.items():
            self._add(effect, shifted(slot, offset))
        for site in sites:
            located = site.source[0] is not None
            self.sites.append(
                site if located else Site(site.error_type, self.source, site.facts, site.tree)
            )

    def _add(self, effect: ErrorEffect, slot: Slot) -> None:
        before = self.slots.get(effect)
        self.slots[effect] = slot if before is None else earlier(before, slot)

    def error(self) -> Error:
        """All errors so far as a value."""
        return error_of(self.slots, self.sites)

    def checked(
        self,
        jaxpr: ir.Jaxpr,
        required: tuple[ErrorEffect, ...] = (),
        offset: int = 0,
        collapse: bool = False,
    ) -> Checked:
        """The checked form of an inner jaxpr; cached on it.

        Args:
          required: the kinds of errors that it returns first, even if they cannot occur.
          offset: the number of its first site.
          collapse: whether its flags are made scalars, also where it is mapped.
        """
        enabled, equations = self.enabled, self.equations
        key = ("checked", enabled, equations, required, offset, collapse)
        return jaxpr.derived(
            key, lambda: _check(jaxpr, enabled, equations, required, offset, collapse)
        )


def _check(
    jaxpr: ir.Jaxpr,
    enabled: Enabled,
    equations: frozenset[int] | None,
    required: tuple,
    offset: int,
    collapse: bool,
) -> Checked:
    log = CheckLog(enabled, equations=equations)
    effects: tuple[ErrorEffect, ...] = ()

    def fun(*args: ir.Array) -> list[Any]:
        nonlocal effects
        results = run(log, jaxpr, args)
        effects = tuple(dict.fromkeys((*required, *log.slots)))
        leaves = []
        for effect in effects:
            slot = log.slots.setdefault(effect, no_error(effect))
            slot = shifted(collapsed(slot) if collapse else slot, offset)
            leaves += slot.leaves
        log.slots.clear()  # the log outlives the trace, its traced values must not
        return [*leaves, *results]

    program = ir.trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info, ir.no_origin)
    # Without checks the jaxpr itself is used, which may have derived jaxprs already.
    if not effects and check_effect not in jaxpr.effects:
        program = jaxpr
    return Checked(program, effects, tuple(log.sites))


def run(log: CheckLog, jaxpr: ir.Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Apply a jaxpr in the current trace, with checks."""
    source, equations = log.source, log.equations

    def apply(eqn: ir.JaxprEqn, operands: list[Any]) -> list[Any]:
        log.source = eqn.raw_source if eqn.raw_source[0] is not None else source
        is_checked = equations is None or id(eqn) in equations
        rule = check_rules.get(eqn.primitive, _plain) if is_checked else _plain
        return rule(log, eqn.primitive, operands, eqn.params)

    try:
        return ir.interpret(jaxpr, args, apply)
    finally:
        log.source = source


def _plain(
    log: CheckLog, primitive: ir.Primitive, operands: list, params: dict[str, Any]
) -> list[Any]:
    return bound(primitive, operands, params)
