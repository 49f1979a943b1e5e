"""The results of ``linearize`` and ``vjp``, for programs that read and change jaxprs."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci.extend.core import jaxpr_as_fun
from ricci.tree_util import Partial
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

X = jnp.arange(1.0, 7.0).reshape(2, 3)
W = jnp.ones((3, 2))


def layer(x, w):
    return jnp.sin(x) @ w


@pytest.mark.parametrize("run", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_linearize_returns_a_partial_whose_program_can_be_run(run):
    _, f = run(lambda x, w: ricci.linearize(layer, x, w))(X, W)
    assert isinstance(f, Partial)
    program = f.func.args[0]
    assert str(program) == str(f.func.jaxpr)
    (residuals,) = f.args
    assert ricci.tree.leaves(f) == list(residuals)
    (tangent,) = jaxpr_as_fun(program)(*residuals, X, W)
    np.testing.assert_allclose(tangent, f(X, W), rtol=1e-6)
    np.testing.assert_allclose(tangent, ricci.jvp(layer, (X, W), (X, W))[1], rtol=1e-6)


def test_a_linear_function_passes_through_programs():
    _, f = ricci.linearize(jnp.sin, X)
    np.testing.assert_array_equal(ricci.jit(lambda g, t: g(t))(f, X), f(X))
    doubled = ricci.tree.map(lambda r: 2 * r, f)
    np.testing.assert_allclose(doubled(X), 2 * f(X), rtol=1e-6)
    np.testing.assert_allclose(ricci.vmap(f)(jnp.stack([X, X]))[1], f(X), rtol=1e-6)
    _, zero = ricci.linearize(lambda x: jnp.zeros(2), X)
    assert zero(X).tolist() == [0.0, 0.0]


PULLBACKS = """
import jax
def residuals(f):
    return [type(r).__name__ if not hasattr(r, 'shape') else r for r in f.args_res]
def run(x, w, **options):
    y, f = jax.vjp(lambda x, w: jnp.sin(x) @ w, x, w, **options)
    return y, f
"""


# Arguments of one trial: trees that hold ``x`` and its double.
TREES = [
    "({'w': x, 'u': x + x},)",
    "([x, x + x], x)",
    "((x, None), x)",
    "({}, x)",
    "(None, x)",
    "({'k': [x, {'z': x + x, 'n': None}]}, x)",
    "(jax.tree_util.Partial(jnp.dot, x), x)",
    "(__import__('collections').OrderedDict(b=x, a=[x]), x)",
    "()",
]
SEEN = """
def seen(f, kept):
    absent = lambda r: type(r).__name__ if 'Not' in type(r).__name__ else r
    is_leaf = lambda r: not isinstance(r, list | tuple | dict)
    shown = jax.tree.map(absent, f.args_res, is_leaf=is_leaf)
    nesting = str(jax.tree.structure(shown)).replace(' ', '')
    return nesting, [r for r in jax.tree.leaves(shown) if hasattr(r, 'shape')], kept
def g(*trees):
    leaves = jax.tree.leaves(trees)
    return sum([jnp.sin(r) * (i + 1) for i, r in enumerate(leaves[1:])], 0.0) * sum(leaves[:1])
