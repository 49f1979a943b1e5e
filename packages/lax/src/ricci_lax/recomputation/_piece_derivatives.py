"""Derivative rules of users' functions for the rows of one piece of a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_lax.custom._derived_rules import BatchedRule
from ricci_lax.custom._jvp import Rule, custom_jvp

from ._piece_rules import Form, NotInPiecesError

__all__: list[str] = []

type Rewrite = Callable[[ir.Jaxpr, Sequence[Form]], tuple[ir.Jaxpr, list[Form]]]


class PiecedRule:
    """The jvp rule of a custom function, rewritten for the rows of a piece.

    The rule knows the size of the batch: it may be that of a mapped function, or have an array with
    a row for each example. So it is traced for the batch, and its jaxpr is rewritten.

    Args:
      rule: the rule, which takes primals and tangents and returns results and their tangents.
      avals: the types of the primals of the batch.
      forms: the forms of the primals and of the results.
      rewrite: rewrites a jaxpr for inputs of some forms.
    """

    __slots__ = ("_avals", "_forms", "_results", "_rewrite", "_rule", "_traced")

    def __init__(
        self,
        rule: "Rule | BatchedRule | PiecedRule",
        avals: Sequence[ir.AbstractValue],
        forms: Sequence[Form],
        results: Sequence[Form],
        rewrite: Rewrite,
    ):
        self._rule, self._rewrite = rule, rewrite
        self._avals, self._forms, self._results = list(avals), list(forms), list(results)
        self._traced: dict[tuple[bool, ...], tuple[ir.Jaxpr, list[bool]]] = {}

    @property
    def custom(self) -> custom_jvp[..., object]:
        """The function that the rule belongs to."""
        return self._rule.custom

    def check(self) -> None:
        """Rewrite the rule as it is for tangents of all arguments.

        Raises:
          NotInPiecesError: if the rules for pieces do not hold for it.
        """
        self._rewritten([not ad.has_tangent(aval) for aval in self._avals], ad.SymbolicZero)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        zeros = [not _is_array(t) for t in tangents]
        kind = next((type(t) for t, z in zip(tangents, zeros, strict=True) if z), ad.Zero)
        jaxpr, out_zeros = self._rewritten(zeros, kind)
        arrays = [t for t, z in zip(tangents, zeros, strict=True) if not z]
        values = iter(ir.eval_jaxpr(jaxpr, jaxpr.consts, *primals, *arrays))
        results = [next(values) for _ in out_zeros]
        return results, [
            ad.Zero.from_primal(result) if zero else next(values)
            for result, zero in zip(results, out_zeros, strict=True)
        ]

    def _rewritten(self, zeros: Sequence[bool], kind: type) -> tuple[ir.Jaxpr, list[bool]]:
        """The rewritten rule, and which of its results have no tangent.

        Args:
          zeros: whether each tangent is zero.
          kind: the type of such tangents, which the rule gets.
        """
        key = tuple(zeros)
        if key not in self._traced:
            self._traced[key] = self._trace(zeros, kind)
        return self._traced[key]

    def _trace(self, zeros: Sequence[bool], kind: type) -> tuple[ir.Jaxpr, list[bool]]:
        tangent_avals = list(map(ad.tangent_aval, self._avals))
        out_zeros: list[bool] = []

        def run(*args: ir.Array) -> list[Any]:
            arrays = iter(args[len(zeros) :])
            tangents = [
                _zero(kind, aval) if zero else next(arrays)
                for aval, zero in zip(tangent_avals, zeros, strict=True)
            ]
            results, out_tangents = self._rule(args[: len(zeros)], tangents)
            out_zeros.extend(not _is_array(t) for t in out_tangents)
            return [*results, *filter(_is_array, out_tangents)]

        dense = [a for a, zero in zip(tangent_avals, zeros, strict=True) if not zero]
        jaxpr = ir.trace_to_jaxpr(run, [*self._avals, *dense])
        dense_forms = [f for f, zero in zip(self._forms, zeros, strict=True) if not zero]
        rewritten, forms = self._rewrite(jaxpr, [*self._forms, *dense_forms])
        expected = [f for f, zero in zip(self._results, out_zeros, strict=True) if not zero]
        if forms != [*self._results, *expected]:
            raise NotInPiecesError("a derivative rule treats the examples in another way")
        return rewritten, out_zeros


def _is_array(tangent: ad.Tangent) -> bool:
    zero = isinstance(tangent, ad.Zero | ad.SymbolicZero)
    return not zero and getattr(ir.get_aval(tangent), "dtype", None) != ir.float0


def _zero(kind: type, aval: ir.AbstractValue) -> ad.Tangent | ad.SymbolicZero:
    """A tangent that is zero, of the type in which the rule gets it."""
    return ad.instantiate(ad.Zero(aval)) if kind not in (ad.Zero, ad.SymbolicZero) else kind(aval)
