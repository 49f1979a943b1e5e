"""Arrays of one part on each device: their values, devices and errors."""

import numpy as np
import pytest

from ricci_parallel import device_put_replicated, device_put_sharded, pmap
from ricci_xla import local_devices


def test_shards_are_stacked_each_on_its_device():
    devices = local_devices()
    y = device_put_sharded([np.full(3, i, np.float32) for i in range(len(devices))], devices)
    np.testing.assert_array_equal(y, np.arange(8.0)[:, None] * np.ones(3))
    assert [shard.device for shard in y.addressable_shards] == devices
    assert {shard.data.shape for shard in y.addressable_shards} == {(1, 3)}


def test_trees_of_shards():
    devices = local_devices()[2:4]
    out = device_put_sharded([(i, {"a": 2.0 * i}) for i in range(2)], devices)
    assert (out[0].tolist(), out[1]["a"].tolist()) == ([0, 1], [0.0, 2.0])
    assert out[0].sharding.device_set == set(devices)


def test_a_copy_on_each_device():
    x = {"a": np.arange(3, dtype=np.int32), "b": 1.5}
    out = device_put_replicated(x, local_devices())
    np.testing.assert_array_equal(out["a"], np.tile(x["a"], (8, 1)))
    assert out["b"].tolist() == [1.5] * 8


def test_pmap_takes_them():
    x = device_put_replicated(np.float32(2), local_devices())
    assert pmap(lambda x: x, in_axes=0)(x).tolist() == [2.0] * 8


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: device_put_sharded([1, 2, 3], d), ValueError, "3 shards .* 2 devices"),
        (lambda d: device_put_sharded(3, d), TypeError, "got int"),
        (lambda d: device_put_sharded([(1,), 1], d), ValueError, "shard 0 is .* shard 1 is"),
        (
            lambda d: device_put_sharded([{"a": np.ones(2)}, {"a": np.ones(3)}], d),
            ValueError,
            r"\['a'\] is float32\[2\] in shard 0 and float32\[3\] in shard 1",
        ),
        (lambda d: device_put_replicated(1, []), ValueError, "at least one device"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(local_devices()[:2])
