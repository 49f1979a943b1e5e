"""Linear solves, roots, Jacobians and custom rules: as real JAX computes and prints them."""

from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_testing import assert_same, assert_same_jaxpr
from ricci_testing.pytest_plugin import oracle as oracle


def f32(values):
    return np.array(values, np.float32)


pytestmark = pytest.mark.usefixtures("oracle")

X = f32([1.0, 2.0])
Y = f32([3.0, 4.0])
M = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
A = f32([[4.0, 1.0], [1.0, 3.0]])
C = (X + 1j * Y).astype(np.complex64)
ONE = np.float32(3.0)

SOLVES = """
def plain(d, b, **options):
    return lax.custom_linear_solve(
        lambda x: lax.mul(d, x), b, lambda f, y: lax.div(y, d), lambda f, y: lax.div(y, d),
        **options
    )
def symmetric(d, b):
    return lax.custom_linear_solve(
        lambda x: lax.mul(d, x), b, lambda f, y: lax.div(y, d), symmetric=True
    )
def pair(d, b):
    return lax.custom_linear_solve(
        lambda x: (lax.mul(d, x[0]), x[1] * 2), (b, b * 2),
        lambda f, y: (lax.div(y[0], d), y[1] / 2), symmetric=True
    )
def aux(d, b):
    return lax.custom_linear_solve(
        lambda x: lax.mul(d, x), b, lambda f, y: (lax.div(y, d), (lax.sin(y), b)),
        symmetric=True, has_aux=True
    )
def matrix(a, b):
    return lax.custom_linear_solve(
        lambda x: jnp.dot(a, x), b, lambda f, y: f(y), lambda f, y: f(y)
    )
def mapped(a, b):
    return jax.vmap(matrix, (None, 0))(a, b)
"""
SOLVE_CASES: list[tuple[str, dict[str, Any]]] = [
    ("plain", {"d": X, "b": Y}),
    ("symmetric", {"d": X, "b": Y}),
    ("pair", {"d": X, "b": Y}),
    ("aux", {"d": X, "b": Y}),
    ("matrix", {"a": A, "b": X}),
    ("lambda d, b, s, t: jax.jvp(plain, (d, b), (s, t))", {"d": X, "b": Y, "s": Y, "t": X}),
    ("lambda d, b, t: jax.jvp(lambda b: plain(d, b), (b,), (t,))", {"d": X, "b": Y, "t": X}),
    ("lambda d, b, s, t: jax.jvp(aux, (d, b), (s, t))", {"d": X, "b": Y, "s": Y, "t": X}),
    ("lambda d, b, t: jax.jvp(lambda d: pair(d, b), (d,), (t,))", {"d": X, "b": Y, "t": X}),
    ("jax.grad(lambda d, b: plain(d, b).sum(), (0, 1))", {"d": X, "b": Y}),
    ("jax.grad(lambda d, b: symmetric(d, b).sum(), (0, 1))", {"d": X, "b": Y}),
    ("jax.grad(lambda d, b: aux(d, b)[0].sum(), (0, 1))", {"d": X, "b": Y}),
    ("jax.grad(lambda d, b: pair(d, b)[0].sum() + pair(d, b)[1].sum(), (0, 1))", {"d": X, "b": Y}),
    ("jax.grad(lambda a, b: matrix(a, b).sum(), (0, 1))", {"a": A, "b": X}),
    (
        "lambda d, t, b: jax.jvp(jax.grad(lambda d: symmetric(d, b).sum()), (d,), (t,))",
        {"d": X, "t": Y, "b": Y},
    ),
    ("lambda d, b: jax.linear_transpose(lambda b: plain(d, b), b)(b)", {"d": X, "b": Y}),
    ("jax.vmap(plain)", {"d": M, "b": M}),
    ("jax.vmap(symmetric, (1, 1))", {"d": M, "b": M}),
    ("jax.vmap(aux)", {"d": M, "b": M}),
    ("mapped", {"a": A, "b": M}),
    ("jax.jit(symmetric)", {"d": X, "b": Y}),
    ("lambda b: lax.custom_linear_solve(lambda x: x * 2, b, lambda f, y: y / 2)", {"b": 1.0}),
    ("lambda b: lax.custom_linear_solve(lambda x: (x, x), b, lambda f, y: y)", {"b": X}),
    ("lambda b: lax.custom_linear_solve(lambda x: x, b, lambda f, y: y[:1])", {"b": X}),
    ("jax.grad(lambda b: lax.custom_linear_solve(lambda x: x, b, lambda f, y: y)[0])", {"b": X}),
]

