"""The table of configuration options: for each name its values, its default and its status.

It has every option of the public API, so that programs that set options run. The status of an
option is *honoured*, *meaningless here* (there is nothing it could change) or *not supported*
(setting it warns once, with advice).
"""

import enum
from collections.abc import Mapping
from typing import Any

from ._option_kinds import (
    BOOL,
    DEVICE,
    EFFORT,
    ERROR_BEHAVIOR,
    FLOAT,
    INT,
    MATMUL_PRECISION,
    OOB_BEHAVIOR,
    PRNG_IMPL,
    STR,
    TRACEBACK_FILTERING,
    TRANSFER_GUARD,
    Bool,
    ExplicitX64Mode,
    Kind,
    LegacyPrngKeyState,
    Member,
    NumpyDtypePromotion,
    OneOf,
    RuntimeTracebackMode,
    Text,
)
from ._records import TupleRecord

__all__ = ["Option", "OPTIONS", "Status"]


class Status(enum.StrEnum):
    """The effect of setting an option."""

    HONOURED = "honoured"
    MEANINGLESS = "meaningless here"
    UNSUPPORTED = "not supported"


class Option(TupleRecord):
    """A row of the table.

    Attributes:
      kind: the values that it takes.
      default: its value until it is set.
      status: the effect of setting it.
      note: its effect, the reason why it is meaningless here, or the alternative to setting it.
      traced: whether jaxprs and executables depend on the value.
      per_equation: whether equations store the value that they were traced under.
    """

    kind: Kind
    default: Any
    status: Status
    note: str
    traced: bool = False
    per_equation: bool = False


def _honoured(kind: Kind, default: object, note: str) -> Option:
    return Option(kind, default, Status.HONOURED, note)


def _traced(kind: Kind, default: object, note: str) -> Option:
    """An honoured option that jaxprs depend on."""
    return Option(kind, default, Status.HONOURED, note, traced=True)


def _per_equation(kind: Kind, default: object, note: str) -> Option:
    """An option that is read also when an equation is lowered, batched or transposed."""
    return Option(kind, default, Status.HONOURED, note, traced=True, per_equation=True)


def _meaningless(kind: Kind, default: object, note: str) -> Option:
    return Option(kind, default, Status.MEANINGLESS, note)


def _unsupported(kind: Kind, default: object, note: str) -> Option:
    return Option(kind, default, Status.UNSUPPORTED, note)


_NO_CONVERTER = "the converter to TensorFlow is not included"
_ONE_IMPLEMENTATION = "it chooses between two implementations of JAX; Ricci has a single one"
_NO_FILES = "the locations in a lowered program are names of scopes, not source files"
_NO_PROFILES = "programs are not compiled again by profile; leave it off"
_NO_SHARING = "each process compiles its own programs; leave it off"
_NO_PALLAS = "Not an option of Ricci's compiler of kernels"
_NO_PLUGIN = "no plugin for that platform is loaded by name; use PJRT_NAMES_AND_LIBRARY_PATHS"
_NO_PROXY = "connections between processes use no proxy, whatever the environment says"
_NO_TRANSFERS = "arrays are not sent between hosts; exchange host data with another library"

