"""Composable transformations of numerical Python programs: the full install, under one name."""

import typing as _typing

from . import _command  # before the others: the launcher of processes runs in it, without them

# isort: split
from . import _collector  # before the others: it waits while they are imported

# isort: split
from ricci_autodiff import grad as grad
from ricci_autodiff import value_and_grad as value_and_grad
from ricci_ir import Array as Array
from ricci_ir import Ref as Ref
from ricci_ir import ShapeDtypeStruct as ShapeDtypeStruct
from ricci_ir import allow_f16_reductions as allow_f16_reductions
from ricci_ir import array_garbage_collection_guard as array_garbage_collection_guard
from ricci_ir import auto_pcast as auto_pcast
from ricci_ir import check_tracer_leaks as check_tracer_leaks
from ricci_ir import checking_leaks as checking_leaks
from ricci_ir import clear_caches as clear_caches
from ricci_ir import config as config
from ricci_ir import debug_infs as debug_infs
from ricci_ir import debug_key_reuse as debug_key_reuse
from ricci_ir import debug_nans as debug_nans
from ricci_ir import default_device as default_device
from ricci_ir import default_matmul_precision as default_matmul_precision
from ricci_ir import default_prng_impl as default_prng_impl
from ricci_ir import disable_jit as disable_jit
from ricci_ir import enable_checks as enable_checks
from ricci_ir import enable_custom_prng as enable_custom_prng
from ricci_ir import enable_x64 as enable_x64
from ricci_ir import ensure_compile_time_eval as ensure_compile_time_eval
from ricci_ir import explain_cache_misses as explain_cache_misses
from ricci_ir import extended_dtypes as _extended_dtypes
from ricci_ir import float0 as float0
from ricci_ir import guard_public as _guard_public
from ricci_ir import jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions
from ricci_ir import lazy_names as _lazy_names
from ricci_ir import legacy_prng_key as legacy_prng_key
from ricci_ir import library_form_modules as _library_form_modules
from ricci_ir import log_compiles as log_compiles
from ricci_ir import make_user_context as make_user_context
from ricci_ir import named_call as named_call
from ricci_ir import named_scope as named_scope
from ricci_ir import no_execution as no_execution
from ricci_ir import no_tracing as no_tracing
from ricci_ir import numpy_dtype_promotion as numpy_dtype_promotion
from ricci_ir import numpy_rank_promotion as numpy_rank_promotion
from ricci_ir import remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type
from ricci_ir import softmax_custom_jvp as softmax_custom_jvp
from ricci_ir import thread_guard as thread_guard
from ricci_ir import threefry_partitionable as threefry_partitionable
from ricci_ir import transfer_guard as transfer_guard
from ricci_ir import transfer_guard_device_to_device as transfer_guard_device_to_device
from ricci_ir import transfer_guard_device_to_host as transfer_guard_device_to_host
from ricci_ir import transfer_guard_host_to_device as transfer_guard_host_to_device
from ricci_ir import typeof as typeof
from ricci_xla import CompilerEffortLevel as CompilerEffortLevel
from ricci_xla import Device as Device
from ricci_xla import Inline as Inline
from ricci_xla import NamedSharding as NamedSharding
from ricci_xla import P as P
from ricci_xla import Shard as Shard
from ricci_xla import block_until_ready as block_until_ready
from ricci_xla import copy_to_host_async as copy_to_host_async
from ricci_xla import default_backend as default_backend
from ricci_xla import device_count as device_count
from ricci_xla import device_get as device_get
from ricci_xla import devices as devices
from ricci_xla import effects_barrier as effects_barrier
from ricci_xla import host_count as host_count
from ricci_xla import host_id as host_id
from ricci_xla import host_ids as host_ids
from ricci_xla import jit as jit
from ricci_xla import live_arrays as live_arrays
from ricci_xla import local_device_count as local_device_count
from ricci_xla import local_devices as local_devices
from ricci_xla import process_count as process_count
from ricci_xla import process_index as process_index
from ricci_xla import process_indices as process_indices
from ricci_xla import two_stage_compilation as two_stage_compilation

from . import _absent, _late_functions
from . import ad as ad
from . import core as core
from . import dtypes as dtypes
from . import errors as errors
from . import lax as lax
from . import numpy as numpy
from . import sharding as sharding
from . import stages as stages
from . import tree as tree
from . import tree_util as tree_util

