"""Rules for series in the form in which libraries written for JAX register them.

A rule is called as ``rule(primals, series, **params)``, where ``series`` has for each operand its
Taylor coefficients from order 1 on. It returns the result and its coefficients; of several results,
lists. Every primitive that has a derivative has a rule; registering one replaces it.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import partial
from math import gamma
from typing import Any

import numpy as np

import ricci_autodiff as ad
from ricci_autodiff.jets import Coefficient, jet_flat
from ricci_ir import Array, ArrayLike, Primitive, as_array
from ricci_lax.elementwise._arithmetic import mul

from ._jet import ZeroSeries, ZeroTerm, zero_series

__all__ = ["def_comp", "def_deriv", "deflinear", "defzero", "deriv_prop", "fact", "jet_rules"]
__all__ += ["linear_prop", "zero_prop"]

type _Rule = Callable[..., tuple[Any, Any]]


class _JetRules(MutableMapping[Primitive, _Rule]):
    """The table of all jet rules, in the form that this module describes."""

    def __init__(self):
        # The user's rules with the adapted ones: reading an entry returns the user's rule.
        self._users: dict[Primitive, tuple[_Rule, ad.JetRule]] = {}

    def __getitem__(self, primitive: Primitive) -> _Rule:
        if primitive not in ad.jet_table and primitive not in ad.jvp_rules:
            raise KeyError(primitive)
        entry = self._users.get(primitive)
        if entry is not None and ad.jet_table.get(primitive) is entry[1]:
            return entry[0]
        return partial(_push, primitive)

    def __setitem__(self, primitive: Primitive, rule: _Rule) -> None:
        adapted = _adapted(rule)
        self._users[primitive] = rule, adapted
        ad.jet_table[primitive] = adapted

    def __delitem__(self, primitive: Primitive) -> None:
        del ad.jet_table[primitive]
        self._users.pop(primitive, None)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(ad.jet_table.keys() | ad.jvp_rules.keys())

    def __len__(self) -> int:
        return len(ad.jet_table.keys() | ad.jvp_rules.keys())


jet_rules: MutableMapping[Primitive, _Rule] = _JetRules()


def _adapted(rule: _Rule) -> ad.JetRule:
    def apply(push: Any, primals: Sequence[Any], series: Any, **params: Any) -> Any:
        order = len(series[0])
        full_series = [
            [ad.instantiate(ad.Zero.from_primal(x)) if t is None else t for t in terms]
            for x, terms in zip(primals, series, strict=True)
        ]
        results, out_series = rule(tuple(primals), full_series, **params)
        if not isinstance(results, tuple | list):
            results, out_series = [results], [out_series]
        return list(results), [_coefficients(terms, order) for terms in out_series]

    return ad.at_once(apply)


def _coefficients(terms: Any, order: int) -> list[Coefficient]:
    """A series as users write it."""
    if isinstance(terms, ZeroSeries):
        return [None] * order
    return [None if isinstance(t, ZeroTerm) else t for t in terms]


def _push(
    primitive: Primitive,
    primals: Sequence[ArrayLike],
    series: Sequence[Any],
    rule: ad.JetRule | None = None,
    **params: Any,
) -> tuple[Any, Any]:
    """Apply a primitive to series, by its rule or another one."""
    order = next((len(terms) for terms in series if not isinstance(terms, ZeroSeries)), 0)
    rows = [_coefficients(terms, order) for terms in series]
    many = primitive.multiple_results

    def run(*args: ArrayLike) -> list[Any]:
        result = primitive.bind(*args, **params)
        return list(result) if many else [result]

    results, out_series = jet_flat(
        run, order, primals, rows, {} if rule is None else {primitive: rule}
    )
    terms = [
        zero_series
        if all(t is None for t in row)
        else [ad.instantiate(ad.Zero.from_primal(x)) if t is None else t for t in row]
        for x, row in zip(results, out_series, strict=True)
    ]
    return (results, terms) if many else (results[0], terms[0])


def deflinear(prim: Primitive) -> None:
    """Register that a primitive is linear in all its operands together.

    Args:
      prim: the primitive.

    Example:
      >>> from ricci import lax
      >>> from ricci.experimental.jet import deflinear
      >>> deflinear(lax.neg_p)
    """
    ad.jet_table[prim] = ad.JetRule(ad.JetRuleKind.LINEAR)


def linear_prop(
    prim: Primitive, primals_in: Sequence[ArrayLike], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Apply a primitive to series as one that is linear in all its operands together.

    Args:
      prim: the primitive.
      primals_in: the operands.
      series_in: their series.
      params: the primitive's parameters.

    Returns:
      The results, and their series.

    Example:
      >>> from ricci import lax
      >>> from ricci.experimental.jet import linear_prop
      >>> value, terms = linear_prop(lax.neg_p, (2.0,), ([1.0, 0.0],))
      >>> float(value), [float(term) for term in terms]
      (-2.0, [-1.0, -0.0])
    """
    return _push(prim, primals_in, series_in, ad.JetRule(ad.JetRuleKind.LINEAR), **params)


def defzero(prim: Primitive) -> None:
    """Register that the derivatives of a primitive are zero.

    Args:
      prim: the primitive.
    """
    ad.jet_table[prim] = ad.constant_series


def zero_prop(
    prim: Primitive, primals_in: Sequence[ArrayLike], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Apply a primitive to series as one whose derivatives are zero.

    Args:
      prim: the primitive.
      primals_in: the operands.
      series_in: their series.
      params: the primitive's parameters.

    Returns:
      The results, and their series.
    """
    return _push(prim, primals_in, series_in, ad.constant_series, **params)


def def_deriv(prim: Primitive, deriv: Callable[[Array], ArrayLike]) -> None:
    """Register the derivative of a primitive of one operand.

    Args:
      prim: the primitive, elementwise.
      deriv: from the operand to the derivative there, by operations that have derivatives.
    """
    ad.jet_table[prim] = _derivative(prim, deriv)


def deriv_prop(
    prim: Primitive,
    deriv: Callable[[Array], ArrayLike],
    primals_in: Sequence[ArrayLike],
    series_in: Sequence[Any],
) -> tuple[Any, Any]:
    """Apply a primitive of one operand to a series, given its derivative.

    Args:
      prim: the primitive.
      deriv: as for ``def_deriv``.
      primals_in: the operand, in a sequence.
      series_in: its series, in a sequence.

    Returns:
      The result, and its series.
    """
    return _push(prim, primals_in, series_in, _derivative(prim, deriv))


def _derivative(prim: Primitive, deriv: Callable[[Array], ArrayLike]) -> ad.JetRule:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        result = prim.bind(x, **params)
        return result, ad.Zero.from_primal(result) if type(t) is ad.Zero else mul(t, deriv(x))

    return ad.JetRule(ad.JetRuleKind.BY_DERIVATIVE, jvp)


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Register that a primitive computes the same as a function of other primitives.

    Args:
      prim: the primitive.
      comp: ``comp(*operands, **params, **kwargs)``.
      kwargs: keyword arguments of ``comp``.
    """
    ad.jet_table[prim] = ad.composed(partial(comp, **kwargs))


def fact(n: ArrayLike) -> Array:
    """The factorial, as an array of floats.

    Args:
      n: concrete numbers.

    Returns:
      An array of the shape of ``n``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.jet import fact
      >>> fact(jnp.array([0, 3, 5])).tolist()
      [1.0, 6.0, 120.0]
    """
    values = np.vectorize(lambda k: gamma(k + 1), otypes=[float])(np.asarray(n))
    return as_array(values.astype(np.float32) if values.ndim else values.item())
