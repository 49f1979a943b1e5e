"""Laws of vmap on toy primitives: it is the loop over examples, for every placement of axes."""

import itertools

import numpy as np
import pytest

import ricci_batching as rb
import ricci_ir as ir


def examples(*shape):
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape) / 7


def loop(fun, args, dims, size):
    """The definition of vmap: ``fun`` of each example, stacked."""
    rows = [
        fun(*(x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True)))
        for i in range(size)
    ]
    return np.stack(rows)


FUNCTIONS = {
    "sin": (lambda t, x: t.sin(x), [(2, 3)]),
    "mul": (lambda t, x, y: t.mul(x, y), [(2, 3), (2, 3)]),
    "mul by scalar": (lambda t, x, y: t.mul(x, y), [(2, 3), ()]),
    "scalar times": (lambda t, x, y: t.mul(x, y), [(), (2, 3)]),
    "size one": (lambda t, x, y: t.mul(x, y), [(2, 1), (2, 3)]),
    "sum": (lambda t, x: t.sum(x, 1), [(2, 3)]),
    "sum of product": (lambda t, x, y: t.sum(t.mul(x, y), 0), [(2, 3), (2, 3)]),
    "leading": (lambda t, a, x: t.matvec(a, x), [(2, 3), (3,)]),
    "several results": (lambda t, x, y: t.mul(*t.pair(t.sin(x), y)), [(2,), (2,)]),
}
CASES = [
    (name, dims)
    for name, (_, shapes) in FUNCTIONS.items()
    for dims in itertools.product(*[(None, *range(len(shape) + 1)) for shape in shapes])
    if any(d is not None for d in dims)
]


@pytest.mark.parametrize(("name", "dims"), CASES)
def test_vmap_equals_a_loop_for_every_batch_dimension(toy, name, dims):
    function, shapes = FUNCTIONS[name]
    fun = lambda *args: function(toy, *args)
    args = [
        examples(*shape) if d is None else examples(*shape[:d], 4, *shape[d:])
        for shape, d in zip(shapes, dims, strict=True)
    ]
    expected = loop(fun, args, dims, 4)
    for out_axis in range(expected.ndim):
        result = rb.vmap(fun, in_axes=dims, out_axes=out_axis)(*args)
        np.testing.assert_allclose(result, np.moveaxis(expected, 0, out_axis), rtol=1e-6)


def test_negative_in_axes_count_from_the_end(toy):
    x = examples(2, 3)
    result = rb.vmap(toy.sin, in_axes=-1, out_axes=-1)(x)
    np.testing.assert_array_equal(result, np.sin(x))
    assert rb.vmap(toy.sin, in_axes=-2, out_axes=-1)(x).shape == (3, 2)


AXES = [
    (0, {"a": (4, 2), "b": (4,)}, (4,)),
    ([0, 0], {"a": (4, 2), "b": (4,)}, (4,)),
    ((0, None), {"a": (4, 2), "b": (4,)}, ()),
    (({"a": 1, "b": 0}, None), {"a": (2, 4), "b": (4,)}, ()),
    (({"a": None, "b": 0}, -1), {"a": (2,), "b": (4,)}, (4,)),
]


@pytest.mark.parametrize(("in_axes", "p", "y"), AXES)
def test_in_axes_is_a_prefix_of_the_arguments(toy, in_axes, p, y):
    seen = []

    def spy(p, y):
        seen.append((p["a"].shape, p["b"].shape, np.shape(y)))
        return p["b"]

    p = {key: examples(*shape) for key, shape in p.items()}
    np.testing.assert_array_equal(rb.vmap(spy, in_axes=in_axes)(p, examples(*y)), p["b"])
    assert seen == [((2,), (), ())]


def test_keyword_arguments_are_mapped_on_axis_0(toy):
    result = rb.vmap(lambda x, y: toy.mul(x, y), in_axes=None)(2.0, y=examples(3))
    np.testing.assert_array_equal(result, 2 * examples(3))


def test_out_axes_is_a_prefix_of_the_result(toy):
    fun = rb.vmap(
        lambda x: {"a": toy.sin(x), "b": (x, np.float32(2))}, out_axes={"a": 1, "b": (0, None)}
    )
    result = fun(examples(4, 3))
    assert result["a"].shape == (3, 4)
    assert result["b"][0].shape == (4, 3) and result["b"][1] == 2


