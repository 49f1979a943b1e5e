"""Functions with rules where no program is recorded, and rules that apply functions to tangents.

There Python decides: by values, by what is closed over at the time of the call. Each row runs here
and on JAX; the class of an error is compared, too.
"""

import numpy as np
import pytest

import ricci
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

pytestmark = pytest.mark.usefixtures("oracle")

TWO = np.float32(2.0)
LESS = np.float32(-3.0)
X = np.array([1.0, 2.0, 3.0], np.float32)

# Rules that apply their own function, or another one with a rule, to tangents.
TANGENTS = """
@jax.custom_jvp
def linear(x):
    return 2.0 * x
linear.defjvp(lambda p, t: (linear(*p), linear(*t)))
@jax.custom_jvp
def product(x, y):
    return x * y
product.defjvp(lambda p, t: (product(*p), product(t[0], p[1]) + product(p[0], t[1])))
both = lambda x: product(linear(x), x + 1.0)
@jax.custom_jvp
def strange(x):
    return 2.0 * x
strange.defjvp(lambda p, t: (strange(*p), 5.0 * t[0]))
def through(g):
    f = jax.custom_jvp(lambda x: 2.0 * x)
    f.defjvp(lambda p, t: (f(*p), g(*t)))
    return f
loop = lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
looping = through(lambda t: loop(looping)(t) / 2.0)
policies = jax.checkpoint_policies
"""
ON_TANGENTS = [
    "jax.grad(both)",
    "jax.jit(jax.grad(both))",
    "jax.grad(jax.jit(both))",
    "jax.grad(jax.grad(both))",
    "jax.jacfwd(jax.jacrev(both))",
    "jax.grad(lambda x: jax.jvp(both, (x,), (x,))[1])",
    "lambda x: jax.linearize(both, x)[1](x)",
    "jax.grad(loop(both))",
    "jax.grad(jax.grad(loop(both)))",
    "jax.grad(loop(jax.checkpoint(both)))",
    "jax.grad(lambda x: lax.cond(x > 1.0, both, linear, x))",
    "lambda x: jax.jvp(lambda x: lax.fori_loop(0, 3, lambda i, c: both(c), x), (x,), (x,))",
    "jax.grad(jax.checkpoint(both))",
    "jax.grad(jax.checkpoint(both, policy=policies.nothing_saveable))",
    "jax.grad(jax.checkpoint(both, policy=policies.everything_saveable))",
    "jax.grad(through(linear))",
    "jax.grad(through(strange))",
    "jax.grad(through(loop(strange)))",
    "jax.jit(jax.grad(through(lambda t: lax.cond(True, strange, strange, t))))",
    "jax.grad(through(jax.checkpoint(strange)))",
    "jax.grad(looping)",
    "lambda x: jax.linear_transpose(strange, x)(x)",
    "lambda x: jax.linear_transpose(jax.jit(strange), x)(x)",
]
ON_MANY_TANGENTS = [
    "jax.vmap(jax.grad(both))",
    "jax.grad(lambda x: jax.vmap(both)(x).sum())",
    "jax.jit(jax.grad(lambda x: jax.vmap(both)(x).sum()))",
    "jax.grad(lambda x: jax.jit(jax.vmap(both))(x).sum())",
    "jax.grad(lambda x: lax.scan(lambda c, y: (c + both(y), both(c)), 0.5, x)[1].sum())",
    "jax.vmap(lambda x: jax.jvp(both, (x,), (x,)))",
]


@pytest.mark.sampled(14)
@pytest.mark.parametrize("source", ON_TANGENTS)
def test_a_rule_that_applies_functions_with_rules_to_its_tangents(source):
    assert_same(f"{TANGENTS}({source})(x)", x=TWO)


@pytest.mark.parametrize("source", ON_MANY_TANGENTS)
def test_such_a_rule_on_batches(source):
    assert_same(f"{TANGENTS}({source})(x)", x=X)


