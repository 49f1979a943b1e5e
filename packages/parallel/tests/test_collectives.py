"""Collectives over devices and over batches."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import make_jaxpr
from ricci_lax import mul, reduce_sum, sin
from ricci_parallel import all_gather, all_to_all, axis_index, pmap, pmax, pmean, pmin, psum

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


def test_sum_of_a_python_number_is_known_while_tracing():
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


@pytest.mark.parametrize("collective", [psum, pmean, pmax, axis_index])
def test_unbound_axis_is_named(collective):
    args = ("rows",) if collective is axis_index else (X, "rows")
    with pytest.raises(NameError, match="'rows'"):
        collective(*args)


def test_maximum_explains_that_it_has_no_derivative():
    f = vmap(lambda x: pmax(x, "i"), axis_name="i")
    with pytest.raises(NotImplementedError, match="psum"):
        make_jaxpr(
            grad(lambda x: reduce_sum(pmap(lambda y: pmax(y, "i"), axis_name="i")(x), (0, 1)))
        )(X)
    assert f(X).shape == X.shape


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
        lambda x: all_gather(x, "i", axis=3, tiled=True),
        lambda x: all_gather(x, "i", axis=-5),
        lambda x: all_to_all(x, "i", 3, 0),
        lambda x: all_to_all(x, "i", 0, -4, tiled=True),
    ],
)
def test_axes_out_of_range_are_refused(collective):
    with pytest.raises(ValueError, match="axis -?[345] is out of range"):
        vmap(collective, axis_name="i")(CUBE)