def test_unbatched_results_are_repeated(toy):
    result = rb.vmap(lambda x: np.float32(2))(examples(4))
    np.testing.assert_array_equal(result, np.full(4, 2, np.float32))


@pytest.mark.parametrize("in_axes", [None, (), (None,)])
def test_axis_size_replaces_a_mapped_argument(toy, in_axes):
    args = () if in_axes == () else (1.0,)
    assert rb.vmap(lambda *a: 1.0, in_axes=in_axes, axis_size=3)(*args).shape == (3,)


def test_nested_vmaps_map_several_axes(toy):
    outer_product = rb.vmap(rb.vmap(toy.mul, in_axes=(None, 0)), in_axes=(0, None))
    x, y = examples(3), examples(4)
    np.testing.assert_allclose(outer_product(x, y), np.outer(x, y))


def test_operations_without_batched_operands_are_unchanged(toy):
    calls = []
    p = toy.primitive("p", lambda x: x, lambda *args: calls.append(args))
    with ir.set_trace(ir.JaxprTrace(ir.eval_trace)):
        rb.batch_flat(lambda x: [p.bind(2.0)], rb.Axis(3), [examples(3)], [0])
    assert calls == []


def test_named_axes(toy):
    fun = rb.vmap(lambda x: toy.mul(x, toy.psum(x, "i")), axis_name="i")
    x = examples(3)
    np.testing.assert_allclose(fun(x), x * x.sum(), rtol=1e-6)
    assert ir.axis_sizes.value == {}


def test_nested_named_axes(toy):
    def fun(x):
        return toy.psum(toy.psum(x, "i"), "j")

    x = examples(2, 3)
    result = rb.vmap(rb.vmap(fun, axis_name="j"), axis_name="i")(x)
    np.testing.assert_allclose(result, np.full((2, 3), x.sum()), rtol=1e-6)


def test_sum_match_sums_results_that_differ_between_examples(toy):
    fun = lambda x, y: (toy.sin(x), y, x)
    summed = rb.vmap(fun, in_axes=(0, None), out_axes=(None, None, 0), sum_match=True)
    total, same, mapped = summed(X, X[0])
    np.testing.assert_allclose(total, np.sin(X).sum(0), rtol=1e-5)
    np.testing.assert_array_equal(same, X[0])
    np.testing.assert_array_equal(mapped, X)


def test_collectives_on_unbatched_values_see_the_named_axis(toy):
    result = rb.vmap(lambda x: toy.psum(np.float32(2), "i"), axis_name="i", out_axes=None)
    assert result(examples(3)) == 6


def test_axis_size_is_available_inside_vmap(toy):
    result = rb.vmap(lambda x: toy.mul(x, np.float32(ir.axis_size("i"))), axis_name="i")
    np.testing.assert_array_equal(result(examples(3)), 3 * examples(3))


def test_batch_jaxpr_equals_vmap_and_is_cached(toy):
    jaxpr = ir.make_jaxpr(lambda x, y: [toy.mul(x, y), y])(examples(3), 2.0)
    batched, out_dims = rb.batch_jaxpr(jaxpr, rb.Axis(4), [1, None])
    ir.check_jaxpr(batched)
    assert out_dims == [1, None]
    assert rb.batch_jaxpr(jaxpr, rb.Axis(4), [1, None])[0] is batched
    forced, out_dims = rb.batch_jaxpr(jaxpr, rb.Axis(4), [1, None], [0, 0])
    assert out_dims == [0, 0]
    assert [aval.shape for aval in forced.out_avals] == [(4, 3), (4,)]


def test_jaxpr_of_a_vmap(toy):
    jaxpr = ir.make_jaxpr(rb.vmap(lambda x, y: toy.mul(toy.sin(x), y), in_axes=(0, None)))(
        examples(3), 2.0
    )
    assert [str(eqn) for eqn in jaxpr.eqns] == ["a:f32[3] = sin b", "a:f32[3] = mul b c"]


X = np.ones(3, np.float32)


def f(x, y=None):
    return x


