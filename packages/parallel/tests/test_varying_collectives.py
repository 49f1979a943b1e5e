"""Collectives in the types of ``shard_map``: the axes along which values vary."""

import numpy as np
import pytest

from ricci_autodiff import vjp
from ricci_batching import vmap
from ricci_ir import ShapedArray, ShardingTypeError, make_jaxpr, make_type_sharding
from ricci_lax import add, convert_element_type, mul, sin
from ricci_parallel import (
    all_gather,
    all_gather_p,
    all_to_all,
    axis_index,
    pbroadcast,
    pcast,
    pmap,
    pmax,
    pmean,
    ppermute,
    precv,
    psend,
    psum,
    psum_scatter,
    shard_map,
    shard_map_p,
)
from ricci_xla import Mesh, devices, jit
from ricci_xla import PartitionSpec as P

X = np.random.default_rng(0).normal(size=(16, 2)).astype(np.float32)
I, J, IJ = "{V:i}", "{V:j}", "{V:(i,j)}"


def mesh(**sizes):
    grid = np.array(devices()[: int(np.prod([*sizes.values()]))]).reshape(*sizes.values())
    return Mesh(grid, tuple(sizes))


def over_grid(fun, out_specs, check_vma=True):
    """``fun`` of the rows of an array that the axis ``i`` of 4 times 2 devices divides."""
    options = {"in_specs": P("i"), "out_specs": out_specs, "check_vma": check_vma}
    return shard_map(fun, mesh=mesh(i=4, j=2), **options)


def equations(fun, *args):
    """The operations of a program on shards, each with the type of its result."""
    jaxpr = make_jaxpr(fun)(*args)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is shard_map_p]
    inner = eqn.params["jaxpr"]
    return [(e.primitive.name, _short(e.outvars[0].aval)) for e in inner.eqns]


def _short(aval):
    return aval.str_short(True) if isinstance(aval, ShapedArray) else str(aval)


