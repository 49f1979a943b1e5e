"""Kernels whose steps several devices share: by the compiler, and by types with shardings."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="shards are on devices")

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.custom_partitioning import custom_partitioning
from ricci.experimental.pallas import tpu as pltpu
from ricci.sharding import AxisType, NamedSharding
from ricci.sharding import PartitionSpec as P

X = np.arange(128, dtype=np.float32).reshape(32, 4)
W = (np.arange(128, dtype=np.float32).reshape(4, 32) % 7) - 3
ROWS = pl.BlockSpec((2, 4), lambda i: (i, 0))


def _call(kernel, shape, grid, in_specs, out_specs, **options):
    out = ricci.ShapeDtypeStruct(shape, np.float32)
    spec = {"grid": grid, "in_specs": in_specs, "out_specs": out_specs}
    return pl.pallas_call(kernel, out, interpret=True, **spec, **options)


def _scaled(x, out):
    out[...] = x[...] * 2 + pl.program_id(0)


def _matmul(x, y, out, total):
    @pl.when(pl.program_id(2) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...] @ y[...]

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out[...] = total[...]


def _sums(x, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...]
    out[...] = total[...]


def _always_reset(x, out, total):
    total[...] = x[...] * 3
    out[...] = total[...] + 1


def _window(x, out):
    out[...] = (x[0:2] + x[2:4]) * pl.program_id(0)


def _added(x, old, out):
    out[...] = old[...] + x[...]


def _named(x, out):
    out[...] = x[...] + lax.axis_index("rows") * 100 + lax.axis_size("rows")


def _picked(order, x, out):
    out[...] = x[...] + order[pl.program_id(0)]


def _total(x, out):
    @pl.when(pl.program_id(0) == 0)
    def _():
        out[...] = jnp.zeros_like(out)

    out[...] += x[...]


_scratch = {"scratch_shapes": [pltpu.VMEM((2, 4), np.float32)]}
_PREFETCH = pltpu.PrefetchScalarGridSpec(
    num_scalar_prefetch=1,
    grid=(16,),
    in_specs=[pl.BlockSpec((2, 4), lambda i, order: (order[i], 0))],
    out_specs=pl.BlockSpec((2, 4), lambda i, order: (i, 0)),
)
ORDER = np.int32([5, 3, 1, 0, 15, 14, 2, 4, 6, 7, 8, 9, 13, 12, 11, 10])

# The call, its arguments with their specs, and the spec of the result on a mesh of 4 by 2 devices.
CASES = {
    "blocks of rows": (_call(_scaled, (32, 4), 16, [ROWS], ROWS), [(X, P("i"))], P("i")),
    "rows over two axes": (
        _call(_scaled, (32, 4), 16, [ROWS], ROWS),
        [(X, P(("i", "j")))],
        P(("i", "j")),
    ),
    "both grid axes": (
        _call(
            _matmul,
            (32, 32),
            (8, 4, 2),
            [
                pl.BlockSpec((4, 2), lambda i, j, k: (i, k)),
                pl.BlockSpec((2, 8), lambda i, j, k: (k, j)),
            ],
            pl.BlockSpec((4, 8), lambda i, j, k: (i, j)),
            scratch_shapes=[pltpu.VMEM((4, 8), np.float32)],
        ),
        [(X, P("i")), (W, P(None, "j"))],
        P("i", "j"),
    ),
    "scratch that every step overwrites": (
        _call(_always_reset, (32, 4), 16, [ROWS], ROWS, **_scratch),
        [(X, P("i"))],
        P("i"),
    ),
    "scratch that steps carry": (
        _call(_sums, (32, 4), 16, [ROWS], ROWS, **_scratch),
        [(X, P("i"))],
        None,
    ),
    "an output that all steps add to": (
        _call(_total, (2, 4), 16, [ROWS], pl.BlockSpec((2, 4), lambda i: (0, 0))),
        [(X, P("i"))],
        None,
    ),
    "blocks that devices cannot share evenly": (
        _call(
            _scaled,
            (32, 4),
            2,
            [pl.BlockSpec((16, 4), lambda i: (i, 0))],
            pl.BlockSpec((16, 4), lambda i: (i, 0)),
        ),
        [(X, P("i"))],
        None,
    ),
    "overlapping windows": (
        _call(
            _window,
            (28, 4),
            14,
            [pl.BlockSpec((pl.Element(4), pl.Element(4)), lambda i: (i * 2, 0))],
            ROWS,
        ),
        [(X, P("i"))],
        None,
    ),
    "an operand of whose blocks several steps read one": (
        _call(
            lambda x, y, out: out.__setitem__(..., x[...] * y[...]),
            (32, 4),
            16,
            [ROWS, pl.BlockSpec((2, 4), lambda i: (i // 4, 0))],
            ROWS,
        ),
        [(X, P("i")), (X[:8], P())],
        P("i"),
    ),
    "an alias": (
        _call(_added, (32, 4), 16, [ROWS, ROWS], ROWS, input_output_aliases={1: 0}),
        [(X, P("i")), (X, P("i"))],
        P("i"),
    ),
    "named axes": (_call(_named, (32, 4), (("rows", 16),), [ROWS], ROWS), [(X, P("i"))], P("i")),
    "prefetched scalars": (
        pl.pallas_call(
            _picked,
            ricci.ShapeDtypeStruct((32, 4), np.float32),
            grid_spec=_PREFETCH,
            interpret=True,
        ),
        [(ORDER, P()), (X, P())],
        None,
    ),
    "a batch": (
        ricci.vmap(_call(_scaled, (4, 4), 2, [ROWS], ROWS)),
        [(X.reshape(8, 4, 4), P("i", "j"))],
        P("i", "j"),
    ),
    "no blocks": (_call(_scaled, (0, 4), 0, [ROWS], ROWS), [(X[:0], P())], None),
}


@pytest.fixture
def expected():
    def run(name):
        call, arguments, _ = CASES[name]
        return np.asarray(call(*[value for value, _ in arguments]))

    return run


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("name", CASES)
def test_steps_that_write_their_own_blocks_are_shared(eight_devices, name, kind, expected):
    call, arguments, spec = CASES[name]
    result = expected(name)
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(kind, kind))
    with ricci.set_mesh(mesh):
        operands = [ricci.device_put(x, NamedSharding(mesh, s)) for x, s in arguments]
        for run in (call, ricci.jit(call), ricci.jit(call)):
            out = run(*operands)
            np.testing.assert_array_equal(np.asarray(out), result)
            shard = out.sharding.shard_shape(out.shape)
            assert shard == NamedSharding(mesh, spec or P()).shard_shape(out.shape)
    ricci.clear_caches()
    np.testing.assert_array_equal(np.asarray(ricci.jit(call)(*operands)), result)


def test_steps_on_a_device_gather_no_operand(eight_devices):
    call, arguments, _ = CASES["both grid axes"]
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)
    operands = [ricci.device_put(x, NamedSharding(mesh, s)) for x, s in arguments]
    text = ricci.jit(call).lower(*operands).compile().as_text()
    assert "all-gather" not in text
    assert "all-reduce" not in text


def test_types_of_sharded_kernels_are_those_of_their_blocks(eight_devices):
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
    call, arguments, _ = CASES["both grid axes"]
    with ricci.set_mesh(mesh):
        operands = [ricci.device_put(x, NamedSharding(mesh, s)) for x, s in arguments]
        for run in (call, ricci.jit(call)):
            assert str(ricci.typeof(run(*operands))) == "float32[32@i,32@j]"


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_gradients_of_sharded_kernels(eight_devices, kind):
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(kind, kind))
    call, arguments, _ = CASES["both grid axes"]
    loss = lambda x, y: (call(x, y) ** 2).sum()
    expected = ricci.grad(lambda x, y: ((x @ y) ** 2).sum(), (0, 1))(X, W)
    with ricci.set_mesh(mesh):
        operands = [ricci.device_put(x, NamedSharding(mesh, s)) for x, s in arguments]
        for run in (ricci.grad(loss, (0, 1)), ricci.jit(ricci.grad(loss, (0, 1)))):
            for one, other in zip(run(*operands), expected, strict=True):
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4)


@pytest.mark.parametrize("x64", [False, True])
def test_positions_are_those_of_the_whole_grid(eight_devices, x64):
    call, arguments, _ = CASES["blocks of rows"]
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    with ricci.enable_x64(x64):
        x = ricci.device_put(X, NamedSharding(mesh, P("i")))
        steps = np.repeat(np.arange(16), 2)[:, None]
        np.testing.assert_array_equal(np.asarray(ricci.jit(call)(x)), X * 2 + steps)


def test_declared_parallel_axes_are_shared_despite_scratch(eight_devices):
    params = pltpu.CompilerParams(dimension_semantics=("parallel",))
    call = _call(
        lambda x, out, buffer: pl.loop(0, 1)(
            lambda _: (buffer.__setitem__(..., x[...]), out.__setitem__(..., buffer[...]), None)[-1]
        ),
        (32, 4),
        16,
        [ROWS],
        ROWS,
        compiler_params=params,
        **_scratch,
    )
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    out = ricci.jit(call)(ricci.device_put(X, NamedSharding(mesh, P("i"))))
    np.testing.assert_array_equal(np.asarray(out), X)
    assert out.sharding.shard_shape(out.shape) == (4, 4)


@pytest.mark.parametrize("dead", ["in the function", "a result"])
def test_dead_code_leaves_custom_partitioning_to_its_rule(eight_devices, dead):
    @custom_partitioning
    def f(x):
        lax.cos(x)
        return lax.sin(x), lax.tan(x)

    def partition(mesh, arg_shapes, result_shapes):
        shardings = tuple(x.sharding for x in result_shapes)
        return mesh, lambda x: (lax.sin(x), lax.tan(x)), shardings, (arg_shapes[0].sharding,)

    f.def_partition(partition, sharding_rule="i -> i, i")
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    x = ricci.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("i")))
    run = f if dead == "in the function" else lambda x: f(x)[0]
    assert "CustomSPMDPartitioning" in ricci.jit(run).lower(x).as_text()
    leaves = ricci.tree.leaves(ricci.jit(run)(x))
    np.testing.assert_allclose(leaves[0], np.sin(np.arange(8)), rtol=1e-6)


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_exported_kernels_need_no_other_process(eight_devices, kind):
    call, arguments, _ = CASES["blocks of rows"]
    mesh = ricci.make_mesh((4, 2), ("i", "j"), axis_types=(kind, kind))
    with ricci.set_mesh(mesh):
        x = ricci.device_put(X, NamedSharding(mesh, arguments[0][1]))
        exported = ricci.export.export(ricci.jit(call))(x)
        assert "CustomSPMDPartitioning" not in exported.mlir_module()
        again = ricci.export.deserialize(exported.serialize())
        np.testing.assert_array_equal(np.asarray(again.call(x)), call(X))


ROWS_OF_TILES = pl.BlockSpec((8, 128), lambda i: (i, 0))


def _lowered_for_tpus(kind):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(kind,))
    out = ricci.ShapeDtypeStruct((128, 128), np.float32)
    blocks = {"in_specs": [ROWS_OF_TILES], "out_specs": ROWS_OF_TILES}
    call = pl.pallas_call(_scaled, out, grid=16, **blocks)
    x = ricci.ShapeDtypeStruct((128, 128), np.float32, sharding=NamedSharding(mesh, P("i")))
    with ricci.set_mesh(mesh):
        return ricci.jit(call).trace(x).lower(lowering_platforms=("tpu",)).as_text()


def test_compiled_kernels_are_sharded_by_types(eight_devices):
    text = _lowered_for_tpus(AxisType.Explicit)
    assert (
        'in_shardings = #sdy.sharding_per_value<[<@mesh, [{"i"}]>, <@mesh, [{"i"}, {}]>]>' in text
    )
    assert "(tensor<2xi32>, tensor<16x128xf32>) -> tensor<16x128xf32>" in text


def test_compiled_kernels_run_whole_on_each_device_else(eight_devices):
    with pytest.warns(UserWarning, match=r"the kernel _scaled is compiled, and runs whole on each"):
        text = _lowered_for_tpus(AxisType.Auto)
    assert "tensor<128x128xf32>) -> tensor<128x128xf32>" in text