"""


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("run", ["", "jax.jit"])
def test_residuals_are_nested_as_the_arguments(trees, kept, run):
    pull = f"{run}(lambda *a: jax.vjp(g, *a, saveable_args={kept})[1])(*{trees})"
    assert_same(f"import jax\n{SEEN}seen({pull}, {kept})", x=np.asarray(X))


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    "given", ["{'w': 3 * x, 'u': x}", "(x, 3 * x)", "[x, x + x]", "{'a': {'b': x}, 'c': x}"]
)
def test_a_nested_residual_is_replaced_by_a_tree_of_as_many_leaves(given):
    source = "f = jax.vjp(lambda d, b: d['w'] * b, {'w': x, 'u': x}, x)[1]\n"
    assert_same(f"import jax\n{source}f.args_res[0] = {given}\nf(x)", x=np.asarray(X))


def test_a_tree_of_another_number_of_leaves_is_refused():
    pullback = ricci.vjp(lambda d, b: d["w"] * b, {"w": X, "u": X}, X)[1]
    pullback.args_res[0] = X
    with pytest.raises(ValueError, match="one entry for each of the 3 leaves"):
        pullback(X)


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    "source",
    [
        "y, f = run(x, w)\n[r for r in f.args_res if hasattr(r, 'shape')], len(f.args_res)",
        "y, f = run(x, w)\nlen(f.opaque_residuals), f(y)",
        "y, f = run(x, w)\nf.args_res = [None and x or x, 2 * w]\nf(y)",
        "y, f = run(x, w)\nf.args_res[1] = 2 * w\nf(y)",
        "y, f = run(x, w)\nf.args_res[0] = 2 * x\nf(y)",
        "y, f = run(x, w)\nf.args_res[1] = 2 * w\njax.jit(lambda f, y: f(y))(f, y)",
        "y, f = run(x, w, saveable_args=(True, False))\nf.args_res[1] = w\nf(y)",
        "y, f = jax.jit(lambda x, w: run(x, w, saveable_args=(True, False)))(x, w)\n"
        "def back(f, w, y):\n    f.args_res[1] = w\n    return f(y)\njax.jit(back)(f, w, y)",
        "y, f = run(x, w, saveable_args=(True, False))\nlen(jax.tree.leaves(f.args_res))",
        "y, f = run(x, w, saveable_args=False)\nf.args_res = [x, w]\nf(y)",
        "y, f = run(x, w, saveable_args=(False, True))\nf(y)",
        "y, f = run(x, w)\njax.jit(lambda f, y: f(y))(f, y)",
    ],
)
def test_a_pullback_shows_its_residuals(source):
    *lines, last = source.split("\n")
    prelude = PULLBACKS + "\n".join(lines)
    assert_same(f"{prelude}\n{last}", x=np.asarray(X), w=np.asarray(W))


def test_pullback_without_a_saved_argument_asks_for_it():
    y, pullback = ricci.vjp(layer, X, W, saveable_args=(True, False))
    assert repr(pullback.args_res) == "[NotNeeded(), NotSaveable()]"
    with pytest.raises(ValueError, match="args_res"):
        pullback(y)
    with pytest.raises(ValueError, match="one entry for each of the 2 leaves"):
        pullback.args_res = [W]
    pullback.args_res = [None, W]
    np.testing.assert_array_equal(pullback(y)[0], ricci.vjp(layer, X, W)[1](y)[0])


def test_the_program_of_a_pullback_is_linear():
    _, pullback = ricci.vjp(layer, X, W)
    residuals = ricci.tree.leaves(pullback)
    (tangent,) = jaxpr_as_fun(pullback.jaxpr)(*residuals, X, W)
    np.testing.assert_allclose(tangent, ricci.jvp(layer, (X, W), (X, W))[1], rtol=1e-6)


def test_a_program_can_be_given_its_first_arguments():
    program = ricci.make_jaxpr(lambda x, y: (x * y, x))(2.0, 3.0)
    assert [float(x) for x in jaxpr_as_fun(program)(2.0, 3.0)] == [6.0, 2.0]
    assert [float(x) for x in jaxpr_as_fun(program, 5.0)(3.0)] == [15.0, 5.0]


def test_an_equation_can_be_bound_again():
    program = ricci.make_jaxpr(ricci.jit(lambda x: x + 1))(1.0)
    (eqn,) = program.eqns
    (result,) = eqn.primitive.bind(2.0, **eqn.primitive.get_bind_params(eqn.params))
    assert float(result) == 3.0


LOGGED = """
@jax.custom_vjp
def f(x):
    return jnp.sin(x)
f.defvjp_with_logs(lambda x: (f(x), x), lambda r, ct: ((ct * 3,), {'ct': ct}))
@jax.custom_vjp
def g(x):
    return jnp.sin(x)
g.defvjp_with_logs(lambda x: (g(x), x), lambda r, ct: (ct * 3,))
"""


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    "source", ["jax.grad(f)", "jax.jit(jax.grad(f))", "lambda x: jax.vmap(jax.grad(f))(x[None])"]
)
def test_a_backward_rule_with_logs(source):
    assert_same(f"{LOGGED}({source})(x)", x=np.float32(1.0))


def test_a_backward_rule_that_returns_no_logs_is_refused():
    f = ricci.custom_vjp(jnp.sin)
    f.defvjp_with_logs(lambda x: (f(x), x), lambda r, ct: (ct * 3,))
    with pytest.raises(TypeError, match="pair \\(cotangents, logs\\)"):
        ricci.grad(f)(1.0)


MAPPED = """
@jax.custom_batching.custom_vmap
def f(x):
    return jnp.sin(x)
f.def_vmap(lambda n, b, x: (jnp.cos(x), b[0]))
"""


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize(
    "source",
    ["jax.jacfwd(f)(x)", "jax.jacfwd(jax.vmap(f))(x)", "jax.jacrev(jax.vmap(f))(x)"]
    + ["jax.jit(jax.jacfwd(f))(x)", "jax.vmap(jax.jacfwd(f))(x[None])"],
)
def test_jacobians_of_functions_with_a_batching_rule(source):
    assert_same(f"{MAPPED}{source}", x=np.float32([1.0, 2.0]))