# Collectives of a value of type f32[4,2]{V:i}: the operations, and those of their transposes.
PROGRAMS = {
    "psum": (
        lambda x: psum(x, "i"), P(),
        [("psum_invariant", "f32[4,2]")],
        [("pvary", f"f32[4,2]{I}")],
    ),
    "psum over an axis along which it does not vary": (
        lambda x: psum(x, "j"), P("i"),
        [("pvary", f"f32[4,2]{IJ}"), ("psum_invariant", f"f32[4,2]{I}")],
        [("pvary", f"f32[4,2]{IJ}"), ("psum_invariant", f"f32[4,2]{I}")],
    ),
    "psum over both": (
        lambda x: psum(pcast(x, "j", to="varying"), ("i", "j")), P(),
        [("pvary", f"f32[4,2]{IJ}"), ("psum_invariant", "f32[4,2]")],
        [("pvary", f"f32[4,2]{IJ}"), ("psum_invariant", f"f32[4,2]{I}")],
    ),
    "psum in groups": (
        lambda x: psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), P("i"),
        [("psum", f"f32[4,2]{I}")],
        [("psum", f"f32[4,2]{I}")],
    ),
    "pmean": (
        lambda x: pmean(x, "i"), P(),
        [("psum_invariant", "f32[4,2]"), ("div", "f32[4,2]")],
        None,
    ),
    "pmax": (lambda x: pmax(x, "i"), P(), [("pmax", "f32[4,2]")], None),
    "pmax over an axis along which it does not vary": (
        lambda x: pmax(x, "j"), P("i"),
        [("pvary", f"f32[4,2]{IJ}"), ("pmax", f"f32[4,2]{I}")],
        None,
    ),
    "all_gather": (
        lambda x: all_gather(x, "i", tiled=True), P("i"),
        [("all_gather", f"f32[16,2]{I}")],
        [("reduce_scatter", f"f32[4,2]{I}")],
    ),
    "all_gather over both": (
        lambda x: all_gather(x, ("i", "j")), P("i", "j"),
        [("pvary", f"f32[4,2]{IJ}"), ("all_gather", f"f32[8,4,2]{IJ}")],
        [("reduce_scatter", f"f32[4,2]{IJ}"), ("psum_invariant", f"f32[4,2]{I}")],
    ),
    "all_gather to invarying": (
        lambda x: all_gather(x, "i", to="invarying"), P(),
        [("all_gather_invariant", "f32[4,4,2]")],
        None,
    ),
    "psum_scatter": (
        lambda x: psum_scatter(x, "i", tiled=True), P("i"),
        [("reduce_scatter", f"f32[1,2]{I}")],
        [("all_gather", f"f32[4,2]{I}")],
    ),
    "psum_scatter over an axis along which it does not vary": (
        lambda x: psum_scatter(x, "j", tiled=True), P(("i", "j")),
        [("pvary", f"f32[4,2]{IJ}"), ("reduce_scatter", f"f32[2,2]{IJ}")],
        [("all_gather", f"f32[4,2]{IJ}"), ("psum_invariant", f"f32[4,2]{I}")],
    ),
    "ppermute": (
        lambda x: ppermute(x, "i", [(0, 1), (1, 3)]), P("i"),
        [("ppermute", f"f32[4,2]{I}")],
        [("ppermute", f"f32[4,2]{I}")],
    ),
    "all_to_all": (
        lambda x: all_to_all(x, "i", 0, 1, tiled=True), P("i"),
        [("all_to_all", f"f32[1,8]{I}")],
        [("all_to_all", f"f32[4,2]{I}")],
    ),
    "pbroadcast": (
        lambda x: pbroadcast(x, "i", 1), P("i"), [("pbroadcast", f"f32[4,2]{I}")], None,
    ),
    "a sum is added to each term": (
        lambda x: add(x, psum(x, "i")), P("i"),
        [("psum_invariant", "f32[4,2]"), ("pvary", f"f32[4,2]{I}"), ("add", f"f32[4,2]{I}")],
        [("psum_invariant", "f32[4,2]"), ("pvary", f"f32[4,2]{I}"), ("add_any", f"f32[4,2]{I}")],
    ),
    "pcast to varying": (
        lambda x: pcast(x, "j", to="varying"), P("i", "j"),
        [("pvary", f"f32[4,2]{IJ}")],
        [("psum_invariant", f"f32[4,2]{I}")],
    ),
    "pcast to unreduced": (
        lambda x: psum(pcast(x, "i", to="unreduced"), "i"), P(),
        [("vary_unreduced_cast_p", "f32[4,2]{U:i}"), ("unreduced_psum", "f32[4,2]")],
        [("preduced", "f32[4,2]{R:i}"), ("reduced_vary_cast_p", f"f32[4,2]{I}")],
    ),
    "pcast to reduced": (
        lambda x: pcast(pcast(x, "j", to="reduced"), "j", to="varying"), P(("i", "j")),
        [("preduced", "f32[4,2]{V:i, R:j}"), ("reduced_vary_cast_p", f"f32[4,2]{IJ}")],
        [("vary_unreduced_cast_p", "f32[4,2]{V:i, U:j}"), ("unreduced_psum", f"f32[4,2]{I}")],
    ),
    "all_gather to reduced": (
        lambda x: pcast(all_gather(x, "i", to="reduced", tiled=True), "i", to="varying"), P("i"),
        [("all_gather_reduced", "f32[16,2]{R:i}"), ("reduced_vary_cast_p", f"f32[16,2]{I}")],
        [("vary_unreduced_cast_p", "f32[16,2]{U:i}"),
         ("unreduced_reduce_scatter", f"f32[4,2]{I}")],
    ),
    "psum_scatter of terms": (
        lambda x: psum_scatter(pcast(x, "i", to="unreduced"), "i", tiled=True), P("i"),
        [("vary_unreduced_cast_p", "f32[4,2]{U:i}"),
         ("unreduced_reduce_scatter", f"f32[1,2]{I}")],
        [("all_gather_reduced", "f32[4,2]{R:i}"), ("reduced_vary_cast_p", f"f32[4,2]{I}")],
    ),
    "precv": (
        lambda x: precv(psend(x, "i", [(0, 1)]), x, "i", [(0, 1)]), P("i"),
        [("psend", "AbstractToken()"), ("precv", f"f32[4,2]{I}")],
        None,
    ),
    "axis_index": (
        lambda x: mul(x, convert_element_type(axis_index("j"), np.float32)), P("i", "j"),
        [("axis_index", f"i32[]{J}"), ("convert_element_type", f"f32[]{J}"),
         ("pvary", f"f32[4,2]{IJ}"), ("pvary", f"f32[]{IJ}"), ("mul", f"f32[4,2]{IJ}")],
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PROGRAMS)
def test_types_and_transposes(what):
    fun, out_specs, forward, backward = PROGRAMS[what]
    mapped = over_grid(fun, out_specs)
    assert [e for e in equations(mapped, X) if "broadcast_in_dim" not in e[0]] == forward
    if backward is not None:
        y, pull = vjp(mapped, X)
        assert equations(lambda ct: pull(ct), np.zeros(y.shape, np.float32)) == backward