ROOTS = """
def root(a, tangent_solve=lambda g, y: y / g(1.0)):
    return lax.custom_root(lambda x: x * x - a, 1.0, lambda f, x: lax.sqrt(a), tangent_solve)
def closing(a):
    return root(a, lambda g, y: y / g(1.0) + 0 * a)
def aux(a):
    return lax.custom_root(
        lambda x: x * x - a, 1.0, lambda f, x: (lax.sqrt(a), a * 3), lambda g, y: y / g(1.0),
        has_aux=True
    )
def tree(a):
    return lax.custom_root(
        lambda x: {'u': x['u'] * x['u'] - a, 'v': x['v'] - x['u']}, {'u': 1.0, 'v': 2.0},
        lambda f, x: {'u': lax.sqrt(a), 'v': lax.sqrt(a)}, triangular
    )
def triangular(g, y):
    u = y['u'] / g({'u': 1.0, 'v': 0.0})['u']
    return {'u': u, 'v': u + y['v']}
"""
ROOT_CASES = [
    ("root", {"a": ONE}),
    ("jax.value_and_grad(root)", {"a": 2.0}),
    ("jax.grad(jax.grad(jax.grad(root)))", {"a": ONE}),
    ("jax.jit(jax.vmap(jax.grad(jax.grad(root))))", {"a": X}),
    ("jax.value_and_grad(aux, has_aux=True)", {"a": ONE}),
    ("jax.grad(lambda a: aux(a)[1])", {"a": ONE}),
    ("jax.grad(lambda a: tree(a)['v'])", {"a": ONE}),
    ("jax.grad(jax.grad(jax.jit(closing)))", {"a": ONE}),
    ("lambda a: root(a, lambda g, y: (y, y))", {"a": 2.0}),
    ("jax.grad(lambda a: root(a, lambda g, y: (y, y)))", {"a": 2.0}),
    ("lambda a: lax.custom_root(lambda x: (x, x), a, lambda f, x: x, None)", {"a": 2.0}),
    (
        "lambda a: lax.custom_root(lambda x: x, a, lambda f, x: x, lambda g, y: y, has_aux=True)",
        {"a": 2.0},
    ),
]

JACOBIANS = """
f = lambda x: lax.mul(lax.sin(x), x)
tree = lambda x, y: {'a': x['u'] * y, 'b': x['v'].sum()}
@jax.custom_jvp
def strong(x):
    return x * jnp.float32(2)
strong.defjvp(lambda p, t: (strong(*p), t[0] * 7))
@jax.custom_jvp
def weak(x):
    return x * 7
weak.defjvp(lambda p, t: (weak(*p), t[0] * jnp.float32(7)))
"""
JACOBIAN_CASES = [
    (f"jax.{name}({call})", inputs)
    for name in ("jacfwd", "jacrev", "hessian")
    for call, inputs in [
        ("f", {"x": X}),
        ("f, [0]", {"x": X}),
        ("tree, (0, 1)", {"x": {"u": X, "v": M}, "y": Y}),
        ("f, holomorphic=True", {"x": C}),
        ("lambda x: (x * 2, {'k': x}), has_aux=True", {"x": X}),
        ("lambda x: 3.0", {"x": X}),
        ("f", {"x": np.zeros(0, np.float32)}),
        ("f", {"x": np.array([1, 2], np.int32)}),
        ("f", {"x": C}),
        ("f, holomorphic=True", {"x": X}),
        ("f, 1", {"x": X}),
        ("f, 'x'", {"x": X}),
        ("f, ()", {"x": X}),
        ("lambda x: x * 1j", {"x": X}),
        ("lambda x: None", {"x": X}),
    ]
] + [
    ("jax.jacobian(f)", {"x": X}),
    ("jax.jacrev(lambda x, n: x * n, (0, 1), allow_int=True)", {"x": X, "n": 3}),
    ("jax.jacfwd(lambda x: (x, jnp.arange(2)))", {"x": X}),
    ("jax.vmap(jax.hessian(f))", {"x": M}),
    # Rules whose tangents are weakly typed where the results are not, and the other way round.
    *(
        (f"{wrap}(jax.{name}({fun}))", {"x": 1.5})
        for fun in ("strong", "weak")
        for name in ("jacfwd", "jacrev", "hessian")
        for wrap in ("", "jax.jit")
    ),
]

