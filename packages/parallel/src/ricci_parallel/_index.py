"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_parallel._cluster": "Cluster cluster",
    "ricci_parallel._compute_on": "compute_on compute_on_p",
    "ricci_parallel._current_mesh": "get_abstract_mesh get_mesh set_mesh use_abstract_mesh",
    "ricci_parallel._device_put": (
        "device_put device_put_p device_put_replicated device_put_sharded"
    ),
    "ricci_parallel._global_arrays": (
        "global_array_to_host_local_array global_array_to_host_local_array_impl "
        "global_array_to_host_local_array_p gtl_abstract_eval host_local_array_to_global_array "
        "host_local_array_to_global_array_impl host_local_array_to_global_array_p "
        "ltg_abstract_eval ltg_batcher"
    ),
    "ricci_parallel._layout_constraint": "layout_constraint_p with_layout_constraint",
    "ricci_parallel._pmap": "pmap",
    "ricci_parallel._reshard": "auto_axes explicit_axes reshard",
    "ricci_parallel._sharding_constraint": "sharding_constraint_p with_sharding_constraint",
    "ricci_parallel._visualize": (
        "inspect_array_sharding inspect_sharding_p visualize_array_sharding visualize_sharding"
    ),
    "ricci_parallel.collectives._all_reduce": "psum_p",
    "ricci_parallel.collectives._axis_index": "axis_index axis_index_p axis_size",
    "ricci_parallel.collectives._casts": (
        "pcast preduced_p psum_invariant_p pvary_p reduced_vary_cast_p unreduced_psum_p "
        "vary_unreduced_cast_p"
    ),
    "ricci_parallel.collectives._exchange": "all_to_all all_to_all_p pswapaxes",
    "ricci_parallel.collectives._gathering": (
        "all_gather all_gather_invariant_p all_gather_p all_gather_reduced_p psum_scatter "
        "reduce_scatter_p unreduced_reduce_scatter_p"
    ),
    "ricci_parallel.collectives._permutation": (
        "pbroadcast pbroadcast_p ppermute ppermute_p pshuffle"
    ),
    "ricci_parallel.collectives._ragged": "ragged_all_to_all ragged_all_to_all_p",
    "ricci_parallel.collectives._reductions": "pmax pmax_p pmean pmin pmin_p psum",
    "ricci_parallel.collectives._send_receive": "precv precv_p psend psend_p",
    "ricci_parallel.manual._experimental": "experimental_shard_map",
    "ricci_parallel.manual._primitive": "shard_map_p",
    "ricci_parallel.manual._shard_map": "Infer shard_map",
    "ricci_parallel.manual._smap": "smap",
}
