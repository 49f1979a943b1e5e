"""Rules of ``HiPrim`` that are derived from its other rules, to be set in a subclass."""

from collections.abc import Callable
from typing import Any, NamedTuple

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_pytree as pytree

__all__ = ["jvp_from_lin", "linearize_from_jvp", "vjp_from_jvp", "vjp_from_lin"]


def _is_zero(x: object) -> bool:
    return type(x) is ad.Zero


def jvp_from_lin(
    self: ir.PyTree, primals: ir.PyTree, tangents: ir.PyTree
) -> tuple[ir.PyTree, ir.PyTree]:
    """The rule ``jvp`` by ``lin`` and ``linearized``."""
    nonzeros = pytree.tree_map(lambda t: not _is_zero(t), tangents, is_leaf=_is_zero)
    out, residuals = self.lin(nonzeros, *primals)
    return out, self.linearized(residuals, *tangents)


class LinearizeFromJVP(NamedTuple):
    """The rules ``lin`` and ``linearized``."""

    lin: Callable[..., Any]
    linearized: Callable[..., Any]


linearize_from_jvp: LinearizeFromJVP = LinearizeFromJVP(
    lambda self, nzs_in, *primals: (self(*primals), primals),
    lambda self, primals, *tangents: self.jvp(primals, tangents)[1],
)


class _Flags:
    """Bools that are residuals of a rule, and not arrays."""

    __slots__ = ("tree",)

    def __init__(self, tree: ir.PyTree):
        self.tree = tree


class VJPRules(NamedTuple):
    """The rules ``vjp_fwd`` and ``vjp_bwd_retval``."""

    vjp_fwd: Callable[..., Any]
    vjp_bwd_retval: Callable[..., Any]


def _pulled_back(
    self: ir.PyTree, fun: Callable[..., Any], flags: _Flags, ct: ir.PyTree
) -> ir.PyTree:
    """Pull a cotangent back through the map of the tangents that are not zero."""
    nonzeros = self.in_tree.flatten_up_to(flags.tree)
    types = list(map(ad.tangent_aval, self.in_avals_flat))
    zeros = [ad.instantiate(ad.Zero(t)) for t, nz in zip(types, nonzeros, strict=True) if nz]
    out_types: list[ir.PyTree] = []

    def run(*tangents: ir.PyTree) -> list[ir.PyTree]:
        nonzero_tangents = iter(tangents)
        every = [
            next(nonzero_tangents) if nz else ad.Zero(t)
            for t, nz in zip(types, nonzeros, strict=True)
        ]
        outs = self.out_tree.flatten_up_to(fun(*self.in_tree.unflatten(every)))
        results = [ad.instantiate(x) for x in outs]
        out_types.extend(map(ir.get_aval, results))
        return results

    _, pullback = ad.vjp(run, *zeros)
    cts = [ad.instantiate(x) for x in self.out_tree.flatten_up_to(ct)]
    results = iter(pullback([_typed(x, t) for x, t in zip(cts, out_types, strict=True)]))
    cotangents = [
        next(results) if nz else ad.Zero(t) for t, nz in zip(types, nonzeros, strict=True)
    ]
    return self.in_tree.unflatten(cotangents)


def _typed(ct: ir.PyTree, aval: ir.PyTree) -> ir.PyTree:
    return ct if aval.is_high else ir.of_type(ct, aval)


vjp_from_jvp: VJPRules = VJPRules(
    lambda self, nzs_in, *primals: (self(*primals), (_Flags(nzs_in), primals)),
    lambda self, res, ct: _pulled_back(
        self, lambda *tangents: self.jvp(res[1], tangents)[1], res[0], ct
    ),
)


def _forward_by_lin(
    self: ir.PyTree, nzs_in: ir.PyTree, *primals: ir.PyTree
) -> tuple[ir.PyTree, ir.PyTree]:
    out, residuals = self.lin(nzs_in, *primals)
    return out, (_Flags(nzs_in), residuals)


vjp_from_lin: VJPRules = VJPRules(
    _forward_by_lin,
    lambda self, res, ct: _pulled_back(
        self, lambda *tangents: self.linearized(res[1], *tangents), res[0], ct
    ),
)
