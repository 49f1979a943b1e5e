"""Versions of CUDA's libraries, which JAX asks for and which are not installed."""

import importlib
from typing import Any

import jax


class _Versions:
    @staticmethod
    def cudnn_get_version() -> int:
        return 91200

    @staticmethod
    def cusolver_get_version() -> int:
        return 12000


def state_versions() -> None:
    """Tell real JAX the versions of cuDNN and cuSOLVER; the drop-in asks for none."""
    if "site-packages" not in jax.__file__:
        return
    linalg: Any = importlib.import_module("jax._src.lax.linalg")
    linalg.cuda_versions = _Versions()
    cudnn: Any = importlib.import_module("jax._src.cudnn.fused_attention_stablehlo")
    cudnn.cuda_versions = _Versions()
    cudnn.check_compute_capability = lambda capability: True
    cudnn.is_cuda_compute_capability_equal = lambda capability: False
