"""Figures of chips, and the device that a kernel is traced for."""

from types import SimpleNamespace
from typing import Any

import pytest

import ricci_ir as ir
from ricci_kernels import tpu, triton
from ricci_xla import AbstractDevice, AbstractMesh


def _on(kind, cores, platform):
    device = AbstractDevice(kind, cores, platform)
    return ir.current_mesh(AbstractMesh((1,), ("x",), abstract_device=device))


@pytest.mark.parametrize(
    "kind, platform, is_gpu, is_tpu",
    [
        ("NVIDIA H100", "cuda", True, False),
        ("NVIDIA H100", "gpu", True, False),
        ("AMD", "rocm", True, False),
        ("TPU v5e", "tpu", False, True),
        ("cpu", "cpu", False, False),
    ],
)
def test_platform_is_that_of_the_current_mesh(kind, platform, is_gpu, is_tpu):
    with _on(kind, None, platform):
        assert (triton.is_gpu_device(), tpu.is_tpu_device()) == (is_gpu, is_tpu)


@pytest.mark.parametrize("platform", ["gpu", "tpu", "cpu"])
def test_platform_is_that_of_the_default_device(platform):
    backend: Any = SimpleNamespace(
        name="described", devices=lambda: (None, SimpleNamespace(platform=platform))
    )
    with ir.use_backend(backend):
        assert triton.is_gpu_device() is (platform == "gpu")
        assert tpu.is_tpu_device() is (platform == "tpu")


@pytest.mark.parametrize("version", list(tpu.ChipVersion))
def test_every_chip_has_figures(version):
    info = tpu.get_tpu_info_for_chip(version, 1)
    assert info.chip_version is version and info.num_cores == 1
    assert info.is_split_chip is (version.num_physical_tensor_cores_per_chip == 2)
    assert info.vmem_capacity_bytes >= 2**24 and info.bf16_ops_per_second > 10**13
    assert info.get_sublane_tiling("float32") == info.num_sublanes
    assert info.is_matmul_supported("float32", "float32")


def test_cores_are_those_of_the_device():
    for cores, is_megacore in ((1, False), (2, True)):
        with _on("TPU v5p", cores, "tpu"):
            info = tpu.get_tpu_info()
        assert (info.num_cores, info.is_megacore, info.is_split_chip) == (
            cores,
            is_megacore,
            not is_megacore,
        )


def test_figures_are_those_of_a_described_device_without_axes():
    device = AbstractDevice("TPU v5e", 1, "tpu")
    with ir.current_mesh(AbstractMesh((), (), abstract_device=device)):
        assert tpu.is_tpu_device() and tpu.get_tpu_info().generation == 5


def test_other_devices_have_no_figures_of_tpus():
    with pytest.raises(ValueError, match="Unsupported TPU device kind: cpu"):
        tpu.get_tpu_info()
    with _on("TPU v99", 1, "tpu"), pytest.raises(ValueError, match="TPU v99"):
        tpu.get_tpu_info()
    with pytest.raises(ValueError, match="one core"):
        tpu.get_tpu_info_for_chip(tpu.ChipVersion.TPU_V5E, 2)
