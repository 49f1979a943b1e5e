"""Eight CPU devices, where this process has made none yet."""

import pytest

from ricci_ir import config
from ricci_xla import backends_are_made, device_count

if not backends_are_made():
    config.update("jax_num_cpu_devices", 8)


@pytest.fixture(autouse=True)
def eight_devices():
    if device_count() < 8:
        pytest.skip("the CPU client of this process was made with fewer than 8 devices")
