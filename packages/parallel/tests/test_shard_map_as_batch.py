"""On a backend without devices, a program on shards is computed as a batch."""

import numpy as np
import pytest

from ricci_autodiff import vjp
from ricci_ir import use_backend
from ricci_lax import convert_element_type, dot, mul, reduce_sum, sin, transpose
from ricci_parallel import all_gather, axis_index, pcast, psum, psum_scatter, shard_map
from ricci_reference import reference_backend
from ricci_xla import Mesh, devices, jit
from ricci_xla import PartitionSpec as P

X = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)


# The function of a shard, in_specs, out_specs, and check_vma.
PROGRAMS = {
    "psum": (lambda x: psum(sin(x), "i"), P("i"), P(), True),
    "psum over one of two": (lambda x: psum(x, "j"), P("i", "j"), P("i"), True),
    "both axes divide one dimension": (
        lambda x: all_gather(x, ("i", "j"), tiled=True), P(("j", "i")), P(None, ("i", "j")), False,
    ),
    "axis_index": (
        lambda x: mul(x, convert_element_type(axis_index("j"), np.float32)),
        P("i", "j"), P("i", "j"), True,
    ),
    "scalars": (lambda x: psum(reduce_sum(x, (0, 1)), ("i", "j")), P("i", "j"), P(), True),
    "psum_scatter": (
        lambda x: psum_scatter(pcast(x, "j", to="varying"), "j", tiled=True),
        P("i"), P(("i", "j")), True,
    ),
    "products": (
        lambda x: dot(x, transpose(x, (1, 0))), P(None, ("i", "j")), P("j", "i"), False,
    ),
}  # fmt: skip


@pytest.fixture
def mesh():
    return Mesh(np.array(devices()[:8]).reshape(4, 2), ("i", "j"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_cotangents_are_those_of_devices(name, mesh):
    fun, in_specs, out_specs, check_vma = PROGRAMS[name]
    options = {"in_specs": in_specs, "out_specs": out_specs, "check_vma": check_vma}
    mapped = shard_map(fun, mesh=mesh, **options)

    def both(x):
        y, pull = vjp(mapped, x)
        return y, pull(y)[0]

    on_devices = jit(both)(X)
    with use_backend(reference_backend):
        as_batch = [np.asarray(y) for y in both(X)]
    for found, expected in zip(as_batch, on_devices, strict=True):
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)
