"""Rules of ``custom_jvp`` made of programs that mix primals and tangents, in reverse mode."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp, linear_transpose, linearize, vjp
from ricci_batching import vmap
from ricci_ir import get_aval, make_jaxpr, staged_call, trace_to_jaxpr
from ricci_lax import (
    checkpoint,
    cond,
    cos,
    custom_jvp,
    custom_vjp,
    gt,
    lt,
    mul,
    neg,
    reduce_sum,
    scan,
    sin,
    while_loop,
)

X = np.array([0.3, -1.2, 1.7], np.float32)


def rule(x, t):
    return sin(x), mul(cos(x), t)


def call(x, t):
    """The rule as one program, as ``jit`` makes it."""
    jaxpr = trace_to_jaxpr(lambda x, t: list(rule(x, t)), [get_aval(x), t.aval])
    return tuple(staged_call.bind(jaxpr, "rule", (x, t)))


def call_of_call(x, t):
    jaxpr = trace_to_jaxpr(lambda x, t: list(call(x, t)), [get_aval(x), t.aval])
    return tuple(staged_call.bind(jaxpr, "outer", (x, t)))


def once(x, t):
    """The rule as a loop of one step."""
    return scan(lambda c, _: (rule(*c), None), (x, t), None, length=1)[0]


def branch(x, t):
    return cond(gt(X[2], 0.0), rule, lambda x, t: (x, t), x, t)


@custom_vjp
def reverse_only(x):
    return sin(x)


reverse_only.defvjp(lambda x: (sin(x), cos(x)), lambda cos_x, ct: (mul(cos_x, ct),))

RULES = {
    "call": call,
    "call_of_call": call_of_call,
    "scan": once,
    "cond": branch,
    "checkpoint": checkpoint(rule),
    "jvp_of_custom_vjp": lambda x, t: jvp(reverse_only, (x,), (t,)),
    "jvp_of_call": lambda x, t: jvp(lambda x: call(x, x)[0], (x,), (t,)),
}


def sine(name):
    f = custom_jvp(sin)
    f.defjvp(lambda primals, tangents: RULES[name](*primals, *tangents))
    return f


def total(f):
    return lambda x: reduce_sum(f(x), (0,))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("name", RULES)
class TestValues:
    def test_gradient(self, name):
        np.testing.assert_allclose(grad(total(sine(name)))(X), np.cos(X), rtol=1e-6)

    def test_gradient_of_a_composition(self, name):
        f = sine(name)
        expected = np.cos(np.sin(X)) * np.cos(X)
        np.testing.assert_allclose(grad(total(lambda x: f(f(x))))(X), expected, rtol=1e-6)

    def test_batched_gradient(self, name):
        np.testing.assert_allclose(vmap(grad(sine(name)))(X), np.cos(X), rtol=1e-6)

    def test_gradient_of_a_batch(self, name):
        if name == "jvp_of_custom_vjp":
            with pytest.raises(TypeError, match="reverse mode only"):
                grad(total(vmap(sine(name))))(X)
            return
        np.testing.assert_allclose(grad(total(vmap(sine(name))))(X), np.cos(X), rtol=1e-6)

    def test_linearize(self, name):
        if name == "jvp_of_custom_vjp":
            with pytest.raises(TypeError, match="reverse mode only"):
                linearize(sine(name), X)[1](X)
            return
        np.testing.assert_allclose(linearize(sine(name), X)[1](X), np.cos(X) * X, rtol=1e-6)


@pytest.mark.usefixtures("backend")
class TestReverseOnly:
    def test_its_jvp_can_be_transposed(self):
        (ct,) = linear_transpose(lambda t: jvp(reverse_only, (X,), (t,))[1], X)(X)
        np.testing.assert_allclose(ct, np.cos(X) * X, rtol=1e-6)

    @pytest.mark.parametrize(
        "call",
        [
            lambda: jvp(reverse_only, (X,), (X,)),
            lambda: linearize(reverse_only, X)[1](X),
            lambda: vmap(lambda x: jvp(reverse_only, (x,), (x,)))(X),
            lambda: jvp(vmap(reverse_only), (X,), (X,)),
            lambda: jvp(
                lambda x: scan(lambda c, _: (reverse_only(c), None), x, None, 2)[0], (X,), (X,)
            ),
        ],
    )
    def test_its_jvp_cannot_be_computed(self, call):
        with pytest.raises(TypeError, match="reverse_only is a custom_vjp function"):
            call()

    def test_zero_tangents_are_not_operands_of_custom_lin(self):
        f = custom_vjp(mul)
        f.defvjp(lambda x, y: (mul(x, y), (x, y)), lambda r, ct: (mul(ct, r[1]), mul(ct, r[0])))
        program = make_jaxpr(lambda x: jvp(lambda x: f(x, 2.0), (x,), (1.0,)))(3.0)
        (eqn,) = [e for e in program.eqns if e.primitive.name == "custom_lin"]
        assert (len(eqn.invars), eqn.params["in_zeros"]) == (3, (False, True))
        np.testing.assert_allclose(grad(f, 1)(3.0, 2.0), 3.0)


@pytest.mark.usefixtures("backend")
def test_a_loop_of_unknown_length_in_a_rule_has_no_reverse_mode():
    def loop(x, t):
        step = lambda c: (mul(c[0], 2.0), mul(c[1], 2.0))
        return while_loop(lambda c: lt(c[0], 3.0), step, (x, t))

    f = custom_jvp(neg)
    f.defjvp(lambda primals, tangents: loop(*primals, *tangents))
    np.testing.assert_allclose(linearize(f, 1.0)[1](0.5), 2.0)
    with pytest.raises(ValueError, match="while_loop"):
        vjp(f, 1.0)[1](1.0)


def test_a_backward_rule_is_given_arrays():
    """A Python number would divide by zero in its own way."""
    seen = []

    @custom_vjp
    def f(x):
        return sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (seen.append(ct), (ct,))[1])
    make_jaxpr(lambda: grad(f)(0.0))()
    assert all(hasattr(ct, "aval") for ct in seen)
    assert seen
