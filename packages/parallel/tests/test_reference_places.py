"""On the reference backend, which has one device, values have the shardings of `device_put`."""

import numpy as np
import pytest

from ricci_ir import eval_jaxpr, make_jaxpr, use_backend
from ricci_lax import mul
from ricci_parallel import device_put, with_layout_constraint, with_sharding_constraint
from ricci_reference import reference_backend
from ricci_xla import AxisType, Layout, NamedSharding, P, devices, make_mesh, single_device_sharding

X = np.float32([[1, 2], [3, 4]])


def constrained(x):
    mesh = make_mesh((1,), ("x",), axis_types=(AxisType.Auto,), devices=devices()[:1])
    return with_sharding_constraint(x, NamedSharding(mesh, P("x")))


@pytest.mark.parametrize(
    "put",
    [
        lambda x: device_put(x),
        lambda x: device_put(x, single_device_sharding(devices()[0])),
        constrained,
        lambda x: with_layout_constraint(x, Layout((1, 0))),
    ],
)
def test_values_stay_as_they_are(put):
    jaxpr = make_jaxpr(lambda x: put(mul(x, x)))(X)
    with use_backend(reference_backend):
        (result,) = eval_jaxpr(jaxpr, jaxpr.consts, X)
    assert np.asarray(result).tolist() == [[1, 4], [9, 16]]
