"""Pullbacks as values: the requested cotangents, their residuals, and calls of them."""

import re

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.ad import DidntWant, DontWant, GradValue
from ricci.sharding import PartitionSpec as P
from ricci.tree_util import tree_leaves

W = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-2.0, 1.0, 0.75]], np.float32)
X = np.array([0.3, -1.2, 1.7], np.float32)
CT = np.array([1.0, 0.5, -2.0], np.float32)


@ricci.custom_vjp
def ruled(w, x):
    return w @ x


ruled.defvjp(
    lambda w, x: (w @ x, (w, x)), lambda residuals, ct: (jnp.outer(ct, residuals[1]), ct @ W)
)


@ricci.custom_jvp
def pushed(w, x):
    return w @ x


pushed.defjvp(
    lambda primals, ts: (primals[0] @ primals[1], ts[0] @ primals[1] + primals[0] @ ts[1])
)


def written(w, x):
    ref = ricci.new_ref(jnp.zeros(3))
    ref[...] = x
    ref[...] += w @ x
    return jnp.sin(ref[...])


FUNCTIONS = {
    "product": lambda w, x: jnp.sin(w @ x),
    "layers": lambda w, x: jnp.tanh(w @ jnp.tanh(w @ x)),
    "jit": ricci.jit(lambda w, x: jnp.sin(w @ x) + x),
    "cond": lambda w, x: lax.cond(x[0] > 0, lambda w, x: jnp.sin(w @ x), lambda w, x: x, w, x),
    "scan": lambda w, x: lax.scan(lambda x, _: (jnp.sin(w @ x), None), x, None, length=3)[0],
    "checkpoint": ricci.checkpoint(lambda w, x: jnp.sin(w @ jnp.sin(w @ x))),
    "custom_vjp": lambda w, x: jnp.sin(ruled(w, x)),
    "custom_jvp": lambda w, x: jnp.sin(pushed(w, x)),
    "vmap": lambda w, x: ricci.vmap(jnp.dot, (0, None))(w, x),
    "argument as result": lambda w, x: x,
    "references": written,
    "integers": lambda w, x: x[jnp.argsort(x)] * w[0],
}
REQUESTS = [(GradValue(), DontWant()), (DontWant(), GradValue()), (DontWant(), DontWant())]


def products(fun, *args):
    return len(re.findall(r"dot_general\[", str(ricci.make_jaxpr(fun)(*args))))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_pullback_returns_the_requested_cotangents(name, wrap):
    fun = FUNCTIONS[name]
    every = ricci.vjp(fun, W, X)[1](CT)
    for request in REQUESTS:
        some = wrap(lambda w, x, ct, r=request: ricci.vjp(fun, w, x)[1].with_refs(*r)(ct))(W, X, CT)
        for asked, ct, expected in zip(request, some, every, strict=True):
            if type(asked) is DontWant:
                assert ct == DidntWant()
            else:
                np.testing.assert_allclose(ct, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("product", [1, 1, 0]),
        ("layers", [3, 2, 0]),
        ("jit", [1, 1, 0]),
        ("cond", [1, 1, 0]),
        ("custom_jvp", [1, 1, 0]),
    ],
)
def test_cotangents_that_are_not_wanted_are_not_computed(name, expected):
    pull = ricci.vjp(ricci.jit(FUNCTIONS[name]), W, X)[1]
    assert products(pull, CT) == {"layers": 4}.get(name, 2)
    assert [products(pull.with_refs(*request), CT) for request in REQUESTS] == expected


def test_cotangents_that_are_not_wanted_are_not_computed_on_shards():
    mesh = ricci.make_mesh((1,), ("i",))
    fun = ricci.shard_map(
        lambda w, x: jnp.sin(w @ x), mesh=mesh, in_specs=(P(), P()), out_specs=P()
    )
    pull = ricci.vjp(fun, W, X)[1]
    assert [products(pull.with_refs(*request), CT) for request in REQUESTS] == [1, 1, 0]
    for request, expected in zip(REQUESTS, pull(CT), strict=False):
        (ct,) = [c for c in pull.with_refs(*request)(CT) if type(c) is not DidntWant]
        np.testing.assert_allclose(ct, expected, rtol=1e-5)


