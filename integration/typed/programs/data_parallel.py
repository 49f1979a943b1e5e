"""One program on several devices, each with its part of the data."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array, lax


def shifted(x: Array, offset: float) -> Array:
    return x - lax.pmean(x, "devices") + offset


def share(x: Array) -> Array:
    result: Array = x / lax.psum(x, "i")
    return result


def main() -> None:
    count = ricci.local_device_count()
    centred = ricci.pmap(shifted, axis_name="devices", in_axes=(0, None))
    x = np.arange(float(count))
    result = centred(x, 1.0)
    assert_type(result, Array)
    assert result.shape == (count,)
    named = ricci.vmap(share, axis_name="i")
    assert abs(float(named(np.ones(4)).sum()) - 1) < 1e-6