CLOSURES = """
linear_call = jax.custom_derivatives.linear_call
def scaled(r, x):
    return linear_call(lambda r, x: r * x, lambda r, t: r * t, r, x)
def converted(x, n):
    f, consts = jax.closure_convert(lambda t: (t * x * n * lax.sin(x)).sum(), x)
    return f(x, *consts)
@jax.custom_gradient
def product(x, y):
    return x * y, lambda ct: (ct * y, ct * x)
@jax.custom_gradient
def five(x):
    return x * 2, lambda ct: 5 * ct
"""
CLOSURE_CASES = [
    ("scaled", {"r": X, "x": Y}),
    ("jax.grad(lambda x, r: (scaled(r, x) ** 2).sum())", {"x": X, "r": Y}),
    ("lambda x, r: jax.linear_transpose(lambda x: scaled(r, x), x)(x)", {"x": X, "r": Y}),
    ("lambda x: linear_call(3, None, x, x)", {"x": X}),
    (
        "lambda x: jax.linear_transpose(\n"
        "    lambda y: linear_call(lambda r, y: y, lambda r, t: (t, t), x, y), x)(x)",
        {"x": X},
    ),
    ("converted", {"x": X, "n": np.int32(3)}),
    ("jax.grad(converted)", {"x": X, "n": np.int32(3)}),
    ("jax.vmap(converted, (0, None))", {"x": M, "n": 3.0}),
    ("lambda x: jax.closure_convert(lambda t: t, x)[0](x, x)", {"x": X}),
    ("product", {"x": 3.0, "y": 4.0}),
    ("jax.grad(product, (0, 1))", {"x": 3.0, "y": 4.0}),
    ("jax.vmap(jax.grad(product, (0, 1)))", {"x": X, "y": Y}),
    ("jax.grad(five)", {"x": 3.0}),
    ("jax.grad(jax.grad(five))", {"x": 3.0}),
    ("jax.custom_gradient(lambda x: x)", {"x": 3.0}),
    ("jax.grad(jax.custom_gradient(lambda x: (x, lambda ct: (ct, ct))))", {"x": 3.0}),
    ("lambda x: jax.custom_derivatives.zero_from_primal((x, x * 2))", {"x": X}),
]

BATCHING = """
custom_vmap = jax.custom_batching.custom_vmap
@custom_vmap
def f(x, y):
    return lax.mul(lax.sin(x), y)
@f.def_vmap
def rule(axis_size, in_batched, x, y):
    return lax.mul(lax.cos(x), y), in_batched[0]
def with_rule(fun, rule):
    fun = custom_vmap(fun)
    fun.def_vmap(rule)
    return fun
sequential = jax.custom_batching.sequential_vmap(lambda x, y: {'o': lax.mul(x, y)})
"""
BATCHING_CASES = [
    ("f", {"x": X, "y": Y}),
    ("jax.vmap(f)", {"x": M, "y": M}),
    ("jax.vmap(f, (1, 1))", {"x": M, "y": M}),
    ("jax.vmap(jax.vmap(f))", {"x": M[None], "y": M[None]}),
    ("jax.vmap(lambda x: jax.jvp(f, (x, x), (x, x)))", {"x": M}),
    ("lambda x: jax.jvp(jax.vmap(f), (x, x), (x, x))", {"x": M}),
    ("jax.grad(lambda x, y: jax.vmap(f)(x, y).sum(), (0, 1))", {"x": M, "y": M}),
    ("jax.vmap(with_rule(lambda x: x, lambda s, b, x: (x[0], False)))", {"x": M}),
    ("jax.vmap(with_rule(lambda x: x, lambda s, b, x: ((x, x), (True, True))))", {"x": M}),
    ("jax.vmap(with_rule(lambda x: (x, x), lambda s, b, x: ((x, x), True)))", {"x": M}),
    ("jax.vmap(custom_vmap(lambda x: x))", {"x": M}),
]
SEQUENTIAL_CASES = [
    ("jax.vmap(sequential)", {"x": M, "y": M}),
    ("jax.vmap(sequential, (0, None))", {"x": M, "y": X}),
    ("jax.vmap(jax.vmap(sequential))", {"x": M[None], "y": M[None]}),
]

