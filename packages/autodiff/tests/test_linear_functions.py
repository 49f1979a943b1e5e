"""Linear functions that ``linearize`` and ``vjp`` return, and the splitting of calls."""

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

X = np.array([0.3, -1.2, 1.7], np.float32)
Y = np.array([2.0, 0.5, -1.0], np.float32)
T = np.array([1.0, 0.5, -2.0], np.float32)
TRANSFORMS = [ad.linearize, ad.vjp]


def product(toy):
    return lambda x, y: toy.mul(toy.sin(x), y)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_leaves_are_the_residuals(toy, transform):
    _, linear = transform(toy.sin, X)
    (residual,) = tree_leaves(linear)
    np.testing.assert_allclose(residual, np.cos(X), rtol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_unflatten_of_flatten_is_the_same_function(toy, transform):
    _, linear = transform(product(toy), X, Y)
    leaves, tree = tree_flatten(linear)
    again = tree_unflatten(tree, leaves)
    args = (T, T) if transform is ad.linearize else (T,)
    for mine, its in zip(tree_leaves(again(*args)), tree_leaves(linear(*args)), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert tree_flatten(again)[1] == tree


def test_mapping_the_residuals_maps_the_function(toy):
    _, pull = ad.vjp(toy.sin, X)
    doubled = tree_map(lambda r: r * 2, pull)
    np.testing.assert_allclose(doubled(T)[0], 2 * T * np.cos(X), rtol=1e-6)


def test_repr_shows_the_types_of_the_residuals(toy):
    assert repr(ad.vjp(lambda x: toy.neg(x), X)[1]) == "Pullback(residuals=[])"


@pytest.mark.parametrize(
    ("in_nzs", "expected"),
    [
        (None, (T * Y * np.cos(X), T * np.sin(X))),
        (True, (T * Y * np.cos(X), T * np.sin(X))),
        ((False, True), (0 * X, T * np.sin(X))),
        ((True, False), (T * Y * np.cos(X), 0 * X)),
    ],
)
def test_in_nzs_selects_the_differentiated_arguments(toy, in_nzs, expected):
    _, pull = ad.vjp(product(toy), X, Y, in_nzs=in_nzs)
    for ct, expected_ct in zip(pull(T), expected, strict=True):
        np.testing.assert_allclose(ct, expected_ct, rtol=1e-6)
    _, push = ad.linearize(product(toy), X, Y, in_nzs=in_nzs)
    np.testing.assert_allclose(push(T, T), sum(expected), rtol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_in_nzs_must_be_a_prefix_of_the_arguments(toy, transform):
    with pytest.raises(ValueError, match="in_nzs does not match"):
        transform(product(toy), X, Y, in_nzs=[True, False])


def test_reduce_axes_sums_cotangents_over_named_axes(toy, monkeypatch):
    summed = []
    sum_over = lambda kind, x, names: summed.append((kind, names)) or x * 2
    monkeypatch.setattr(ir.axis_reduction, "call", sum_over)
    _, pull = ad.vjp(toy.neg, X, reduce_axes=("i",))
    np.testing.assert_array_equal(pull(T)[0], -2 * T)
    transposed = ad.linear_transpose(toy.neg, X, reduce_axes=["j"])
    np.testing.assert_array_equal(transposed(T)[0], -2 * T)
    assert summed == [("sum", ("i",)), ("sum", ("j",))]


@pytest.mark.parametrize("weak", [True, False])
def test_python_scalar_tangents_take_the_type_of_their_primal(toy, weak):
    x = 2.0 if weak else np.float32(2.0)

    def results():
        return [
            ad.jvp(toy.neg, (x,), (1.0,))[1],
            ad.linearize(toy.neg, x)[1](1.0),
            ad.linear_transpose(toy.neg, x)(1.0)[0],
            ad.vjp(toy.neg, x)[1](1.0)[0],
        ]

    assert {aval.weak_type for aval in ir.make_jaxpr(results)().out_avals} == {weak}


def with_tangent(toy, program):
    """Make a primitive, sine, whose jvp rule calls ``program`` with the operand and the tangent."""
    return toy.primitive(
        "sine",
        lambda x: x,
        lambda primals, tangents: (toy.sin(*primals), program(*primals, *tangents)),
        ad.not_linear,
    )


def test_split_call_computes_its_nonlinear_part_outside_of_the_tape(toy):
    p = with_tangent(toy, toy.jit(lambda x, t: toy.mul(toy.cos(x), t)))
    jaxpr = ir.make_jaxpr(lambda x: ad.linearize(lambda x: p.bind(x), x)[1](T))(X)
    calls = [eqn.params["jaxpr"] for eqn in jaxpr.eqns if eqn.primitive.name == "jit"]
    assert [[e.primitive.name for e in call.eqns] for call in calls] == [["cos"], ["mul"]]


def test_split_call_splits_nested_calls(toy):
    inner = toy.jit(lambda x, t: toy.mul(toy.cos(x), t))
    p = with_tangent(toy, toy.jit(lambda x, t: toy.neg(inner(x, t))))
    jaxpr = ir.make_jaxpr(lambda x: ad.vjp(lambda x: p.bind(x), x)[1](T))(X)
    assert str(jaxpr).count("cos") == 1


def test_a_call_without_a_nonlinear_part_is_recorded_unsplit(toy):
    p = with_tangent(toy, toy.jit(lambda x, t: toy.mul(x, t)))
    jaxpr = ir.make_jaxpr(lambda x: ad.linearize(lambda x: p.bind(x), x)[1](T))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "jit"]
