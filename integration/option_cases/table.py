"""Supported options, each with the observed facts by default and with another value.

An option that nobody reads gives the same twice, and fails.
"""

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, make_jaxpr, nn, random
from ricci.export import export
from ricci_xla.devices import _plugins

from .observers import (
    Row,
    add_a_shared_value,
    autotuning_folder,
    broken_cache,
    cached,
    cached_in_a_folder,
    chosen_collectives,
    chosen_platforms,
    close_over,
    compiled_with,
    decomposition_on_gpu,
    dumped,
    dumped_anywhere,
    enter_mesh,
    failed_check_in_kernel,
    fickle_program,
    frames_in_traceback,
    free_a_cycle,
    guard_level,
    joining,
    kernels_of_sparse_products,
    leak,
    logged,
    move_between_devices,
    move_to_device,
    raising,
    read_old_export,
    runs_of_the_body,
    said_on_stderr,
    told_to_cpu,
    trace_twice,
    use_key_twice,
    writes_the_newest,
    wrong_cotangent,
)

DEMONSTRATIONS: dict[str, Row] = {
    # checks
    "jax_enable_checks": Row(True, raising(fickle_program), "ok", "JaxprTypeError"),
    "jax_debug_key_reuse": Row(True, raising(use_key_twice), "ok", "KeyReuseError"),
    "jax_check_tracer_leaks": Row(True, raising(leak), "ok", "UnexpectedTracerError"),
    "jax_check_static_indices": Row(True, raising(lambda: jnp.arange(3)[3]), "ok", "IndexError"),
    "jax_captured_constants_warn_bytes": Row(1000, raising(close_over), "ok", "UserWarning"),
    "jax_debug_nans": Row(True, raising(lambda: jnp.log(-1.0)), "ok", "FloatingPointError"),
    "jax_debug_infs": Row(True, raising(lambda: jnp.exp(1e3)), "ok", "FloatingPointError"),
    "jax_export_calling_convention_version": Row(
        9, lambda tools: export(jit(jnp.sin))(1.0).calling_convention_version, 10, 9
    ),
    "jax_export_ignore_forward_compatibility": Row(True, writes_the_newest, False, True),
    "jax_export_deserialize_expired_versions": Row(
        True, raising(read_old_export), "FileError", "ok"
    ),
    "jax_error_checking_behavior_nan": Row(
        "raise", raising(lambda: jit(lambda x: jnp.log(x))(-1.0)), "ok", "ValueError"
    ),
    "jax_error_checking_behavior_divide": Row(
        "raise", raising(lambda: jnp.arange(3) // 0), "ok", "ValueError"
    ),
    "jax_error_checking_behavior_oob": Row(
        "raise", raising(lambda: jit(lambda x, i: x[i])(jnp.ones(3), 7)), "ok", "ValueError"
    ),
    "jax_pallas_enable_debug_checks": Row(
        True, raising(failed_check_in_kernel), "ok", "ValueError"
    ),
    "jax_disable_bwd_checks": Row(True, raising(wrong_cotangent), "ValueError", "ok"),
    "jax_auto_pcast": Row(False, raising(add_a_shared_value), "ok", "ValueError"),
    "jax_disallow_mesh_context_manager": Row(True, raising(enter_mesh), "ok", "RuntimeError"),
    "jax_numpy_rank_promotion": Row(
        "raise", raising(lambda: jnp.ones((2, 3)) + jnp.ones(3)), "ok", "ValueError"
    ),
    "jax_numpy_dtype_promotion": Row(
        "strict",
        raising(lambda: jnp.ones(3, jnp.int32) + jnp.ones(3, jnp.float32)),
        "ok",
        "TypePromotionError",
    ),
    "jax_explicit_x64_dtypes": Row(
        "error", raising(lambda: jnp.ones(2, "float64")), "UserWarning", "ValueError"
    ),
    "jax_no_tracing": Row(True, raising(lambda: jit(lambda x: x)(1.0)), "ok", "RuntimeError"),
    "jax_no_execution": Row(True, raising(lambda: jit(lambda x: x)(1.0)), "ok", "RuntimeError"),
    "jax_traceback_filtering": Row("off", frames_in_traceback, False, True),
    # random numbers
    "jax_legacy_prng_key": Row(
        "error", raising(lambda: random.normal(random.PRNGKey(0))), "ok", "ValueError"
    ),
    "jax_random_seed_offset": Row(5, lambda tools: random.PRNGKey(0).tolist(), [0, 0], [0, 5]),
    "jax_enable_custom_prng": Row(
        True, lambda tools: str(random.PRNGKey(0).dtype), "uint32", "key<fry>"
    ),
    "jax_default_prng_impl": Row(
        "rbg", lambda tools: str(random.key(0).dtype), "key<fry>", "key<rbg>"
    ),
    "jax_threefry_partitionable": Row(
        False,
        lambda tools: random.bits(random.key(0), (2,)).tolist(),
        [4070199207, 4202968722],
        [928981903, 3453687069],
    ),
    "jax_high_dynamic_range_gumbel": Row(
        True, lambda tools: "log1p" in str(make_jaxpr(random.gumbel)(random.key(0))), False, True
    ),
    # what programs are
    "jax_enable_x64": Row(True, lambda tools: jnp.arange(3).dtype.name, "int32", "int64"),
    "jax_default_device": Row(
        "device 1", lambda tools: [d.id for d in jnp.ones(3).devices()], [0], [1]
    ),
    "jax_disable_jit": Row(True, runs_of_the_body, 1, 3),
    "jax_default_matmul_precision": Row(
        "highest",
        lambda tools: "HIGHEST" in str(make_jaxpr(jnp.dot)(jnp.ones(2), jnp.ones(2))),
        False,
        True,
    ),
    "jax_softmax_custom_jvp": Row(
        True, lambda tools: "custom_jvp" in str(make_jaxpr(nn.softmax)(jnp.ones(3))), False, True
    ),
    "jax_use_magma": Row("off", decomposition_on_gpu, "auto", "off"),
    # messages
    "jax_log_compiles": Row(
        True, logged("ricci.compile", lambda: jit(lambda x: x + 2)(1.0)), False, True
    ),
    "jax_explain_cache_misses": Row(True, logged("ricci.tracing", trace_twice), False, True),
    "jax_log_checkpoint_residuals": Row(
        True, logged("ricci.checkpoint", lambda: grad(ricci.checkpoint(jnp.sin))(1.0)), False, True
    ),
    "jax_logging_level": Row("DEBUG", said_on_stderr, False, True),
    "jax_debug_log_modules": Row("ricci.compile", said_on_stderr, False, True),
    "jax_dump_ir_to": Row("here", dumped_anywhere, False, True),
    "jax_dump_ir_modes": Row(
        "jaxpr,stablehlo", dumped, [(".mlir", True)], [(".mlir", True), (".txt", False)]
    ),
    "jax_include_debug_info_in_dumps": Row(False, dumped, [(".mlir", True)], [(".mlir", False)]),
    # what XLA is told
    "jax_optimization_level": Row(
        "O1", compiled_with("executable_build_options.optimization_level"), 0, 19
    ),
    "jax_memory_fitting_level": Row(
        "O0", compiled_with("executable_build_options.memory_fitting_level"), 29, 9
    ),
    "jax_disable_most_optimizations": Row(
        True,
        compiled_with("executable_build_options.debug_options.xla_backend_optimization_level"),
        3,
        0,
    ),
    "jax_bcoo_cusparse_lowering": Row(
        True, kernels_of_sparse_products, [], ["cusparse_coo_matvec_ffi"]
    ),
    "jax_compiler_enable_remat_pass": Row(
        False,
        compiled_with("executable_build_options.debug_options.xla_disable_hlo_passes"),
        "",
        "rematerialization",
    ),
    "jax_xla_profile_version": Row(3, compiled_with("profile_version"), 0, 3),
    # caches on disk
    "jax_compilation_cache_dir": Row("kept", cached_in_a_folder, False, True),
    "jax_enable_compilation_cache": Row(False, cached(), 1, 0),
    "jax_persistent_cache_min_compile_time_secs": Row(0, cached(None), 0, 1),
    "jax_persistent_cache_min_entry_size_bytes": Row(10**9, cached(), 1, 0),
    "jax_compilation_cache_max_size": Row(0, cached(), 1, 0),
    "jax_compilation_cache_include_metadata_in_key": Row(True, cached(), 1, 2),
    "jax_raise_persistent_cache_errors": Row(True, broken_cache, "UserWarning", "FileExistsError"),
    "jax_persistent_cache_enable_xla_caches": Row(
        "none", autotuning_folder, "kept/xla_gpu_per_fusion_autotune_cache_dir", ""
    ),
    # devices
    "jax_platforms": Row(
        "nowhere",
        chosen_platforms,
        ["cpu"],
        "jax_platforms='nowhere' asks for the platform 'nowhere', which is not installed.",
    ),
    "jax_platform_name": Row(
        "elsewhere",
        chosen_platforms,
        ["cpu"],
        "jax_platforms=None asks for the platform 'elsewhere', which is not installed.",
    ),
    "jax_num_cpu_devices": Row(3, told_to_cpu("num_devices"), None, 3),
    "jax_cpu_enable_async_dispatch": Row(False, told_to_cpu("asynchronous"), True, False),
    "jax_cpu_get_local_topology_timeout_minutes": Row(
        9, told_to_cpu("get_local_topology_timeout_minutes"), 2, 9
    ),
    "jax_cpu_get_global_topology_timeout_minutes": Row(
        9, told_to_cpu("get_global_topology_timeout_minutes"), 5, 9
    ),
    "jax_cpu_collectives_implementation": Row("mpi", chosen_collectives, "gloo", "mpi"),
    "jax_cuda_visible_devices": Row(
        "0,2", lambda tools: _plugins.visible_devices(), {}, {"visible_devices": [0, 2]}
    ),
    "jax_pjrt_client_create_options": Row(
        "a:1;b:x:y", lambda tools: _plugins.client_options(), {}, {"a": "1", "b": "x:y"}
    ),
    # guards
    # several processes
    "jax_mtls_cert_file": Row("own.pem", joining("mtls_cert_file"), None, "own.pem"),
    "jax_mtls_key_file": Row("own.key", joining("mtls_key_file"), None, "own.key"),
    "jax_mtls_ca_file": Row("ca.pem", joining("mtls_ca_file"), None, "ca.pem"),
    "jax_mtls_peer_uri_prefix": Row("spiffe:", joining("mtls_peer_uri_prefix"), None, "spiffe:"),
    "jax_distributed_verify_secure_credentials": Row(
        True, joining("verify_secure_credentials"), False, True
    ),
    "jax_enable_recoverability": Row(True, joining("recoverable"), False, True),
    "jax_enable_preemption_service": Row(False, joining("preemption"), True, False),
    "jax_distributed_debug": Row(True, joining("logged"), False, True),
    "jax_transfer_guard": Row("log", guard_level("device_to_device"), "none", "log"),
    "jax_transfer_guard_host_to_device": Row(
        "disallow", raising(move_to_device), "ok", "JaxRuntimeError"
    ),
    "jax_transfer_guard_device_to_device": Row(
        "disallow", raising(move_between_devices), "ok", "JaxRuntimeError"
    ),
    "jax_transfer_guard_device_to_host": Row(
        "disallow", guard_level("device_to_host"), "none", "disallow"
    ),
    "jax_array_garbage_collection_guard": Row("log", free_a_cycle, False, True),
}