AXES = (
    "jax.vmap(converted, (0, None))",
    "jax.vmap(with_rule(lambda x: x, lambda s, b, x: (x[0], False)))",
)
# Rules that may give way to the function: the derivative of the rules is not that of the function,
# so that it shows which of them was taken.
FORWARD_RULES = """
@jax.custom_vjp
def wave(x, y): return lax.sin(x) * y
wave.defvjp(
    lambda x, y: (wave(x, y), (lax.cos(x), y, lax.sin(x))),
    lambda r, g: (g * r[0] * r[1] * 2, g * r[2] * 3), optimize_remat=True)
def total(x, y): return jnp.sum(wave(x, y))
slope = jax.grad(total, (0, 1))
"""
FORWARD_RULE_CASES: list[tuple[str, dict[str, Any]]] = [
    (source, {"x": X, "y": Y})
    for source in (
        "wave",
        "jax.jit(wave)",
        "slope",
        "jax.jit(slope)",
        "jax.grad(jax.jit(total), (0, 1))",
        "jax.vmap(jax.grad(wave, (0, 1)))",
        "jax.grad(jax.checkpoint(lambda x, y: total(lax.sin(x), y)), (0, 1))",
        "jax.jit(jax.grad(jax.checkpoint(lambda x, y: total(lax.sin(x), y)), (0, 1)))",
        "jax.grad(lambda x, y: lax.scan(lambda c, a: (wave(c, a), None), x[0], y)[0], (0, 1))",
        "lambda x, y: (jax.jit(slope)(x, y), slope(x, y), jax.jit(total)(x, y), slope(x, y))",
    )
]

# Statistics that travel as cotangents: a backward rule is called where its cotangents are all zero,
# and is not where nothing needs the result. JAX does so across the borders of programs and of
# loops, too, where it makes arrays of zeros; Ricci does not.
ZEROS = """
@jax.custom_vjp
def mark(x, s): return x * 1.0
mark.defvjp(lambda x, s: (x * 1.0, s), lambda s, g: (None, jnp.multiply(s, 7)))
@jax.custom_vjp
def pair(x, s): return x * 1.0, s * 2.0
pair.defvjp(lambda x, s: ((x * 1.0, s * 2.0), s), lambda s, g: (g[0], jnp.multiply(s, 7)))
@jax.custom_vjp
def stop(x): return x * 1.0
stop.defvjp(lambda x: (x * 1.0, None), lambda _, g: (None,))
@jax.custom_vjp
def half(x, y): return x * 1.0, y * 1.0
half.defvjp(lambda x, y: ((x * 1.0, y * 1.0), None), lambda _, g: (None, g[1]))
@jax.custom_vjp
def told(x, s): return x * 1.0
told.defvjp(
    lambda x, s: (x.value * 1.0, s.value),
    lambda s, g: (None, jnp.multiply(s, 7 if is_zero(g) else 100)), symbolic_zeros=True)
def is_zero(g): return isinstance(g, jax.custom_derivatives.SymbolicZero)
"""
ZERO_CASES = [
    (f"{wrap}(jax.grad(lambda x, s: {body}, (0, 1)))", {"x": ONE, "s": ONE})
    for wrap in ("", "jax.jit")
    for body in (
        "stop(mark(x, s)) + x * s",
        "stop(pair(x, s)[0]) + x",
        "stop(mark(mark(x, s), s)) + x",
        "stop(jnp.sum(jnp.sin(mark(x, s)) * jnp.ones(3))) + x",
        "stop(jnp.stack([mark(x, s), x])[jnp.array([0, 1, 0])]).sum() + x",
        "jax.jit(lambda x, s: stop(jnp.sin(mark(x, s))))(x, s) + x",
        "jax.checkpoint(lambda x, s: stop(jnp.sin(mark(x, s))))(x, s) + x",
        "lax.scan(lambda c, _: (stop(mark(c, s)), None), x, None, length=2)[0] + x",
        "jax.vmap(lambda a: stop(mark(a, s)))(jnp.stack([x, x])).sum() + x",
        "sum(half(mark(x, s), x))",
        "half(mark(x, s), x)[1]",
        "stop(told(x, s)) + x",
        "(told(x, s), x)[1]",
        "(mark(x, s), x)[1]",
        "stop(jax.jit(mark)(x, s)) + x",
        "stop(lax.cond(x > 0, mark, lambda x, s: x, x, s)) + x",
        "jnp.where(True, x, mark(x, s))",
        "lax.stop_gradient(mark(x, s)) + x",
    )
] + [
    ("jax.jacrev(lambda x, s: jnp.stack([stop(mark(x, s)), x]), (0, 1))", {"x": ONE, "s": ONE}),
    ("jax.hessian(lambda s: stop(mark(2.0, s)) * s + s**2)", {"s": ONE}),
]

