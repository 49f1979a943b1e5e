"""Results and derivatives are weakly typed where JAX's are, at both widths.

What operands alone decide, `test_numpy_oracle.py` tries for every function of the NumPy API. Here
are functions that decide by more: by constants in their derivatives, by operands whose values are
known, by second operands. A run takes a twelfth of them, the same each time; `nox -s oracle-full`
takes all.
"""

import os
import random

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from edge_cases.table import CASES as EDGE_CASES

from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
PRELUDE = """
import inspect
scalar, count, flag = jnp.asarray(0.5), jnp.asarray(3), jnp.asarray(True)
weak = lax.broadcast(jnp.asarray(2.0), (3,))
matrix = jnp.where(jnp.array(np.eye(3, dtype=bool)), 2.0, 0.5)
x = jnp.array([1.0, 2.0, 3.0], "float32")
n = jnp.array([1, 2, 3], "int32")
numbers = (((0,), (0,)), ((), ()))
holds, held = weak != 1.0, scalar != 1.0
def both(f, *args):
    return f(*args), jax.jit(f)(*args)
def push(f):
    return jax.jvp(f, (weak,), (weak,)), jax.jvp(f, (scalar,), (scalar,))
def pull(f):
    return jax.grad(lambda m: sum(jnp.sum(y) for y in jax.tree.leaves(f(m))))(matrix)
def against(f):
    return jax.vjp(f, scalar)[1](jnp.ones(())), jax.linearize(after_maximum(f), scalar)[1](scalar)
def after_maximum(f):
    return lambda a: f(jnp.maximum(a, a))
def jacobians(f):
    of_scalars = [lambda a: f(a[None]).sum(), lambda a: f(a[None])]
    jacs = jax.jacfwd, jax.jacrev, jax.hessian
    return [[jac(f)(a) for a in (weak, x)] + [jac(g)(scalar) for g in of_scalars] for jac in jacs]
def ruled(f):
    f = jax.custom_vjp(f)
    f.defvjp(lambda a: (jnp.sin(a), a), lambda a, ct: ((ct * jnp.cos(a)).astype(a.dtype),))
    return f
def typed(f, *operands):
    made = []
    jax.eval_shape(lambda *xs: made.extend(jax.tree.leaves(f(*xs))), *operands)
    return [jnp.asarray(0.0) if y.weak_type else jnp.zeros((), y.dtype)
            for y in made]
def of_kinds(f, count):
    kind = lambda dtype, weak=False, shape=(3,): jax.ShapeDtypeStruct(shape, dtype, weak_type=weak)
    real, n = jnp.asarray(1.0).dtype, jnp.asarray(1).dtype
    wide = np.dtype(f"uint{8 * n.itemsize}")
    kinds = [
        [kind("bool")], [kind("int8")], [kind(n, True)], [kind(real, True)],
        [kind(wide), kind("int32")], [kind("int32"), kind(real, True)], [kind("float32")],
        [kind("bool", shape=())], [kind(real, True, ())], [kind("int32", shape=()), kind(n, True)],
    ]
    return [typed(f, *[kinds_[i % len(kinds_)] for i in range(count)]) for kinds_ in kinds]
"""
# Functions of operands of many kinds: integers of several widths, weak types, and mixtures. Their
# numbers of operands are those of the edge cases.
SPACES = ("jax.scipy.stats", "jax.scipy.special", "jax.nn")
NOT_OF_INTEGERS = ("norm.ppf", "norm.isf", "ndtri", "log_ndtr", "ndtr", "multigammaln", "comb")
OF_KINDS = {
    case.function: len(case.floats) + len(case.counts)
    for case in EDGE_CASES
    if case.function.startswith(SPACES) and not case.function.endswith(NOT_OF_INTEGERS)
}

