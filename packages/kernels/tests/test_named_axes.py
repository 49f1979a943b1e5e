"""``axis_index`` of the named axes of grids and of meshes of cores.

``ricci_parallel`` has the function; here the protocol that it reads is tested.
"""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu


def axis_index(name):
    return ir.axis_sizes.value[name].position()


def call(kernel, count, grid, **options):
    shape = ir.ShapeDtypeStruct((count,), np.int32)
    return pl.pallas_call(kernel, shape, grid=grid, interpret=True, **options)


@pytest.mark.parametrize("transform", [lambda f: f, xla.jit], ids=["eager", "jit"])
def test_positions_are_those_of_the_grid(transform):
    def kernel(out):
        i, j = axis_index("i"), axis_index("j")
        out[i * 3 + j] = i * 100 + j * 10 + ir.axis_size("j")

    run = transform(call(kernel, 6, (("i", 2), ("j", 3))))
    for _ in range(2):
        np.testing.assert_array_equal(run(), [3, 13, 23, 103, 113, 123])


def test_jitted_function_has_the_position_of_each_kernel():
    position = xla.jit(lambda: axis_index("i") * 10)

    def kernel(out):
        out[axis_index("i")] = position() + pl.num_programs(0)

    np.testing.assert_array_equal(call(kernel, 3, (("i", 3),))(), [3, 13, 23])
    np.testing.assert_array_equal(call(kernel, 3, (("i", 3), ("j", 3)))(), [3, 13, 23])
    np.testing.assert_array_equal(call(kernel, 2, (("i", 2),))(), [2, 12])


def test_batch_does_not_move_positions():
    def kernel(x, out):
        out[axis_index("i")] = x[0] + axis_index("i")

    outs = vmap(call(kernel, 3, (("i", 3),)))(np.array([[0], [10]], np.int32))
    np.testing.assert_array_equal(outs, [[0, 1, 2], [10, 11, 12]])


def test_loops_and_branches_read_positions():
    def kernel(out):
        @pl.when(axis_index("i") > 0)
        def _():
            def body(k, total):
                return total + k * axis_index("i")

            out[axis_index("i")] = lax.fori_loop(0, 3, body, jnp.int32(0))

    np.testing.assert_array_equal(call(kernel, 3, (("i", 3),))()[1:], [3, 6])


@pytest.mark.parametrize("cores", [1, 2])
def test_cores_of_a_mesh_have_positions(cores):
    mesh = pltpu.TensorCoreMesh(axis_name="core", num_cores=cores)

    def kernel(out):
        out[axis_index("core")] = axis_index("core") + ir.axis_size("core")

    shape = ir.ShapeDtypeStruct((cores,), np.int32)
    outs = pl.kernel(kernel, shape, mesh=mesh, interpret=True)()
    np.testing.assert_array_equal(outs, [cores + core for core in range(cores)])

    def update(ref):
        pl.core_map(mesh)(lambda: kernel(ref))

    np.testing.assert_array_equal(pl.run_state(update)(jnp.zeros(cores, np.int32)), outs)