VALUES = [
    *((SOLVES, *case) for case in SOLVE_CASES),
    *((ROOTS, *case) for case in ROOT_CASES),
    *((JACOBIANS, *case) for case in JACOBIAN_CASES),
    *((CLOSURES, *case) for case in CLOSURE_CASES),
    *((BATCHING, *case) for case in [*BATCHING_CASES, *SEQUENTIAL_CASES]),
    *((FORWARD_RULES, *case) for case in FORWARD_RULE_CASES),
    *((ZEROS, *case) for case in ZERO_CASES),
]
# Left out: programs that hold functions of JAX's own, and programs with axes that JAX prints as
# ``np.int64(1)``.
PRINTED = [
    *((SOLVES, *case) for case in SOLVE_CASES),
    *((CLOSURES, *case) for case in CLOSURE_CASES if "scaled" not in case[0]),
    *((BATCHING, *case) for case in BATCHING_CASES),
]
PRINTED = [case for case in PRINTED if case[1] not in AXES]


def named(cases):
    return [
        pytest.param(prelude, source, inputs, id=f"{source}({', '.join(inputs)})")
        for prelude, source, inputs in cases
    ]


@pytest.mark.sampled(18)
@pytest.mark.parametrize(("prelude", "source", "inputs"), named(VALUES))
def test_value(prelude, source, inputs):
    assert_same(f"{prelude}({source})({', '.join(inputs)})", **inputs)


@pytest.mark.parametrize(("prelude", "source", "inputs"), named(PRINTED))
def test_printed_program(prelude, source, inputs):
    assert_same_jaxpr(prelude + source, **inputs)


def test_integer_results_of_rules_have_no_tangent():
    """Operations on such results have no derivatives, whichever they are."""
    thirds = lambda x: jnp.divmod(jnp.frexp(x)[1], 3)[0]
    value, tangent = ricci.jvp(thirds, (20.0,), (1.0,))
    assert (int(value), tangent.dtype) == (1, ricci.dtypes.float0)
    assert ricci.grad(lambda x: x * thirds(x))(20.0) == 1.0


@pytest.mark.parametrize("map", [lambda f: f, ricci.vmap, lambda f: ricci.vmap(ricci.vmap(f))])
def test_integer_results_of_mapped_rules_enter_loops_without_a_tangent(map):
    """A loop differentiates its body by the operands that have tangents."""

    def loop(x):
        mantissa, exponent = jnp.frexp(x)
        step = lambda c, _: (c + (exponent - exponent // 2) * x, None)
        return ricci.lax.scan(step, mantissa, None, length=2)[0]

    xs = jnp.full((2, 2), 20.0)
    value, tangent = ricci.jvp(map(loop), (xs,), (jnp.ones_like(xs),))
    assert value.tolist() == [[120.625] * 2] * 2
    assert tangent.tolist() == [[6.03125] * 2] * 2
