"""The attributes of jaxlib's runtime classes that this package uses or exports.

``packages/xla/tests/test_stubs.py`` compares these with the classes.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from ricci_ir import Array

__all__ = [
    "ArrayCopySemantics",
    "Client",
    "Device",
    "DeviceList",
    "JaxRuntimeError",
    "PjitFunctionCache",
    "XlaRuntimeError",
]

class ArrayCopySemantics(enum.Enum):
    """What becomes of the source when an array is copied to other devices."""

    ALWAYS_COPY = ...
    REUSE_INPUT = ...
    DONATE_INPUT = ...

class HostBufferSemantics(enum.Enum):
    """For how long the runtime may read a NumPy array that it makes an array of."""

    IMMUTABLE_ONLY_DURING_CALL = ...
    IMMUTABLE_UNTIL_TRANSFER_COMPLETES = ...
    ZERO_COPY = ...

class JaxRuntimeError(RuntimeError):
    """The runtime failed."""

XlaRuntimeError = JaxRuntimeError

class Memory:
    """One of the memories that devices can address."""

    @property
    def kind(self) -> str:
        """The memory's name, such as ``"device"`` or ``"pinned_host"``."""

    @property
    def platform(self) -> str:
        """The platform of the memory's devices."""

    @property
    def process_index(self) -> int:
        """The process that the memory belongs to."""

    def addressable_by_devices(self) -> list[Device]:
        """The devices that can address the memory."""

class Device:
    """A device that arrays live on and programs run on."""

    @property
    def id(self) -> int:
        """The device's number, unique among all processes."""

    @property
    def process_index(self) -> int:
        """The process that the device belongs to."""

    @property
    def host_id(self) -> int:
        """An older name of ``process_index``."""

    @property
    def task_id(self) -> int:
        """An older name of ``process_index``."""

    @property
    def platform(self) -> str:
        """The name of the device's platform: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""

    @property
    def device_kind(self) -> str:
        """The device's model."""

    @property
    def client(self) -> Client:
        """The client that the device belongs to."""

    @property
    def local_hardware_id(self) -> int | None:
        """The device's number in its driver on this machine."""

    def memory(self, kind: str) -> Memory:
        """The device's memory of a kind."""

    def default_memory(self) -> Memory:
        """The default memory of arrays."""

    def addressable_memories(self) -> list[Memory]:
        """All memories that the device can address."""

    def live_buffers(self) -> list[Any]:
        """The arrays on the device."""

    def memory_stats(self) -> dict[str, int] | None:
        """How much of the device's memory is in use, in bytes; ``None`` where that is unknown."""

    def get_stream_for_external_ready_events(self) -> int:
        """The stream on which other libraries wait for the device's arrays."""

class DeviceList:
    """An ordered collection of devices, hashable."""

    def __init__(self, devices: tuple[Device, ...], /) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> Device: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Device]: ...
    def __iter__(self) -> Iterator[Device]: ...
    def __hash__(self) -> int: ...
    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""

    @property
    def addressable_device_list(self) -> DeviceList:
        """The devices of this process."""

    @property
    def process_indices(self) -> set[int]:
        """The processes that the devices belong to."""

    @property
    def default_memory_kind(self) -> str | None:
        """The kind of the devices' default memory."""

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """The kinds of memory that the devices have."""

    @property
    def device_kind(self) -> str:
        """The devices' model."""

class Client:
    """A connection to the runtime of one platform."""

    @property
    def platform(self) -> str:
        """The platform's name."""

    @property
    def platform_version(self) -> str:
        """The version of the platform's runtime."""

    @property
    def runtime_type(self) -> str:
        """The name of the runtime's implementation."""

    def device_count(self) -> int:
        """The number of devices of all processes."""

    def local_device_count(self) -> int:
        """The number of devices of this process."""

    def devices(self) -> list[Device]:
        """The devices of all processes."""

    def local_devices(self) -> list[Device]:
        """The devices of this process."""

    def device_from_local_hardware_id(self, number: int, /) -> Device:
        """The device with a number in its driver."""

    def live_arrays(self) -> list[Array]:
        """The arrays that have not been deleted."""

    def live_executables(self) -> list[LoadedExecutable]:
        """The compiled programs that are loaded."""

    def process_index(self) -> int:
        """The number of this process."""

    def host_id(self) -> int:
        """An older name of ``process_index``."""

    def compile_and_load(
        self,
        computation: Any,
        executable_devices: DeviceList,
        compile_options: CompileOptions,
        host_callbacks: Sequence[Any] = (),
    ) -> LoadedExecutable:
        """Compile a module, and load the program onto devices."""

    def make_python_callback_from_host_send_and_recv(
        self,
        callable: Callable[..., Any],
        operand_shapes: Sequence[Any],
        result_shapes: Sequence[Any],
        send_channel_ids: Sequence[int],
        recv_channel_ids: Sequence[int],
        serializer: Callable[..., bytes],
    ) -> object:
        """A function that a program calls by sending operands and receiving results."""

    def serialize_executable(self, executable: LoadedExecutable, /) -> bytes:
        """A compiled program as bytes."""

    def deserialize_executable(
        self,
        serialized: bytes,
        executable_devices: DeviceList,
        compile_options: CompileOptions | None = None,
    ) -> LoadedExecutable:
        """The compiled program that bytes hold."""

    def heap_profile(self) -> bytes:
        """What holds the devices' memory, as pprof reads it."""

class CompileOptions:
    """How a program is compiled."""

    num_replicas: int
    num_partitions: int
    profile_version: int
    device_assignment: Any
    executable_build_options: Any
    env_option_overrides: list[tuple[str, str | bool | int | float]]

    def SerializeAsString(self) -> bytes:
        """The options as a protocol buffer."""

    @staticmethod
    def ParseFromString(data: bytes, /) -> CompileOptions:
        """The options that a protocol buffer holds."""

class LoadedExecutable:
    """A compiled program on the devices that it runs on."""

    @property
    def client(self) -> Client:
        """The client that compiled the program."""

    def local_devices(self) -> list[Device]:
        """This process's devices among those that it runs on."""

    def get_hlo_text(self) -> str:
        """The optimized program."""

    def hlo_modules(self) -> list[Any]:
        """The optimized program's modules."""

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's cost estimates of the executable."""

    def get_compiled_memory_stats(self) -> Any:
        """How much memory the program takes."""

    def execute_sharded(self, arguments: Sequence[Any], with_tokens: bool = False) -> Any:
        """Start the program; returns the results of all devices."""

    def get_output_shardings(self) -> list[Any] | None:
        """How the results are divided."""

    def get_parameter_shardings(self) -> list[Any] | None:
        """How the arguments are divided."""

    def get_output_layouts(self) -> list[Any]:
        """How the results lie in memory."""

    def get_parameter_layouts(self) -> list[Any]:
        """How the arguments lie in memory."""

class PjitFunctionCache:
    """The calls that the C++ dispatcher can run without Python."""

    def __init__(self, capacity: int = 4096) -> None: ...
    def size(self) -> int:
        """The number of calls."""

    def capacity(self) -> int:
        """The number of calls that it holds at most."""

    def clear(self) -> None:
        """Forget all calls."""

    @staticmethod
    def clear_all() -> None:
        """Forget all calls of all caches."""