# Programs of which the results do not vary where out_specs say so.
VALUES = [name for name, row in PROGRAMS.items() if name != "precv" and "groups" not in name]


def test_values_and_gradients_are_those_without_types():
    # Each program's result is made the same along j, so that both forms may return it.
    def every(check_vma):
        def fun(x):
            return {
                name: over_grid(PROGRAMS[name][0], PROGRAMS[name][1], check_vma)(sin(x))
                for name in VALUES
                if check_vma or "reduced" not in name
            }

        return fun

    typed, untyped = jit(every(True))(X), jit(every(False))(X)
    for name, value in untyped.items():
        np.testing.assert_allclose(typed[name], value, 1e-5, 1e-6, err_msg=name)


def test_vmap_axes_are_not_axes_of_types():
    def each(x):
        names = ("i", "b")
        return psum(x, names), all_gather(x, names), axis_index(names)

    # The 16 rows are 4 on each of 4 devices.
    total, rows, index = over_grid(vmap(each, axis_name="b"), (P(), P("i"), P("i")))(X)
    np.testing.assert_allclose(total, np.broadcast_to(X.sum(0), (4, 2)), 1e-5)
    np.testing.assert_array_equal(rows, np.broadcast_to(X, (16, 16, 2)))
    np.testing.assert_array_equal(index, np.arange(16))


def test_states_must_be_one():
    with pytest.raises(ValueError, match=r"(?s)varying along 'i', invarying along 'j'.*pcast"):
        over_grid(lambda x: psum(x, ("i", "j")), P())(X)
    with pytest.raises(ValueError, match="varying along 'i', invarying along 'j'"):
        over_grid(lambda x: pcast(x, ("i", "j"), to="varying"), P("i", "j"))(X)
    assert over_grid(lambda x: psum(x, "i"), P())(X).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: pcast(x, "i", to="varying"), "Unsupported pcast from=varying, to='varying'"),
        (lambda x: pcast(x, "i", to="reduced"), "Unsupported pcast from=varying, to='reduced'"),
        (lambda x: pcast(x, "j", to="unreduced"), "from=invarying, to='unreduced'"),
        (lambda x: pcast(x, "i", to="invarying"), "to='invarying' is not one of"),
        (lambda x: pcast(x, "k", to="varying"), "'k' is not an axis of an enclosing shard_map"),
    ],
)
def test_bad_casts(call, words):
    with pytest.raises(ValueError, match=words) as caught:
        over_grid(call, P("i"))(X)
    assert len(str(caught.value).splitlines()) <= 12


def test_casts_are_for_shard_map():
    with pytest.raises(ValueError, match="leave pcast out"):
        vmap(lambda x: pcast(x, "i", to="varying"), axis_name="i")(X)
    found = pmap(lambda x: pcast(x, "i", to="varying"), axis_name="i")(X[:8])
    np.testing.assert_array_equal(found, X[:8])


def test_axis_index_where_the_compiler_partitions_over_other_axes():
    def each(x):
        return mul(x, convert_element_type(axis_index("i"), np.float32))

    partly = shard_map(
        each, mesh=mesh(i=4, j=2), in_specs=P("i"), out_specs=P("i"), axis_names={"i"}
    )
    expected = X * np.repeat(np.arange(4), 4)[:, None]
    np.testing.assert_allclose(jit(partly)(X), expected, 1e-6)


def test_sharded_dimensions_are_not_gathered():
    divided = make_type_sharding(mesh(i=4, j=2).abstract_mesh, (("j",), ()), {"i"})
    aval = ShapedArray((8, 4), np.float32, sharding=divided)
    gathered = lambda dim: all_gather_p.result_avals(
        (aval,),
        {
            "all_gather_dimension": dim,
            "axis_index_groups": None,
            "axis_name": ("i",),
            "axis_size": 4,
            "tiled": True,
        },
    )
    assert str(gathered(1)) == "float32[8@j,16]{V:i}"
    with pytest.raises(ShardingTypeError, match="dimension 0, which is sharded over"):
        gathered(0)
