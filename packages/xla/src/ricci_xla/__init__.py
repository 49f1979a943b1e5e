"""Runs StableHLO on CPU, GPU and TPU through jaxlib: devices, arrays, compiling, dispatch."""

from . import _mlir_rules as _mlir_rules
from ._array import ArrayImpl as ArrayImpl
from ._array import Shard as Shard
from ._array import check_not_deleted as check_not_deleted
from ._client import Client as Client
from ._client import Device as Device
from ._client import DeviceList as DeviceList
from ._client import backends as backends
from ._client import backends_are_made as backends_are_made
from ._client import clear_backends as clear_backends
from ._client import default_backend as default_backend
from ._client import default_device as default_device
from ._client import device_count as device_count
from ._client import devices as devices
from ._client import get_backend as get_backend
from ._client import get_default_device as get_default_device
from ._client import host_count as host_count
from ._client import host_id as host_id
from ._client import host_ids as host_ids
from ._client import live_arrays as live_arrays
from ._client import local_device_count as local_device_count
from ._client import local_devices as local_devices
from ._client import platform_alias as platform_alias
from ._client import process_count as process_count
from ._client import process_index as process_index
from ._client import process_indices as process_indices
from ._client import set_distributed_client as set_distributed_client
from ._compile import CompilerEffortLevel as CompilerEffortLevel
from ._compile import Executable as Executable
from ._compile import compile_options as compile_options
from ._compile import compile_text as compile_text
from ._compile import deserialize as deserialize
from ._compile import result_shardings as result_shardings
from ._dispatch import FastPath as FastPath
from ._dispatch import PjitFunctionCache as PjitFunctionCache
from ._dispatch import default_registry as default_registry
from ._dispatch import fast_path as fast_path
from ._dispatch import make_fast_callable as make_fast_callable
from ._dispatch import shard_arg as shard_arg
from ._dispatch import shard_args as shard_args
from ._eager import XlaBackend as XlaBackend
from ._eager import clear_caches as clear_caches
from ._eager import xla_backend as xla_backend
from ._effects import effects_barrier as effects_barrier
from ._environment import print_environment_info as print_environment_info
from ._errors import DuplicateSpecError as DuplicateSpecError
from ._errors import IndivisibleError as IndivisibleError
from ._errors import JaxRuntimeError as JaxRuntimeError
from ._errors import XlaRuntimeError as XlaRuntimeError
from ._hlo_computation import xla_computation as xla_computation
from ._inline import Inline as Inline
from ._inspection import ShardingInspector as ShardingInspector
from ._inspection import undivided as undivided
from ._interchange import from_dlpack as from_dlpack
from ._jit import jit as jit
from ._layout import Format as Format
from ._layout import Layout as Layout
from ._layout import layout_of as layout_of
from ._mesh import AbstractDevice as AbstractDevice
from ._mesh import AbstractMesh as AbstractMesh
from ._mesh import AxisType as AxisType
from ._mesh import Mesh as Mesh
from ._mesh import create_device_mesh as create_device_mesh
from ._mesh import entered_mesh as entered_mesh
from ._mesh import make_mesh as make_mesh
from ._parts import disassemble as disassemble
from ._parts import parts as parts
from ._placement import ArrayCopySemantics as ArrayCopySemantics
from ._placement import array_from_host as array_from_host
from ._placement import as_sharding as as_sharding
from ._placement import block_until_ready as block_until_ready
from ._placement import copy_to_host_async as copy_to_host_async
from ._placement import device_get as device_get
from ._placement import device_put as device_put
from ._placement import make_array_from_callback as make_array_from_callback
from ._placement import make_array_from_process_local_data as make_array_from_process_local_data
from ._placement import make_array_from_single_device_arrays as make_array_from_single_device_arrays
from ._placement import move_array as move_array
from ._placement import put_leaf as put_leaf
from ._sharding import GSPMDSharding as GSPMDSharding
from ._sharding import HloSharding as HloSharding
from ._sharding import NamedSharding as NamedSharding
from ._sharding import Sharding as Sharding
from ._sharding import SingleDeviceSharding as SingleDeviceSharding
from ._sharding import make_single_device_sharding as make_single_device_sharding
from ._sharding import single_device_sharding as single_device_sharding
from ._spec import UNCONSTRAINED as UNCONSTRAINED
from ._spec import P as P
from ._spec import PartitionSpec as PartitionSpec
from ._stages import ArgInfo as ArgInfo
from ._stages import Compiled as Compiled
from ._stages import CompilerOptions as CompilerOptions
from ._stages import Lowered as Lowered
from ._stages import Traced as Traced
from ._stages import Wrapped as Wrapped
from ._state import mirror as mirror

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "ArgInfo",
    "ArrayCopySemantics",
    "ArrayImpl",
    "AxisType",
    "Client",
    "Compiled",
    "CompilerEffortLevel",
    "CompilerOptions",
    "Device",
    "DeviceList",
    "DuplicateSpecError",
    "Executable",
    "FastPath",
    "Format",
    "GSPMDSharding",
    "HloSharding",
    "IndivisibleError",
    "Inline",
    "JaxRuntimeError",
    "Layout",
    "Lowered",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "PjitFunctionCache",
    "Shard",
    "Sharding",
    "ShardingInspector",
    "SingleDeviceSharding",
    "Traced",
    "UNCONSTRAINED",
    "Wrapped",
    "XlaBackend",
    "XlaRuntimeError",
    "array_from_host",
    "as_sharding",
    "backends",
    "backends_are_made",
    "block_until_ready",
    "check_not_deleted",
    "clear_backends",
    "clear_caches",
    "compile_options",
    "compile_text",
    "copy_to_host_async",
    "create_device_mesh",
    "default_backend",
    "default_device",
    "default_registry",
    "deserialize",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disassemble",
    "effects_barrier",
    "entered_mesh",
    "fast_path",
    "from_dlpack",
    "get_backend",
    "get_default_device",
    "host_count",
    "host_id",
    "host_ids",
    "jit",
    "layout_of",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_fast_callable",
    "make_mesh",
    "make_single_device_sharding",
    "mirror",
    "move_array",
    "parts",
    "platform_alias",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "put_leaf",
    "result_shardings",
    "set_distributed_client",
    "shard_arg",
    "shard_args",
    "single_device_sharding",
    "undivided",
    "xla_backend",
    "xla_computation",
]