ERRORS = {
    "sizes": (
        lambda: rb.vmap(f)({"k": X}, np.ones((4, 2), np.float32)),
        ValueError,
        "vmap: the mapped axes must have the same size",
    ),
    "axis_size": (
        lambda: rb.vmap(f, axis_size=4)(X),
        ValueError,
        "(?s)x has size 3.*axis_size is 4",
    ),
    "nothing mapped": (
        lambda: rb.vmap(f, in_axes=None)(X),
        ValueError,
        "vmap: no argument is mapped, since in_axes is",
    ),
    "no arguments": (
        lambda: rb.vmap(lambda: 1.0)(),
        ValueError,
        "vmap: no argument is mapped, since in_axes is",
    ),
    "rank": (
        lambda: rb.vmap(f, in_axes=(None, 1))(1.0, {"k": X}),
        ValueError,
        "vmap: in_axes maps over axis 1 of argument y",
    ),
    "scalar": (lambda: rb.vmap(f)(1.0), ValueError, "To use the same value for all examples"),
    "entries": (
        lambda: rb.vmap(f, in_axes=(0, 0))(X),
        ValueError,
        "Give one entry for each, or an int for all",
    ),
    "in_axes type": (
        lambda: rb.vmap(f, in_axes="a"),
        TypeError,
        "in_axes must be an int, None, or a tuple .*got 'a'",
    ),
    "in_axes leaf": (lambda: rb.vmap(f, in_axes=("a",))(X), TypeError, "'a'"),
    "in_axes no prefix": (lambda: rb.vmap(f, in_axes=((0, 1),))(X), ValueError, "vmap in_axes"),
    "out_axes no prefix": (lambda: rb.vmap(f, out_axes=(0, 0))(X), ValueError, "vmap out_axes"),
    "out_axes None": (
        lambda: rb.vmap(lambda x: {"k": x}, out_axes=None)(X),
        ValueError,
        r"out_axes=None for output\['k'\]",
    ),
    "out_axes range": (
        lambda: rb.vmap(f, out_axes=2)(X),
        ValueError,
        "out_axes=2 is out of bounds for output, of dimension",
    ),
    "argument": (lambda: rb.vmap(f)({"k": "a"}), TypeError, r"argument x\['k'\].*'a'"),
    "result": (lambda: rb.vmap(lambda x: "a")(X), TypeError, "'a'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(toy, name):
    call, kind, message = ERRORS[name]
    with pytest.raises(Exception, match=message) as caught:
        call()
    assert caught.type is kind
    assert len(str(caught.value).split("\n")) <= 12
    assert ir.context.trace is ir.eval_trace


def test_many_inconsistent_arguments_are_listed_in_short(toy):
    with pytest.raises(ValueError, match="and 4 more") as caught:
        rb.vmap(f)([np.ones(n + 1, np.float32) for n in range(12)])
    assert len(str(caught.value).split("\n")) <= 12


@pytest.mark.parametrize(("axis", "shape"), [(0, (4,)), (1, (3,)), (-1, (3,)), (None, (3, 4))])
def test_descriptions_of_arrays_are_mapped_like_the_arrays(axis, shape):
    described = ir.ShapeDtypeStruct((3, 4), np.dtype("float32"))
    seen = []
    mapped = rb.vmap(lambda x, s: (seen.append((s.shape, s.dtype)), x)[1], in_axes=(0, axis))
    x = np.ones(4 if axis in (1, -1) else 3, np.float32)
    np.testing.assert_array_equal(mapped(x, described), x)
    assert seen == [(shape, np.dtype("float32"))]


def test_descriptions_of_arrays_set_the_size_of_the_axis():
    described = ir.ShapeDtypeStruct((3, 4), np.dtype("float32"))
    constant = rb.vmap(lambda s: np.float32(s.ndim), out_axes=None)
    assert constant(described) == 1.0
    with pytest.raises(ValueError, match="s has size 3 along axis 0"):
        rb.vmap(lambda x, s: x)(np.ones(2, np.float32), described)
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        rb.vmap(lambda s: s)(described)


def test_unsupported_rules_raise_with_their_reason(toy):
    p = toy.primitive("p", lambda x: x, ir.unsupported("p is global"))
    with pytest.raises(NotImplementedError, match="batch of p: p is global"):
        rb.vmap(p.bind)(X)


def test_messages_name_arguments_where_a_class_is_registered():
    class Pair:
        pass

    rb.register_vmappable(Pair, int, int, lambda *_: None, lambda *_: None, None)
    try:
        with pytest.raises(ValueError, match="axis 1 of argument y"):
            rb.vmap(lambda x, y: x, in_axes=(0, 1))(np.ones(3), np.ones(3))
        with pytest.raises(ValueError, match=r"out_axes=None for output\['k'\]"):
            rb.vmap(lambda x: {"k": x}, out_axes=None)(np.ones(3))
    finally:
        rb.unregister_vmappable(Pair)