# Functions and rules that look at values.
VALUES = """
@jax.custom_jvp
def f(x):
    return 2.0 * x if x > 0 else 3.0 * x
@f.defjvp
def rule(p, t):
    return f(*p), (5.0 * p[0] if p[0] > 0 else 7.0) * t[0]
@jax.custom_vjp
def g(x):
    return 2.0 * x if x > 0 else 3.0 * x
g.defvjp(
    lambda x: (g(x), 5.0 if x > 0 else x), lambda r, ct: (r * ct if r > 0 else 7.0 * ct * float(r),)
)
@jax.custom_jvp
def by_numpy(x):
    return jnp.asarray(np.sin(np.asarray(x)))
by_numpy.defjvp(lambda p, t: (by_numpy(*p), np.cos(np.asarray(p[0])) * t[0]))
@jax.custom_jvp
def halved(x, n):
    return x * 2 if n > 1 else x
halved.defjvp(lambda p, t: (halved(*p), t[0] * 5))
nested = lambda x: f(g(x)) + g(f(x))
"""
BY_VALUE = [
    f"{transform}({fun})"
    for fun in ("f", "g", "by_numpy", "nested")
    for transform in ("", "jax.grad", "jax.value_and_grad", "jax.jit")
] + [
    "jax.grad(jax.grad(f))",
    "jax.hessian(f)",
    "lambda x: jax.jvp(f, (x,), (x,))",
    "lambda x: jax.jvp(jax.grad(f), (x,), (x,))",
    "lambda x: jax.vjp(g, x)[1](x)",
    "lambda x: jax.jvp(g, (x,), (x,))",
    "jax.grad(jax.jit(f))",
    "lambda x: jax.vmap(f)(x[None])",
    "lambda x: jax.vmap(halved, (0, None))(x[None], 3)",
    "lambda x: jax.vmap(jax.grad(halved), (0, None))(x[None], 3)",
    "jax.grad(lambda x: jax.vmap(halved, (0, None))(x[None], 3).sum())",
]


@pytest.mark.sampled(19)
@pytest.mark.parametrize("x", [TWO, LESS], ids=["positive", "negative"])
@pytest.mark.parametrize("source", BY_VALUE)
def test_python_decides_by_values(source, x):
    assert_same(f"{VALUES}\nx = jnp.asarray(x)\n({source})(x)", x=x)


# The values of captured variables at a call count, also in a program that is traced later.
CHANGES = """
scale = [1.0]
@jax.custom_jvp
def f(x):
    return x * scale[0]
f.defjvp(lambda p, t: (f(*p), scale[0] * t[0]))
@jax.custom_vjp
def g(x):
    return x * scale[0]
g.defvjp(lambda x: (g(x), None), lambda r, ct: (scale[0] * ct,))
def twice(run, x):
    first = run(x)
    scale[0] = 5.0
    return first, run(x)
"""


@pytest.mark.parametrize("fun", ["f", "g"])
@pytest.mark.parametrize(
    "run",
    ["F", "jax.grad(F)", "lambda x: jax.vmap(jax.value_and_grad(F))(x[None])"]
    + ["lambda x: jax.jit(lambda y: F(y))(x)", "lambda x: jax.jit(jax.grad(lambda y: F(y)))(x)"],
)
def test_closed_over_values_may_change_between_calls(fun, run):
    assert_same(f"{CHANGES}\nF = {fun}\ntwice({run}, x)", x=TWO)


# Values of an enclosing transformation, closed over or passed as ``nondiff_argnums``.
CLOSING = """
def closing_jvp(y):
    f = jax.custom_jvp(lambda x: x * y)
    f.defjvp(lambda p, t: (f(*p), y * t[0]))
    return f
def closing_vjp(y):
    f = jax.custom_vjp(lambda x: x * y)
    f.defvjp(lambda x: (f(x), None), lambda r, ct: (y * ct,))
    return f
static_jvp = jax.custom_jvp(lambda y, x: x * y, nondiff_argnums=(0,))
static_jvp.defjvp(lambda y, p, t: (static_jvp(y, *p), y * t[0]))
static_vjp = jax.custom_vjp(lambda y, x: x * y, nondiff_argnums=(0,))
static_vjp.defvjp(lambda y, x: (static_vjp(y, x), None), lambda y, r, ct: (y * ct,))
static_jvp_of = lambda y: lambda x: static_jvp(y, x)
static_vjp_of = lambda y: lambda x: static_vjp(y, x)
applied = jax.custom_jvp(lambda fun, x: fun(x), nondiff_argnums=(0,))
applied.defjvp(lambda fun, p, t: (applied(fun, *p), fun(t[0])))
applied_to = lambda y: lambda x: applied(lambda z: z * y, x)
two = lambda x: jax.vmap(x)(jnp.ones(2))
"""
USES = [
    "jax.vmap(lambda y: F(y)(2.0))(x)",
    "jax.vmap(lambda y: (F(y)(y), jax.grad(F(y))(2.0)))(x)",
    "jax.vmap(lambda y: jax.grad(lambda z: z * F(y)(2.0))(1.0))(x)",
    "jax.vmap(lambda y: jax.jvp(F(y), (2.0,), (1.0,)))(x)",
    "jax.vmap(lambda y: (two(F(y)), two(jax.grad(F(y)))))(x)",
    "jax.jit(jax.vmap(lambda y: (F(y)(2.0), jax.grad(F(y))(2.0))))(x)",
    "jax.grad(lambda y: F(y)(2.0))(x[1])",
    "jax.grad(lambda y: F(y)(y))(x[1])",
    "jax.grad(lambda x: jax.vmap(lambda y: F(y)(2.0 * y))(x).sum())(x)",
    "jax.jit(lambda y: (F(y)(y), jax.grad(F(y))(2.0)))(x[1])",
]


