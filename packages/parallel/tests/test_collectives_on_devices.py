"""Collectives on devices have the values and the derivatives of those on a batch."""

import re

import numpy as np
import pytest

from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import clear_caches, float0, get_aval
from ricci_lax import convert_element_type, dynamic_index_in_dim, expand_dims, mul, squeeze
from ricci_parallel import (
    all_gather,
    all_to_all,
    axis_index,
    pbroadcast,
    pmap,
    pmax,
    pmean,
    pmin,
    ppermute,
    precv,
    psend,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
    ragged_all_to_all,
    shard_map,
)
from ricci_xla import Mesh, PartitionSpec, devices, jit

GROUPS = [[3, 1], [2, 0]]
UNEVEN = [[0, 3, 1], [2]]
TURN = [(0, 1), (1, 2), (2, 3), (3, 0)]
SIZES = np.array([[1, 2, 0, 1], [0, 1, 1, 0], [2, 0, 0, 1], [1, 1, 1, 0]], np.int32)


def before(table, axis):
    return np.cumsum(table, axis, dtype=np.int32) - table


def ragged(x, rows=5):
    """Send ``SIZES[i, j]`` consecutive rows from member ``i`` to member ``j``."""
    tables = (before(SIZES, 1), SIZES, before(SIZES, 0), SIZES.T)
    mine = [dynamic_index_in_dim(t, axis_index("i"), 0, keepdims=False) for t in tables]
    output = np.full((rows, *get_aval(x).shape[1:]), -1, np.float32)
    return ragged_all_to_all(x, output, *mine, axis_name="i")


# Every collective over one axis ``i`` of 4 members, on arrays of shape (4, 8).
CALLS = {
    "psum": lambda x: psum(x, "i"),
    "psum in groups": lambda x: psum(x, "i", axis_index_groups=GROUPS),
    "psum in groups of two sizes": lambda x: psum(x, "i", axis_index_groups=UNEVEN),
    "pmean": lambda x: pmean(x, "i"),
    "pmean in groups": lambda x: pmean(x, "i", axis_index_groups=GROUPS),
    "pmean in groups of two sizes": lambda x: pmean(x, "i", axis_index_groups=UNEVEN),
    "pmax": lambda x: pmax(x, "i"),
    "pmin in groups": lambda x: pmin(x, "i", axis_index_groups=GROUPS),
    "all_gather": lambda x: all_gather(x, "i"),
    "all_gather, last axis": lambda x: all_gather(x, "i", axis=-1),
    "all_gather, tiled": lambda x: all_gather(x, "i", axis=1, tiled=True),
    "all_gather in groups": lambda x: all_gather(x, "i", axis_index_groups=GROUPS),
    "all_gather to invarying": lambda x: all_gather(x, "i", tiled=True, to="invarying"),
    "psum_scatter": lambda x: psum_scatter(x, "i"),
    "psum_scatter, tiled": lambda x: psum_scatter(x, "i", scatter_dimension=1, tiled=True),
    "psum_scatter in groups": lambda x: psum_scatter(x, "i", axis_index_groups=GROUPS, tiled=True),
    "ppermute": lambda x: ppermute(x, "i", TURN),
    "ppermute, some": lambda x: ppermute(x, "i", [(0, -1), (2, 2)]),
    "ppermute, none": lambda x: ppermute(x, "i", []),
    "pshuffle": lambda x: pshuffle(x, "i", [2, 0, 3, 1]),
    "pbroadcast": lambda x: pbroadcast(x, "i", 2),
    "all_to_all": lambda x: all_to_all(x, "i", 0, 0),
    "all_to_all to a later axis": lambda x: all_to_all(x, "i", 0, 1),
    "all_to_all to an earlier axis": lambda x: all_to_all(x, "i", 1, 0, tiled=True),
    "all_to_all in groups": lambda x: all_to_all(
        x, "i", 0, 1, tiled=True, axis_index_groups=GROUPS
    ),
    "pswapaxes": lambda x: pswapaxes(x, "i", 0),
    "ragged_all_to_all": ragged,
    "axis_index": lambda x: mul(x, convert_element_type(axis_index("i"), np.float32)),
}

X, T = np.random.default_rng(0).normal(size=(2, 4, 4, 8)).astype(np.float32)


def everything(x):
    return {name: call(x) for name, call in CALLS.items()}


def over(transform):
    return transform(everything, axis_name="i")


@pytest.fixture(scope="module")
def cotangents():
    generator = np.random.default_rng(1)
    shapes = {name: y.shape for name, y in over(vmap)(X).items()}
    return {name: generator.normal(size=s).astype(np.float32) for name, s in shapes.items()}


def test_values_are_those_of_a_batch():
    found, expected = over(pmap)(X), jit(over(vmap))(X)
    for name in CALLS:
        np.testing.assert_allclose(found[name], expected[name], 1e-5, 1e-6, err_msg=name)


def test_tangents_are_those_of_a_batch():
    push = lambda transform: jit(lambda x, t: jvp(over(transform), (x,), (t,))[1])(X, T)
    found, expected = push(pmap), push(vmap)
    for name in CALLS:
        np.testing.assert_allclose(found[name], expected[name], 1e-4, 1e-5, err_msg=name)


@pytest.fixture(scope="module")
def pulled_back(cotangents):
    """The cotangents of the operand by collective: along a new axis, all in one program."""

    def pull(transform):
        def fun(xs):
            return {name: call(xs[name]) for name, call in CALLS.items()}

        mapped = transform(fun, axis_name="i")
        return jit(lambda xs, cts: vjp(mapped, xs)[1](cts)[0])(dict.fromkeys(CALLS, X), cotangents)

    return pull(pmap), pull(vmap)