if _typing.TYPE_CHECKING:
    from ricci_autodiff import jvp as jvp
    from ricci_autodiff import linear_transpose as linear_transpose
    from ricci_autodiff import linearize as linearize
    from ricci_autodiff import vjp as vjp
    from ricci_batching import vmap as vmap
    from ricci_buckets import bucketed as bucketed
    from ricci_check import check as check
    from ricci_ir import eval_shape as eval_shape
    from ricci_ir import make_jaxpr as make_jaxpr
    from ricci_ir import native_kernels as native_kernels
    from ricci_lax import checkpoint as checkpoint
    from ricci_lax import closure_convert as closure_convert
    from ricci_lax import custom_gradient as custom_gradient
    from ricci_lax import custom_jvp as custom_jvp
    from ricci_lax import custom_remat as custom_remat
    from ricci_lax import custom_vjp as custom_vjp
    from ricci_lax import find_nan as find_nan
    from ricci_lax import fwd_and_bwd as fwd_and_bwd
    from ricci_lax import hessian as hessian
    from ricci_lax import jacfwd as jacfwd
    from ricci_lax import jacrev as jacrev
    from ricci_lax import pure_callback as pure_callback
    from ricci_lax.precision import precision as precision
    from ricci_lax.refs import empty_ref as empty_ref
    from ricci_lax.refs import free_ref as free_ref
    from ricci_lax.refs import freeze as freeze
    from ricci_lax.refs import new_ref as new_ref
    from ricci_lax.rolling import roll as roll
    from ricci_lax.rolling import rolled_layers as rolled_layers
    from ricci_numpy.authoring import ds as ds
    from ricci_parallel import device_put as device_put
    from ricci_parallel import device_put_replicated as device_put_replicated
    from ricci_parallel import device_put_sharded as device_put_sharded
    from ricci_parallel import get_abstract_mesh as get_abstract_mesh
    from ricci_parallel import get_mesh as get_mesh
    from ricci_parallel import pmap as pmap
    from ricci_parallel import reshard as reshard
    from ricci_parallel import set_mesh as set_mesh
    from ricci_parallel import shard_map as shard_map
    from ricci_parallel import smap as smap
    from ricci_parallel import use_abstract_mesh as use_abstract_mesh
    from ricci_parallel.planning import fit_memory as fit_memory
    from ricci_parallel.planning import memory_plan as memory_plan
    from ricci_xla import make_array_from_callback as make_array_from_callback
    from ricci_xla import make_array_from_process_local_data as make_array_from_process_local_data
    from ricci_xla import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from ricci_xla import make_mesh as make_mesh
    from ricci_xla import print_environment_info as print_environment_info
    from ricci_xla import xla_computation as xla_computation
    from ricci_xla.warm import warm_start as warm_start

    from . import ad_checkpoint as ad_checkpoint
    from . import api_util as api_util
    from . import checkpoint_policies as checkpoint_policies
    from . import custom_batching as custom_batching
    from . import custom_derivatives as custom_derivatives
    from . import debug as debug
    from . import distributed as distributed
    from . import dlpack as dlpack
    from . import experimental as experimental
    from . import export as export
    from . import extend as extend
    from . import ffi as ffi
    from . import flatten_util as flatten_util
    from . import image as image
    from . import interpreters as interpreters
    from . import kernels as kernels
    from . import memory as memory
    from . import monitoring as monitoring
    from . import nn as nn
    from . import ops as ops
    from . import parallel as parallel
    from . import profiler as profiler
    from . import random as random
    from . import ref as ref
    from . import scipy as scipy
    from . import typing as typing
    from ._version import __version__ as __version__

    remat = checkpoint
    jacobian = jacrev

_guard_public(globals())
globals()["__all__"] = sorted({*globals()["__all__"], *_late_functions.NAMES})

_MODULES = (
    "ad_checkpoint api_util checkpoint_policies custom_batching custom_derivatives debug "
    "distributed dlpack experimental export extend ffi flatten_util image interpreters kernels "
    "memory monitoring nn ops parallel profiler random ref scipy typing"
).split()

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    _load_other, _list_other = _lazy_names(
        globals(),
        {name: f".{name}" for name in _MODULES}
        | {
            "__version__": "._version:__version__",
            "find_nan": ".debug:find_nan",
            "native_kernels": "ricci_ir:native_kernels",
        },
    )

    def _load(name: str) -> object:
        is_function = name in _late_functions.NAMES
        return _late_functions.load(name) if is_function else _load_other(name)

    def __dir__() -> list[str]:
        return sorted({*_list_other(), *_late_functions.NAMES})

    __getattr__ = _absent.or_advise(__name__, _load)
    for _module in (tree, tree_util):
        _module.__getattr__ = _absent.or_advise(_module.__name__)

_library_form_modules.append("ricci_compat.library_forms")


def _import_keys(dtype: str) -> None:
    """Import the package of random keys if a dtype is of keys; it adds a function to the list."""
    if dtype.startswith("key<"):
        import ricci_random  # noqa: PLC0415 - lazy: not every program has keys


_extended_dtypes.append(_import_keys)
_collector.resume()
