"""``device_put`` between meshes of the same devices in different orders."""

import itertools

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="arrays lie on devices")

import ricci
from ricci import P
from ricci.sharding import Mesh, NamedSharding

pytestmark = pytest.mark.skipif(len(ricci.devices()) < 4, reason="needs four devices")
SPECS = (P(), P("x"), P("x", "y"), P(None, "x"), P(("y", "x")))
VALUES = np.arange(64.0, dtype=np.float32).reshape(8, 8)


def mesh(*order):
    devices = np.array([ricci.devices()[i] for i in order])
    return Mesh(devices.reshape(2, -1), ("x", "y"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", [(3, 2, 1, 0), (0, 2, 1, 3), (1, 2, 3, 0)])
@pytest.mark.parametrize("form", [{}, {"donate": True}, {"may_alias": False}])
def test_arrays_are_resharded_over_devices_in_another_order(order, form):
    for source, target in itertools.product(SPECS, SPECS):
        x = ricci.device_put(VALUES, NamedSharding(mesh(0, 1, 2, 3), source))
        sharding = NamedSharding(mesh(*order), target)
        with ricci.transfer_guard("disallow_explicit"):
            moved = ricci.device_put(x, sharding, **form)
        assert moved.sharding == sharding
        for shard in moved.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), VALUES[shard.index])


def test_donation_leaves_shards_that_stay_on_their_devices():
    source = Mesh(np.array(ricci.devices())[[0, 1]], ("x",))
    target = Mesh(np.array(ricci.devices())[[0, 2]], ("x",))
    x = ricci.device_put(VALUES, NamedSharding(source, P("x")))
    moved = ricci.device_put(x, NamedSharding(target, P("x")), donate=True)
    assert x.is_deleted()
    np.testing.assert_array_equal(np.asarray(moved), VALUES)
