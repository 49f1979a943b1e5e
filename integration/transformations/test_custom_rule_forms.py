"""Forms of rules: ``custom_vjp`` with recomputation or accumulators, ``custom_gradient``."""

from functools import partial

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import grad, vjp
from ricci_batching import vmap
from ricci_ir import clear_caches, enable_x64, jaxprs_in_params, make_jaxpr
from ricci_lax import checkpoint, custom_gradient, custom_jvp, custom_vjp
from ricci_lax import checkpoint_policies as policies
from ricci_xla import jit

X, Y = np.float32([0.1, 0.5]), np.float32([2.0, 3.0])


def wave(x, y):
    return lax.mul(lax.sin(lax.exp(x)), y)


def forward(x, y):
    angle = lax.exp(x)
    return lax.mul(lax.sin(angle), y), {"angle": angle}


def again(saved, x, y):
    angle = saved["angle"]
    slope = lax.mul(lax.mul(lax.cos(angle), angle), y)
    return lax.mul(lax.sin(angle), y), (slope, lax.sin(angle))


def backward(residuals, ct):
    return tuple(lax.mul(ct, factor) for factor in residuals)


def by_defremat():
    f = custom_vjp(wave)
    f.defremat(forward, again, backward)
    return f


def by_defremat_with_logs():
    f = custom_vjp(wave)
    f.defremat_with_logs(forward, again, lambda r, ct: (backward(r, ct), {"ct": ct}))
    return f


def by_gradient_remat():
    def fun(x, y):
        angle = lax.exp(x)

        def recomputed(x, y):
            out, residuals = again({"angle": angle}, x, y)
            return out, lambda ct: backward(residuals, ct)

        return lax.mul(lax.sin(angle), y), recomputed

    return custom_gradient(fun, remat=True)


def by_accums():
    def rule(residuals, ct, *accums):
        for accum, term in zip(accums, backward(residuals, ct), strict=True):
            accum.accum(lax.mul(term, 0.25))
            accum.accum(None)
            accum.accum(lax.mul(term, 0.75))

    f = custom_vjp(wave)
    f.defvjp_with_accums(lambda x, y: (wave(x, y), again(forward(x, y)[1], x, y)[1]), rule)
    return f


def by_gradient_accums():
    def fun(x, y):
        out, residuals = again(forward(x, y)[1], x, y)

        def rule(ct, *accums):
            for accum, term in zip(accums, backward(residuals, ct), strict=True):
                accum.accum(term)

        return out, rule

    return custom_gradient(fun, with_accums=lax.ValAccum)


FORMS = [by_defremat, by_defremat_with_logs, by_gradient_remat, by_accums, by_gradient_accums]
REMATS = FORMS[:3]
AROUND = {
    "alone": lambda g: g,
    "before and after": lambda g: lambda x, y: lax.cos(g(lax.tanh(x), y)),
    "jit": jit,
    "vmap": vmap,
    "scan": lambda g: lambda x, y: lax.scan(lambda c, _: (g(c, y), None), x, None, 2)[0],
    "checkpoint": checkpoint,
    "checkpoint of scan": lambda g: checkpoint(AROUND["scan"](g)),
    "checkpoint that saves all": lambda g: checkpoint(g, policy=policies.everything_saveable),
    "jit of checkpoint of jit": lambda g: jit(checkpoint(jit(g))),
}


def loss(g):
    return lambda x, y: lax.reduce_sum(g(x, y), (0,))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", FORMS)
