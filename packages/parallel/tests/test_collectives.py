"""Collectives over devices and over batches."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import enable_x64, make_jaxpr
from ricci_lax import gt, mul, reduce_sum, sin, slice_in_dim
from ricci_parallel import (
    all_gather,
    all_gather_p,
    all_to_all,
    axis_index,
    axis_size,
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
    psum_p,
    psum_scatter,
    pswapaxes,
    ragged_all_to_all,
)
from ricci_xla import jit

X = np.arange(24, dtype=np.float32).reshape(8, 3)
REDUCTIONS = {"psum": (psum, np.sum), "pmean": (pmean, np.mean), "pmax": (pmax, np.max)}
REDUCTIONS["pmin"] = (pmin, np.min)


@pytest.fixture(params=REDUCTIONS)
def reduction(request):
    return REDUCTIONS[request.param]


@pytest.mark.parametrize("transform", [vmap, pmap], ids=["vmap", "pmap"])
def test_reduces_over_the_axis(transform, reduction):
    collective, reduce = reduction
    y = transform(lambda x: collective(x, "i"), axis_name="i")(X)
    np.testing.assert_allclose(y, np.broadcast_to(reduce(X, axis=0), X.shape), rtol=1e-6)


@pytest.mark.parametrize("transform", [vmap, pmap], ids=["vmap", "pmap"])
def test_reduces_a_value_that_is_the_same_everywhere(transform):
    y = transform(lambda x: psum(mul(X[0], 2.0), "i"), axis_name="i")(X)
    np.testing.assert_allclose(y, np.broadcast_to(16 * X[0], X.shape))


def test_sum_of_a_python_number_is_computed_while_tracing():
    sizes = []
    vmap(lambda x: (sizes.append(psum(1, "i")), x)[1], axis_name="i")(X)
    assert sizes == [8]


def test_position_along_the_axis():
    for transform in (vmap, pmap):
        y = transform(lambda x: axis_index("i"), axis_name="i")(X)
        np.testing.assert_array_equal(y, np.arange(8))
        assert y.dtype == np.int32


def test_two_axes_of_a_batch():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    both = vmap(vmap(lambda a: psum(a, ("i", "j")), axis_name="j"), axis_name="i")
    np.testing.assert_allclose(both(x), np.full((2, 3), 15.0))
    inner = vmap(vmap(lambda a: psum(a, "j"), axis_name="j"), axis_name="i")
    np.testing.assert_allclose(inner(x), np.broadcast_to(x.sum(1, keepdims=True), (2, 3)))


def test_integers_and_booleans():
    assert pmap(lambda x: psum(x, "i"), axis_name="i")(np.ones(8, np.int32)).tolist() == [8] * 8
    counted = vmap(lambda x: psum(x, "i"), axis_name="i")(np.ones(8, bool))
    assert counted.dtype == np.int32
    assert counted.tolist() == [8] * 8


def test_tangents_are_summed_like_values():
    f = vmap(lambda x: psum(sin(x), "i"), axis_name="i")
    t = np.ones_like(X)
    _, tangent = jvp(f, (X,), (t,))
    np.testing.assert_allclose(tangent, np.broadcast_to(np.cos(X).sum(0), X.shape), rtol=1e-4)


def test_gradient_over_devices_is_that_over_a_batch():
    def loss(transform):
        f = transform(lambda x: mul(sin(x), pmean(x, "i")), axis_name="i")
        return lambda x: reduce_sum(f(x), (0, 1))

    np.testing.assert_allclose(grad(loss(pmap))(X), grad(loss(vmap))(X), rtol=1e-4, atol=1e-4)


def test_second_derivative_through_devices():
    f = pmap(lambda x: psum(sin(x), "i"), axis_name="i")
    first = grad(lambda x: reduce_sum(f(x), (0, 1)))
    second = grad(lambda x: reduce_sum(first(x), (0, 1)))
    np.testing.assert_allclose(second(X), -8 * np.sin(X), rtol=1e-3, atol=1e-3)


def test_the_derivative_of_a_maximum_is_that_of_the_member_that_has_it():
    x = np.array([[1, 5, 2], [3, 4, 2]], np.float32)
    total = lambda x: reduce_sum(pmap(lambda y: pmax(y, "i"), axis_name="i")(x), (0, 1))
    np.testing.assert_array_equal(grad(total)(x), [[0, 2, 1], [2, 0, 1]])


CUBE = np.arange(2 * 4 * 6 * 2, dtype=np.float32).reshape(2, 4, 6, 2)


@pytest.mark.parametrize("transform", [vmap, pmap], ids=["vmap", "pmap"])
@pytest.mark.parametrize("axis", range(-3, 3))
def test_gathers_along_any_axis(transform, axis):
    tiled = transform(lambda x: all_gather(x, "i", axis=axis, tiled=True), axis_name="i")(CUBE)
    np.testing.assert_array_equal(tiled, [np.concatenate(CUBE, axis)] * 2)
    stacked = transform(lambda x: all_gather(x, "i", axis=axis), axis_name="i")(CUBE)
    np.testing.assert_array_equal(stacked, [np.stack(CUBE, axis)] * 2)


@pytest.mark.parametrize("split", range(-3, 3))
@pytest.mark.parametrize("concat", range(-3, 3))
def test_exchanges_along_any_axes(split, concat):
    found = vmap(lambda x: all_to_all(x, "i", split, concat, tiled=True), axis_name="i")(CUBE)
    parts = [np.split(x, 2, split) for x in CUBE]
    expected = [np.concatenate([p[i] for p in parts], concat) for i in range(2)]
    np.testing.assert_array_equal(found, expected)
    if CUBE.shape[1:][split] == 2:
        found = vmap(lambda x: all_to_all(x, "i", split, concat), axis_name="i")(CUBE)
        taken = [[np.take(x, i, split) for x in CUBE] for i in range(2)]
        np.testing.assert_array_equal(found, [np.stack(each, concat) for each in taken])


@pytest.mark.parametrize(
    "collective",
    [
        lambda x: psum_scatter(x, "i", scatter_dimension=3),
        lambda x: pswapaxes(x, "i", -4),
        lambda x: psum(x, (3, "i")),
        lambda x: all_gather(x, "i", axis=3, tiled=True),
        lambda x: all_gather(x, "i", axis=-5),
        lambda x: all_to_all(x, "i", 3, 0),
        lambda x: all_to_all(x, "i", 0, -4, tiled=True),
    ],
)
def test_axes_out_of_range_are_refused(collective):
    with pytest.raises(ValueError, match="axis -?[345] is out of range"):
        vmap(collective, axis_name="i")(CUBE)


GRID = np.arange(2 * 3 * 6, dtype=np.float32).reshape(2, 3, 6)


def over_grid(fun):
    """Apply a function to the rows of ``GRID``, whose axes are named ``i`` and ``j``."""
    return vmap(vmap(fun, axis_name="j"), axis_name="i")(GRID)


@pytest.mark.parametrize("names", [("i", "j"), ["j", "i"]])
def test_members_along_several_axes_are_numbered_in_the_order_of_the_names(names):
    rows = GRID if names[0] == "i" else GRID.swapaxes(0, 1)
    rows = rows.reshape(6, 6)
    shared = lambda y: np.broadcast_to(y, (2, 3, *y.shape))
    own = lambda ys: np.moveaxis(ys.reshape(2, 3, *ys.shape[1:]) if names[0] == "i" else
                                 ys.reshape(3, 2, *ys.shape[1:]).swapaxes(0, 1), 0, 0)  # fmt: skip
    np.testing.assert_array_equal(over_grid(lambda x: all_gather(x, names)), shared(rows))
    np.testing.assert_array_equal(over_grid(lambda x: psum_scatter(x, names)), own(rows.sum(0)))
    np.testing.assert_array_equal(over_grid(lambda x: all_to_all(x, names, 0, 0)), own(rows.T))
    turned = over_grid(lambda x: ppermute(x, names, [(k, (k + 1) % 6) for k in range(6)]))
    np.testing.assert_array_equal(turned, own(np.roll(rows, 1, 0)))
    np.testing.assert_array_equal(over_grid(lambda x: pbroadcast(x, names, 4)), shared(rows[4]))
    np.testing.assert_array_equal(over_grid(lambda x: axis_index(names)), own(np.arange(6)))
    assert (
        np.asarray(over_grid(lambda x: mul(x, np.float32(axis_size(names)))))[1, 1, 1]
        == 6 * GRID[1, 1, 1]
    )


@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
def test_one_axis_of_devices_and_one_of_a_batch(names):
    def calls(x):
        return (
            psum(x, names),
            all_gather(x, names, axis=1),
            psum_scatter(x, names),
            all_to_all(x, names, 0, 0),
            ppermute(x, names, [(0, 5), (3, 1), (4, 4)]),
            pbroadcast(x, names, 4),
            axis_index(names),
        )

    inner = vmap(calls, axis_name="j")
    for found, expected in zip(
        pmap(inner, axis_name="i")(GRID), jit(vmap(inner, axis_name="i"))(GRID), strict=True
    ):
        np.testing.assert_allclose(found, expected)


def test_trees_scalars_and_empty_arrays():
    def calls(x):
        tree = {"a": x, "b": (2.5, None), "c": slice_in_dim(x, 0, 0)}
        return all_gather(tree, "i"), psum(tree, "i"), ppermute(tree, "i", [(0, 1)])

    gathered, total, sent = vmap(calls, axis_name="i")(X)
    assert np.asarray(gathered["b"][0]).tolist() == [[2.5] * 8] * 8
    assert gathered["b"][1] is None
    assert np.asarray(total["b"][0]).tolist() == [20.0] * 8
    assert np.asarray(sent["b"][0]).tolist() == [0, 2.5, 0, 0, 0, 0, 0, 0]
    assert [x["c"].shape for x in (gathered, total, sent)] == [(8, 8, 0), (8, 0), (8, 0)]


def test_sums_of_numbers_are_numbers_unless_groups_differ_in_size():
    found = []

    def calls(x):
        found.append([psum(v, "i") for v in (2, 2.5, 1j, np.float32(2), np.int8(3))])
        found.append(psum(1, "i", axis_index_groups=[[0, 1, 4, 5], [2, 3, 6, 7]]))
        return psum(1, "i", axis_index_groups=[[0, 1, 2, 3, 4, 5], [6, 7]])

    sizes = vmap(calls, axis_name="i")(X)
    assert found == [[16, 20.0, 8j, 16.0, 24], 4]
    assert [type(v) for v in found[0][3:]] == [np.float32, np.int8]
    assert sizes.tolist() == [6] * 6 + [2] * 2


def test_integer_names_are_axes_of_the_arrays():
    found = vmap(lambda x: (psum(x, (0, "i")), pmean(x, (-1, "i")), pmax(x, 0)), axis_name="i")(X)
    expected = [[X.sum()] * 8, [X.mean()] * 8, X.max(1)]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y)


@pytest.mark.parametrize("wide", [False, True])
def test_dtypes_stay_and_sums_of_bool_count(wide):
    with enable_x64(wide):
        for dtype in (np.int8, np.uint16, np.float16, np.float64 if wide else np.float32):
            x = np.ones(4, dtype)
            f = pmap(lambda x: (psum(x, "i"), pmax(x, "i"), all_gather(x, "i")), axis_name="i")
            assert {y.dtype for y in f(x)} == {np.dtype(dtype)}
        x = np.array([True, False, True, True])
        f = lambda x: (psum(x, "i"), pmax(x, "i"), ppermute(x, "i", [(0, 1)]), pmean(x, "i"))
        count, any_, sent, mean = pmap(f, axis_name="i")(x)
        assert (count.dtype, count.tolist()) == (np.int32, [3] * 4)
        assert (any_.dtype, any_.tolist()) == (bool, [True] * 4)
        assert (sent.dtype, sent.tolist()) == (bool, [False, True, False, False])
        assert (mean.dtype, np.asarray(mean)[0]) == (np.float64 if wide else np.float32, 0.75)


PRINTED = {
    "psum[axes=('i',) axis_index_groups=None]": lambda x: psum(x, "i"),
    "pmax[axes=('i',) axis_index_groups=((0, 1), (2, 3))]": lambda x: pmax(
        x, "i", axis_index_groups=[[0, 1], [2, 3]]
    ),
    "all_gather[ all_gather_dimension=1 axis_index_groups=None axis_name=('i',) axis_size=4 "
    "tiled=True ]": lambda x: all_gather(x, "i", axis=1, tiled=True),
    "reduce_scatter[ axis_index_groups=None axis_name=('i',) axis_size=4 scatter_dimension=0 "
    "tiled=False ]": lambda x: psum_scatter(x, "i"),
    "all_to_all[ axis_index_groups=None axis_name=i concat_axis=0 split_axis=0 tiled=False ]": (
        lambda x: pswapaxes(x, "i", 0)
    ),
    "ppermute[axis_name=('i',) perm=((0, 1), (1, 0))]": lambda x: ppermute(
        x, "i", [(0, 1), (1, 0)]
    ),
    "ppermute[ axis_name=('i',) perm=((3, 0), (2, 1), (1, 2), (0, 3)) ]": lambda x: pshuffle(
        x, "i", [3, 2, 1, 0]
    ),
    "pbroadcast[axis_name=i source=2]": lambda x: pbroadcast(x, "i", 2),
    "axis_index[axis_name=i]": lambda x: axis_index("i"),
    "psend[axis_name=('i',) perm=((0, 1),)]": lambda x: psend(x, "i", [(0, 1)]),
    "precv[axis_name=('i',) out_shape=float32[4,2] perm=((0, 1),)]": lambda x: precv(
        psend(x, "i", [(0, 1)]), x, "i", [(0, 1)]
    ),
}


@pytest.mark.parametrize("text", PRINTED)
def test_printed_programs(text):
    jaxpr = make_jaxpr(PRINTED[text], axis_env=[("i", 4)])(np.ones((4, 2), np.float32))
    assert text in " ".join(str(jaxpr).split())


ONE, PAIR = np.ones(8, np.int32), [[0, 1], [2, 3]]
CALLS_OVER_I = {
    "psum": lambda x, name, **options: psum(x, name, **options),
    "pmean": lambda x, name, **options: pmean(x, name, **options),
    "pmax": lambda x, name, **options: pmax(x, name, **options),
    "all_gather": lambda x, name, **options: all_gather(x, name, **options),
    "psum_scatter": lambda x, name, **options: psum_scatter(x, name, **options),
    "all_to_all": lambda x, name, **options: all_to_all(x, name, 0, 0, **options),
    "pswapaxes": lambda x, name, **options: pswapaxes(x, name, 0, **options),
    "ragged_all_to_all": lambda x, name, **options: ragged_all_to_all(
        x, x, ONE, ONE, ONE, ONE, axis_name=name, **options
    ),
    "ppermute": lambda x, name: ppermute(x, name, [(0, 1)]),
    "pshuffle": lambda x, name: pshuffle(x, name, range(8)),
    "pbroadcast": lambda x, name: pbroadcast(x, name, 0),
    "axis_index": lambda x, name: axis_index(name),
    "psend": lambda x, name: psend(x, name, [(0, 1)]),
}


@pytest.mark.parametrize("name", [*CALLS_OVER_I, "axis_size"])
def test_unbound_axes_are_named(name):
    call = CALLS_OVER_I.get(name, lambda x, name: axis_size(name))
    with pytest.raises(NameError, match="'rows'"):
        call(X, "rows")
    with pytest.raises(NameError, match="'rows'.*in scope: 'i'"):
        vmap(lambda x: call(x, "rows"), axis_name="i")(X)
    assert vmap(lambda x: psum(x, "i"), axis_name="i")(X).shape == X.shape


@pytest.mark.parametrize("name", CALLS_OVER_I)
def test_an_axis_is_named_once(name):
    with pytest.raises(ValueError, match="named twice"):
        vmap(lambda x: CALLS_OVER_I[name](x, ("i", "i")), axis_name="i")(X)


@pytest.mark.parametrize("name", [n for n in CALLS_OVER_I if n.startswith(("p", "a"))][:7])
@pytest.mark.parametrize(
    "groups", [[[0, 1], [2, 3]], [[0] * 8], [range(4), range(4, 9)], [range(8), []], []]
)
def test_groups_hold_each_position_once(name, groups):
    with pytest.raises(ValueError, match="cover all indices exactly once"):
        vmap(lambda x: CALLS_OVER_I[name](x, "i", axis_index_groups=groups), axis_name="i")(X)


@pytest.mark.parametrize("name", ["all_gather", "psum_scatter", "all_to_all", "pswapaxes"])
def test_only_reductions_take_groups_of_several_sizes(name):
    groups = [range(5), range(5, 8)]
    with pytest.raises(ValueError, match=r"sizes \[5, 3\]"):
        vmap(lambda x: CALLS_OVER_I[name](x, "i", axis_index_groups=groups), axis_name="i")(X)


BAD = {
    "psum_scatter of 3 among 8": (lambda x: psum_scatter(x, "i"), "divided among the 8"),
    "tiled": (lambda x: psum_scatter(x, "i", tiled=True), "or a multiple"),
    "all_to_all of 3 among 8": (lambda x: all_to_all(x, "i", 0, 0), "divided among the 8"),
    "sources": (lambda x: ppermute(x, "i", [(0, 1), (0, 2)]), "unique sources"),
    "destinations": (lambda x: ppermute(x, "i", [(0, 1), (2, 1)]), "unique destinations"),
    "positions": (lambda x: ppermute(x, "i", [(0, 8)]), "position 8.*has 8 members"),
    "pairs": (lambda x: ppermute(x, "i", [(0, 1, 2)]), "pairs"),
    "permutation": (lambda x: pshuffle(x, "i", [0] * 8), "permutation"),
    "source": (lambda x: pbroadcast(x, "i", 8), "source=8"),
    "to": (lambda x: all_gather(x, "i", to="invariant"), "'invarying'"),
    "reduced": (lambda x: all_gather(x, "i", to="reduced"), "check_vma"),
    "groups of axes of arrays": (
        lambda x: psum(x, (0, "i"), axis_index_groups=[range(8)]),
        "leave out",
    ),
    "rows": (
        lambda x: ragged_all_to_all(x, gt(x, 0.0), ONE, ONE, ONE, ONE, axis_name="i"),
        "rows of one",
    ),
    "offsets": (
        lambda x: ragged_all_to_all(x, x, ONE * 1.0, ONE, ONE, ONE, axis_name="i"),
        "input_offsets must be integers",
    ),
    "entries": (lambda x: ragged_all_to_all(x, x, *[ONE[:7]] * 4, axis_name="i"), "has 7 entries"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments(what):
    call, words = BAD[what]
    for transform in (vmap, pmap):
        with pytest.raises(ValueError, match=words) as caught:
            transform(call, axis_name="i")(X)
        assert len(str(caught.value).splitlines()) <= 12


def test_sums_are_of_numbers():
    with pytest.raises(TypeError, match="bool"):
        vmap(lambda x: psum_scatter(gt(x, 0.0), "i", tiled=True), axis_name="i")(CUBE)
    with pytest.raises(TypeError, match="str"):
        vmap(lambda x: psum("a", "i"), axis_name="i")(X)


def test_primitives_outside_of_any_axis():
    with pytest.raises(NameError, match="'i'"):
        psum_p.bind(X, axes=("i",), axis_index_groups=None)
    with pytest.raises(NameError, match="'i'"):
        all_gather_p.bind(
            X,
            all_gather_dimension=0,
            axis_index_groups=None,
            axis_name=("i",),
            axis_size=8,
            tiled=False,
        )


def test_sending_is_for_gpus():
    send = lambda x: precv(psend(x, "i", [(0, 1)]), x, "i", [(0, 1)])
    with pytest.raises(NotImplementedError, match="only implemented on GPUs"):
        pmap(send, axis_name="i")(X)
    with pytest.raises(NotImplementedError, match="ppermute"):
        vmap(send, axis_name="i")(X)
    assert pmap(lambda x: psum(x, "i"), axis_name="i")(X).shape == X.shape


def test_psend_and_precv_are_deprecated():
    transfer = lambda x: precv(psend(x, "i", [(0, 1)]), x, "i", [(0, 1)])
    with pytest.warns(DeprecationWarning) as record:
        make_jaxpr(transfer, axis_env=[("i", 2)])(np.ones(3, np.float32))
    assert [str(w.message).split()[0] for w in record] == ["lax.psend", "lax.precv"]
