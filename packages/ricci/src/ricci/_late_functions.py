"""The functions of ``ricci`` itself that are imported at their first use.

They are declared before the other namespaces are imported, so that a function that several of them
export is named ``ricci.grad`` in messages and pickles.
"""

import sys

from ricci_ir import guard_lazily

FUNCTIONS = {
    "ricci_autodiff": "jvp linear_transpose linearize vjp".split(),
    "ricci_batching": ["vmap"],
    "ricci_buckets": ["bucketed"],
    "ricci_check": ["check"],
    "ricci_ir": ["eval_shape", "make_jaxpr"],
    "ricci_lax": (
        "checkpoint closure_convert custom_gradient custom_jvp custom_remat custom_vjp "
        "fwd_and_bwd hessian jacfwd jacrev pure_callback"
    ).split(),
    "ricci_lax.precision": ["precision"],
    "ricci_lax.rolling": ["roll", "rolled_layers"],
    "ricci_lax.refs": "empty_ref free_ref freeze new_ref".split(),
    "ricci_numpy.authoring": ["ds"],
    "ricci_parallel": (
        "device_put device_put_replicated device_put_sharded get_abstract_mesh get_mesh pmap "
        "reshard set_mesh shard_map smap use_abstract_mesh"
    ).split(),
    "ricci_parallel.planning": ["fit_memory", "memory_plan"],
    "ricci_xla": (
        "make_array_from_callback make_array_from_process_local_data "
        "make_array_from_single_device_arrays make_mesh print_environment_info xla_computation"
    ).split(),
    "ricci_xla.warm": ["warm_start"],
}
ALIASES = {"jacobian": "jacrev", "remat": "checkpoint"}
NAMES = frozenset(sum(FUNCTIONS.values(), [*ALIASES]))

load, _ = guard_lazily(vars(sys.modules["ricci"]), FUNCTIONS, ALIASES)
