"""Names for kernels on TPUs: ``jax.experimental.pallas.tpu``."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from ricci_ir import export_names as _export_names
from ricci_kernels import _absent_reasons as _reasons
from ricci_kernels._absent import other_names as _other_names
from ricci_kernels._devices import is_tpu_device as is_tpu_device
from ricci_kernels.blocks._memory_spaces import ANY as _ANY
from ricci_kernels.blocks._memory_spaces import HOST as _HOST
from ricci_kernels.blocks._memory_spaces import SemaphoreType as SemaphoreType
from ricci_kernels.blocks._memory_spaces import TPUMemorySpace as MemorySpace
from ricci_kernels.blocks._memory_spaces import dma_semaphore as dma_semaphore
from ricci_kernels.blocks._specs import PrefetchScalarGridSpec as PrefetchScalarGridSpec
from ricci_kernels.blocks._tpu_parameters import ARBITRARY as ARBITRARY
from ricci_kernels.blocks._tpu_parameters import CORE_PARALLEL as CORE_PARALLEL
from ricci_kernels.blocks._tpu_parameters import PARALLEL as PARALLEL
from ricci_kernels.blocks._tpu_parameters import SUBCORE_PARALLEL as SUBCORE_PARALLEL
from ricci_kernels.blocks._tpu_parameters import BufferType as BufferType
from ricci_kernels.blocks._tpu_parameters import CompilerParams as CompilerParams
from ricci_kernels.blocks._tpu_parameters import CoreType as CoreType
from ricci_kernels.blocks._tpu_parameters import GridDimensionSemantics as GridDimensionSemantics
from ricci_kernels.blocks._tpu_parameters import InterpretParams as InterpretParams
from ricci_kernels.blocks._tpu_parameters import SideEffectType as SideEffectType
from ricci_kernels.blocks._tpu_parameters import Tiling as Tiling
from ricci_kernels.blocks._tpu_parameters import (
    force_tpu_interpret_mode as force_tpu_interpret_mode,
)
from ricci_kernels.blocks._tpu_parameters import (
    reset_tpu_interpret_mode_state as reset_tpu_interpret_mode_state,
)
from ricci_kernels.blocks._tpu_parameters import set_tpu_interpret_mode as set_tpu_interpret_mode
from ricci_kernels.body._buffered_refs import BufferedRef as BufferedRef
from ricci_kernels.body._buffered_refs import BufferedRefBase as BufferedRefBase
from ricci_kernels.body._copies import async_copy as async_copy
from ricci_kernels.body._copies import make_async_copy as make_async_copy
from ricci_kernels.body._copies import semaphore_read as _semaphore_read
from ricci_kernels.body._copies import semaphore_signal as _semaphore_signal
from ricci_kernels.body._copies import semaphore_wait as _semaphore_wait
from ricci_kernels.body._copies import sync_copy as sync_copy
from ricci_kernels.body._pipelines import emit_pipeline as emit_pipeline
from ricci_kernels.body._pipelines import (
    emit_pipeline_with_allocations as emit_pipeline_with_allocations,
)
from ricci_kernels.body._remote_copies import async_remote_copy as async_remote_copy
from ricci_kernels.body._remote_copies import get_barrier_semaphore as get_barrier_semaphore
from ricci_kernels.body._remote_copies import make_async_remote_copy as make_async_remote_copy
from ricci_kernels.calls._meshes import TensorCoreMesh as TensorCoreMesh
from ricci_kernels.calls._meshes import create_tensorcore_mesh as create_tensorcore_mesh
from ricci_kernels.primitives._device_numbers import DeviceIdType as _DeviceIdType
from ricci_kernels.primitives._memory_constraints import has_memory_space as has_memory_space
from ricci_kernels.primitives._memory_constraints import (
    with_memory_space_constraint as with_memory_space_constraint,
)
from ricci_kernels.primitives._tpu_random import prng_random_bits as prng_random_bits
from ricci_kernels.primitives._tpu_random import prng_seed as prng_seed
from ricci_kernels.primitives._tpu_random import stateful_bernoulli as stateful_bernoulli
from ricci_kernels.primitives._tpu_random import stateful_bits as stateful_bits
from ricci_kernels.primitives._tpu_random import stateful_normal as stateful_normal
from ricci_kernels.primitives._tpu_random import stateful_uniform as stateful_uniform

from ._bit_fields import join_bits as join_bits
from ._bit_fields import pack_fp6 as pack_fp6
from ._bit_fields import split_bits as split_bits
from ._bit_fields import unpack_fp6 as unpack_fp6
from ._cores import LoweringException as LoweringException
from ._cores import PipelineStep as PipelineStep
from ._cores import annotate as annotate
from ._cores import conv as conv
from ._cores import core_barrier as core_barrier
from ._cores import run_on_first_core as run_on_first_core
from ._cores import trace_value as trace_value
from ._einshape import einshape as einshape
from ._info import ChipVersion as ChipVersion
from ._info import TpuInfo as TpuInfo
from ._info import get_tpu_info as get_tpu_info
from ._info import get_tpu_info_for_chip as get_tpu_info_for_chip
from ._keys import sample_block as sample_block
from ._keys import to_pallas_key as to_pallas_key
from ._operations import bitcast as bitcast
from ._operations import load as load
from ._operations import reciprocal as reciprocal
from ._operations import roll as roll
from ._operations import store as store
from ._operations import touch as touch
from ._packing import pack_elementwise as pack_elementwise
from ._packing import stochastic_round as stochastic_round
from ._packing import unpack_elementwise as unpack_elementwise

VMEM: MemorySpace = MemorySpace.VMEM
VMEM_SHARED: MemorySpace = MemorySpace.VMEM_SHARED
SMEM: MemorySpace = MemorySpace.SMEM
CMEM: MemorySpace = MemorySpace.CMEM
HBM: MemorySpace = MemorySpace.HBM
SEMAPHORE: MemorySpace = MemorySpace.SEMAPHORE

__getattr__: _Callable[[str], _Any] = _other_names(
    __name__,
    _reasons.TPU,
    {
        "ANY": ("pl.ANY", _ANY),
        "HOST": ("pl.HOST", _HOST),
        "DeviceIdType": ("pl.DeviceIdType", _DeviceIdType),
        "TPUCompilerParams": ("pltpu.CompilerParams", CompilerParams),
        "TPUInterpretParams": ("pltpu.InterpretParams", InterpretParams),
        "TPUMemorySpace": ("pltpu.MemorySpace", MemorySpace),
        "semaphore_read": ("pl.semaphore_read", _semaphore_read),
        "semaphore_signal": ("pl.semaphore_signal", _semaphore_signal),
        "semaphore_wait": ("pl.semaphore_wait", _semaphore_wait),
    },
)

_export_names(globals())
