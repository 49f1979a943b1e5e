"""Eight CPU devices for the tests of what spreads over several."""

import pytest

from ricci_ir import config
from ricci_xla import backends_are_made, devices

if not backends_are_made():
    config.update("jax_num_cpu_devices", 8)


@pytest.fixture
def eight_devices():
    found = devices("cpu")
    if len(found) < 8:
        pytest.skip("the CPU client of this process was made with fewer than 8 devices")
    return found[:8]
