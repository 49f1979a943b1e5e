"""``checkify``: its errors, their messages and the values beside them, as in real JAX."""

from typing import Any

import numpy as np
import pytest

from ricci_testing import assert_same, assert_same_jaxpr
from ricci_testing.pytest_plugin import oracle as oracle

pytestmark = pytest.mark.usefixtures("oracle")


def f32(values):
    return np.array(values, np.float32)


NEGATIVE, ZERO, ONE = f32(-1.0), f32(0.0), f32(1.0)
MIXED = f32([1.0, -1.0, -2.0])
X = f32([0.0, 1.0, 2.0])
XX = np.arange(12, dtype=np.float32).reshape(3, 4)
I = np.array([1, 7, 9], np.int32)

PRELUDE = """
import importlib
c = importlib.import_module(jax.__name__ + ".experimental.checkify")
ALL = c.all_checks
def found(result):
    error, out = result
    return {"message": error.get() or "none", "class": type(error.get_exception()).__name__,
            "out": out}
def check(x):
    c.check(x > 0, "g {} {y}", x, y=x * 2)
    return x * x
def decreasing(x):
    return lax.while_loop(lambda x: x < 5, lambda x: (c.check(x < 2, "w {}", x), x + 1)[1], x)
def tested(limit):
    def condition(x):
        c.check(x < limit, "wc {}", x)
        return x < 5
    return lambda x: lax.while_loop(condition, lambda x: x + 1, x)
def scanned(xs):
    def body(carry, x):
        c.check(x < 2, "first {}", x)
        c.check(x < 1, "second {}", x * jnp.ones(2))
        return carry + x, jnp.log(x) / (x - 1)
    return lax.scan(body, xs[0] * 0, xs)
def branches(x):
    def one(x):
        c.check(x > 3, "small {}", x)
        return x
    def other(x):
        c.check(x < -3, "large {} {}", x, x * 2)
        return jnp.log(x)
    return lax.cond(x > 0, one, other, x)
@jax.custom_jvp
def own_jvp(x):
    c.check(x > 0, "fun {}", x)
    return jnp.log(x)
own_jvp.defjvps(lambda t, out, x: t * 2)
@jax.custom_vjp
def own_vjp(x):
    c.check(x > 0, "fun {}", x)
    return jnp.log(x)
def forward(x):
    c.check(x > 1, "fwd {}", x)
    return jnp.log(x), x
def backward(x, ct):
    c.check(ct > 3, "bwd {}", ct)
    return (ct * 2 / (x - 2),)
own_vjp.defvjp(forward, backward)
@jax.custom_vjp
def plain_vjp(x):
    return jnp.log(x)
plain_vjp.defvjp(lambda x: (jnp.log(x), x), lambda x, ct: (ct * 2,))
"""

