"""The table of configuration options: for each name the kind of its values and its default."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class NumpyDtypePromotion(enum.StrEnum):
    """Which pairs of dtypes promote to each other without a cast."""

    STANDARD = "standard"
    STRICT = "strict"


class LegacyPrngKeyState(enum.StrEnum):
    """What happens when a raw ``uint32`` array is used as a random key."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


class RuntimeTracebackMode(enum.StrEnum):
    """How much of the Python traceback is sent to the runtime with each execution."""

    OFF = "off"
    ON = "on"
    FULL = "full"


class ExplicitX64Mode(enum.IntEnum):
    """What happens when a 64-bit dtype is asked for while 64-bit dtypes are off."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


class Kind(Protocol):
    """The values an option takes."""

    def parse(self, name: str, value: Any) -> Any:
        """The value to store for what the user gave; raises ``ValueError`` or ``TypeError``."""
        ...

    def from_text(self, name: str, text: str) -> Any:
        """The value that an environment variable's text means."""
        ...


_TRUTH = {
    **dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "f", "false", "off", "0"), False),
}


@dataclass(frozen=True)
class Bool:
    """True or false, also spelled in words; any other object counts by its truth."""

    optional: bool = False

    def parse(self, name: str, value: Any) -> bool | None:
        if isinstance(value, str):
            return self.from_text(name, value)
        return None if value is None and self.optional else bool(value)

    def from_text(self, name: str, text: str) -> bool:
        try:
            return _TRUTH[text.lower()]
        except KeyError:
            raise ValueError(
                f"option {name} is a switch: expected one of {', '.join(_TRUTH)}, got {text!r}"
            ) from None


@dataclass(frozen=True)
class Of:
    """An instance of one of some types, or ``None``."""

    cls: type
    accepts: tuple[type, ...]

    def parse(self, name: str, value: Any) -> Any:
        if value is not None and not isinstance(value, self.accepts):
            raise ValueError(
                f"option {name} takes a {self.cls.__name__} or None, got {value!r} of type "
                f"{type(value).__name__}"
            )
        return value

    def from_text(self, name: str, text: str) -> Any:
        try:
            return self.cls(text)
        except ValueError:
            raise ValueError(f"option {name} takes a {self.cls.__name__}, got {text!r}") from None


class OneOf:
    """One of some strings."""

    def __init__(self, *values: str, optional: bool = False):
        self.values, self.optional = values, optional

    def parse(self, name: str, value: Any) -> str | None:
        if value is None and self.optional:
            return None
        if not isinstance(value, str) or value not in self.values:
            none = "None, " if self.optional else ""
            raise ValueError(
                f"option {name}: expected one of {none}{', '.join(self.values)}; got {value!r}"
            )
        return value

    def from_text(self, name: str, text: str) -> str | None:
        return self.parse(name, text)


@dataclass(frozen=True)
class Member:
    """A member of an enumeration, also given by its name in any case."""

    cls: type[enum.Enum]

    def parse(self, name: str, value: Any) -> enum.Enum:
        if isinstance(value, self.cls):
            return value
        members = self.cls.__members__
        if not isinstance(value, str):
            raise TypeError(
                f"option {name}: expected one of {', '.join(members).lower()} or a member of "
                f"{self.cls.__name__}; got {value!r} of type {type(value).__name__}"
            )
        try:
            return members[value.upper()]
        except KeyError:
            raise ValueError(
                f"option {name}: expected one of {', '.join(members).lower()}; got {value!r}"
            ) from None

    def from_text(self, name: str, text: str) -> enum.Enum:
        return self.parse(name, text)


class Device:
    """A device object, the name of a platform, or ``None``."""

    def parse(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, str) or hasattr(value, "platform"):
            return value
        raise ValueError(
            f"option {name} takes a device such as devices()[0], or the name of a platform such "
            f"as 'cpu'; got {value!r} of type {type(value).__name__}"
        )

    def from_text(self, name: str, text: str) -> str:
        return text


