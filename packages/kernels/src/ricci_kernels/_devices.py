"""The device that a kernel is traced for."""

import ricci_ir as ir

__all__ = ["current_device", "is_gpu_device", "is_tpu_device"]

_GPUS = ("cuda", "gpu", "rocm")


def current_device() -> object:
    """The device of the current abstract mesh, or else the default one; ``None`` without any."""
    device = getattr(ir.current_mesh.value, "abstract_device", None)
    if device is not None:
        return device
    return next((d for d in ir.backend().devices() if d is not None), None)


def _platform() -> str:
    return str(getattr(current_device(), "platform", ""))


def is_gpu_device() -> bool:
    """Whether the device of the current mesh, or else the default one, is a GPU.

    Example:
      >>> from ricci.experimental.pallas import triton as plgpu
      >>> from ricci.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
      >>> device = AbstractDevice("NVIDIA H100", None, "cuda")
      >>> with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
      ...     plgpu.is_gpu_device()
      True
    """
    return _platform() in _GPUS


def is_tpu_device() -> bool:
    """Whether the device of the current mesh, or else the default one, is a TPU.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> from ricci.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
      >>> device = AbstractDevice("TPU v5e", 1, "tpu")
      >>> with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
      ...     pltpu.is_tpu_device()
      True
    """
    return _platform() == "tpu"
