"""Unused functions, jaxprs and arrays are freed at once, without the collector.

What a call leaves in reference cycles would live until the garbage collector runs, together with
the arrays that it holds.
"""

import gc
import weakref

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

X = np.arange(3, dtype=np.float32)


def _refused(f):
    with pytest.raises(TypeError):
        f(jnp.ones(3))


def _cube_root(v):
    return lax.custom_root(
        lambda y: y**3 - v,
        jnp.ones_like(v),
        lambda f, y: lax.fori_loop(0, 9, lambda i, y: y - f(y) / (3 * y * y), y),
        lambda g, y: y / g(jnp.ones_like(y)),
    )


def _product():
    f = ricci.custom_jvp(lambda a, b: a * b)
    f.defjvps(lambda t, out, a, b: t * b, lambda t, out, a, b: a * t)
    return f


def _cosine():
    f = ricci.custom_vjp(jnp.sin)
    f.defvjp(lambda a: (jnp.sin(a), a), lambda r, ct: (ct * jnp.cos(r),))
    return f


# Each makes its functions anew, as a caller in a loop does.
CALLS = {
    "jit": lambda x: ricci.jit(lambda x: x + 1)(x),
    "jit of a closure": lambda x: (lambda c: ricci.jit(lambda x: x + c)(x))(x * 2),
    "jit with a static argument": lambda x: ricci.jit(lambda x, n: x + n, static_argnums=1)(x, 2),
    "jit of grad": lambda x: ricci.jit(ricci.grad(lambda x: (x * x).sum()))(x),
    "stages": lambda x: ricci.jit(lambda x: x + 1).lower(x).compile()(x),
    "scan": lambda x: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x),
    "grad of scan": lambda x: ricci.grad(
        lambda x: lax.scan(lambda c, v: (c * v, c), jnp.float32(1), x)[0]
    )(x),
    "jit of grad of scan": lambda x: ricci.jit(
        ricci.grad(lambda x: lax.scan(lambda c, v: (c * v, c), jnp.float32(1), x)[0])
    )(x),
    "map": lambda x: lax.map(lambda v: v + 1, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c + 1, x),
    "cond": lambda x: lax.cond(True, lambda c: c + 1, lambda c: c, x),
    "values passed on": lambda x: (
        lax.while_loop(lambda c: c[0][0] < 3, lambda c: (c[0] + 1, c[1]), (x, x)),
        lax.cond(True, lambda c: (c, c + 1), lambda c: (c, c * 2), x),
    ),
    "fori_loop with a traced bound": lambda x: ricci.jit(
        lambda n, x: lax.fori_loop(0, n, lambda i, c: c + 1, x)
    )(3, x),
    "cond of one function": lambda x: (lambda f: lax.cond(x[0] > 0, f, f, x))(lambda c: c * 2),
    "grad of cond": lambda x: ricci.grad(
        lambda x: lax.cond(x[0] > 0, lambda c: c * 2, jnp.sin, x).sum()
    )(x),
    "switch": lambda x: lax.switch(jnp.int32(1), [lambda c: c + 1, lambda c: c], x),
    "checkpoint": lambda x: ricci.grad(ricci.checkpoint(lambda x: jnp.sin(x).sum()))(x),
    "vmap": lambda x: ricci.vmap(lambda x: jnp.sin(x))(x),
    "vmap of scan": lambda x: ricci.vmap(
        lambda a: lax.scan(lambda c, v: (c + v, c), a, jnp.asarray(X))[0]
    )(x),
    "hessian": lambda x: ricci.hessian(lambda x: jnp.sin(x).sum())(x),
    "linearize": lambda x: ricci.linearize(lambda x: jnp.sin(x), x)[1](x),
    "vjp": lambda x: ricci.vjp(lambda x: jnp.sin(x), x)[1](x),
    "callback": lambda x: ricci.jit(lambda x: ricci.pure_callback(np.cos, x, x))(x),
    "custom_root": lambda x: _cube_root(x[1]),
    "grad of custom_root": lambda x: ricci.grad(_cube_root)(x[2]),
    "second derivative of custom_root": lambda x: ricci.grad(ricci.grad(_cube_root))(x[2]),
    "jit of vmap of custom_root": lambda x: ricci.jit(ricci.vmap(_cube_root))(x + 1),
    "custom_linear_solve": lambda x: lax.custom_linear_solve(
        lambda y: y * 2, x, lambda f, b: b / 2
    ),
    "cg": lambda x: ricci.scipy.sparse.linalg.cg(lambda y: y * 2, x),
    "linear_transpose": lambda x: ricci.linear_transpose(lambda y: y * 2, x)(x),
    "associative_scan": lambda x: lax.associative_scan(lambda a, b: a + b, x),
    "composite": lambda x: lax.composite(lambda x: x + 1, "a.name")(x),
    "pmap": lambda x: ricci.pmap(lambda x: x + 1)(x[:1]),
    "custom_jvp": lambda x: ricci.grad(lambda x: _product()(x, x).sum())(x),
    "jit of custom_jvp": lambda x: ricci.jit(ricci.grad(lambda x: _product()(x, x).sum()))(x),
    "custom_vjp": lambda x: ricci.grad(lambda x: _cosine()(x).sum())(x),
    "jit of custom_vjp": lambda x: ricci.jit(ricci.grad(lambda x: _cosine()(x).sum()))(x),
    "vmap of jit": lambda x: ricci.vmap(ricci.jit(lambda v: v * 2))(x),
    "grad of jit": lambda x: ricci.grad(ricci.jit(lambda x: jnp.sin(x).sum()))(x),
    "vmap of while_loop": lambda x: ricci.vmap(
        lambda v: lax.while_loop(lambda c: c < 3, lambda c: c + 1, v)
    )(x),
    "an error": lambda x: _refused(ricci.jit(lambda x: x + jnp.ones(7))),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_no_reference_cycles(name):
    call, x = CALLS[name], jnp.asarray(X)
    for _ in range(2):  # until the permanent caches are filled
        call(x)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        call(x)
        gc.collect()
        left = [type(found).__name__ for found in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    # pytest's own `raises` leaves the exception that it caught.
    left = [kind for kind in left if not kind.startswith(("ExceptionInfo", "Raises"))]
    assert not left


HOLDERS = {
    "a jitted closure": lambda x: ricci.jit(lambda y: y + x)(1.0),
    "a scan's body": lambda x: lax.scan(lambda c, _: (c + x, None), jnp.ones(3), None, length=2),
    "a branch": lambda x: lax.cond(True, lambda: x, lambda: x * 2),
    "an argument of jit": lambda x: ricci.jit(lambda y: y * 2)(x),
    "an argument of grad": lambda x: ricci.grad(lambda y: jnp.sin(y).sum())(x),
    "an argument of vmap": lambda x: ricci.vmap(lambda y: y * 2)(x),
    "an argument of make_jaxpr": lambda x: ricci.make_jaxpr(lambda y: y * 2)(x),
    "a constant of make_jaxpr": lambda x: ricci.make_jaxpr(lambda y: y * x)(1.0),
    "a traced argument": lambda x: ricci.jit(lambda y: y * 2).lower(x).compile(),
    "a residual": lambda x: ricci.vjp(jnp.cos, x)[1](jnp.ones(3)),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_an_array_is_dropped_with_its_user(name):
    x = jnp.arange(3.0) + 1
    watch = weakref.ref(x)
    gc.disable()
    try:
        HOLDERS[name](x)
        del x
        assert watch() is None
    finally:
        gc.enable()
