"""Primitive operations and collectives: the names of ``ricci_lax`` and ``ricci_parallel``."""

import typing as _typing

import ricci_lax as _operations
import ricci_parallel.collectives as _collectives
from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_lazily as _guard_lazily
from ricci_ir import guard_public as _guard_public

from . import linalg as linalg

# Names for other namespaces and for rules: found here, but not listed, as in ``jax.lax``.
_ELSEWHERE = frozenset(
    (
        "CustomVJPPrimal DebugEffect Differentiated GradAccum HiPrim NonFinite NullAccum "
        "OrderedDebugEffect RefAccum Saving ValAccum add_any_p all_gather_invariant_p "
        "all_gather_reduced_p annotated_call as_typed bdims_at_front call_annotated "
        "call_hi_primitive_p check_rules checkpoint checkpoint_name closure_convert "
        "custom_gradient custom_jvp custom_jvp_call_p custom_remat custom_vjp custom_vjp_call_p "
        "custom_vjp_primal_tree_values custom_vjp_tangent_p custom_vmap custom_vmap_p "
        "debug_breakpoint debug_callback debug_callback_p debug_log debug_print debug_print_p "
        "dim_as_value_p find_nan fuse_limit fwd_and_bwd hessian io_callback io_callback_p "
        "jacfwd jacobian jacrev jit_p jvp_from_lin linear_call linear_call_p linearize_from_jvp "
        "must_fuse_call name_p pbroadcast_p platform_index_p precv_p preduced_p "
        "print_saved_residuals psend_p psum_invariant_p pure_callback pure_callback_p pvary_p "
        "random_gamma_grad_p recomputation_rules recomputed recomputed_in_scans reduce_scatter_p "
        "reduced_vary_cast_p remat_p reshard_p saved_residuals saving_rules sequential_vmap "
        "set_xla_metadata tangent_map_p threefry2x32_p threefry2x32_xor_p unmap_avals "
        "unreduced_psum_p unreduced_reduce_scatter_p vary_unreduced_cast_p vjp_from_jvp "
        "vjp_from_lin vmap_rule xla_metadata_call xla_metadata_call2 xla_metadata_call_p "
        "xla_metadata_value_p zero_from_primal"
    ).split()
)

_guard_public(globals(), "linalg")

if _typing.TYPE_CHECKING:
    from ricci_lax import *
    from ricci_parallel import device_put_p as device_put_p
    from ricci_parallel import sharding_constraint_p as sharding_constraint_p
    from ricci_parallel import with_sharding_constraint as with_sharding_constraint
    from ricci_parallel.collectives import *
else:
    _load, __dir__ = _guard_lazily(
        globals(),
        {source.__name__: source.__all__ for source in (_operations, _collectives)}
        | {"ricci_parallel": "device_put_p sharding_constraint_p with_sharding_constraint".split()},
        unlisted=_ELSEWHERE,
    )
    __getattr__ = _or_advise(__name__, _load)