# Derivatives in which JAX has constants that are not weak, and others.
PUSHED = """
tan atan exp2 sqrt rsqrt square cbrt reciprocal erf erfc erf_inv digamma
sin asin acos tanh log1p expm1 logistic lgamma sinh asinh acosh atanh bessel_i0e bessel_i1e abs log
"""
PULLED = """
jnp.diagonal
jnp.diag
jnp.sort
jnp.linalg.cholesky
jnp.linalg.inv
jnp.linalg.eigvalsh
jnp.trace
jnp.tril
jnp.roll
lambda m: lax.top_k(m, 2)[0]
lambda m: lax.linalg.lu(m)[0]
lambda m: jnp.take(m, jnp.array([0, 1]), 0)
lambda m: m[jnp.array([0])]
lambda m: m[0]
lambda m: m @ m
lambda m: jnp.einsum("ij,jk", m, m)
lambda m: jnp.linalg.matrix_power(m, 3)
lambda m: jnp.clip(m, 0, 1)
lambda m: jnp.maximum(m, m.T)
lambda m: jnp.resize(m, (18,))
lambda m: lax.reduce_window(m, 0.0, lax.add, (2, 2))
lambda m: jnp.logaddexp(m, m)
lambda m: jnp.logaddexp2(m, m)
jax.nn.softplus
"""
# Functions whose tangents or cotangents are not weakly typed, although their results are.
AGAINST = """
lax.sin
lax.logistic
lax.sqrt
jax.jit(lambda a: a * 2)
jnp.flip
lambda a: jnp.where(a > 0, a, 0.0)
"""
# A Jacobian is as weak as the result in forward mode, and as the argument in reverse mode.
JACOBIANS = """
lax.sin
lax.erf
lax.lgamma
jax.nn.softmax
lambda a: a * x
lambda a: lax.erf(a).sum()
lambda a: a.astype("float16")
lambda a: x
lambda a: jnp.concatenate([a, x * a])
"""
CALLS = """
lax.dot_general(weak, weak, numbers, preferred_element_type=jnp.float32)
lax.dot_general(weak, x, numbers, preferred_element_type=jnp.float64)
jnp.dot(weak, weak)
jnp.matmul(weak, x)
jnp.power(count, count)
jnp.power(count, 2)
jnp.power(flag, count)
jnp.power(True, count)
jnp.power(count, count)
jnp.power(x > 1, count)
jnp.power(count, flag)
jnp.power(x > 1, n)
jax.jit(lambda a: jnp.power(a, count))(True)
jax.jit(jnp.power)(True, 3)
jax.jit(jnp.power)(2, True)
jnp.power(n, count)
jax.jit(jnp.power)(2, 3)
jax.jit(jnp.power)(2.0, 3)
jax.jit(lambda a: 2**a)(3)
jax.jit(lambda a: a**2)(3)
jax.jit(lambda a: jnp.power(a, count))(3)
jax.scipy.special.rel_entr(weak, 2.0)
jax.scipy.special.rel_entr(2.0, 3.0)
jax.scipy.special.kl_div(weak, weak)
jax.scipy.special.kl_div(scalar, 2)
jax.scipy.special.binom(scalar, 2)
jnp.triu(lax.broadcast(True, (3, 3)))
jnp.tril(lax.broadcast(True, (3, 3)))
jnp.ones_like(lax.broadcast(True, (3, 3)))
jnp.full_like(lax.broadcast(True, (3, 3)), 1)
jax.jit(lambda a: jnp.triu(a))(lax.broadcast(True, (3, 3)))
jax.scipy.stats.norm.ppf(x)
jax.scipy.stats.norm.isf(x, 1)
jax.scipy.stats.rankdata(matrix)
jnp.cov(x, aweights=jnp.array([1, 2, 3]))
jnp.cov(n, aweights=n, fweights=n)
jnp.cov(x.astype("bfloat16"), aweights=n)
jnp.cov(x, aweights=np.array([1.0, 2.0, 3.0]))
jnp.quantile(x.astype("bfloat16"), 0.3, method="inverted_cdf", weights=np.ones(3))
jnp.var(x, dtype=int)
jnp.var(x, dtype="int16", ddof=1)
jnp.var(x, dtype=int, ddof=4)
jnp.var(x, dtype=int, where=x > 1)
jnp.std(x, dtype=int)
jax.vmap(lambda a: lax.pmean(a, "i"), axis_name="i")(weak)
jax.grad(lambda z: z**3, holomorphic=True)(1.0 + 1.0j)
jax.grad(jnp.sin)(1.5)
jax.grad(ruled(jnp.sin))(scalar)
jax.grad(lambda a: lax.fori_loop(0, 3, lambda i, c: ruled(jnp.sin)(a) + c, 0.0))(scalar)
jax.grad(lambda a: lax.scan(lambda c, r: (c + ruled(jnp.sin)(a), None), x[0], x)[0])(scalar)
jax.grad(lambda a: lax.scan(lambda c, r: (ruled(jnp.sin)(c), None), a, x)[0])(scalar)
jax.grad(lambda a: lax.scan(lambda c, r: (c, ruled(jnp.sin)(r)), a, weak)[1].sum())(scalar)
jax.grad(lambda b: lax.scan(lambda c, r: (c, ruled(jnp.sin)(r)), 0, b)[1].sum())(weak)
jax.grad(lambda a: lax.cond(flag, lambda b: ruled(jnp.sin)(b), lambda b: b, a))(scalar)
jax.grad(lambda a: lax.cond(flag, lambda b: ruled(jnp.sin)(a) * b, lambda b: b, x[0]))(scalar)
jax.grad(jax.jit(lambda a: ruled(jnp.sin)(a)))(scalar)
jax.grad(jax.checkpoint(lambda a: ruled(jnp.sin)(a)))(scalar)
typed(jnp.power, n.astype(f"u{count.dtype}"), n)
typed(jnp.power, n.astype(f"u{count.dtype}"), n.astype("int8"))
typed(jnp.logspace, n, n)
typed(jnp.logspace, n > 1, n > 1)
typed(lambda a: jnp.logspace(a, a, base=np.float64(2)), n)
typed(lambda a: jnp.logspace(a, a, base=np.float16(2)), x)
jax.jit(lambda: lax.full((), 2).astype(float))()
jax.jit(lambda: lax.full_like(2, 0).astype(float))()
both(lambda a: [f(a, a) for f in (jnp.logical_and, jnp.logical_xor, jnp.equal)], holds)
both(lambda a: [a & a, a | a, a ^ a, a == a, a != a, a & True, ~a, a < a], held)
both(lambda a: [f([a, a]) for f in (jnp.concatenate, jnp.stack, jnp.hstack, jnp.dstack)], holds)
both(lambda a: [f(a) for f in (jnp.zeros_like, jnp.ones_like, jnp.empty_like, jnp.any)], held)
both(lambda a: [f(a) for f in (jnp.zeros_like, jnp.ones_like, jnp.empty_like, jnp.all)], holds)
both(lambda a: [jnp.full_like(a, True), lax.full_like(a, True), jnp.where(a, a, a)], held)
both(lambda a: jnp.unravel_index(a, (2, 3)), holds), jnp.unravel_index(True, (2, 3))
"""
SOURCES = [
    *(f"push(lax.{name})" for name in PUSHED.split()),
    "push(lambda a: lax.integer_pow(a, 3))",
    "push(lambda a: jnp.clip(a, 0, 1))",
    "push(lambda a: jnp.logaddexp(a, a))",
    "push(jax.nn.softplus)",
    *(f"pull({text})" for text in PULLED.strip().splitlines()),
    *(f"against({text})" for text in AGAINST.strip().splitlines()),
    *(f"jacobians({text})" for text in JACOBIANS.strip().splitlines()),
    *CALLS.strip().splitlines(),
    *(f"of_kinds({function}, {count})" for function, count in OF_KINDS.items()),
]


def shown(result) -> list[str] | str:
    """The types of the results, or the class of the error."""
    if result.error:
        return result.error.name
    return [f"{x.dtype}{x.shape}{' weak' if x.weak_type else ''}" for x in result.leaves]


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_types_are_those_of_jax(wide):
    config = {"jax_enable_x64": wide}
    sources = SOURCES if EVERYTHING else random.Random(wide).sample(SOURCES, len(SOURCES) // 36)
    requests = [Request(f"{PRELUDE}\n{source}", {}, config) for source in sources]
    answers = shared_oracle().run_many(requests, timeout=600)
    space = ricci_namespace()
    ours = [shown(evaluate_with(space, r.source, {}, config=r.config)) for r in requests]
    theirs = map(shown, answers)
    wrong = [
        f"{source}\n  ours:   {our}\n  theirs: {their}"
        for source, our, their in zip(sources, ours, theirs, strict=True)
        if our != their
    ]
    assert not wrong, f"{len(wrong)} types differ\n" + "\n".join(wrong)
