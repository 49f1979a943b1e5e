"""The law of ``checkpoint``: derivatives with recomputed and with saved residuals are equal."""

import numpy as np

from ricci_autodiff import vjp
from ricci_ir import Primitive
from ricci_lax import checkpoint
from ricci_testing._check_grads import directions, is_inexact
from ricci_testing.examples._example import Example

from ._derivatives import cotangents_of, without_derivatives
from ._types import assert_results_close, function_of_operands, in_example_precision


@in_example_precision
def check_checkpoint(primitive: Primitive, example: Example) -> str | None:
    """Check that the vjp of a checkpointed operation equals that of the operation.

    Raises:
      AssertionError: if it does not.
    """
    if reason := without_derivatives(primitive, example):
        return reason
    if "rev" not in example.modes:
        return "the primitive has no reverse mode"
    fun, primals = function_of_operands(primitive, example, example.differentiable())
    results, back = vjp(fun, *primals)
    again, recompute = vjp(checkpoint(fun), *primals)
    cts = cotangents_of(results, directions([r for r in results if is_inexact(r)], 5))
    pairs = zip([*again, *recompute(cts)], [*results, *back(cts)], strict=True)
    for i, (actual, expected) in enumerate(pairs):
        what = f"result {i}" if i < len(results) else f"cotangent {i - len(results)}"
        assert_results_close(np.asarray(actual), np.asarray(expected), what)
    return None
