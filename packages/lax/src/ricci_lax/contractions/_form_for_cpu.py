"""The form of a jaxpr with products in which it is lowered for one CPU."""

from ricci_ir import Jaxpr
from ricci_stablehlo import form_for_cpu

from ._running_sums import store_running_sums
from ._stored_operands import store_transposed_operands
from ._symmetric_factors import fold_symmetrization
from ._transposed_products import fold_into_products


@form_for_cpu.provide
def _form_for_cpu(jaxpr: Jaxpr) -> Jaxpr:
    jaxpr = store_running_sums(fold_into_products(fold_symmetrization(jaxpr)))
    return store_transposed_operands(jaxpr)