# The report of each of these.
CASES: list[tuple[str, dict[str, Any]]] = [
    # The user's checks, alone and in every kind of program.
    ("c.checkify(check)(x)", {"x": ONE}),
    ("c.checkify(check)(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.jit(check))(x)", {"x": NEGATIVE}),
    ("jax.jit(c.checkify(check))(x)", {"x": NEGATIVE}),
    ("c.checkify(lambda x: (check(x + 1), check(x)))(x)", {"x": NEGATIVE}),
    ("c.checkify(lambda x: c.check((x < 0).all(), '{x}', x={'k': (x, x)}))(x)", {"x": X}),
    ("c.checkify(lambda x: c.check(x > 0, '{{}} {x:.2f}', x=x))(x)", {"x": NEGATIVE}),
    ("c.checkify(lambda x: c.check(False, 'always'))(x)", {"x": ONE}),
    ("c.checkify(lambda x: c.check(True, 'never'))(x)", {"x": ONE}),
    ("c.checkify(lambda x: c.debug_check(x > 0, '{}', x))(x)", {"x": NEGATIVE}),
    ("c.checkify(check, errors=c.automatic_checks)(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.jit(check), errors=c.nan_checks)(x)", {"x": NEGATIVE}),
    ("c.checkify(branches)(x)", {"x": NEGATIVE}),
    ("c.checkify(branches)(x)", {"x": ONE}),
    ("c.checkify(branches)(x)", {"x": f32(5.0)}),
    ("c.checkify(branches, errors=ALL)(x)", {"x": f32(-5.0)}),
    ("c.checkify(scanned)(xs)", {"xs": X}),
    ("c.checkify(scanned, errors=c.float_checks)(xs)", {"xs": X}),
    ("c.checkify(scanned)(xs)", {"xs": X[:1]}),
    ("c.checkify(decreasing)(x)", {"x": ZERO}),
    ("c.checkify(tested(2))(x)", {"x": ZERO}),
    ("c.checkify(tested(5))(x)", {"x": ZERO}),
    ("c.checkify(tested(5))(x)", {"x": f32(7.0)}),
    ("c.checkify(lambda x: lax.fori_loop(0, 5, lambda i, x: check(x) - 3, x))(x)", {"x": ONE}),
    ("c.checkify(jax.checkpoint(check))(x)", {"x": NEGATIVE}),
    ("c.checkify(lambda x: c.check_error(c.checkify(check)(x)[0]))(x)", {"x": NEGATIVE}),
    ("c.checkify(lambda x: c.checkify(check)(x)[0].throw())(x)", {"x": NEGATIVE}),
    # Derivatives.
    ("c.checkify(jax.grad(check))(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.grad(jax.checkpoint(check)))(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.grad(jnp.sqrt), errors=ALL)(x)", {"x": ZERO}),
    ("jax.value_and_grad(lambda x: c.checkify(check)(x)[::-1], has_aux=True)(x)[0][::-1]",
     {"x": NEGATIVE}),
    ("c.checkify(own_jvp, errors=ALL)(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.grad(own_jvp), errors=ALL)(x)", {"x": NEGATIVE}),
    ("c.checkify(own_vjp)(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.grad(own_vjp))(x)", {"x": NEGATIVE}),
    ("c.checkify(jax.grad(own_vjp))(x)", {"x": f32(2.0)}),
    ("c.checkify(jax.grad(own_vjp), errors=c.div_checks)(x)", {"x": f32(2.0)}),
    # Batches.
    ("jax.vmap(c.checkify(check))(x)", {"x": MIXED}),
    ("jax.vmap(jax.vmap(c.checkify(check)))(x)", {"x": XX - 1}),
    ("jax.vmap(c.checkify(jnp.log, errors=ALL))(x)", {"x": MIXED}),
    ("jax.vmap(c.checkify(branches))(x)", {"x": MIXED}),
    ("jax.vmap(c.checkify(decreasing))(x)", {"x": f32([0.0, 3.0, 7.0])}),
    ("jax.vmap(c.checkify(own_jvp))(x)", {"x": MIXED}),
    ("jax.vmap(c.checkify(own_vjp))(x)", {"x": MIXED}),
    ("c.checkify(jax.vmap(check))(x)", {"x": MIXED}),
    ("c.checkify(jax.vmap(check))(x)", {"x": -MIXED}),
    ("c.checkify(jax.vmap(jnp.log), errors=ALL)(x)", {"x": MIXED}),
    ("c.checkify(lambda x: c.check_error(jax.vmap(c.checkify(check))(x)[0]))(x)", {"x": MIXED}),
    # The order of errors.
    ("c.checkify(lambda x, y: (jnp.log(x), 1 / y), errors=ALL)(x, y)", {"x": NEGATIVE, "y": ZERO}),
    ("c.checkify(lambda x, y: (1 / y, jnp.log(x)), errors=ALL)(x, y)", {"x": NEGATIVE, "y": ZERO}),
    # Numbers.
    ("c.checkify(lambda x, y: x / y, errors=ALL)(x, y)", {"x": ZERO, "y": ZERO}),
    ("c.checkify(lambda x, y: x / y, errors=c.nan_checks)(x, y)", {"x": ZERO, "y": ZERO}),
    ("c.checkify(lambda x, y: x // y, errors=ALL)(x, y)", {"x": I, "y": I * 0}),
    ("c.checkify(jax.jit(jnp.log), errors=ALL)(x)", {"x": MIXED}),
    ("c.checkify(jnp.sum, errors=ALL)(x)", {"x": MIXED / f32([1.0, 1.0, np.nan])}),
    ("c.checkify(jnp.sin, errors=ALL)(x)", {"x": f32(np.inf)}),
    ("c.checkify(lambda x: x.T.reshape(-1)[::-1], errors=ALL)(x)", {"x": XX * np.nan}),
    # Indices.
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, 5)", {"x": X}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, -5)", {"x": X}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, -3)", {"x": X}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, (1, 7))", {"x": XX}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, i)", {"x": XX, "i": I}),
    ("c.checkify(lambda x, i: x[i], errors=c.float_checks)(x, i)", {"x": XX, "i": I}),
    ("c.checkify(lambda x, i: x[:, i], errors=ALL)(x, i)", {"x": XX, "i": I.reshape(3, 1)}),
    ("c.checkify(lambda x, i, j: x[i, j], errors=ALL)(x, i, i + 1)", {"x": XX, "i": I - 1}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, i)", {"x": X, "i": np.uint8([2, 200])}),
    ("c.checkify(lambda x, i: x[i], errors=ALL)(x, i)", {"x": X, "i": np.int32([])}),
    ("c.checkify(lambda x, i: x.at[i].get(mode='clip'), errors=ALL)(x, i)", {"x": XX, "i": I}),
    ("c.checkify(lambda x, i: x.at[i].set(1.0), errors=ALL)(x, i)", {"x": XX, "i": I}),
    ("c.checkify(lambda x, i: x.at[i].add(1.0), errors=ALL)(x, 7)", {"x": XX}),
    ("c.checkify(lambda x, i: x.at[i].min(1.0), errors=ALL)(x, 7)", {"x": XX}),
    ("c.checkify(lambda x: x.at[1].set(jnp.nan), errors=ALL)(x)", {"x": X}),
    ("c.checkify(lambda x: x.at[1].set(jnp.nan), errors=c.nan_checks)(x)", {"x": X}),
    ("c.checkify(lambda x, i: jnp.take_along_axis(x, i, 0), errors=ALL)(x, i)", {"x": X, "i": I}),
    ("c.checkify(lambda x, i: lax.dynamic_slice(x, (0, i), (2, 3)), errors=ALL)(x, 2)", {"x": XX}),
    ("c.checkify(lambda x, i: lax.dynamic_slice(x, (0, i), (2, 3)), errors=ALL)(x, 1)", {"x": XX}),
    ("c.checkify(lambda x, i: lax.dynamic_update_slice(x, x[:2], (i,)), errors=ALL)(x, 2)",
     {"x": X}),
    ("c.checkify(jax.vmap(lambda x, i: x[i]), errors=ALL)(x, i)", {"x": XX, "i": I}),
    ("jax.vmap(c.checkify(lambda x, i: x[i], errors=ALL), (None, 0))(x, i)", {"x": X, "i": I}),
]  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("source", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_reports_the_same(source, inputs):
    assert_same(f"{PRELUDE}\nfound({source})", **inputs)


# Values and errors beside the reports.
VALUES: list[tuple[str, dict[str, Any]]] = [
    ("check(x)", {"x": ONE}),
    ("check(x)", {"x": NEGATIVE}),
    ("jax.vmap(check)(x)", {"x": MIXED}),
    ("jax.grad(check)(x)", {"x": ONE}),
    ("jax.grad(lambda x: c.checkify(check)(x)[1])(x)", {"x": NEGATIVE}),
    ("jax.grad(lambda x: c.checkify(plain_vjp, errors=ALL)(x)[1])(x)", {"x": NEGATIVE}),
    ("jax.vmap(jax.grad(lambda x: c.checkify(plain_vjp, errors=ALL)(x)[1]))(x)", {"x": MIXED}),
    ("jax.jit(lambda x: (c.debug_check(x > 0, '{}', x), x + 1)[1])(x)", {"x": NEGATIVE}),
    ("c.debug_check(False, 'unseen')", {}),
    ("jax.jit(check)(x)", {"x": ONE}),
    ("lax.map(check, x)", {"x": MIXED}),
    ("c.checkify(check)(x)[0].throw()", {"x": NEGATIVE}),
    ("c.checkify(check)(x)[0].throw()", {"x": ONE}),
    ("c.check_error(c.checkify(check)(x)[0])", {"x": NEGATIVE}),
    ("c.check_error(c.init_error)", {}),
    ("c.init_error.get()", {}),
    ("jax.jit(lambda e: e)(c.checkify(check)(x)[0]).get()", {"x": NEGATIVE}),
    ("[str(x.dtype) for x in jax.tree.leaves(c.checkify(check)(x)[0])]", {"x": NEGATIVE}),
    ("hash(jax.tree.structure(c.checkify(check)(x)[0])) == 0", {"x": NEGATIVE}),
    # Bad usage.
    ("c.check(3, 'a')", {}),
    ("c.check('a', 'a')", {}),
    ("c.check(None, 'a')", {}),
    ("c.checkify(lambda x: c.check(x > 0, 'a'))(x)", {"x": X}),
    ("c.check(True, '{}', 3)", {}),
    ("c.check(True, '{}', [1.0, 2])", {}),
    ("c.check(True, '{x}', x='text')", {}),
    ("c.check_error(3)", {}),
    ("c.checkify(check, errors=c.JaxRuntimeError)(x)", {"x": ONE}),
    ("c.checkify(3)(x)", {"x": ONE}),
    ("c.checkify(lambda x: 'text')(x)", {"x": ONE}),
    ("c.checkify(lambda x: c.check(x > 0, '{} {}', x))(x)[0].get()", {"x": NEGATIVE}),
    ("c.checkify(lambda x: c.check(x > 0, '{y}', x))(x)[0].get()", {"x": NEGATIVE}),
    ("c.checkify(jax.vmap(decreasing))(x)", {"x": MIXED}),
    ("jax.jit(lambda e: e.get())(c.checkify(check)(x)[0])", {"x": NEGATIVE}),
    ("jax.jit(lambda e: e.throw())(c.checkify(check)(x)[0])", {"x": NEGATIVE}),
]


@pytest.mark.parametrize(("source", "inputs"), VALUES, ids=[case[0] for case in VALUES])
def test_values_and_errors_are_the_same(source, inputs):
    assert_same(f"{PRELUDE}\n{source}", **inputs)


@pytest.mark.parametrize("fun", ["check", "lambda x: c.debug_check(x > 0, '{}', x)", "branches"])
def test_checks_print_the_same(fun):
    assert_same_jaxpr(f"{PRELUDE}\n{fun}", x=ONE)


DEVICES = [
    ("jax.pmap(jnp.log)", "c.checkify({}, errors=ALL)(x)"),
    ("jax.pmap(check)", "c.checkify({})(x)"),
    ("jax.pmap(lambda x: jax.lax.psum(jnp.log(x), 'i'), axis_name='i')",
     "c.checkify({}, errors=ALL)(x)"),
    ("check", "jax.pmap(c.checkify({}))(x)"),
]  # fmt: skip


@pytest.mark.parametrize(("fun", "source"), DEVICES)
def test_each_device_reports_its_own_error(eight_devices, fun, source):
    namespace: dict[str, Any] = {}
    setup = f"import ricci as jax\nimport ricci.numpy as jnp\nfrom ricci import lax\n{PRELUDE}"
    exec(f"{setup}\nresult = lambda x: found({source.format(fun)})", namespace)
    report = namespace["result"](f32([1, 2, -3, -4]))
    assert report["class"] == "BatchedError"
    assert "at mapped index 2:" in report["message"]
    assert "at mapped index 3:" in report["message"]
