"""Types of values that are made of several arrays, and operations on them."""

from ricci_autodiff import Zero as Zero
from ricci_autodiff import instantiate as instantiate_zeros
from ricci_autodiff import is_undefined_primal as is_undefined_primal
from ricci_ir import AbstractRef as AbstractRef
from ricci_ir import AbstractValue as AbstractValue
from ricci_ir import HiPspec as HiPspec
from ricci_ir import HiType as HiType
from ricci_ir import MappingSpec as MappingSpec
from ricci_ir import ShapedArray as ShapedArray
from ricci_ir import aval_method as aval_method
from ricci_ir import aval_property as aval_property
from ricci_ir import control_flow_allowed_effects as control_flow_allowed_effects
from ricci_ir import guard_public as _guard_public
from ricci_ir import register_hitype as register_hitype
from ricci_lax import GradAccum as GradAccum
from ricci_lax import HiPrim as HiPrim
from ricci_lax import NullAccum as NullAccum
from ricci_lax import RefAccum as RefAccum
from ricci_lax import ValAccum as ValAccum
from ricci_lax import bdims_at_front as bdims_at_front
from ricci_lax import jvp_from_lin as jvp_from_lin
from ricci_lax import linearize_from_jvp as linearize_from_jvp
from ricci_lax import unmap_avals as unmap_avals
from ricci_lax import vjp_from_jvp as vjp_from_jvp
from ricci_lax import vjp_from_lin as vjp_from_lin
from ricci_lax import vmap_rule as vmap_rule
from ricci_lax.refs import TransformedRef as TransformedRef

_guard_public(globals())
