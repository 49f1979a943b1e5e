"""Properties of GPUs."""

import pytest

import ricci_ir as ir
from ricci_kernels import triton
from ricci_xla import AbstractDevice, AbstractMesh


def _on(kind):
    device = AbstractDevice(kind, None, "cuda")
    return ir.current_mesh(AbstractMesh((1,), ("x",), abstract_device=device))


@pytest.mark.parametrize(
    ("kind", "version", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", "9.0"),
        ("NVIDIA A100-SXM4-40GB", "A100", "8.0"),
        ("NVIDIA L40", "L40", "8.9"),
        ("NVIDIA GB10", "GB10", "12.1"),
        ("Tesla T4", "T4", "7.5"),
    ],
)
def test_a_gpu_is_known_by_the_name_of_its_driver(kind, version, name):
    with _on(kind):
        info = triton.get_gpu_info()
    assert (info.gpu_version, info.arch_name) == (triton.GpuVersion[version], name)


def test_every_gpu_has_properties():
    for version in triton.GpuVersion:
        info = triton.get_gpu_info_from_version(version)
        assert info.arch_name.replace(".", "") == str(info.compute_capability)


@pytest.mark.parametrize("kind", ["TPU v5e", "NVIDIA Quadro", "NVIDIA A1000"])
def test_another_device_has_none(kind):
    with _on(kind), pytest.raises(ValueError, match="is not a GPU whose"):
        triton.get_gpu_info()
