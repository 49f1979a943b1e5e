"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_lax": "linalg refs",
    "ricci_lax.annotations._xla_metadata": (
        "annotated_call call_annotated fuse_limit must_fuse_call set_xla_metadata "
        "xla_metadata_call xla_metadata_call2 xla_metadata_call_p xla_metadata_value_p"
    ),
    "ricci_lax.callbacks._breakpoint": "debug_breakpoint",
    "ricci_lax.callbacks._callback": "io_callback io_callback_p pure_callback pure_callback_p",
    "ricci_lax.callbacks._debug": (
        "debug_callback debug_callback_p debug_log debug_print debug_print_p"
    ),
    "ricci_lax.contractions._convolution": "conv_general_dilated conv_general_dilated_p",
    "ricci_lax.contractions._convolution_forms": (
        "conv conv_general_dilated_local conv_general_dilated_patches conv_transpose "
        "conv_with_general_padding"
    ),
    "ricci_lax.contractions._convolution_shape": (
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers "
        "conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
        "conv_transpose_shape_tuple"
    ),
    "ricci_lax.contractions._dot": "DotDimensionNumbers batch_matmul dot dot_general dot_general_p",
    "ricci_lax.contractions._fft": "FftType fft fft_p",
    "ricci_lax.contractions._precision": "DotAlgorithm DotAlgorithmPreset Precision PrecisionLike",
    "ricci_lax.contractions._ragged_dot": "ragged_dot ragged_dot_general",
    "ricci_lax.contractions._ragged_dot_shape": "RaggedDotDimensionNumbers",
    "ricci_lax.contractions._scaled_dot": "scaled_dot",
    "ricci_lax.control_flow._cond": "cond cond_p switch",
    "ricci_lax.control_flow._custom_root": "custom_root",
    "ricci_lax.control_flow._fori_loop": "fori_loop",
    "ricci_lax.control_flow._linear_solve": "custom_linear_solve linear_solve_p",
    "ricci_lax.control_flow._loops": "scan",
    "ricci_lax.control_flow._map": "map",
    "ricci_lax.control_flow._platform": "platform_dependent platform_index_p",
    "ricci_lax.control_flow._scan": "scan_p",
    "ricci_lax.control_flow._sequential_vmap": "sequential_vmap",
    "ricci_lax.control_flow._while": "while_p",
    "ricci_lax.control_flow._while_loop": "while_loop",
    "ricci_lax.custom._accumulators": "GradAccum NullAccum ValAccum",
    "ricci_lax.custom._gradient": "closure_convert custom_gradient",
    "ricci_lax.custom._jvp": "custom_jvp custom_jvp_call_p",
    "ricci_lax.custom._linear_call": "linear_call linear_call_p tangent_map_p",
    "ricci_lax.custom._vjp": "custom_vjp",
    "ricci_lax.custom._vjp_primitives": "custom_vjp_call_p custom_vjp_tangent_p",
    "ricci_lax.custom._vjp_rules": "CustomVJPPrimal custom_vjp_primal_tree_values zero_from_primal",
    "ricci_lax.custom._vmap": "custom_vmap custom_vmap_p",
    "ricci_lax.derivatives._checkpoint": "checkpoint remat_p",
    "ricci_lax.derivatives._jacobian": "hessian jacfwd jacobian jacrev",
    "ricci_lax.derivatives._recomputation": (
        "Differentiated custom_remat recomputed recomputed_in_scans"
    ),
    "ricci_lax.derivatives._residuals": "fwd_and_bwd print_saved_residuals saved_residuals",
    "ricci_lax.effects._tokens": (
        "DebugEffect OrderedDebugEffect after_all after_all_p create_token create_token_p "
        "dce_sink"
    ),
    "ricci_lax.elementwise._accuracy": "AccuracyMode Tolerance",
    "ricci_lax.elementwise._arithmetic": (
        "abs abs_p div div_p integer_pow integer_pow_p mul mul_p mulhi mulhi_p one_minus_square "
        "one_minus_square_p reciprocal sign sign_p square square_p"
    ),
    "ricci_lax.elementwise._comparison": (
        "and_p bitwise_and bitwise_not bitwise_or bitwise_xor clamp clamp_p clz clz_p eq eq_p "
        "eq_to_p ge ge_p gt gt_p le le_p le_to_p lt lt_p lt_to_p ne ne_p not_p or_p "
        "population_count population_count_p select select_n select_n_p shift_left shift_left_p "
        "shift_right_arithmetic shift_right_arithmetic_p shift_right_logical "
        "shift_right_logical_p xor_p"
    ),
    "ricci_lax.elementwise._conversion": (
        "bitcast_convert_type bitcast_convert_type_p convert_element_type convert_element_type_p "
        "reduce_precision reduce_precision_p"
    ),
    "ricci_lax.elementwise._linear": (
        "add add_any_p add_p complex complex_p conj conj_p imag imag_p neg neg_p real real_p sub "
        "sub_p"
    ),
    "ricci_lax.elementwise._piecewise_linear": (
        "is_finite is_finite_p max max_p min min_p nextafter nextafter_p"
    ),
    "ricci_lax.elementwise._remainder": "rem rem_p",
    "ricci_lax.elementwise._rounding": "RoundingMethod ceil ceil_p floor floor_p round round_p",
    "ricci_lax.elementwise._transcendental": (
        "acos acos_p acosh acosh_p asin asin_p asinh asinh_p atan atan2 atan2_p atan_p atanh "
        "atanh_p cbrt cbrt_p cos cos_p cosh cosh_p exp exp2 exp2_p exp_p expm1 expm1_p log log1p "
        "log1p_p log2 log2_p log_p logistic logistic_p pow pow_p rsqrt rsqrt_p sin sin_p sinh "
        "sinh_p sqrt sqrt_p tan tan_p tanh tanh_p"
    ),
    "ricci_lax.hi._accumulators": "RefAccum",
    "ricci_lax.hi._batching": "bdims_at_front unmap_avals vmap_rule",
    "ricci_lax.hi._derived": "jvp_from_lin linearize_from_jvp vjp_from_jvp vjp_from_lin",
    "ricci_lax.hi._primitive": "HiPrim call_hi_primitive_p",
    "ricci_lax.nan._find": "find_nan",
    "ricci_lax.nan._report": "NonFinite",
    "ricci_lax.random_bits._generators": (
        "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p"
    ),
    "ricci_lax.random_bits._threefry": "threefry2x32_p threefry2x32_xor_p",
    "ricci_lax.reductions._approximate_top_k": "approx_max_k approx_min_k approx_top_k_p",
    "ricci_lax.reductions._arg_extrema": "argmax argmax_p argmin argmin_p",
    "ricci_lax.reductions._axis_reductions": (
        "reduce_and reduce_and_p reduce_max reduce_max_p reduce_min reduce_min_p reduce_or "
        "reduce_or_p reduce_prod reduce_prod_p reduce_xor reduce_xor_p"
    ),
    "ricci_lax.reductions._cumulative": (
        "associative_scan cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod "
        "cumprod_p cumsum cumsum_p"
    ),
    "ricci_lax.reductions._reduce": "reduce reduce_p",
    "ricci_lax.reductions._sorting": "sort sort_key_val sort_p top_k top_k_p",
    "ricci_lax.reductions._window_selection": (
        "select_and_gather_add_p select_and_scatter_add_p select_and_scatter_p"
    ),
    "ricci_lax.reductions._window_shape": "padtype_to_pads reduce_window_shape_tuple",
    "ricci_lax.reductions._windows": (
        "reduce_window reduce_window_max_p reduce_window_min_p reduce_window_p "
        "reduce_window_sum_p"
    ),
    "ricci_lax.rules._checkify": "check_rules",
    "ricci_lax.rules._saving": "Saving recomputation_rules saving_rules",
    "ricci_lax.shapes._dimension_numbers": (
        "GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers"
    ),
    "ricci_lax.shapes._dynamic_slicing": (
        "dynamic_slice dynamic_slice_p dynamic_update_slice dynamic_update_slice_p"
    ),
    "ricci_lax.shapes._dynamic_slicing_in_dim": (
        "dynamic_index_in_dim dynamic_slice_in_dim dynamic_update_index_in_dim "
        "dynamic_update_slice_in_dim"
    ),
    "ricci_lax.shapes._gather": "gather gather_p index_take",
    "ricci_lax.shapes._joining": (
        "concatenate concatenate_p shape_as_value split split_p stack stack_p unstack unstack_p"
    ),
    "ricci_lax.shapes._rearranging": "rev rev_p tile tile_p",
    "ricci_lax.shapes._scatter": (
        "scatter scatter_add scatter_add_p scatter_max scatter_max_p scatter_min scatter_min_p "
        "scatter_mul scatter_mul_p scatter_p scatter_sub scatter_sub_p"
    ),
    "ricci_lax.shapes._scatter_apply": "scatter_apply",
    "ricci_lax.shapes._slicing": "index_in_dim pad pad_p slice slice_in_dim slice_p",
    "ricci_lax.special._functions": (
        "bessel_i0e bessel_i0e_p bessel_i1e bessel_i1e_p digamma digamma_p erf erf_inv erf_inv_p "
        "erf_p erfc erfc_p lgamma lgamma_p polygamma polygamma_p zeta zeta_p"
    ),
    "ricci_lax.special._incomplete_beta": "betainc regularized_incomplete_beta_p",
    "ricci_lax.special._incomplete_gamma": (
        "igamma igamma_grad_a igamma_grad_a_p igamma_p igammac igammac_p random_gamma_grad "
        "random_gamma_grad_p"
    ),
    "ricci_lax.special._polynomial": "polynomial polynomial_p",
    "ricci_lax.staged_calls._composite": "composite",
    "ricci_lax.staged_calls._staged_call": "jit_p",
    "ricci_lax.structure._broadcasting": (
        "broadcast broadcast_in_dim broadcast_in_dim_p broadcast_shapes broadcast_to_rank "
        "expand_dims reduce_sum reduce_sum_p"
    ),
    "ricci_lax.structure._filling": "broadcasted_iota full full_like iota iota_p",
    "ricci_lax.structure._identity": (
        "copy_p optimization_barrier optimization_barrier_p stop_gradient stop_gradient_p"
    ),
    "ricci_lax.structure._literals": "broadcast_like dim_as_value_p dtype empty stage stage_p",
    "ricci_lax.structure._names": "checkpoint_name name_p",
    "ricci_lax.structure._reshaping": "collapse reshape reshape_p squeeze squeeze_p",
    "ricci_lax.structure._resharding": "as_typed reshard_p",
    "ricci_lax.structure._transposing": "transpose transpose_p",
}

AUTHORING = {
    "ricci_lax.checkify._host_check": "host_check_p",
    "ricci_lax.checkify._log": "CheckLog",
    "ricci_lax.checkify._references": "index_uses repeated_checks report_axis report_positions",
    "ricci_lax.contractions._precision": "canonicalize_precision",
    "ricci_lax.contractions._resample": "resample",
    "ricci_lax.control_flow._cond": "index_of_platform",
    "ricci_lax.elementwise._cpu_formulas": "ElementwiseKernel",
    "ricci_lax.linalg._householder": "geqrf_p",
    "ricci_lax.linalg._lu": "solve",
    "ricci_lax.nan._singular": "Singular singular_points singular_rules",
    "ricci_lax.random_bits._threefry": (
        "threefry2x32 threefry2x32_numpy threefry2x32_p threefry2x32_xor"
    ),
    "ricci_lax.reductions._approximate_top_k": "reduced_size",
    "ricci_lax.reductions._counting": "lower_bincount",
    "ricci_lax.reductions._identities": "highest lowest",
    "ricci_lax.refs._forms": "Window",
    "ricci_lax.shapes._gather": "default_fill",
}
