"""Topologies of attached devices, and what is said where others cannot be described."""

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


def test_only_tpus_and_cpus_can_be_described():
    with pytest.raises(NotImplementedError, match="platform='cuda'"):
        get_topology_desc("a100:8", "cuda")


@pytest.mark.parametrize("platform", [None, "tpu"])
def test_without_libtpu_it_is_named(monkeypatch, platform):
    monkeypatch.setattr(_topologies, "find_libtpu", lambda: None)
    monkeypatch.setattr(_topologies.runtime, "pjrt_plugin_loaded", lambda name: False)
    with pytest.raises(RuntimeError, match="pip install libtpu"):
        get_topology_desc("v5e:2x2", platform)
    assert devices("cpu")[0].platform == "cpu"