def test_derivatives_are_those_of_the_function(form, around):
    f, plain = AROUND[around](form()), AROUND[around](wave)
    for _ in range(2):
        np.testing.assert_allclose(f(X, Y), plain(X, Y), rtol=1e-6)
        for transform in (lambda g: g, jit):
            cts = transform(grad(loss(f), (0, 1)))(X, Y)
            np.testing.assert_allclose(cts, grad(loss(plain), (0, 1))(X, Y), rtol=2e-5)
        clear_caches()
    with enable_x64(True):
        wide = [np.float64(a) for a in (X, Y)]
        cts = grad(loss(f), (0, 1))(*wide)
        np.testing.assert_allclose(cts, grad(loss(plain), (0, 1))(*wide), rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives(form):
    second = lambda g: grad(lambda x: loss(lambda x, y: grad(loss(g))(x, y))(x, Y))(X)
    np.testing.assert_allclose(second(form()), second(wave), rtol=2e-5)
    np.testing.assert_allclose(second(checkpoint(form())), second(wave), rtol=2e-5)


def count(jaxpr, name):
    inner = (program for eqn in jaxpr.eqns for program in jaxprs_in_params(eqn.params))
    own = sum(eqn.primitive.name == name for eqn in jaxpr.eqns)
    return own + sum(count(program, name) for program in inner)


@pytest.mark.parametrize("policy", [None, policies.nothing_saveable, policies.dots_saveable])
@pytest.mark.parametrize("form", REMATS)
def test_checkpoint_stores_saved_values_under_any_policy(form, policy):
    programs = [make_jaxpr(grad(loss(checkpoint(f, policy=policy))))(X, Y) for f in (form(), wave)]
    assert [count(program, "exp") for program in programs] == [1, 2]


def test_output_of_the_recomputation_replaces_the_function_in_the_backward_pass():
    f = custom_vjp(lambda x: lax.tan(x))
    f.defremat(lambda x: (lax.tan(x), None), lambda _, x: (lax.log(x), x), lambda x, ct: (ct,))
    program = make_jaxpr(grad(checkpoint(lambda x: lax.sinh(f(x)))))(np.float32(0.5))
    assert (count(program, "tan"), count(program, "log")) == (1, 1)
    # The reference implementation, with the same recomputation, gives this as well.
    expected = np.cosh(np.log(np.float32(0.5)))
    gradient = grad(checkpoint(lambda x: lax.sinh(f(x))))(np.float32(0.5))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    outside = grad(lambda x: lax.sinh(f(x)))(np.float32(0.5))
    np.testing.assert_allclose(outside, np.cosh(np.tan(np.float32(0.5))), rtol=1e-6)


def test_rules_of_recomputation_are_called_in_order_with_all_arguments():
    calls = []

    def note(name, rule):
        return lambda *args: (calls.append((name, len(args))), rule(*args))[1]

    f = custom_vjp(lambda n, x: lax.mul(x, np.float32(n)), nondiff_argnums=(0,))
    f.defremat(
        note("fwd", lambda n, x: (lax.mul(x, np.float32(n)), "saved")),
        note("rem", lambda saved, n, x: (lax.mul(x, np.float32(n)), [])),
        note("bwd", lambda n, residuals, ct: (lax.mul(ct, np.float32(n)),)),
    )
    assert float(grad(f, 1)(3, np.float32(2))) == 3
    assert calls == [("fwd", 2), ("rem", 3), ("bwd", 3)]


@pytest.mark.parametrize(
    "result", [lambda x: x, lambda x: ((x, x), x), lambda x: (None, x), lambda x: (np.ones(3), x)]
)
def test_recomputation_returns_an_output_like_the_function_s(result):
    f = custom_vjp(lambda x: x)
    f.defremat(lambda x: (x, None), lambda saved, x: result(x), lambda x, ct: (ct,))
    with pytest.raises(TypeError, match="recomputation of <lambda> must return"):
        grad(f)(np.float32(1))


def test_what_is_not_differentiated_has_an_accumulator_that_drops_terms():
    kinds = []

    def rule(residuals, ct, x, tree):
        leaves = [x, tree["y"], tree["n"]]
        kinds.append([type(accum) for accum in leaves])
        for accum in leaves:
            accum.accum(ct)

    f = custom_vjp(lambda x, tree: lax.mul(x, tree["y"]))
    f.defvjp_with_accums(lambda x, tree: (lax.mul(x, tree["y"]), None), rule)
    tree = {"y": np.float32(2), "n": np.int32(3)}
    assert float(grad(f)(np.float32(1), tree)) == 1
    by_tree = grad(lambda y: f(np.float32(1), {**tree, "y": y}))
    assert float(by_tree(np.float32(2))) == 1
    assert vmap(grad(f), (0, None))(X, tree).tolist() == [1, 1]
    val, null = lax.ValAccum, lax.NullAccum
    assert kinds == [[val, null, null], [null, val, null], [val, null, null]]


def test_cotangents_without_terms_are_zero_and_of_shared_arguments_are_summed():
    f = custom_vjp(lambda x, y: lax.add(x, y))
    f.defvjp_with_accums(lambda x, y: (lax.add(x, y), None), lambda r, ct, x, y: x.accum(ct))
    assert [float(ct) for ct in grad(f, (0, 1))(np.float32(1), np.float32(2))] == [1, 0]
    # The sum over the batch, for an argument that is not batched.
    total = lambda x: lax.reduce_sum(vmap(lambda y: f(x, y))(Y), (0,))
    assert float(grad(total)(np.float32(1))) == 2


@pytest.mark.parametrize("term", [np.ones(3, np.float32), 1])
def test_terms_have_the_type_of_the_cotangent(term):
    f = custom_vjp(lambda x: x)
    f.defvjp_with_accums(lambda x: (x, None), lambda r, ct, x: x.accum(term))
    with pytest.raises(ValueError, match="accum: the cotangent has type float32"):
        grad(f)(np.float32(1))


def test_rules_with_accumulators_return_none_or_a_log():
    def derivative(result):
        f = custom_vjp(lambda x: x)
        f.defvjp_with_accums(lambda x: (x, None), lambda r, ct, x: (x.accum(ct), result)[1])
        return grad(f)(np.float32(1))

    assert float(derivative({"size": 3})) == 1
    with pytest.raises(TypeError, match="None or a dict as its logs"):
        derivative((1.0,))


def test_accumulators_with_symbolic_zeros():
    f = custom_vjp(lambda x: (x, x))
    f.defvjp_with_accums(
        lambda x: ((x.value, x.value), None),
        lambda r, cts, x: [x.accum(ct) for ct in cts][2:] or None,
        symbolic_zeros=True,
    )
    assert float(grad(lambda x: f(x)[0])(np.float32(1))) == 1
    _, pull = vjp(f, np.float32(1))
    assert float(pull((np.float32(1), np.float32(1)))[0]) == 2


def test_custom_gradient_takes_recomputation_or_accumulators():
    with pytest.raises(NotImplementedError, match="not both"):
        custom_gradient(remat=True, with_accums=lax.ValAccum)
    f = custom_gradient(lambda x: (x, lambda ct, accum: accum.accum(ct)), with_accums=True)
    with pytest.raises(TypeError, match="True is a leaf"):
        grad(f)(np.float32(1))
    g = custom_gradient(remat=True, with_logs=True)(
        lambda x: (x, lambda x: (x, lambda ct: (lax.mul(ct, np.float32(7)), {"a": ct})))
    )
    assert float(grad(g)(np.float32(1))) == 7


def logged_by_accums():
    def rule(residuals, ct, *accums):
        for accum, term in zip(accums, backward(residuals, ct), strict=True):
            accum.accum(term)
        return {"ct": ct}

    f = custom_vjp(wave)
    f.defvjp_with_accums(lambda x, y: (wave(x, y), again(forward(x, y)[1], x, y)[1]), rule)
    return f


def logged_by_gradient(**options):
    def fun(x, y):
        def recomputed(x, y):
            out, residuals = again(forward(x, y)[1], x, y)

            def rule(ct, *accums):
                terms = backward(residuals, ct)
                if not accums:
                    return terms, {"ct": ct}
                for accum, term in zip(accums, terms, strict=True):
                    accum.accum(term)
                return {"ct": ct}

            return out, rule

        return (wave(x, y), recomputed) if options.get("remat") else recomputed(x, y)

    return custom_gradient(fun, **options)


LOGGED = {
    "defremat_with_logs": by_defremat_with_logs,
    "defvjp_with_accums": logged_by_accums,
    "custom_gradient(with_accums)": lambda: logged_by_gradient(with_accums=lax.ValAccum),
    "custom_gradient(remat)": lambda: logged_by_gradient(remat=True, with_logs=True),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("around", ["alone", "jit", "vmap", "scan", "checkpoint"])
@pytest.mark.parametrize("form", LOGGED)
def test_pullback_gives_the_logs_of_each_form(form, around):
    f, plain = AROUND[around](LOGGED[form]()), AROUND[around](wave)
    for _ in range(2):
        cts, logs = vjp(f, X, Y)[1].with_logs(Y)
        for ct, expected in zip(cts, vjp(plain, X, Y)[1](Y), strict=True):
            np.testing.assert_allclose(ct, expected, rtol=1e-5)
        log = np.asarray(logs["ct"])
        np.testing.assert_array_equal(log[-1] if around == "scan" else log, Y)
        clear_caches()


def test_generic_batching_changes_nothing():
    f = custom_vjp(lambda x: x)
    f.defvjp(
        lambda x: (x, None), lambda _, ct: (lax.mul(ct, np.float32(3)),), generic_batching=True
    )
    assert vmap(grad(f))(X).tolist() == [3, 3]


@partial(custom_jvp, nondiff_argnums=(0,))
def powers(exponents, x):
    return [np.float32(1) if n == 0 else lax.integer_pow(x, n) for n in exponents]


@powers.defjvp
def _powers_jvp(exponents, primals, tangents):
    """Calls the function with more static arguments each time."""
    (x,), (dx,) = primals, tangents
    lower = tuple(max(0, n - 1) for n in exponents)
    outs = powers(exponents + lower, x)
    values, factors = outs[: len(lower)], outs[len(lower) :]
    slopes = [
        lax.mul(np.float32(n), lax.mul(y, dx)) for n, y in zip(exponents, factors, strict=True)
    ]
    return values, [
        np.float32(0) if n == 0 else dy for n, dy in zip(exponents, slopes, strict=True)
    ]


square = custom_vjp(lambda x: (np.float32(1), lax.mul(x, x)))
square.defvjp(
    lambda x: (square(x), x), lambda x, cts: (lax.mul(lax.mul(np.float32(2), x), cts[1]),)
)


@pytest.mark.parametrize("around", [lambda f: f, jit])
def test_rules_that_call_their_function_are_batched(around):
    one, line, cube = around(vmap(partial(powers, (0, 1, 3))))(Y)
    np.testing.assert_array_equal([one, line, cube], [[1, 1], Y, Y**3])
    cubed = lambda x: powers((0, 1, 3), x)[2]
    np.testing.assert_allclose(around(vmap(grad(cubed)))(Y), 3 * Y**2)
    np.testing.assert_allclose(around(vmap(grad(grad(cubed))))(Y), 6 * Y)
    np.testing.assert_array_equal(around(vmap(square))(Y), [[1, 1], Y * Y])
    np.testing.assert_allclose(around(vmap(grad(lambda x: square(x)[1])))(Y), 2 * Y)


def test_custom_remat_is_deprecated():
    with pytest.warns(DeprecationWarning, match="defremat"):
        lax.custom_remat(wave, lambda policy, *args: forward(*args), again, backward)
