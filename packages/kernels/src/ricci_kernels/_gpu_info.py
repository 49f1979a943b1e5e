"""Properties of NVIDIA GPUs by their names."""

from dataclasses import dataclass
from enum import Enum

from ._devices import current_device, is_gpu_device

__all__ = ["GpuInfo", "GpuVersion", "get_gpu_info", "get_gpu_info_from_version"]


class GpuVersion(Enum):
    """A GPU, whose value is the name that the driver has for it."""

    A10 = "NVIDIA A10"
    A30 = "NVIDIA A30"
    A100 = "NVIDIA A100"
    H100 = "NVIDIA H100"
    H200 = "NVIDIA H200"
    GH200 = "NVIDIA GH200"
    B200 = "NVIDIA B200"
    GB200 = "NVIDIA GB200"
    B300 = "NVIDIA B300"
    GB300 = "NVIDIA GB300"
    GB10 = "NVIDIA GB10"
    L4 = "NVIDIA L4"
    L40 = "NVIDIA L40"
    T4 = "Tesla T4"
    RTX_4090 = "NVIDIA GeForce RTX 4090"
    RTX_PRO_4500 = "NVIDIA RTX PRO 4500"
    RTX_PRO_5000 = "NVIDIA RTX PRO 5000"
    RTX_PRO_6000 = "NVIDIA RTX PRO 6000"
    THOR = "NVIDIA Thor"
    VR200 = "NVIDIA VR200"


# Compute capabilities, as in NVIDIA's table, times ten.
_capabilities = {
    75: "T4",
    80: "A30 A100",
    86: "A10",
    89: "L4 L40 RTX_4090",
    90: "H100 H200 GH200",
    100: "B200 GB200",
    103: "B300 GB300",
    107: "VR200",
    110: "THOR",
    120: "RTX_PRO_4500 RTX_PRO_5000 RTX_PRO_6000",
    121: "GB10",
}
_capability_of = {
    GpuVersion[name]: capability
    for capability, names in _capabilities.items()
    for name in names.split()
}


@dataclass(frozen=True, kw_only=True)
class GpuInfo:
    """Properties of a GPU.

    Args:
      gpu_version: the GPU, or ``None`` for one that is not listed.
      arch_name: its compute capability with a dot.
      compute_capability: its compute capability, times ten.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.get_gpu_info_from_version(plgpu.GpuVersion.H100).compute_capability
      90
    """

    gpu_version: GpuVersion | None
    arch_name: str
    compute_capability: int


def get_gpu_info_from_version(gpu_version: GpuVersion) -> GpuInfo:
    """Return the properties of a GPU.

    Args:
      gpu_version: the GPU.

    Returns:
      Its properties.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> plgpu.get_gpu_info_from_version(plgpu.GpuVersion.L4).arch_name
      '8.9'
    """
    capability = _capability_of[gpu_version]
    return GpuInfo(
        gpu_version=gpu_version,
        arch_name=f"{capability // 10}.{capability % 10}",
        compute_capability=capability,
    )


def get_gpu_info() -> GpuInfo:
    """Return the properties of the GPU of the current mesh, or else of the default device.

    Returns:
      Its properties.

    Raises:
      ValueError: if the device is not a GPU that is listed.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> from ricci.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
      >>> device = AbstractDevice("NVIDIA H100", None, "cuda")
      >>> with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
      ...     plgpu.get_gpu_info().arch_name
      '9.0'
    """
    kind = str(getattr(current_device(), "device_kind", ""))
    # Drivers append the memory and the connector: "NVIDIA H100 80GB HBM3".
    names = [
        v for v in GpuVersion if kind == v.value or kind.startswith((f"{v.value} ", f"{v.value}-"))
    ]
    if not names or not is_gpu_device():
        raise ValueError(
            f"get_gpu_info: {kind!r} is not a GPU whose properties are known. Describe one by "
            "use_abstract_mesh, or call get_gpu_info_from_version."
        )
    return get_gpu_info_from_version(max(names, key=lambda v: len(v.value)))
