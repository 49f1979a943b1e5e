"""Arrays made like one that varies along mesh axes vary along them."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import ManualAxisType, get_aval
from ricci_parallel import shard_map
from ricci_xla import AxisType, PartitionSpec, make_mesh


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (jnp.zeros_like, "float32[2]{V:x}"),
        (jnp.ones_like, "float32[2]{V:x}"),
        (lambda a: jnp.full_like(a, np.ones(2)), "float32[2]{V:x}"),
        (lambda a: jnp.zeros_like(a, shape=(3,)), "float32[3]{V:x}"),
        (lambda a: jnp.zeros_like(a, dtype=bool), "bool[2]{V:x}"),
        (lambda a: lax.full_like(a, 1), "float32[2]{V:x}"),
        (lambda a: jnp.zeros(a.shape), "float32[2]"),
    ],
)
def test_arrays_made_like_another_vary_as_it_does(make, expected):
    seen = []

    def body(a):
        seen.append(get_aval(make(a)))
        return a

    mesh = make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("x")
    shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec)(np.ones(2, np.float32))
    assert str(seen[0]) == expected
    assert seen[0].mat == ManualAxisType(varying={"x"} if "V:x" in expected else set())
