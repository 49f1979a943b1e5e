"""Functions that donate arguments: the arrays that eager transformations of them delete."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

X, BOTH = "donate_argnums=0", "donate_argnames=('x', 'y')"
PROGRAMS = {
    "linear": ("2 * x + y", X),
    "sine": ("jnp.sin(x) + y", X),
    "sine of both": ("jnp.sin(x) + jnp.cos(y)", BOTH),
    "several results": ("(jnp.cos(x) * y, y)", X),
    "scalar": ("(jnp.sin(x) * y).sum()", X),
    "scalar of both": ("(jnp.sin(x) - jnp.sin(y)).sum()", BOTH),
    "argument": ("x", X),
    "arguments": ("(x, y)", BOTH),
    "unused": ("jnp.sin(y)", BOTH),
    "of another dtype": ("(x + y).astype(jnp.float16)", X),
    "branch": ("jax.lax.cond(y[0] > 0, lambda: jnp.sin(x), lambda: x)", X),
}

# Each of these calls `f`, and returns which of its arguments and of the other arrays are deleted.
TRANSFORMED = {
    "nothing": "_ = f(x, y)\ngone(x, y)",
    "vjp": "o, pull = jax.vjp(f, x, y)\nc = jax.tree.map(jnp.ones_like, o)\n"
    "early = gone(x, y)\n_ = pull(c)\nearly, gone(x, y, c)",
    "vjp of one": "o, pull = jax.vjp(lambda b: f(x, b), y)\nc = jax.tree.map(jnp.ones_like, o)\n"
    "_ = pull(c)\ngone(x, y, c)",
    "linearize": "o, push = jax.linearize(f, x, y)\nt = (1 * x0, 1 * y0)\n"
    "early = gone(x, y)\n_ = push(*t)\nearly, gone(x, y, t)",
    "jvp": "t = (1 * x0, 1 * y0)\n_ = jax.jvp(f, (x, y), t)\ngone(x, y, t)",
    "jvp of one": "t = 1 * y0\n_ = jax.jvp(lambda b: f(x, b), (y,), (t,))\ngone(x, y, t)",
    "vmap": "_ = jax.vmap(f)(x[None] * 1, y[None])\na, b = x[None] * 1, y[None] * 1\n"
    "_ = jax.vmap(f)(a, b)\ngone(a, b)",
    "vmap over one": "a = y[None] * 1\n_ = jax.vmap(lambda b: f(x, b))(a)\ngone(x, a)",
    "grad": "_ = jax.grad(lambda a: loss(f(a, y)))(x)\ngone(x, y)",
    "grad of vmap": "a = x[None] * 1\n_ = jax.grad(lambda a: loss(jax.vmap(f)(a, y0[None])))(a)\n"
    "gone(a)",
    "grad of grad": "_ = jax.grad(lambda a: jax.grad(lambda z: loss(f(z, y)))(a).sum())(x)\n"
    "gone(x, y)",
    "jacfwd": "_ = jax.jacfwd(lambda a: loss(f(a, y)))(x)\ngone(x, y)",
    "of an intermediate": "_ = jax.grad(lambda a: loss(f(jnp.cos(a), y)))(x)\ngone(x, y)",
    "jit": "_ = jax.jit(f)(x, y)\ngone(x, y)",
    "jit of grad": "_ = jax.jit(jax.grad(lambda a: loss(f(a, y))))(x)\ngone(x, y)",
    "custom_jvp": "g = jax.custom_jvp(lambda a: f(a, y))\n"
    "g.defjvp(lambda p, t: (g(*p), 3 * g(1 * x0)))\n_ = jax.jvp(g, (x,), (1 * x0,))\ngone(x, y)",
    "scan": "_ = jax.lax.scan(lambda c, _: (c, f(c, y)), x, None, length=2)\ngone(x, y)",
    "shape": "_ = jax.eval_shape(f, x, y)\ngone(x, y)",
}

SETUP = """
import warnings
import jax
warnings.simplefilter("ignore")
def gone(*trees):
    return [leaf.is_deleted() for leaf in jax.tree.leaves(trees)]
def loss(outs):
    return sum(leaf.astype(jnp.float32).sum() for leaf in jax.tree.leaves(outs))
x0, y0 = jnp.arange(4.0), jnp.arange(4.0) + 1
"""


@pytest.mark.sampled(18)
@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("case", TRANSFORMED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_is_deleted(program, case):
    function, donated = PROGRAMS[program]
    *lines, last = TRANSFORMED[case].split("\n")
    body = "\n    ".join([*lines, f"return {last}"])
    source = f"f = jax.jit(lambda x, y: {function}, {donated})\n"
    source += f"def trial(x, y):\n    {body}\n"
    again = "first = trial(1 * x0, 1 * y0)\nfirst, trial(1 * x0, 1 * y0)"  # first calls and later
    assert_same(f"{SETUP}{source}{again}")


def test_residuals_of_a_pullback_are_not_donated():
    product = ricci.jit(lambda x, y: x * y, donate_argnums=(0, 1))
    x, y = jnp.arange(3.0), jnp.ones(3)
    value, pull = ricci.vjp(product, x, y)
    assert not x.is_deleted()
    np.testing.assert_array_equal(pull(value)[1], np.arange(3.0) ** 2)


def test_the_use_of_a_donated_intermediate_is_an_error():
    step = ricci.jit(lambda x: 2 * x, donate_argnums=0)
    with pytest.raises(RuntimeError, match="deleted"):
        ricci.grad(lambda a: (step(a) * a).sum())(jnp.ones(3))
    twice = ricci.jit(lambda x, y: x + 2 * y, donate_argnums=0)
    with pytest.raises(ValueError, match="cannot be passed twice"):
        ricci.grad(lambda a: twice(a, a).sum())(jnp.ones(3))


def test_nothing_is_deleted_while_results_are_checked():
    step = ricci.jit(lambda x: 2 * x, donate_argnums=0)
    x = jnp.ones(3)
    with ricci.debug_nans(True):
        ricci.grad(lambda a: step(a).sum())(x)
    assert not x.is_deleted()
    ricci.grad(lambda a: step(a).sum())(x)
    assert x.is_deleted()


def test_jaxprs_print_donated_invars():
    step = ricci.jit(lambda x, y: x * y, donate_argnums=0)
    (eqn,) = ricci.make_jaxpr(step)(1.0, 2.0).eqns
    assert eqn.params["donated_invars"] == (True, False)
    assert "donated_invars=(True, False)" in str(ricci.make_jaxpr(step)(1.0, 2.0))
    assert "donated_invars=(True, False, True, False)" in str(
        ricci.make_jaxpr(lambda x, y: ricci.jvp(step, (x, y), (x, y)))(1.0, 2.0)
    )


@pytest.mark.parametrize("fun", [max, dict, range])
def test_names_of_donated_arguments_need_a_signature(fun):
    with pytest.raises(ValueError, match="Pass donate_argnums instead"):
        ricci.jit(fun, donate_argnames="a")
    ricci.jit(fun, donate_argnums=0, static_argnames="b")