@pytest.mark.parametrize("with_refs", [False, True])
def test_jit_takes_a_pullback(with_refs):
    pullback = ricci.vjp(jnp.sin, 4.0)[1]
    compiled = ricci.jit(pullback.with_refs(GradValue()) if with_refs else pullback)
    for _ in range(2):
        np.testing.assert_allclose(compiled(1.0)[0], np.cos(4.0), rtol=1e-6)
        ricci.clear_caches()


def test_a_pullback_has_the_tree_structures_of_its_function():
    _, pullback = ricci.vjp(lambda a, b: {"y": a * b["x"]}, 2.0, {"x": 3.0})
    assert pullback.in_tree == ricci.tree.structure((2.0, {"x": 3.0}))
    assert pullback.out_tree == ricci.tree.structure({"y": 6.0})


def test_a_pullback_tells_which_results_depend_on_its_arguments():
    fun = lambda x: (x, 3, np.int32(2), x * 0, lax.stop_gradient(x))
    assert ricci.vjp(fun, 2.0)[1].out_nzs == (True, False, False, True, False)


def test_replace_copies_a_pullback_with_other_residuals():
    pull = ricci.vjp(lambda a, b: jnp.sin(a["x"]) * b, {"x": X}, CT)[1]
    before = pull(CT)
    doubled = pull.replace(opaque_residuals=[2 * r for r in pull.opaque_residuals])
    for ct, expected in zip(tree_leaves(doubled(CT)), tree_leaves(before), strict=True):
        assert not np.array_equal(ct, expected)
    for again in (pull, pull.replace(), doubled.replace(opaque_residuals=pull.opaque_residuals)):
        for ct, expected in zip(tree_leaves(again(CT)), tree_leaves(before), strict=True):
            np.testing.assert_array_equal(ct, expected)
    other = ricci.vjp(jnp.multiply, CT, X)[1].replace(args_res=[3 * CT, 2 * X])
    np.testing.assert_array_equal(other(CT)[0], CT * (2 * X))
    tree = ricci.tree.structure(((0, 0),))
    assert ricci.vjp(jnp.multiply, X, X)[1].replace(in_tree=tree).in_tree == tree
    with pytest.raises(TypeError, match="no field 'color'"):
        pull.replace(color=1)
    with pytest.raises(ValueError, match="opaque_residuals needs"):
        pull.replace(opaque_residuals=[])


SAVEABLE = [
    (True, "AAA"),
    (False, "---"),
    ((True, False), "AA-"),
    (({"a": True, "b": False}, True), "A-A"),
    (((True, False), False), "A--"),
    (((False, True), True), "-AA"),
]


@pytest.mark.parametrize(("flags", "expected"), SAVEABLE)
def test_saveable_args_is_a_prefix_or_nested_tuples(flags, expected):
    pull = ricci.vjp(lambda p, y: p["a"] * p["b"] * y, {"a": X, "b": CT}, W, saveable_args=flags)[1]
    record, y = pull.args_res
    a, b = record["a"], record["b"]
    assert "".join("A" if hasattr(v, "shape") else "-" for v in (a, b, y)) == expected


@pytest.mark.parametrize(
    "flags",
    [
        [True, False],
        ((True,), False),
        None,
        (True,),
        {"a": 1},
        (1, 0),
        (True, (False,)),
        ([True, False], True),
        (jnp.bool_(True), False),
    ],
)
def test_saveable_args_of_another_structure_or_type_are_refused(flags):
    with pytest.raises(ValueError, match="saveable_args"):
        ricci.vjp(lambda p, y: p["a"] * p["b"] * y, {"a": X, "b": CT}, W, saveable_args=flags)
