"""Arrays asked for on a device."""

import numpy as np
import pytest

from ricci_lax import full, placement
from ricci_xla import devices, jit, single_device_sharding


def test_new_array_is_put_on_the_device():
    device = devices()[1]
    x = full((3,), 2.0, sharding=single_device_sharding(device))
    assert x.devices() == {device}
    np.testing.assert_array_equal(x, [2.0, 2.0, 2.0])


def test_inside_a_traced_function_it_is_refused_with_advice():
    with pytest.raises(NotImplementedError, match="out_shardings"):
        jit(lambda x: placement.constrain(x, devices()[1]))(1.0)
