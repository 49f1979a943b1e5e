"""Arrays that functions close over: which are literals of the module, and the values computed."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import export
from ricci.sharding import AxisType, NamedSharding, PartitionSpec

N = 5000
SPLATS = {
    "float32": np.full(N, 2.5, np.float32),
    "negative zero": np.full(N, -0.0, np.float32),
    "nan": np.full(N, np.nan, np.float32),
    "matrix": np.full((N, 2), 3, np.int32),
    "transposed": np.full((2, N), 3, np.int32).T,
    "broadcast": np.broadcast_to(np.float32(4), (N, 2)),
    "every other": np.tile(np.float32([1, 2]), N)[::2],
    "boolean": np.ones((N, 1), np.bool_),
    "complex": np.full(N, 1 - 2j, np.complex64),
    "bfloat16": np.full(N, 1.5, ml_dtypes.bfloat16),
    "int4": np.full(N, -3, ml_dtypes.int4),
    "float8_e4m3fn": np.full(N, 0.5, ml_dtypes.float8_e4m3fn),
    "float64": np.full(N, 0.1),
    "int64": np.full(N, -7),
    "beyond 32 bits": np.full(N, 2**40 + 3),
    "uint64": np.full(N, 2**64 - 1, np.uint64),
}
OTHERS = {
    "zeros of both signs": np.float32([0.0] * N + [-0.0]),
    "the last differs": np.float32([1.0] * N + [2.0]),
    "the first differs": np.float32([2.0] + [1.0] * N),
    "two parts": np.repeat(np.float32([1, 2]), 4096),
}


def same(ours, expected):
    ours, expected = np.asarray(ours), np.asarray(expected)
    return ours.dtype == expected.dtype and ours.tobytes() == expected.tobytes()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("name", [*SPLATS, *OTHERS])
def test_a_captured_array_keeps_its_bits(name, wide):
    constant = (SPLATS | OTHERS)[name]
    with ricci.enable_x64(wide):
        function = ricci.jit(lambda x: jnp.where(x > 0, constant, constant))
        expected = np.asarray(jnp.asarray(constant))
        for _ in range(2):
            assert same(function(1.0), expected)
        ricci.clear_caches()
        assert same(function(1.0), expected)


@pytest.mark.parametrize("name", SPLATS)
def test_equal_elements_are_written_into_the_text(name):
    constant = SPLATS[name]
    text = ricci.jit(lambda x: jnp.where(x > 0, constant, constant)).lower(1.0).as_text()
    assert "@main(%arg0: tensor<f32>" in text and len(text) < 1000


@pytest.mark.parametrize("name", OTHERS)
def test_other_large_arrays_are_arguments(name):
    constant = OTHERS[name]
    text = ricci.jit(lambda x: jnp.where(x > 0, constant, constant)).lower(1.0).as_text()
    assert f"%arg0: tensor<{constant.size}xf32>" in text


def test_a_large_constant_of_equal_elements_is_short_in_exported_programs():
    constant = np.full((1000, 1000), 1.5, np.float32)
    exported = export.export(ricci.jit(lambda x: x @ constant))(
        ricci.ShapeDtypeStruct((2, 1000), np.float32)
    )
    data = exported.serialize()
    assert len(data) < 50_000
    x = np.ones((2, 1000), np.float32)
    assert same(export.deserialize(data).call(x), x @ constant)


def test_later_traces_see_changes_of_a_captured_array():
    constant = np.ones(N, np.float32)
    before = ricci.jit(lambda x: x + constant)
    assert before(1.0)[-1] == 2
    constant[-1] = 5
    after = ricci.jit(lambda x: x + constant)
    assert [before(1.0)[-1], after(1.0)[-1], after(1.0)[0]] == [2, 6, 2]


def test_derivatives_use_it():
    constant = np.full(N, 3.0, np.float32)
    f = lambda x: (x * constant).sum()
    x = np.float32(2)
    for gradient in (ricci.grad(f), ricci.jit(ricci.grad(f)), ricci.grad(ricci.jit(f))):
        assert gradient(x) == 3.0 * N
    assert same(ricci.jacfwd(ricci.jit(lambda x: x * constant))(x), constant)


def test_over_devices_it_is_divided_as_arguments_are():
    mesh = ricci.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    constant = np.full(4096 * 2, 2.0, np.float32)
    x = ricci.device_put(np.ones_like(constant), NamedSharding(mesh, PartitionSpec("x")))
    result = ricci.jit(lambda x: x * constant)(x)
    assert result.sharding.is_equivalent_to(x.sharding, 1) and same(result, constant)
    mapped = ricci.shard_map(
        lambda x: x * constant[:1024], mesh=mesh, in_specs=PartitionSpec("x"),
        out_specs=PartitionSpec("x"),
    )  # fmt: skip
    assert same(ricci.jit(mapped)(x), constant)


PEAK = """
import resource, sys
import numpy as np
import ricci
constant = np.full(25_000_000, float(sys.argv[1]), np.float32)
constant[0] = 1.0
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
ricci.jit(lambda x: x + 1)(1.0)
before = peak()
total = ricci.jit(lambda x: (x * constant).sum())(1.0)
print((peak() - before) / constant.nbytes)
"""


@pytest.mark.parametrize(("fill", "most"), [("1.0", 0.5), ("2.0", 1.5)])
def test_the_memory_that_a_captured_array_takes(fill, most):
    done = subprocess.run([sys.executable, "-c", PEAK, fill], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < most