@pytest.mark.sampled(17)
@pytest.mark.parametrize("name", CALLS)
def test_cotangents_are_those_of_a_batch(name, pulled_back):
    found, expected = (np.asarray(cts[name]) for cts in pulled_back)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_batches_on_devices_are_devices_on_batches():
    # The batch is the last dimension of each device's array but one, and of the results the last.
    x = np.stack([X, T], 2)
    inside = pmap(vmap(everything, 1, -1), axis_name="i")(x)
    outside = jit(vmap(over(vmap), 2, -1))(x)
    for name in CALLS:
        np.testing.assert_allclose(inside[name], outside[name], 1e-5, 1e-6, err_msg=name)


# StableHLO's operation of each collective, and that of its transpose.
OPERATIONS = {
    "psum": ("all_reduce", "all_reduce"),
    "pmax": ("all_reduce", None),
    "all_gather": ("all_gather", "reduce_scatter"),
    "all_gather, tiled": ("all_gather", "reduce_scatter"),
    "all_gather in groups": ("all_gather", "reduce_scatter"),
    "psum_scatter": ("reduce_scatter", "all_gather"),
    "ppermute": ("collective_permute", "collective_permute"),
    "pshuffle": ("collective_permute", "collective_permute"),
    "all_to_all": ("all_to_all", "all_to_all"),
    "all_to_all to a later axis": ("all_to_all", "all_to_all"),
    "all_to_all in groups": ("all_to_all", "all_to_all"),
    "pswapaxes": ("all_to_all", "all_to_all"),
}


def collectives(fun, *args):
    text = jit(fun).lower(*args).as_text()
    names = "all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute"
    return re.findall(rf'"stablehlo\.({names})"', text)


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_is_one_operation_and_so_is_its_transpose(name):
    forward, backward = OPERATIONS[name]
    f = pmap(CALLS[name], axis_name="i")
    assert collectives(f, X) == [forward]
    if backward is not None:
        y, pull = vjp(f, X)
        assert collectives(lambda ct: pull(ct), y) == [backward]


def test_programs_are_made_again_after_clear_caches():
    f = pmap(lambda x: psum(x, "i"), axis_name="i")
    before = np.asarray(f(X))
    clear_caches()
    np.testing.assert_array_equal(f(X), before)


ORDERS = [("x",), ("z", "x"), ("y", "z"), ("z", "y", "x")]


def over_axes(names):
    """Collectives over axes of 2 members each, of an array of shape (8, 3)."""
    count = 2 ** len(names)
    turn = [(k, (k + 1) % count) for k in range(count)]
    halves = [range(count // 2), range(count // 2, count)]
    return lambda x: (
        psum(x, names),
        all_gather(x, names, axis=1, tiled=True),
        psum_scatter(x, names, tiled=True),
        all_to_all(x, names, 0, 1, tiled=True),
        ppermute(x, names, turn),
        pbroadcast(x, names, count - 1),
        axis_index(names),
        psum(x, names, axis_index_groups=halves) if len(names) == 1 else x,
    )


def test_any_axes_of_a_mesh_whose_devices_are_in_any_order():
    generator = np.random.default_rng(2)
    mesh = Mesh(generator.permutation(np.array(devices()[:8])).reshape(2, 2, 2), ("x", "y", "z"))
    x = generator.normal(size=(2, 2, 2, 8, 3)).astype(np.float32)

    def on_one(shard):
        results = [over_axes(names)(squeeze(shard, (0, 1, 2))) for names in ORDERS]
        return [[expand_dims(y, (0, 1, 2)) for y in row] for row in results]

    def of_one(row):
        return [over_axes(names)(row) for names in ORDERS]

    spec = PartitionSpec("x", "y", "z")
    found = jit(shard_map(on_one, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))(x)
    expected = of_one
    for name in ("z", "y", "x"):
        expected = vmap(expected, axis_name=name)
    for names, ours, theirs in zip(ORDERS, found, jit(expected)(x), strict=True):
        for y, z in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(y, z, 1e-5, 1e-6, err_msg=str(names))


def test_tangents_of_integers_are_empty():
    x, t = np.arange(4, dtype=np.int32), np.zeros(4, float0)
    calls = lambda x: (psum(x, "i"), all_gather(x, "i"), ppermute(x, "i", TURN))
    for transform in (pmap, vmap):
        _, found = jvp(transform(calls, axis_name="i"), (x,), (t,))
        assert [(y.dtype, y.shape) for y in found] == [
            (float0, (4,)),
            (float0, (4, 4)),
            (float0, (4,)),
        ]


# The operations of each platform among those that not all of them have.
PLATFORMS = {
    ("pbroadcast", "cpu"): "stablehlo.all_gather",
    ("pbroadcast", "tpu"): "stablehlo.all_gather",
    ("pbroadcast", "cuda"): "stablehlo.collective_broadcast",
    ("ragged_all_to_all", "cpu"): "stablehlo.all_gather",
    ("ragged_all_to_all", "tpu"): "ragged_all_to_all",
    ("ragged_all_to_all", "cuda"): "ragged_all_to_all",
    ("precv", "cuda"): "stablehlo.recv",
}


@pytest.mark.parametrize(("name", "platform"), PLATFORMS)
def test_platforms_lower_to_different_operations(name, platform):
    transfer = lambda x: precv(psend(x, "i", TURN), x, "i", TURN)
    call = CALLS.get(name, transfer)
    traced = jit(pmap(call, axis_name="i")).trace(X)
    assert PLATFORMS[name, platform] in traced.lower(lowering_platforms=(platform,)).as_text()