@pytest.mark.parametrize("source", USES)
@pytest.mark.parametrize(
    "fun", ["closing_jvp", "closing_vjp", "static_jvp_of", "static_vjp_of", "applied_to"]
)
def test_values_of_enclosing_transformations(fun, source):
    if fun == "closing_vjp" and "jax.jvp" in source:
        pytest.skip("a custom_vjp function has no jvp")
    assert_same(f"{CLOSING}\nF = {fun}\n{source}", x=X)


# Results that are the same for all examples have no batch.
UNMAPPED = """
f = jax.custom_jvp(lambda x, y: (x, y * 2, y))
f.defjvp(lambda p, t: (f(*p), (t[0], t[1] * 2, t[1])))
g = jax.custom_vjp(lambda x, y: (x, y * 2, y))
g.defvjp(lambda x, y: (g(x, y), None), lambda r, ct: (ct[0], ct[1] * 2 + ct[2]))
h = jax.custom_jvp(lambda x, y: (x, y * 2, y))
h.defjvp(lambda p, t: (h(*p), (t[0], t[1] * 2 + t[0] * p[0], t[1])))
cond = lambda x, y: lax.cond(x > 1, lambda x, y: (x, y, y), lambda x, y: (x * 2, y, y), x, y)
loop = lambda x, y: lax.while_loop(
    lambda c: c[0] < 9, lambda c: (c[0] + c[2], c[1], c[2]), (x, y, y)
)
x, y = jnp.asarray(x), jnp.asarray(y)
same = lambda fun: jax.vmap(fun, (0, None), (0, None, None))
mapped = lambda fun: jax.vmap(fun, (0, None), (0, 0, 0))
total = lambda fun: lambda x, y: jax.tree.reduce(lambda a, b: a + b.sum(), fun(x, y), 0.0)
"""


@pytest.mark.sampled(15)
@pytest.mark.parametrize("fun", ["f", "g", "cond", "loop"])
@pytest.mark.parametrize(
    "run",
    ["same(F)", "jax.jit(same(F))", "same(jax.jit(F))", "mapped(F)"]
    + ["jax.grad(total(same(F)), (0, 1))", "jax.grad(total(jax.jit(same(F))), (0, 1))"],
)
def test_results_that_are_the_same_for_all_examples(fun, run):
    if fun == "loop" and "grad" in run:
        pytest.skip("a while_loop is not differentiated in reverse mode")
    assert_same(f"{UNMAPPED}\nF = {fun}\n({run})(x, y)", x=X, y=TWO)


@pytest.mark.parametrize(
    "run", ["mapped(h)", "lambda x, y: jax.jvp(mapped(h), (x, y), (x, y))", "same(h)"]
)
def test_a_tangent_may_differ_between_examples_where_its_primal_does_not(run):
    assert_same(f"{UNMAPPED}\n({run})(x, y)", x=X, y=TWO)


# Python scalars among the arguments: recorded calls give arrays to rules, plain calls give them
# as they are.
SCALARS = """
@jax.custom_vjp
def f(x, n):
    return x * n
f.defvjp(lambda x, n: (x * n, (n, 2)), lambda r, ct: (ct * r[1], None))
@jax.custom_jvp
def g(x, n):
    return x * n
@g.defjvp
def rule(p, t):
    return p[0] * p[1], t[0] * p[1].astype(t[0].dtype) + t[1].astype(t[0].dtype).sum() * 0
@jax.custom_vjp
def h(x, n):
    return x * n
h.defvjp(lambda x, n: (x * n, n.shape), lambda r, ct: (ct * (1.0 + len(r)), None))
"""


