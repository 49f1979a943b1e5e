"""Topologies of attached devices, and the errors where others cannot be described."""

from pathlib import Path

import pytest

from ricci_xla import (
    TopologyDescription,
    devices,
    get_attached_topology,
    get_topology_desc,
    is_described,
    make_topology_mesh,
)
from ricci_xla.devices import _topologies
from ricci_xla.devices._gpu_targets import GPU_CONFIGS, GPU_TARGETS
from ricci_xla.devices._jaxlib import jaxlib_version, load_xla_client
from ricci_xla.devices._plugins import Plugin


def test_an_attached_topology_has_all_devices():
    topology = get_attached_topology("cpu")
    assert topology.devices == devices("cpu")
    assert not any(map(is_described, topology.devices))


def test_a_mesh_takes_all_devices_of_a_topology():
    topology = TopologyDescription(devices("cpu")[:4])
    mesh = make_topology_mesh(topology, (2, 2), ("data", "model"))
    assert mesh.shape == {"data": 2, "model": 2}
    assert set(mesh.devices.flat) == set(topology.devices)
    with pytest.raises(ValueError, match="3, 2"):
        make_topology_mesh(topology, (3, 2), ("data", "model"))


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (("cpu:12",), {}),
        (("cpu:12", "cpu"), {"num_devices": 12}),
        (("12", "cpu"), {}),
        (("cpu",), {"num_devices": 12}),
        (("", "cpu"), {"num_devices": 12}),
    ],
)
def test_cpu_devices_are_described_by_their_number(args, options):
    topology = get_topology_desc(*args, **options)
    assert len(topology.devices) == 12
    assert all(map(is_described, topology.devices))
    assert not set(topology.devices) & set(devices("cpu"))


@pytest.mark.parametrize(
    ("args", "options", "error"),
    [
        (("cpu",), {}, ValueError),
        (("cpu:0",), {}, ValueError),
        (("cpu:2x2",), {}, ValueError),
        (("cpu:4",), {"num_devices": 8}, ValueError),
        (("v5e:4", "cpu"), {}, ValueError),
        (("", "cpu"), {"num_devices": 2.5}, ValueError),
        (("cpu:4",), {"chips_per_host_bounds": (2, 2, 1)}, TypeError),
    ],
)
def test_an_invalid_number_of_cpu_devices_is_an_error(args, options, error):
    with pytest.raises(error, match="num_devices"):
        get_topology_desc(*args, **options)


def test_amd_gpus_cannot_be_described():
    with pytest.raises(NotImplementedError, match="platform='rocm'"):
        get_topology_desc("mi300:8", "rocm")


@pytest.mark.parametrize(
    ("args", "options", "error"),
    [
        (("mi300", "cuda"), {}, "'mi300' is not the name of a GPU.*'h100'.*target_config"),
        (("", "cuda"), {}, "target_config"),
        (("h100:0",), {}, "'0' is not a topology of GPUs"),
        (("h100:2x2",), {}, "'2x2' is not a topology of GPUs"),
        (("h100", "gpu"), {"topology": "1x2"}, "'1x2' is not a topology of GPUs"),
    ],
)
def test_an_invalid_description_of_gpus_is_an_error(args, options, error):
    with pytest.raises(ValueError, match=error):
        get_topology_desc(*args, **options)


@pytest.mark.parametrize("name", GPU_TARGETS)
def test_without_the_cuda_plugin_its_installation_is_named(monkeypatch, name):
    monkeypatch.setattr(_topologies, "find_cuda_plugin", lambda: None)
    with pytest.raises(RuntimeError, match=f"pip install jax-cuda13-plugin=={jaxlib_version}"):
        get_topology_desc(name)


@pytest.mark.parametrize(
    ("args", "options", "topology"),
    [
        (("h100",), {}, "1x1x1"),
        (("H100:8",), {}, "1x1x8"),
        (("h100:1x2x8",), {}, "1x2x8"),
        (("h100", "cuda"), {"topology": "2x1x1"}, "2x1x1"),
        (("", "cuda"), {"topology": "4", "target_config": "name: 'other'"}, "1x1x4"),
    ],
)
def test_gpus_are_described_by_name_and_number(monkeypatch, args, options, topology):
    requested = []

    class Described:
        def _make_compile_only_devices(self):
            return [object()]

    def describe(api, name, **options):
        requested.append(options)
        return Described()

    monkeypatch.setattr(_topologies, "find_cuda_plugin", lambda: Plugin("cuda", Path("plugin.so")))
    monkeypatch.setattr(_topologies, "load_cuda_plugin", lambda plugin: None)
    monkeypatch.setattr(_topologies.runtime, "get_pjrt_plugin", lambda name: None)
    monkeypatch.setattr(load_xla_client(), "make_c_api_device_topology", describe)
    assert len(get_topology_desc(*args, **options).devices) == 1
    config = options.get("target_config") or GPU_CONFIGS["h100"]
    assert requested == [{"topology": topology, "target_config": config}]


@pytest.mark.parametrize("target", GPU_TARGETS.values(), ids=GPU_TARGETS)
def test_figures_of_gpus_are_plausible(target):
    assert target.source.startswith("NVIDIA") and target.name.startswith("NVIDIA")
    assert target.threads % 32 == 0 and target.shared_memory % 1024 == 0
    assert 10**10 < target.memory < 10**12 < target.bandwidth < 10**13


@pytest.mark.parametrize("platform", [None, "tpu"])
def test_without_libtpu_it_is_named(monkeypatch, platform):
    monkeypatch.setattr(_topologies, "find_libtpu", lambda: None)
    monkeypatch.setattr(_topologies.runtime, "pjrt_plugin_loaded", lambda name: False)
    with pytest.raises(RuntimeError, match="pip install libtpu"):
        get_topology_desc("v5e:2x2", platform)
    assert devices("cpu")[0].platform == "cpu"
