"""``pmap``: axes, structures, arguments that are not mapped, and its errors."""

from functools import partial

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_lax import add, mul
from ricci_parallel import pmap, psum
from ricci_xla import P, devices, jit

X = np.arange(24, dtype=np.float32).reshape(8, 3)


def test_results_are_spread_over_the_devices():
    y = pmap(lambda x: mul(x, 2.0), axis_name="i")(X)
    np.testing.assert_array_equal(y, 2 * X)
    assert [shard.device for shard in y.addressable_shards] == devices()[:8]
    assert all(shard.data.shape == (1, 3) for shard in y.addressable_shards)


@pytest.mark.parametrize(("in_axis", "out_axis"), [(0, 0), (1, 0), (0, 1), (-1, -1)])
def test_axes(in_axis, out_axis):
    y = pmap(lambda row: add(row, 1.0), in_axes=in_axis, out_axes=out_axis)(
        np.moveaxis(X, 0, in_axis)
    )
    np.testing.assert_array_equal(y, np.moveaxis(X + 1, 0, out_axis))


def test_prefix_trees_of_axes():
    f = pmap(lambda d, w: {"y": add(d["a"], d["b"]), "w": w}, in_axes=({"a": 0, "b": None}, None))
    out = f({"a": X, "b": X[0]}, np.float32(3))
    np.testing.assert_array_equal(out["y"], X + X[0])
    np.testing.assert_array_equal(out["w"], np.full(8, 3.0))


def test_result_taken_from_one_device():
    y = pmap(lambda x: psum(x, "i"), axis_name="i", out_axes=None)(X)
    np.testing.assert_array_equal(y, X.sum(0))


def test_static_argument():
    f = pmap(lambda x, n: mul(x, float(n)), static_broadcasted_argnums=1)
    np.testing.assert_array_equal(f(X, 3), 3 * X)
    np.testing.assert_array_equal(f(X, 4), 4 * X)


def test_chosen_devices():
    chosen = devices()[2:4]
    y = pmap(lambda x: x, devices=chosen)(X[:2])
    assert y.sharding.device_set == set(chosen)


def test_donated_argument_is_given_away():
    x = pmap(lambda x: add(x, 0.0))(X)
    y = pmap(lambda x: add(x, 1.0), donate_argnums=0)(x)
    np.testing.assert_array_equal(y, X + 1)
    assert x.is_deleted()


def test_inside_jit_and_vmap():
    f = pmap(lambda x: mul(x, float(psum(1, "i"))), axis_name="i")
    np.testing.assert_array_equal(jit(lambda x: add(f(x), 1.0))(X), 8 * X + 1)
    np.testing.assert_array_equal(vmap(f)(np.stack([X, X])), 8 * np.stack([X, X]))


def test_second_call_does_not_trace():
    traces = []
    f = pmap(lambda x: (traces.append(1), x)[1])
    f(X)
    f(X + 1)
    assert len(traces) == 1


def test_more_slices_than_devices():
    with pytest.raises(ValueError, match="requires 100 replicas.*only 8 XLA devices"):
        pmap(lambda x: x)(np.ones(100, np.float32))
    np.testing.assert_array_equal(pmap(lambda x: x)(X), X)


def test_sizes_that_differ_are_named():
    with pytest.raises(ValueError, match=r"first has size 8(.|\n)*second has size 4"):
        pmap(lambda first, second: add(first, second))(X, X[:4])


def test_scalar_argument_cannot_be_mapped():
    with pytest.raises(ValueError, match="argument scale.*in_axes"):
        pmap(lambda x, scale: mul(x, scale))(X, 2.0)


def test_pmap_without_mapped_arguments_asks_for_axis_size():
    with pytest.raises(ValueError, match="axis_size"):
        pmap(lambda x: x, in_axes=None)(X)


@pytest.mark.parametrize(("rows", "cols"), [(4, 2), (1, 8), (8, 1)])
def test_within_another_pmap(rows, cols):
    x = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)

    @partial(pmap, axis_name="rows")
    @partial(pmap, axis_name="cols", in_axes=(0, None), out_axes=(0, 0, None))
    def sums(x, c):
        return psum(x, "rows"), add(psum(x, "cols"), c), psum(x, ("rows", "cols"))

    over_rows, over_cols, total = sums(x, np.arange(rows, dtype=np.float32))
    np.testing.assert_array_equal(over_rows, np.broadcast_to(x.sum(0), x.shape))
    expected = x.sum(1, keepdims=True) + np.arange(rows)[:, None]
    np.testing.assert_array_equal(over_cols, np.broadcast_to(expected, x.shape))
    np.testing.assert_array_equal(total, np.full(rows, x.sum()))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_axes": "a"}, TypeError, "in_axes has the entry 'a'"),
        ({"in_axes": ({"u": 0.5},)}, TypeError, "entry 0.5 of type float"),
        ({"out_axes": (0, "b")}, TypeError, "out_axes has the entry 'b'"),
        ({"axis_name": ("a", "b")}, ValueError, "is a tuple"),
    ],
)
def test_pmap_checks_axes_when_it_wraps_a_function(options, error, message):
    with pytest.raises(error, match=message):
        pmap(lambda x: x, **options)


def test_arguments_that_are_not_functions_are_refused():
    with pytest.raises(TypeError, match="pmap expects a callable"):
        pmap(3)


@pytest.mark.parametrize("out_axis", [3, -4])
def test_axis_of_a_result_out_of_bounds_is_named(out_axis):
    with pytest.raises(ValueError, match=r"out of bounds for result\['y'\]\[0\].*rank 2"):
        pmap(lambda x: {"y": [x]}, out_axes={"y": out_axis})(X)


def test_static_arguments_are_passed_by_position():
    f = pmap(lambda x, n=2: mul(x, float(n)), static_broadcasted_argnums=1)
    for call in (lambda: f(X), lambda: f(X, n=3)):
        with pytest.raises(ValueError, match=r"static_broadcasted_argnums=\(1,\).*1 positional"):
            call()
    np.testing.assert_array_equal(f(X, 3), 3 * X)
    last = pmap(lambda x, n: mul(x, float(n)), static_broadcasted_argnums=-1)
    np.testing.assert_array_equal(last(X, 3), 3 * X)


def test_global_arg_shapes_are_checked():
    f = pmap(lambda x, d: (x, d["k"]), in_axes=(0, None), global_arg_shapes=((3,), None))
    np.testing.assert_array_equal(f(X, {"k": 1.0})[0], X)
    wrong = pmap(lambda x: x, global_arg_shapes=((4,),))
    with pytest.raises(ValueError, match=r"\(4,\) for argument x, whose slices have shape \(3,\)"):
        wrong(X)
    with pytest.raises(ValueError, match="has 2 entries, but the arguments have 1"):
        pmap(lambda x: x, global_arg_shapes=(None, None))(X)


def test_pmap_sets_wrapped():
    assert (pmap(abs).__name__, pmap(abs).__wrapped__) == ("abs", abs)


def test_an_axis_without_a_name_is_called_as_in_jax():
    assert pmap(lambda x: x)(X).sharding.spec == P("_internal_pmap_axis_name")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pmap(lambda x: x, devices=devices()[:2] * 2)(X[:4]), "has a device twice"),
        (lambda: pmap(lambda x: x)(np.ones((0, 3), np.float32)), "mapped axis has size 0"),
        (lambda: pmap(lambda x: x, axis_size=-1, in_axes=None)(1.0), "mapped axis has size -1"),
    ],
)
def test_duplicate_devices_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
