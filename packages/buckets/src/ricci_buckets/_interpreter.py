"""Evaluate a jaxpr with symbolic sizes on padded arrays.

The types in the jaxpr determine the padding: a dimension is padded if its size is
symbolic. The invariant: *the elements of a value's array at positions below its
lengths are those of the unpadded function; the others are undefined.* Each equation is computed so
that it holds for the results if it holds for the operands; an equation without a rule that does so
is refused. So the types alone prove that padding reaches no result.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_lax import broadcast_in_dim, select

from ._extents import Extents, PaddingError, Unprovable, is_padded

__all__ = ["padding_rules", "padding_stays", "Site"]


class Site:
    """An equation and its context, as passed to padding rules.

    Args:
      eqn: the equation.
      where: the source line in the user's code.

    Attributes:
      params: the equation's parameters; sizes among them may be symbolic.
      ins, outs: the types of operands and results, with their symbolic sizes.
      extents: the sizes and lengths of dimensions.

    Example:
      A rule masks the padded elements of an operand before it applies the operation:

      >>> from ricci_buckets import Site
      >>> def rule(site: Site, x):
      ...     return site.bind(site.masked(x, site.ins[0], 0))
    """

    __slots__ = ("eqn", "extents", "ins", "outs", "params", "where")

    def __init__(self, eqn: ir.JaxprEqn, extents: Extents, where: ir.Source):
        self.eqn: ir.JaxprEqn = eqn
        self.extents: Extents = extents
        self.where: ir.Source = where
        self.params: dict[str, Any] = eqn.params
        self.ins: list[Any] = [v.aval for v in eqn.invars]
        self.outs: list[Any] = [v.aval for v in eqn.outvars]

    def bind(self, *operands: object, **changes: object) -> Any:
        """Apply the equation's primitive, with this bucket's sizes in place of symbolic ones."""
        params = {name: self.concrete(value) for name, value in self.params.items()}
        return self.eqn.primitive.bind(*operands, **{**params, **changes})

    def concrete(self, param: object) -> Any:
        """A parameter with this bucket's values in place of symbolic sizes."""
        if ir.is_symbolic_dim(param):
            return self.extents.value(param)
        if type(param) is tuple:
            return tuple(map(self.concrete, param))
        return param

    def masked(self, x: Any, aval: ir.ShapedArray, fill: Any, axes: Sequence[int] = ()) -> ir.Array:
        """An array with its padding replaced.

        Args:
          x: the array of a value of type ``aval``.
          fill: a scalar.
          axes: the dimensions whose padding is replaced; by default all.
        """
        mask = self.extents.mask(aval, axes or range(len(aval.shape)))
        return x if mask is None else select(mask, x, self.filled(fill, mask.shape, aval))

    def filled(self, fill: Any, shape: Sequence[int], aval: ir.ShapedArray) -> ir.Array:
        """An array of one value, of the dtype of ``aval``."""
        if not hasattr(fill, "aval"):
            fill = np.asarray(fill).astype(aval.dtype)[()]
        return broadcast_in_dim(fill, tuple(shape), ())

    def run(self, jaxpr: ir.Jaxpr, *operands: object) -> list[Any]:
        """Evaluate a jaxpr of the equation's parameters on padded operands."""
        return run_padded(jaxpr, operands, self.extents, self.where)

    def refuse(self, reason: str, remedy: str) -> NoReturn:
        """Raise the error that padding may reach a result of this equation."""
        raise Unprovable(reason, remedy)


# ``rule(site, *operands)`` computes an operation so that no element of its results depends on
# padding, and returns the result, or a list of them, padded in the same way.
type PaddingRule = Callable[..., Any]


def padding_stays(site: Site, *operands: object) -> object:
    """The rule of operations whose results have the padding of their operands.

    Args:
      site: the equation.
      operands: its padded operands.

    Returns:
      The equation's results, padded as the operands are.

    Example:
      >>> import ricci_lax as lax
      >>> from ricci_buckets import padding_rules, padding_stays
      >>> padding_rules[lax.transpose_p] is padding_stays
      True
    """
    return site.bind(*operands)


# The rules by primitive; for a primitive that has none, by its use of random keys. Elementwise
# operations, and primitives that call a jaxpr, need no rule.
padding_rules: dict[ir.Primitive | ir.KeyRole, PaddingRule] = {}


def run_padded(
    jaxpr: ir.Jaxpr, args: Sequence[Any], extents: Extents, source: ir.Source
) -> list[Any]:
    """Evaluate a jaxpr on padded arrays, in the current trace.

    Args:
      jaxpr: a jaxpr whose types have symbolic sizes.
      args: the operands of ``jaxpr.invars``.
      source: the source of equations that have none.

    Raises:
      PaddingError: if padding may reach a result of an equation.
    """

    def apply(eqn: ir.JaxprEqn, operands: list[Any]) -> Sequence[Any]:
        code, offset, _ = eqn.raw_source
        site = Site(eqn, extents, ir.Source(code, offset) if code is not None else source)
        result = _apply(site, operands)
        return result if eqn.primitive.multiple_results else (result,)

    return ir.interpret(jaxpr, args, apply)


def _apply(site: Site, operands: Sequence[Any]) -> Any:
    primitive = site.eqn.primitive
    try:
        # A size for which a bucket's arrays have no room is refused here, with its operation.
        for aval in site.outs:
            site.extents.shape(getattr(aval, "shape", ()))
        role = ir.key_roles.get(primitive)
        rule = padding_rules.get(primitive) or (role and padding_rules[role])
        if rule is not None:
            return rule(site, *operands)
        inner_jaxpr = ir.program_rules.get(primitive)
        if inner_jaxpr is not None:
            jaxpr, _ = inner_jaxpr(**site.params)
            return site.run(jaxpr, *operands)
        # Without a rule or a jaxpr, an operation may be padded if it is elementwise: then the
        # padding of its operands stays padding.
        padded = [i for i, aval in enumerate(site.ins) if is_padded(aval)]
        if not padded and not is_padded(*site.outs):
            return site.bind(*operands)
        if site.eqn.effects:
            site.refuse(
                f"{primitive.name} has side effects that would see the padding",
                "give it values without the padded dimension, such as sums",
            )
        if primitive in elementwise_primitives:
            return site.bind(*operands)
        site.refuse(
            f"{primitive.name} has no rule for padding",
            "apply it to values without a padded dimension, or outside of the bucketed function",
        )
    except Unprovable as error:
        raise PaddingError(_message(site, error)) from None


def _message(site: Site, error: Unprovable) -> str:
    types = ", ".join(aval.str_short() for aval in site.ins)
    results = ", ".join(aval.str_short() for aval in site.outs)
    location = f", at {site.where}" if site.where.code is not None else ""
    name = site.eqn.primitive.name
    return (
        f"bucketed: padding may reach the results of {name}{location}: {error.reason}.\n"
        f"  the operation: {name}, {types or 'no operands'} -> {results}\n"
        f"  the padding: {site.extents.describe(*site.ins, *site.outs)}\n"
        f"  what to do: {error.remedy}."
    )