OPTIONS: Mapping[str, Option] = {
    "jax2tf_associative_scan_reductions": _meaningless(BOOL, False, _NO_CONVERTER),
    "jax2tf_default_native_serialization": _meaningless(BOOL, True, _NO_CONVERTER),
    "jax_serialization_version": _meaningless(INT, 0, _NO_CONVERTER),
    "jax_export_calling_convention_version": _honoured(
        INT, 10, "the calling convention of exported functions: 9 or 10, which are the same here"
    ),
    "jax_export_ignore_forward_compatibility": _honoured(
        BOOL, False, "export with the newest version of StableHLO, not one four weeks old"
    ),
    "jax_export_deserialize_expired_versions": _honoured(
        BOOL, False, "read functions that JAX exported with older calling conventions than 9"
    ),
    "jax_platforms": _honoured(
        STR, None, "which platforms to start, by name with commas, the default one first"
    ),
    "jax_pjrt_client_create_options": _honoured(
        STR, None, "options for the clients of plugins: name:value;name:value"
    ),
    "jax_enable_checks": _traced(
        BOOL, False, "check that each program is well formed after it was traced"
    ),
    "jax_debug_key_reuse": _traced(BOOL, False, "raise an error when a random key is used twice"),
    "jax_use_hlo_logistic_lowering": _meaningless(
        Bool(optional=True), None, "logistic is written as the same operations in either case"
    ),
    "jax_check_tracer_leaks": _traced(
        BOOL, False, "raise an error where a traced array outlives the function it belongs to"
    ),
    "jax_check_static_indices": _traced(
        BOOL, False, "raise IndexError for an integer index that is out of bounds"
    ),
    "jax_captured_constants_warn_bytes": _honoured(
        INT, 2000000000, "warn when a program closes over arrays of this many bytes; -1: never"
    ),
    "jax_captured_constants_report_frames": _meaningless(
        INT, 0, "the warning names the line that uses each array in any case"
    ),
    "jax_raise_on_ppermute_sort_diff": _meaningless(
        BOOL, True, "ppermute takes its pairs in any order"
    ),
    "jax_debug_leaked_clients_on_clear_backends": _unsupported(
        BOOL, False, "clear_backends does not look for clients in use; delete their arrays first"
    ),
    "jax_debug_nans": _traced(BOOL, False, "raise an error for NaN in a result, and find where"),
    "jax_debug_infs": _traced(
        BOOL, False, "raise an error for an infinity in a result, and find where"
    ),
    "jax_log_compiles": _honoured(BOOL, False, "log what is traced and compiled as warnings"),
    "jax_explain_cache_misses": _honoured(
        BOOL, False, "log why a function is traced again, or is not in the compilation cache"
    ),
    "jax_log_checkpoint_residuals": _honoured(
        BOOL, False, "log what checkpoint saves for the backward pass as warnings"
    ),
    "jax_scan3": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_remat3": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_custom_vjp3": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_custom_jvp3": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_remat_barrier_no_cotangents": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_distributed_debug": _honoured(
        BOOL, False, "whether distributed.initialize and shutdown log their steps"
    ),
    "jax_random_seed_offset": _traced(INT, 0, "an integer that is added to every seed"),
    "jax_legacy_prng_key": _traced(
        Member(LegacyPrngKeyState),
        LegacyPrngKeyState.ALLOW,
        "whether a uint32 array may be used as a random key",
    ),
    "jax_enable_custom_prng": _traced(BOOL, False, "PRNGKey returns keys rather than integers"),
    "jax_default_prng_impl": _traced(
        PRNG_IMPL, "threefry2x32", "the generator that keys are for if none is named"
    ),
    "jax_threefry_partitionable": _per_equation(
        BOOL, True, "Threefry draws each number by its position, so that devices share the work"
    ),
    "jax_threefry_gpu_kernel_lowering": _meaningless(
        BOOL, False, "Threefry is the same operations on every platform"
    ),
    "jax_use_direct_linearize": _meaningless(BOOL, True, _ONE_IMPLEMENTATION),
    "jax_use_simplified_jaxpr_constants": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_embedded_constants_max_bytes": _unsupported(
        INT, 32, "arrays of up to 4096 bytes are written into programs; pass others as arguments"
    ),
    "jax_remove_size_one_mesh_axis_from_type": _unsupported(
        BOOL, False, "types name mesh axes of size one; make the mesh without them"
    ),
    "check_vma": _unsupported(BOOL, False, "pass check_vma to shard_map"),
    "jax_softmax_custom_jvp": _traced(
        BOOL, False, "differentiate softmax by its own rule, from its result"
    ),
    "jax_raise_persistent_cache_errors": _honoured(
        BOOL, False, "a failure of the compilation cache is an error instead of a warning"
    ),
    "jax_persistent_cache_min_compile_time_secs": _honoured(
        FLOAT, 1.0, "programs that compile in less than so many seconds are not cached"
    ),
    "jax_persistent_cache_min_entry_size_bytes": _honoured(
        INT, 0, "compiled programs of fewer bytes are not cached"
    ),
    "jax_persistent_cache_enable_xla_caches": _honoured(
        STR,
        "xla_gpu_per_fusion_autotune_cache_dir",
        "which caches of XLA's own for GPUs are put into the cache's folder: all, none, or names "
        "with commas",
    ),
    "jax_compilation_cache_include_metadata_in_key": _honoured(
        BOOL, False, "programs whose operations have other names in profiles are compiled apart"
    ),
    "jax_hlo_source_file_canonicalization_regex": _meaningless(STR, None, _NO_FILES),
    "jax_source_url_schema": _meaningless(STR, None, _NO_FILES),
    "jax_include_full_tracebacks_in_locations": _meaningless(BOOL, True, _NO_FILES),
    "jax_traceback_in_locations_limit": _meaningless(INT, 100, _NO_FILES),
    "jax_share_binary_between_hosts": _unsupported(BOOL, False, _NO_SHARING),
    "jax_share_binary_between_hosts_timeout_ms": _unsupported(INT, 1200000, _NO_SHARING),
    "jax_enable_pgle": _unsupported(BOOL, False, _NO_PROFILES),
    "jax_pgle_profiling_runs": _unsupported(INT, 3, _NO_PROFILES),
    "jax_pgle_aggregation_percentile": _unsupported(INT, 90, _NO_PROFILES),
    "jax_enable_compilation_cache": _honoured(
        BOOL, True, "whether the compilation cache is used, if it has a folder"
    ),
    "jax_compilation_cache_dir": _honoured(
        STR, None, "the folder that caches compiled programs for later processes"
    ),
    "jax_compilation_cache_check_contents": _meaningless(
        BOOL, False, "what is read from the cache is always checked, by its digest and by its key"
    ),
    "jax_compilation_cache_expect_pgle": _unsupported(BOOL, False, _NO_PROFILES),
    "jax_compilation_cache_max_size": _honoured(
        INT,
        -1,
        "the largest size of the cache in bytes, least recently used first out; -1: unlimited",
    ),
    "jax_remove_custom_partitioning_ptr_from_cache_key": _meaningless(
        BOOL, False, "programs that call Python functions while they are compiled are not cached"
    ),
    "jax_explicit_x64_dtypes": _traced(
        Member(ExplicitX64Mode),
        ExplicitX64Mode.WARN,
        "the reaction to a 64-bit dtype that is requested by name while those are off; where it is "
        "allowed, an array gets it, but results of several operands have 32 bits",
    ),
    "jax_numpy_dtype_promotion": _traced(
        Member(NumpyDtypePromotion),
        NumpyDtypePromotion.STANDARD,
        "which dtypes are promoted to a common one without a cast",
    ),
    "jax_disallow_mesh_context_manager": _honoured(
        BOOL, False, "entering a mesh with `with mesh:` raises an error"
    ),
    "jax_error_checking_behavior_nan": _traced(
        ERROR_BEHAVIOR, "ignore", "a program in which an operation makes NaN raises ValueError"
    ),
    "jax_error_checking_behavior_divide": _traced(
        ERROR_BEHAVIOR, "ignore", "a program in which a divisor is zero raises ValueError"
    ),
    "jax_error_checking_behavior_oob": _per_equation(
        OOB_BEHAVIOR,
        "kernels",
        "a program in which an index is out of bounds raises ValueError; by default an index in an "
        "interpreted kernel on a CPU",
    ),
    "jax_enable_x64": _per_equation(BOOL, False, "64-bit dtypes are on"),
    "jax_default_device": _traced(
        DEVICE, None, "the device of new arrays, and of operations on uncommitted arrays"
    ),
    "jax_disable_jit": _traced(BOOL, False, "run the body of jitted functions as plain Python"),
    "jax_numpy_rank_promotion": _traced(
        OneOf("allow", "warn", "raise"), "allow", "whether operands of different rank broadcast"
    ),
    "jax_auto_pcast": _traced(
        BOOL, True, "operands that vary along different axes inside shard_map are cast, not refused"
    ),
    "jax_default_matmul_precision": _traced(
        MATMUL_PRECISION, None, "the precision of products and convolutions that name none"
    ),
    "jax_allow_f16_reductions": _unsupported(
        BOOL, True, "convert arrays to float32 before a reduction of lax; those of numpy do so"
    ),
    "jax_traceback_filtering": _honoured(
        TRACEBACK_FILTERING, "auto", "whether tracebacks leave out the frames of the library"
    ),
    "jax_use_emit_pipeline_primitive": _meaningless(BOOL, False, _NO_PALLAS),
    "jax_bcoo_cusparse_lowering": _traced(
        BOOL, False, "products of sorted BCOO and of BCSR matrices are cuSPARSE's on NVIDIA GPUs"
    ),
    "eager_constant_folding": _meaningless(BOOL, False, "XLA folds constants when it compiles"),
    "jax_compiler_enable_remat_pass": _traced(
        BOOL, True, "XLA may rematerialise values to save memory"
    ),
    "jax_no_tracing": _honoured(BOOL, False, "tracing a function again for jit is an error"),
    "jax_no_execution": _traced(BOOL, False, "running a compiled program is an error"),
    "jax_disable_vmap_shmap_error": _meaningless(
        BOOL, False, "vmap of shard_map does not raise that error"
    ),
    "jax_mutable_array_checks": _unsupported(
        BOOL, True, "references are always checked: return what one holds, ref[...]; pass each once"
    ),
    "jax_disable_bwd_checks": _traced(
        BOOL, False, "the types of cotangents from a backward rule of custom_vjp are not checked"
    ),
    "jax_use_rgv3": _meaningless(BOOL, True, _ONE_IMPLEMENTATION),
    "jax_experimental_unsafe_xla_runtime_errors": _unsupported(
        BOOL, False, "use checkify, or the options jax_error_checking_behavior_*"
    ),
    "jax_xla_profile_version": _honoured(INT, 0, "the version of profiles that XLA compiles with"),
    "jax_transfer_guard_host_to_device": _honoured(
        TRANSFER_GUARD, None, "log or forbid copies from the host to devices"
    ),
    "jax_transfer_guard_device_to_device": _honoured(
        TRANSFER_GUARD, None, "log or forbid copies between devices"
    ),
    "jax_transfer_guard_device_to_host": _honoured(
        TRANSFER_GUARD, None, "log or forbid copies from devices to the host"
    ),
    "jax_transfer_guard": _honoured(
        TRANSFER_GUARD, None, "sets the three guards of transfers at once"
    ),
    "jax_array_garbage_collection_guard": _honoured(
        OneOf("allow", "log", "fatal", optional=True),
        None,
        "log, or end the process, when the garbage collector has to free an array",
    ),
    "jax_thread_guard": _unsupported(
        BOOL, False, "threads are not watched; call programs of several hosts from one thread"
    ),
    "jax_send_traceback_to_runtime": _unsupported(
        Member(RuntimeTracebackMode), RuntimeTracebackMode.OFF, "use profiler.trace"
    ),
    "jax_debug_log_modules": _honoured(
        Text(), "", "loggers, by name with commas, whose messages of level DEBUG go to stderr"
    ),
    "jax_logging_level": _honoured(
        OneOf("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", optional=True),
        "NOTSET",
        "the level from which messages go to stderr",
    ),
    "jax_use_shardy_partitioner": _unsupported(
        BOOL, True, "programs are partitioned by Shardy; leave it on"
    ),
    "jax_use_cpp_shard_args": _meaningless(BOOL, False, _ONE_IMPLEMENTATION),
    "jax_use_magma": _traced(
        OneOf("off", "on", "auto"), "auto", "whether MAGMA decomposes matrices on a GPU"
    ),
    "jax_optimization_level": _honoured(EFFORT, "UNKNOWN", "how hard XLA tries to make fast code"),
    "jax_memory_fitting_level": _honoured(EFFORT, "O2", "how hard XLA tries to save memory"),
    "jax_cpu_collectives_implementation": _honoured(
        OneOf("gloo", "mpi", "megascale", optional=True),
        "gloo",
        "how the CPUs of several processes talk to each other",
    ),
    "jax_high_dynamic_range_gumbel": _traced(
        BOOL, False, "gumbel and categorical draw from the full range of floats"
    ),
    "jax_dump_ir_to": _honoured(
        STR, "", "a folder to which every program is written when it is compiled"
    ),
    "jax_include_debug_info_in_dumps": _honoured(
        BOOL, True, "these StableHLO files have locations"
    ),
    "jax_dump_ir_modes": _honoured(
        STR, "stablehlo", "the files in that folder: stablehlo, jaxpr, or both with a comma"
    ),
    "jax_ragged_dot_use_ragged_dot_instruction": _unsupported(
        BOOL, True, "each platform has one lowering of ragged_dot; leave it on"
    ),
    "jax_pallas_verbose_errors": _meaningless(BOOL, False, _NO_PALLAS),
    "jax_pallas_enable_debug_checks": _traced(
        BOOL, False, "pl.debug_check is checked in interpreted kernels, and in those for TPUs"
    ),
    "jax_mosaic_allow_hlo": _meaningless(BOOL, False, _NO_PALLAS),
    "jax_mosaic_unzip_debug_locations": _meaningless(BOOL, True, _NO_PALLAS),
    "jax_pallas_poison_buffers": _meaningless(BOOL, False, _NO_PALLAS),
    "jax_pallas_auto_assign_collective_ids": _meaningless(
        OneOf("no", "yes", "override"), "no", _NO_PALLAS
    ),
    "jax_pallas_auto_assign_collective_ids_limit": _meaningless(INT, 25, _NO_PALLAS),
    "jax_mtls_cert_file": _honoured(
        STR, None, "the certificate that distributed.initialize encrypts connections with (PEM)"
    ),
    "jax_mtls_key_file": _honoured(STR, None, "its private key"),
    "jax_mtls_ca_file": _honoured(STR, None, "the certificates of those who sign the others'"),
    "jax_mtls_peer_uri_prefix": _honoured(
        STR, None, "what the address in another process's certificate begins with"
    ),
    "jax_distributed_verify_secure_credentials": _honoured(
        BOOL, False, "whether a connection between processes that is not encrypted is an error"
    ),
    "jax_accurate_erf_inv": _unsupported(
        BOOL, False, "the compiler's erf_inv is used; scipy.special.erfcinv is precise near 1"
    ),
    "jax_check_proxy_envs": _unsupported(BOOL, True, _NO_PROXY),
    "jax_enable_recoverability": _honoured(
        BOOL, False, "whether the coordinator lets a process that has failed join again"
    ),
    "jax_enable_preemption_service": _honoured(
        BOOL, True, "whether processes tell each other when one gets SIGTERM"
    ),
    "jax_xla_backend": _unsupported(STR, "", "name the platform in jax_platforms"),
    "jax_backend_target": _unsupported(STR, "", "name the platform in jax_platforms"),
    "jax_platform_name": _honoured(STR, "", "an older name of jax_platforms, which goes before"),
    "jax_cuda_visible_devices": _honoured(
        STR, "all", "the numbers of the CUDA devices to use, with commas"
    ),
    "jax_rocm_visible_devices": _unsupported(STR, "all", _NO_PLUGIN),
    "jax_oneapi_visible_devices": _unsupported(STR, "all", _NO_PLUGIN),
    "mock_num_gpu_processes": _unsupported(INT, 0, "use virtual CPU devices: jax_num_cpu_devices"),
    "jax_mock_gpu_topology": _unsupported(STR, "", "use virtual CPU devices: jax_num_cpu_devices"),
    "jax_cpu_enable_async_dispatch": _honoured(
        BOOL, True, "calls on the CPU return before the program has run"
    ),
    "jax_force_dcn_cross_host_transfers": _unsupported(BOOL, False, _NO_TRANSFERS),
    "jax_sort_devices_by_process_index": _unsupported(
        BOOL, True, "devices come in the runtime's order; sort them by process_index yourself"
    ),
    "jax_cross_host_transfer_socket_address": _unsupported(STR, "", _NO_TRANSFERS),
    "jax_cross_host_transport_addresses": _unsupported(STR, "", _NO_TRANSFERS),
    "jax_cross_host_transfer_timeout_seconds": _unsupported(INT, None, _NO_TRANSFERS),
    "jax_cross_host_transfer_transfer_size": _unsupported(INT, None, _NO_TRANSFERS),
    "jax_num_cpu_devices": _honoured(INT, -1, "how many devices the CPU is divided into"),
    "jax_cpu_get_local_topology_timeout_minutes": _honoured(
        INT, 2, "how long to wait for this process's CPU devices in a cluster"
    ),
    "jax_cpu_get_global_topology_timeout_minutes": _honoured(
        INT, 5, "how long to wait for all processes' CPU devices in a cluster"
    ),
    "jax_pprint_use_color": _meaningless(BOOL, True, "programs are printed without colour"),
    "jax_tracer_error_num_traceback_frames": _meaningless(
        INT, 5, "an error names the one line that a traced array comes from"
    ),
    "jax_disable_most_optimizations": _honoured(
        BOOL, False, "XLA compiles fast, to slower programs"
    ),
    "jax_compiler_detailed_logging_min_ops": _unsupported(INT, 10, "use jax_log_compiles"),
}
