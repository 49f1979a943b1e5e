"""The operations of equations, and which results cost many for each byte."""

import math
from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_lax.checkpoint_policies import AwaitedOffload, Offloadable
from ricci_lax.contractions import conv_general_dilated_p, dot_general_p
from ricci_lax.structure._names import CrossingName

__all__ = ["CostlySaved", "costs_per_byte", "operations"]

_FUNCTIONS = 10.0  # operations for an element of an elementary function
ELEMENTARY = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma erf erfc erf_inv exp exp2 expm1 "
    "lgamma log log1p logistic pow rsqrt sin sinh sqrt tan tanh".split()
)


def operations(eqn: ir.JaxprEqn) -> float:
    """Estimate the arithmetic operations of an equation, with the iterations of its loops.

    Those of a ``shard_map`` are the operations of all devices.
    """
    inner = sum(operations(e) for jaxpr in ir.jaxprs_in_params(eqn.params) for e in jaxpr.eqns)
    # A loop of unknown length counts as one step.
    if inner:
        return inner * (eqn.params.get("length") or 1) * ir.copies(eqn)
    avals = [atom.aval for atom in eqn.invars]
    # A reduction has few results, and an operation for each element of its operands.
    reduces = eqn.primitive.name.startswith(("reduce_", "arg"))
    counted = avals if reduces else [var.aval for var in eqn.outvars]
    return _operations(eqn.primitive, avals, eqn.params) or float(sum(map(_elements, counted)))


def _operations(prim: ir.Primitive, avals: Sequence[Any], params: dict[str, Any]) -> float:
    """The operations of a product, a convolution or an elementary function; 0 for others."""
    if prim is dot_general_p:
        ((contracted, _), (batch, _)) = params["dimension_numbers"]
        lhs, rhs = (aval.shape for aval in avals)
        # The product of all sizes, each of which is counted once: shared ones are in both shapes. A
        # multiplication and an addition for each.
        shared = math.prod(lhs[i] for i in (*contracted, *batch))
        return 2.0 * math.prod(lhs) * math.prod(rhs) / max(shared, 1)
    if prim is conv_general_dilated_p:
        out = prim.result_avals(tuple(avals), params)
        kernel = avals[1].shape
        # Each element of the result sums over the kernel's window and its input features.
        features = kernel[params["dimension_numbers"].rhs_spec[0]]
        return 2.0 * math.prod(out.shape) * math.prod(kernel) / max(features, 1)
    return _FUNCTIONS * _elements(avals[0]) if prim.name in ELEMENTARY else 0.0


def _elements(aval: ir.AbstractValue) -> int:
    return math.prod(getattr(aval, "shape", ()))


# Arrays with fewer bytes stay on the device: to start a transfer takes longer.
_LEAST_MOVED = 4096
_TO_HOST = AwaitedOffload("device", "pinned_host")


class CostlySaved(ir.Record):
    """A policy that saves results by their cost: many operations for each byte.

    Attributes:
      least: the operations for each byte from which on results are saved; ``inf`` saves none.
      on_host: whether they are saved in the host's memory, and with them the values that are
        computed before the checkpoint.
    """

    least: float
    on_host: bool = False

    def __call__(
        self, prim: ir.Primitive, *avals: ir.AbstractValue, **params: object
    ) -> bool | Offloadable:
        crosses = self.on_host and type(params.get("name")) is CrossingName
        # An infinite bound saves nothing, not even a result whose cost is infinite.
        costly = self.least < math.inf and cost_per_byte(prim, avals, params) >= self.least
        if not (costly or crosses):
            return False
        if (
            self.on_host
            and _bytes(avals[0] if crosses else _product(prim, avals, params)) >= _LEAST_MOVED
        ):
            return _TO_HOST
        return costly


def cost_per_byte(
    prim: ir.Primitive, avals: Sequence[ir.AbstractValue], params: dict[str, Any]
) -> float:
    """Return the operations for each byte of the result of a product or a convolution, or 0."""
    if prim is not dot_general_p and prim is not conv_general_dilated_p:
        return 0.0
    size = _bytes(_product(prim, avals, params))
    return _operations(prim, avals, params) / size if size else 0.0


def _product(
    prim: ir.Primitive, avals: Sequence[ir.AbstractValue], params: dict[str, Any]
) -> ir.AbstractValue:
    """The type of the result of a product or a convolution."""
    return prim.result_avals(tuple(avals), params)


def _bytes(aval: ir.AbstractValue) -> int:
    return _elements(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 0)


def costs_per_byte(jaxpr: ir.Jaxpr) -> set[float]:
    """Return the costs of a jaxpr's products and convolutions, also of those inside of calls."""
    costs = {
        cost_per_byte(eqn.primitive, [atom.aval for atom in eqn.invars], eqn.params)
        for eqn in jaxpr.eqns
    }
    for eqn in jaxpr.eqns:
        for inner in ir.jaxprs_in_params(eqn.params):
            costs |= costs_per_byte(inner)
    return costs - {0.0}
