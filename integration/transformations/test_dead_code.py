"""Dead code is not computed: a lowered module has no trace of it.

Each program computes `tan` for nobody. It may be in a jaxpr that shows what the user wrote, but not
in what is compiled, nor in gradients where real JAX removes it.
"""

import re

import pytest

from ricci_testing import evaluate_with, ricci_namespace
from ricci_testing.pytest_plugin import oracle as oracle

PREAMBLE = """
import re
sin, cos, tan = jnp.sin, jnp.cos, jnp.tan
X = np.array([0.5, -1.2, 2.0], np.float32)
XS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
A = np.arange(9, dtype=np.float32).reshape(3, 3) / 9 + 3 * np.eye(3, dtype=np.float32)
two = lambda x: (sin(x), tan(x))
def chain(x):
    y = tan(x)
    z = tan(y)
    return sin(x)
@jax.custom_jvp
def cj(x): return sin(x), tan(x)
cj.defjvp(lambda p, t: (cj(*p), (cos(p[0]) * t[0], tan(p[0]) * t[0])))
@jax.custom_vjp
def cv(x): return sin(x), tan(x)
cv.defvjp(lambda x: (cv(x), x), lambda r, g: (g[0] * cos(r),))
@jax.custom_batching.custom_vmap
def cb(x): return sin(x), tan(x)
cb.def_vmap(lambda n, b, x: (cb(x), (True, True)))
def loop(f, *init, xs=XS, **o): return lax.scan(f, init, xs, **o)
feeds_itself = lambda c, a: ((sin(c[0]) * a, tan(c[1])), None)
programs = {
    "plain": lambda x: two(x)[0],
    "chain": chain,
    "jit": lambda x: jax.jit(two)(x)[0],
    "inside jit": jax.jit(lambda x: jax.jit(two)(x)[0]),
    "chain in jit": jax.jit(chain),
    "collected": lambda x: lax.scan(lambda c, a: (sin(c) * a, tan(a)), x, XS)[0],
    "collected carry": lambda x: lax.scan(lambda c, a: (sin(c) * a, tan(c)), x, XS)[0],
    "collected constant": lambda x: lax.scan(lambda c, a: (sin(c) * a, tan(x)), x, XS)[0],
    "carry": lambda x: loop(feeds_itself, x, x)[0][0],
    "carries in a circle": lambda x: loop(
        lambda c, a: ((sin(c[0]) * a, tan(c[2]), tan(c[1])), None), x, x, x)[0][0],
    "carry, reversed": lambda x: loop(feeds_itself, x, x, reverse=True)[0][0],
    "carry, unrolled": lambda x: loop(feeds_itself, x, x, unroll=2)[0][0],
    "last carry": lambda x: loop(lambda c, a: ((sin(c[0]) * a, tan(c[0])), None), x, x)[0][0],
    "carry with a constant": lambda x: loop(
        lambda c, a: ((sin(c[0]) * a, tan(x) + c[1]), None), x, x)[0][0],
    "chain in scan": lambda x: lax.scan(lambda c, a: (chain(c) * a, None), x, XS)[0],
    "all of scan": lambda x: (lax.scan(lambda c, a: (tan(c) * a, None), x, XS), sin(x))[1],
    "while_loop": lambda x: x * lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, sin(c[1]), tan(c[2]) * c[1]),
        (0, *[lax.stop_gradient(x)] * 2))[1],
    "chain in while_loop": lambda x: x * lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, chain(c[1])), (0, lax.stop_gradient(x)))[1],
    "all of while_loop": lambda x: (lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, tan(c[1])), (0, x)), sin(x))[1],
    "fori_loop": lambda x: lax.fori_loop(0, 4, lambda i, c: (sin(c[0]), tan(c[1])), (x, x))[0],
    "cond": lambda x: lax.cond(x[0] > 0, two, lambda y: (cos(y), tan(y)), x)[0],
    "chain in cond": lambda x: lax.cond(x[0] > 0, chain, cos, x),
    "cond of three": lambda x: lax.cond(
        x[0] > 0, lambda y: (sin(y), tan(y), y), lambda y: (y, y, tan(y)), x)[0],
    "cond in cond": lambda x: lax.cond(
        x[0] > 0, lambda y: lax.cond(y[1] > 0, two, lambda z: (z, tan(z)), y), two, x)[0],
    "checkpoint of cond in scan": lambda x: lax.scan(jax.checkpoint(
        lambda c, a: (lax.cond(a[0] > 0, two, lambda y: (y, tan(y)), c)[0], None)), x, XS)[0],
    "all of cond": lambda x: (lax.cond(x[0] > 0, tan, chain, x), sin(x))[1],
    "switch": lambda x: lax.switch(
        (x[0] > 0).astype(int), [two, two, lambda y: (cos(y), tan(y))], x)[0],
    "cond in scan": lambda x: lax.scan(
        lambda c, a: (lax.cond(a[0] > 0, two, two, c)[0], None), x, XS)[0],
    "scan in cond": lambda x: lax.cond(
        x[0] > 0, lambda y: loop(feeds_itself, y, y)[0], two, x)[0],
    "scan in scan": lambda x: lax.scan(
        lambda d, b: (loop(feeds_itself, d, d)[0][0], None), x, XS)[0],
    "jit in scan": lambda x: lax.scan(lambda c, a: (jax.jit(two)(c)[0], None), x, XS)[0],
    "checkpoint": lambda x: jax.checkpoint(two)(x)[0],
    "chain in checkpoint": jax.checkpoint(chain),
    "checkpoint in scan": lambda x: lax.scan(
        lambda c, a: (jax.checkpoint(two)(c)[0], None), x, XS)[0],
    "custom_jvp": lambda x: cj(x)[0],
    "custom_jvp in scan": lambda x: lax.scan(lambda c, a: (cj(c)[0], None), x, XS)[0],
    "custom_vjp": lambda x: cv(x)[0],
    "custom_vjp in scan": lambda x: lax.scan(lambda c, a: (cv(c)[0], None), x, XS)[0],
    "custom_vmap": lambda x: cb(x)[0],
    "vmap": lambda x: jax.vmap(two)(x)[0],
    "vmap of scan": lambda x: jax.vmap(lambda y: lax.scan(
        lambda c, a: ((sin(c[0]), tan(c[1])), None), (y, y), XS)[0][0])(x),
    "vmap of cond": lambda x: jax.vmap(lambda y: lax.cond(y > 0, two, two, y)[0])(x),
    "map": lambda x: lax.map(two, x)[0],
    "associative_scan": lambda x: lax.associative_scan(
        lambda a, b: (a[0] * b[0], tan(a[1]) * b[1]), (x, x))[0],
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda v: A @ v, x, lambda _, b: (jnp.linalg.solve(A, b), tan(b)),
        lambda _, b: (jnp.linalg.solve(A.T, b), tan(b)), has_aux=True)[0],
    "gradient": lambda x: jax.grad(lambda y: two(y)[0].sum())(x),
    "tangent": lambda x: jax.jvp(two, (x,), (x,))[1][0],
}
def count(jaxpr):
    found = 0
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        found += eqn.primitive.name == "tan"
        for value in eqn.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(getattr(inner, "jaxpr", inner), "eqns"):
                    found += count(inner)
    return found
def transformed(name):
    f = programs[name]
    total = lambda x: f(x).sum()
    slope = lambda x: jax.grad(total)(x).sum()
    kinds = {
        "value": f,
        "gradient": jax.grad(total),
        "gradient of jit": jax.grad(jax.jit(total)),
        "gradient of checkpoint": jax.grad(jax.checkpoint(total)),
        "pullback": lambda x: jax.vjp(f, x)[1](x),
        "linearized": lambda x: jax.linearize(f, x)[1](x),
        "second gradient": jax.grad(slope),
    }
    if name.startswith("custom_vjp"):  # it has no forward mode
        kinds["linearized"] = jax.grad(total)
    return kinds
def recorded(name):
    return [count(jax.make_jaxpr(f)(X)) for f in transformed(name).values()]
def lowered(name):
    texts = [jax.jit(f).lower(X).as_text() for f in transformed(name).values()]
    return [len(re.findall(r"(stablehlo|chlo).tan\\\\b", text)) for text in texts]
"""
PROGRAMS = re.findall(r'^    "(.+?)":', PREAMBLE.split("\nprograms = {")[1].split("\n}")[0], re.M)
KINDS = re.findall(r'^        "(.+?)":', PREAMBLE, re.M)

