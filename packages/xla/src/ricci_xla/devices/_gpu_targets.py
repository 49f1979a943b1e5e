"""Published figures of GPUs, from which XLA's compiler describes one that is not attached.

Sources: the limits of a compute capability are those of NVIDIA's "CUDA Programming Guide", table
"Technical Specifications per Compute Capability"; the figures of a card are in the document that
its row names. Memory sizes are what the driver reports (which keeps a part of the memory), as in
OpenXLA's target specifications, github.com/openxla/xla, xla/backends/gpu/target_config/specs.
"""

from dataclasses import dataclass

_KIB = 1024
_MIB = 1024 * _KIB
_GB = 10**9


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A GPU that programs are compiled for.

    Attributes:
      name: the driver's name of the card, which is the devices' kind.
      capability: its compute capability.
      cores: the number of streaming multiprocessors.
      fpus: the units for ``float32`` of each.
      threads: the most threads that one runs at a time.
      shared_memory: its shared memory in bytes; a block can have all but 1 KiB of it.
      l2: the size of the second cache in bytes.
      clock_ghz: the highest clock rate.
      bandwidth: bytes per second between the chip and its memory.
      memory: the size of the memory in bytes.
      source: where the figures of the card are published.
    """

    name: str
    capability: tuple[int, int]
    cores: int
    fpus: int
    threads: int
    shared_memory: int
    l2: int
    clock_ghz: float
    bandwidth: int
    memory: int
    source: str


GPU_TARGETS: dict[str, GpuTarget] = {
    "a100": GpuTarget(
        "NVIDIA A100-SXM4-80GB",
        (8, 0),
        108,
        64,
        2048,
        164 * _KIB,
        40 * _MIB,
        1.41,
        2039 * _GB,
        85_100_068_864,
        "NVIDIA, 'A100 Tensor Core GPU Architecture', whitepaper; 'A100 80GB', data sheet",
    ),
    "rtx4090": GpuTarget(
        "NVIDIA GeForce RTX 4090",
        (8, 9),
        128,
        128,
        1536,
        100 * _KIB,
        72 * _MIB,
        2.52,
        1008 * _GB,
        24 * 1024 * _MIB,
        "NVIDIA, 'Ada GPU Architecture', whitepaper, appendix 'GeForce RTX 4090'",
    ),
    "h100": GpuTarget(
        "NVIDIA H100 80GB HBM3",
        (9, 0),
        132,
        128,
        2048,
        228 * _KIB,
        50 * _MIB,
        1.98,
        3350 * _GB,
        84_942_979_072,
        "NVIDIA, 'H100 Tensor Core GPU Architecture', whitepaper (SXM5)",
    ),
    "h200": GpuTarget(
        "NVIDIA H200",
        (9, 0),
        132,
        128,
        2048,
        228 * _KIB,
        50 * _MIB,
        1.98,
        4800 * _GB,
        151_397_597_184,
        "NVIDIA, 'H200 Tensor Core GPU', data sheet (SXM)",
    ),
    "b200": GpuTarget(
        "NVIDIA B200",
        (10, 0),
        148,
        128,
        2048,
        228 * _KIB,
        132_644_864,
        1.965,
        8000 * _GB,
        191_514_411_008,
        "NVIDIA, 'DGX B200', data sheet (an eighth of it); cores, cache and clock: OpenXLA, "
        "target_config/specs/b200.txtpb",
    ),
}


def target_config(target: GpuTarget) -> str:
    """Return the description as XLA reads it: a ``GpuTargetConfigProto`` as text."""
    # A block cannot have all of a core's shared memory: the driver reserves 1 KiB of it for each
    # block ("CUDA Programming Guide", section on compute capability).
    major, minor = target.capability
    # From 9.0 on, matrix units are programmed by instructions that no later card has.
    features = "ACCELERATED_FEATURES" if major >= 9 else "NONE"
    return f"""
gpu_device_info {{
  name: "{target.name}"
  cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {features} }}
  core_count: {target.cores}
  fpus_per_core: {target.fpus}
  threads_per_core_limit: {target.threads}
  threads_per_block_limit: 1024
  threads_per_warp: 32
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  shared_memory_per_core: {target.shared_memory}
  shared_memory_per_block: {48 * _KIB}
  shared_memory_per_block_optin: {target.shared_memory - _KIB}
  l2_cache_size: {target.l2}
  clock_rate_ghz: {target.clock_ghz}
  memory_bandwidth: {target.bandwidth}
  device_memory_size: {target.memory}
  driver_version: "13.0.0" runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0"
  dnn_version: "9.12.0"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 12 patch: 0 }}
device_description_str: "{target.name}"
"""


GPU_CONFIGS: dict[str, str] = {name: target_config(t) for name, t in GPU_TARGETS.items()}
