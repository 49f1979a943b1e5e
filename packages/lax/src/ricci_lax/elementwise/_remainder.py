"""The remainder of a division."""

import ricci_ir as ir
from ricci_lax.structure._operand_types import array_aval, broadcast_result_shape, real_valued

from ._arithmetic import abs, div, mul, sign
from ._cpu_formulas import vectorised_on_cpus
from ._factories import BinaryFunction, binary_function, lower_to, nary, repeat_to
from ._linear import neg
from ._rounding import floor

__all__ = ["rem", "rem_p"]

# The remainder is x - y trunc(x / y), whose derivative by y is -trunc(x / y): the sign times the
# floor of the size.
rem_p: ir.Primitive = nary(
    "rem",
    vectorised_on_cpus("rem", lower_to("stablehlo.remainder")),
    real_valued,
    lambda t, x, y: repeat_to(t, broadcast_result_shape("rem", array_aval(x), array_aval(y))),
    lambda t, x, y: mul(neg(t), mul(sign(div(x, y)), floor(abs(div(x, y))))),
)
rem: BinaryFunction = binary_function(
    rem_p,
    "Elementwise remainder of the division rounded towards zero, with the sign of ``x``.",
    "int(lax.rem(-7, 3)) -> -1",
)