# Real JAX cannot linearize a custom_vmap function of which a result is not needed.
COMPARED = [program for program in PROGRAMS if program != "custom_vmap"]


@pytest.mark.sampled(23)
@pytest.mark.parametrize("program", COMPARED)
def test_gradients_hold_no_more_than_those_of_jax(oracle, program):
    source = f"{PREAMBLE}\nrecorded({program!r})"
    ours = [leaf.value for leaf in evaluate_with(ricci_namespace(), source, {}).leaves]
    theirs = [leaf.value for leaf in oracle.run(source).leaves]
    for kind, mine, other in zip(KINDS, ours, theirs, strict=True):
        assert mine <= other, kind


@pytest.mark.sampled(19)
@pytest.mark.parametrize("program", PROGRAMS)
def test_dead_operations_are_not_lowered(program):
    source = f"{PREAMBLE}\nlowered({program!r})"
    found = [leaf.value for leaf in evaluate_with(ricci_namespace(), source, {}).leaves]
    assert dict(zip(KINDS, found, strict=True)) == dict.fromkeys(KINDS, 0)


CALLS = """
calls = []
def seen(x):
    note = lambda v: (calls.append(1), np.asarray(v))[1]
    return jax.pure_callback(note, jax.ShapeDtypeStruct(x.shape, x.dtype), lax.stop_gradient(x))
"""
EAGER = {
    "jit": "jax.jit(lambda x: (sin(x), seen(x))[0])",
    "scan": "lambda x: lax.scan(lambda c, a: ((sin(c) * a, seen(c))[0], None), x, XS)[0]",
    "while": (
        "lambda x: x * lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, (sin(c[1]), "
        "seen(c[1]))[0]), (0, lax.stop_gradient(x)))[1]"
    ),
    "cond": "lambda x: lax.cond(x[0] > 0, lambda y: (sin(y), seen(y))[0], cos, x)",
    "checkpoint": "jax.checkpoint(lambda x: (sin(x), seen(x))[0])",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", EAGER)
@pytest.mark.parametrize("wide", [False, True])
def test_eager_gradients_do_not_compute_it(program, wide):
    source = (
        f"{PREAMBLE}{CALLS}\nf = {EAGER[program]}\n"
        "jax.grad(lambda x: f(x).sum())(X), f(X), jax.grad(jax.checkpoint(lambda x: f(x).sum()))(X)"
        "\nlen(calls)"
    )
    settings = {"jax_enable_x64": wide}
    assert evaluate_with(ricci_namespace(), source, {}, config=settings).value == 0


def test_a_loop_without_some_of_its_carry():
    source = (
        f"{PREAMBLE}\njaxpr = jax.make_jaxpr(lambda x: loop(feeds_itself, x, x))(X)\n"
        "smaller, used = jax.interpreters.partial_eval.dce_jaxpr(jaxpr, [True, False])\n"
        "(count(smaller), len(smaller.outvars), len(smaller.eqns[0].outvars), used)"
    )
    found = [leaf.value for leaf in evaluate_with(ricci_namespace(), source, {}).leaves]
    assert found == [0, 1, 1, True]


def test_effects_stay():
    source = (
        f"{PREAMBLE}\nf = lambda x: lax.scan(lambda c, a: ((sin(c[0]), (jax.debug.print('{{}}', "
        "c[1]), tan(c[1]))[1]), None), (x, x), XS)[0][0]\n"
        "len(re.findall('tan', jax.jit(f).lower(X).as_text())) > 0"
    )
    assert evaluate_with(ricci_namespace(), source, {}).value