BOOL = Bool()
INT = Of(int, (int,))
FLOAT = Of(float, (float, int))
STR = Of(str, (str,))
DEVICE = Device()
ERROR_BEHAVIOR = OneOf("ignore", "raise")
EFFORT = OneOf("UNKNOWN", "O0", "O1", "O2", "O3")
PRNG_IMPL = OneOf("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")
TRANSFER_GUARD = OneOf(
    "allow", "log", "disallow", "log_explicit", "disallow_explicit", optional=True
)
TRACEBACK_FILTERING = OneOf("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")
# The first six name a precision, the others the types of inputs, products and sums.
MATMUL_PRECISION = OneOf(
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3"),
    *("BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3"),
    *("F32_F32_F32", "F64_F64_F64"),
    optional=True,
)

OPTIONS: Mapping[str, tuple[Kind, Any]] = {
    "jax2tf_associative_scan_reductions": (BOOL, False),
    "jax2tf_default_native_serialization": (BOOL, True),
    "jax_serialization_version": (INT, 0),
    "jax_export_calling_convention_version": (INT, 10),
    "jax_export_ignore_forward_compatibility": (BOOL, False),
    "jax_export_deserialize_expired_versions": (BOOL, False),
    "jax_platforms": (STR, None),
    "jax_pjrt_client_create_options": (STR, None),
    "jax_enable_checks": (BOOL, False),
    "jax_debug_key_reuse": (BOOL, False),
    "jax_use_hlo_logistic_lowering": (Bool(optional=True), None),
    "jax_check_tracer_leaks": (BOOL, False),
    "jax_check_static_indices": (BOOL, False),
    "jax_captured_constants_warn_bytes": (INT, 2000000000),
    "jax_captured_constants_report_frames": (INT, 0),
    "jax_raise_on_ppermute_sort_diff": (BOOL, True),
    "jax_debug_leaked_clients_on_clear_backends": (BOOL, False),
    "jax_debug_nans": (BOOL, False),
    "jax_debug_infs": (BOOL, False),
    "jax_log_compiles": (BOOL, False),
    "jax_explain_cache_misses": (BOOL, False),
    "jax_log_checkpoint_residuals": (BOOL, False),
    "jax_scan3": (BOOL, False),
    "jax_remat3": (BOOL, False),
    "jax_custom_vjp3": (BOOL, False),
    "jax_custom_jvp3": (BOOL, False),
    "jax_remat_barrier_no_cotangents": (BOOL, False),
    "jax_distributed_debug": (BOOL, False),
    "jax_random_seed_offset": (INT, 0),
    "jax_legacy_prng_key": (Member(LegacyPrngKeyState), LegacyPrngKeyState.ALLOW),
    "jax_enable_custom_prng": (BOOL, False),
    "jax_default_prng_impl": (PRNG_IMPL, "threefry2x32"),
    "jax_threefry_partitionable": (BOOL, True),
    "jax_threefry_gpu_kernel_lowering": (BOOL, False),
    "jax_use_direct_linearize": (BOOL, True),
    "jax_use_simplified_jaxpr_constants": (BOOL, False),
    "jax_embedded_constants_max_bytes": (INT, 32),
    "jax_remove_size_one_mesh_axis_from_type": (BOOL, False),
    "check_vma": (BOOL, False),
    "jax_softmax_custom_jvp": (BOOL, False),
    "jax_raise_persistent_cache_errors": (BOOL, False),
    "jax_persistent_cache_min_compile_time_secs": (FLOAT, 1.0),
    "jax_persistent_cache_min_entry_size_bytes": (INT, 0),
    "jax_persistent_cache_enable_xla_caches": (STR, "xla_gpu_per_fusion_autotune_cache_dir"),
    "jax_compilation_cache_include_metadata_in_key": (BOOL, False),
    "jax_hlo_source_file_canonicalization_regex": (STR, None),
    "jax_source_url_schema": (STR, None),
    "jax_include_full_tracebacks_in_locations": (BOOL, True),
    "jax_traceback_in_locations_limit": (INT, 100),
    "jax_share_binary_between_hosts": (BOOL, False),
    "jax_share_binary_between_hosts_timeout_ms": (INT, 1200000),
    "jax_enable_pgle": (BOOL, False),
    "jax_pgle_profiling_runs": (INT, 3),
    "jax_pgle_aggregation_percentile": (INT, 90),
    "jax_enable_compilation_cache": (BOOL, True),
    "jax_compilation_cache_dir": (STR, None),
    "jax_compilation_cache_check_contents": (BOOL, False),
    "jax_compilation_cache_expect_pgle": (BOOL, False),
    "jax_compilation_cache_max_size": (INT, -1),
    "jax_remove_custom_partitioning_ptr_from_cache_key": (BOOL, False),
    "jax_explicit_x64_dtypes": (Member(ExplicitX64Mode), ExplicitX64Mode.WARN),
    "jax_numpy_dtype_promotion": (Member(NumpyDtypePromotion), NumpyDtypePromotion.STANDARD),
    "jax_disallow_mesh_context_manager": (BOOL, False),
    "jax_error_checking_behavior_nan": (ERROR_BEHAVIOR, "ignore"),
    "jax_error_checking_behavior_divide": (ERROR_BEHAVIOR, "ignore"),
    "jax_error_checking_behavior_oob": (ERROR_BEHAVIOR, "ignore"),
    "jax_enable_x64": (BOOL, False),
    "jax_default_device": (DEVICE, None),
    "jax_disable_jit": (BOOL, False),
    "jax_numpy_rank_promotion": (OneOf("allow", "warn", "raise"), "allow"),
    "jax_auto_pcast": (BOOL, True),
    "jax_default_matmul_precision": (MATMUL_PRECISION, None),
    "jax_allow_f16_reductions": (BOOL, True),
    "jax_traceback_filtering": (TRACEBACK_FILTERING, "auto"),
    "jax_use_emit_pipeline_primitive": (BOOL, False),
    "jax_bcoo_cusparse_lowering": (BOOL, False),
    "eager_constant_folding": (BOOL, False),
    "jax_compiler_enable_remat_pass": (BOOL, True),
    "jax_no_tracing": (BOOL, False),
    "jax_no_execution": (BOOL, False),
    "jax_disable_vmap_shmap_error": (BOOL, False),
    "jax_mutable_array_checks": (BOOL, True),
    "jax_disable_bwd_checks": (BOOL, False),
    "jax_use_rgv3": (BOOL, True),
    "jax_experimental_unsafe_xla_runtime_errors": (BOOL, False),
    "jax_xla_profile_version": (INT, 0),
    "jax_transfer_guard_host_to_device": (TRANSFER_GUARD, None),
    "jax_transfer_guard_device_to_device": (TRANSFER_GUARD, None),
    "jax_transfer_guard_device_to_host": (TRANSFER_GUARD, None),
    "jax_transfer_guard": (TRANSFER_GUARD, None),
    "jax_array_garbage_collection_guard": (OneOf("allow", "log", "fatal", optional=True), None),
    "jax_thread_guard": (BOOL, False),
    "jax_send_traceback_to_runtime": (Member(RuntimeTracebackMode), RuntimeTracebackMode.OFF),
    "jax_debug_log_modules": (STR, ""),
    "jax_logging_level": (
        OneOf("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", optional=True),
        "NOTSET",
    ),
    "jax_use_shardy_partitioner": (BOOL, True),
    "jax_use_cpp_shard_args": (BOOL, False),
    "jax_use_magma": (OneOf("off", "on", "auto"), "auto"),
    "jax_optimization_level": (EFFORT, "UNKNOWN"),
    "jax_memory_fitting_level": (EFFORT, "O2"),
    "jax_cpu_collectives_implementation": (
        OneOf("gloo", "mpi", "megascale", optional=True),
        "gloo",
    ),
    "jax_high_dynamic_range_gumbel": (BOOL, False),
    "jax_dump_ir_to": (STR, ""),
    "jax_include_debug_info_in_dumps": (BOOL, True),
    "jax_dump_ir_modes": (STR, "stablehlo"),
    "jax_ragged_dot_use_ragged_dot_instruction": (BOOL, True),
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": (BOOL, False),
    "jax_pallas_verbose_errors": (BOOL, False),
    "jax_pallas_enable_debug_checks": (BOOL, False),
    "jax_mosaic_allow_hlo": (BOOL, False),
    "jax_pallas_poison_buffers": (BOOL, False),
    "jax_pallas_auto_assign_collective_ids": (OneOf("no", "yes", "override"), "no"),
    "jax_pallas_auto_assign_collective_ids_limit": (INT, 25),
    "jax_mtls_cert_file": (STR, None),
    "jax_mtls_key_file": (STR, None),
    "jax_mtls_ca_file": (STR, None),
    "jax_mtls_peer_uri_prefix": (STR, None),
    "jax_distributed_verify_secure_credentials": (BOOL, False),
    "jax_check_proxy_envs": (BOOL, True),
    "jax_enable_recoverability": (BOOL, False),
    "jax_enable_preemption_service": (BOOL, True),
    "jax_xla_backend": (STR, ""),
    "jax_backend_target": (STR, ""),
    "jax_platform_name": (STR, ""),
    "jax_cuda_visible_devices": (STR, "all"),
    "jax_rocm_visible_devices": (STR, "all"),
    "jax_oneapi_visible_devices": (STR, "all"),
    "mock_num_gpu_processes": (INT, 0),
    "jax_mock_gpu_topology": (STR, ""),
    "jax_cpu_enable_async_dispatch": (BOOL, True),
    "jax_force_dcn_cross_host_transfers": (BOOL, False),
    "jax_sort_devices_by_process_index": (BOOL, True),
    "jax_cross_host_transfer_socket_address": (STR, ""),
    "jax_cross_host_transport_addresses": (STR, ""),
    "jax_cross_host_transfer_timeout_seconds": (INT, None),
    "jax_cross_host_transfer_transfer_size": (INT, None),
    "jax_num_cpu_devices": (INT, -1),
    "jax_cpu_get_local_topology_timeout_minutes": (INT, 2),
    "jax_cpu_get_global_topology_timeout_minutes": (INT, 5),
    "jax_pprint_use_color": (BOOL, True),
    "jax_tracer_error_num_traceback_frames": (INT, 5),
    "jax_disable_most_optimizations": (BOOL, False),
    "jax_compiler_detailed_logging_min_ops": (INT, 10),
}

# The options whose value changes what a traced or compiled function is.
TRACED = (
    "jax_enable_x64",
    "jax_explicit_x64_dtypes",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_threefry_gpu_kernel_lowering",
    "jax_legacy_prng_key",
    "jax_enable_custom_prng",
    "jax_debug_key_reuse",
    "jax_random_seed_offset",
    "jax_softmax_custom_jvp",
    "jax_high_dynamic_range_gumbel",
    "jax_allow_f16_reductions",
    "jax_auto_pcast",
    "jax_disable_jit",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_enable_checks",
    "jax_check_tracer_leaks",
    "jax_no_execution",
    "jax_check_static_indices",
    "jax_default_device",
    "jax_remove_size_one_mesh_axis_from_type",
    "jax_error_checking_behavior_nan",
    "jax_error_checking_behavior_divide",
    "jax_error_checking_behavior_oob",
    "jax_compiler_enable_remat_pass",
    "jax_bcoo_cusparse_lowering",
    "jax_use_hlo_logistic_lowering",
)
