"""Primitive operations and collectives: the names of ``ricci_lax`` and ``ricci_parallel``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import *
from ricci_parallel import all_gather as all_gather
from ricci_parallel import all_gather_p as all_gather_p
from ricci_parallel import all_to_all as all_to_all
from ricci_parallel import all_to_all_p as all_to_all_p
from ricci_parallel import axis_index as axis_index
from ricci_parallel import axis_index_p as axis_index_p
from ricci_parallel import axis_size as axis_size
from ricci_parallel import device_put_p as device_put_p
from ricci_parallel import pbroadcast as pbroadcast
from ricci_parallel import pcast as pcast
from ricci_parallel import pmax as pmax
from ricci_parallel import pmax_p as pmax_p
from ricci_parallel import pmean as pmean
from ricci_parallel import pmin as pmin
from ricci_parallel import pmin_p as pmin_p
from ricci_parallel import ppermute as ppermute
from ricci_parallel import ppermute_p as ppermute_p
from ricci_parallel import precv as precv
from ricci_parallel import psend as psend
from ricci_parallel import pshuffle as pshuffle
from ricci_parallel import psum as psum
from ricci_parallel import psum_p as psum_p
from ricci_parallel import psum_scatter as psum_scatter
from ricci_parallel import pswapaxes as pswapaxes
from ricci_parallel import ragged_all_to_all as ragged_all_to_all
from ricci_parallel import ragged_all_to_all_p as ragged_all_to_all_p
from ricci_parallel import sharding_constraint_p as sharding_constraint_p
from ricci_parallel import with_sharding_constraint as with_sharding_constraint

from . import linalg as linalg

_guard_public(globals(), "linalg")

# What ``ricci_lax`` has for other namespaces: found here, but not listed, as in ``jax.lax``.
_ELSEWHERE = frozenset(
    (
        "CustomVJPPrimal DebugEffect Differentiated GradAccum NonFinite NullAccum "
        "OrderedDebugEffect Saving ValAccum add_any_p annotated_call as_typed call_annotated "
        "check_rules checkpoint checkpoint_name closure_convert custom_gradient custom_jvp "
        "custom_jvp_call_p custom_remat custom_vjp custom_vjp_call_p "
        "custom_vjp_primal_tree_values custom_vjp_tangent_p custom_vmap custom_vmap_p "
        "debug_breakpoint debug_callback debug_callback_p debug_log debug_print debug_print_p "
        "dim_as_value_p find_nan fuse_limit fwd_and_bwd hessian io_callback io_callback_p "
        "jacfwd jacobian jacrev jit_p linear_call linear_call_p must_fuse_call name_p "
        "platform_index_p print_saved_residuals pure_callback pure_callback_p "
        "random_gamma_grad_p recomputed recomputed_in_scans remat_p reshard_p saved_residuals "
        "saving_rules sequential_vmap set_xla_metadata tangent_map_p threefry2x32_p "
        "xla_metadata_call xla_metadata_call2 xla_metadata_call_p xla_metadata_value_p "
        "zero_from_primal"
    ).split()
)
globals()["__all__"] = [name for name in globals()["__all__"] if name not in _ELSEWHERE]