@pytest.mark.parametrize(
    "source",
    [
        "jax.grad(jax.jit(lambda x: h(x, 3)))",
        "jax.jit(jax.grad(jax.jit(lambda x: h(x, 3))))",
        "jax.grad(lambda x: lax.scan(lambda c, _: (h(c, 3), None), x, None, length=2)[0])",
        "jax.grad(lambda x: lax.cond(x > 0, lambda x: h(x, 3), lambda x: h(x, 2), x))",
        "jax.grad(jax.checkpoint(lambda x: h(x, 3)))",
        "jax.grad(lambda x: jax.jit(jax.vmap(lambda y: h(y, 3)))(x[None]).sum())",
        "jax.grad(jax.jit(lambda x: g(x, 3.0)))",
        "jax.jit(jax.grad(lambda x: f(x, 3)))",
        "jax.grad(lambda x: f(x, 3))",
        "jax.grad(lambda x: h(x, 3))",
        "jax.jit(jax.grad(lambda x: h(x, 3)))",
    ],
)
def test_python_scalars_among_the_arguments(source):
    assert_same(f"{SCALARS}({source})(x)", x=TWO)


# With the check of leaked tracers: none of these keeps a traced value.
KEPT = """
from jax.experimental import checkify
f = jax.custom_jvp(lambda x: x * 2)
f.defjvp(lambda p, t: (f(*p), t[0]))
g = jax.custom_vjp(lambda x: x * 2)
g.defvjp(lambda x: (g(x), x), lambda r, ct: (ct * r,))
checked = lambda x: (checkify.check(x > 0, 'negative'), x * 2)[1]
def run(fun, *args):
    with jax.checking_leaks():
        return fun(*args)
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "source",
    [
        "jax.grad(f), x",
        "jax.jit(jax.grad(g)), x",
        "jax.vmap(jax.grad(f)), x[None]",
        "jax.vmap(jax.grad(g)), x[None]",
        "jax.grad(lambda x: jax.vmap(f)(x).sum()), x[None]",
        "jax.grad(lambda x: jax.vmap(g)(x).sum()), x[None]",
        "jax.vmap(lambda y: jax.grad(lambda z: jax.vmap(g)(z[None] * y).sum())(x)), x[None]",
        "jax.hessian(f), x",
        "jax.grad(lambda x: (x * 2, (x, x * 3)), has_aux=True), x",
        "lambda x: jax.vjp(lambda x: (x * 2, (x, x * 3)), x, has_aux=True)[2], x",
        "lambda x: jax.jit(checkify.checkify(checked))(x)[1], x",
        "lambda x: checkify.checkify(jax.jit(checked))(x)[1], x",
        "lambda x: checkify.checkify(jax.jit(jnp.log), checkify.float_checks)(x)[1], x",
        "lambda x: checkify.checkify(jax.vmap(jax.jit(checked)))(x[None])[1], x",
    ],
)
def test_custom_functions_do_not_cache_tracers(source):
    assert_same(f"{KEPT}\nx = jnp.asarray(x)\nrun({source})", x=TWO)


PREFIXES = {
    "of a list": ([1.0, 1.0], 5.0, [5.0, 5.0]),
    "of a part": ({"a": [1.0, 1.0], "b": 1.0}, {"a": 5.0, "b": 6.0}, {"a": [5.0, 5.0], "b": 6.0}),
    "zeros of a part": ({"a": [1.0, 1.0], "b": 1.0}, {"a": None, "b": 6.0}, {"a": [0, 0], "b": 6}),
    "of nothing": ([1.0, None], [5.0, 6.0], [5.0, None]),
    "of an empty list": (([], 1.0), (3.0, 5.0), ([], 5.0)),
}
OTHERS = {
    "a tuple": ([1.0, 1.0], (5.0, 6.0)),
    "another key": ({"a": 1.0}, {"b": 5.0}),
    "too deep": ([1.0], [[5.0]]),
    "too short": ([1.0, 1.0], [5.0]),
}


def _with_cotangent(cotangent):
    f = ricci.custom_vjp(lambda x: 1.0)
    f.defvjp(lambda x: (1.0, None), lambda _, ct: (cotangent,))
    return f


@pytest.mark.parametrize("name", PREFIXES)
def test_a_rule_may_return_a_prefix_of_an_arguments_tree(name):
    x, cotangent, expected = PREFIXES[name]
    for transform in (ricci.grad, lambda f: ricci.jit(ricci.grad(f))):
        assert transform(_with_cotangent(cotangent))(x) == expected


@pytest.mark.parametrize("name", OTHERS)
def test_a_rule_that_returns_another_tree_is_an_error(name):
    x, cotangent = OTHERS[name]
    with pytest.raises(TypeError, match=r"argument x, a cotangent with the argument's tree"):
        ricci.grad(_with_cotangent(cotangent))(x)
