"""Arrays asked for on a device."""

import numpy as np
import pytest

from ricci_ir import make_jaxpr
from ricci_lax import add, full
from ricci_lax.authoring import constrain_to_place, create_at_place
from ricci_parallel import reshard, set_mesh
from ricci_xla import Mesh, NamedSharding, P, devices, jit, make_mesh, single_device_sharding


def test_new_array_is_put_on_the_device():
    device = devices()[1]
    x = full((3,), 2.0, sharding=single_device_sharding(device))
    assert x.devices() == {device}
    np.testing.assert_array_equal(x, [2.0, 2.0, 2.0])


def test_device_put_is_an_operation_of_traced_functions():
    device = devices()[1]
    jaxpr = make_jaxpr(lambda x: constrain_to_place.call(x, device))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sharding_constraint"]
    assert jit(lambda x: constrain_to_place.call(x, device))(1.0).devices() == {device}


def test_devices_of_new_arrays_are_requests_in_traced_functions():
    jaxpr = make_jaxpr(lambda x: create_at_place.call(x, devices()[1]))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["device_put"]
    assert float(jit(lambda x: create_at_place.call(x, devices()[1]))(1.0)) == 1.0


def test_shardings_of_new_arrays_are_requests_in_traced_functions():
    sharding = NamedSharding(Mesh(devices()[:2], "x"), P("x"))
    x = jit(lambda x: full((4,), x, sharding=sharding))(2.0)
    assert x.sharding == sharding


@pytest.mark.parametrize("count", [1, 2])
def test_a_result_has_the_sharding_of_its_type_on_one_device_too(count):
    with set_mesh(make_mesh((count,), ("x",), devices=devices()[:count])):
        divided = reshard(np.arange(4.0), P("x"))
        whole, same = jit(lambda x: (reshard(x, P()), add(x, x)))(divided)
        again = jit(lambda x: reshard(x, P("x")))(whole)
    assert [x.sharding.spec for x in (whole, same, again)] == [P(None), P("x"), P("x")]
