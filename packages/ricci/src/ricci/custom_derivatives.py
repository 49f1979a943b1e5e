"""Functions with user-defined derivatives. See ``ricci_lax``."""

from ricci_autodiff import SymbolicZero as SymbolicZero
from ricci_ir import guard_public as _guard_public
from ricci_lax import CustomVJPPrimal as CustomVJPPrimal
from ricci_lax import GradAccum as GradAccum
from ricci_lax import NullAccum as NullAccum
from ricci_lax import ValAccum as ValAccum
from ricci_lax import closure_convert as closure_convert
from ricci_lax import custom_gradient as custom_gradient
from ricci_lax import custom_jvp as custom_jvp
from ricci_lax import custom_jvp_call_p as custom_jvp_call_p
from ricci_lax import custom_vjp as custom_vjp
from ricci_lax import custom_vjp_call_p as custom_vjp_call_p
from ricci_lax import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from ricci_lax import linear_call as linear_call
from ricci_lax import zero_from_primal as zero_from_primal

_guard_public(globals())
