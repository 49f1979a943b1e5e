"""Derivative rules of primitives that are defined outside of Ricci."""

from ricci_autodiff import JVPTrace as JVPTrace
from ricci_autodiff import JVPTracer as JVPTracer
from ricci_autodiff import UndefinedPrimal as UndefinedPrimal
from ricci_autodiff import Zero as Zero
from ricci_autodiff import add_tangents as add_tangents
from ricci_autodiff import instantiate as _instantiate
from ricci_autodiff import is_undefined_primal as is_undefined_primal
from ricci_autodiff import jvp_jaxpr as jvp_jaxpr
from ricci_compat.ad import add_jaxvals as add_jaxvals
from ricci_compat.ad import backward_pass as backward_pass
from ricci_compat.ad import defbilinear as defbilinear
from ricci_compat.ad import defjvp as defjvp
from ricci_compat.ad import defjvp2 as defjvp2
from ricci_compat.ad import deflinear as deflinear
from ricci_compat.ad import deflinear2 as deflinear2
from ricci_compat.ad import get_primitive_transpose as get_primitive_transpose
from ricci_compat.ad import jvp_fun as _jvp_fun
from ricci_compat.ad import primitive_jvps as primitive_jvps
from ricci_compat.ad import primitive_transposes as primitive_transposes
from ricci_compat.ad import zeros_like_aval as zeros_like_aval
from ricci_ir import guard_public as _guard_public
from ricci_lax import add_any_p as _add_any_p

instantiate_zeros = _instantiate
jvp = _jvp_fun
add_jaxvals_p = _add_any_p

_guard_public(globals(), classes=False)
