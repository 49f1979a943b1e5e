"""Tracers that are used after their trace has ended, or in another thread: errors, as in JAX."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.errors import ConcretizationTypeError, TracerArrayConversionError, UnexpectedTracerError

XS = np.arange(1.0, 4.0, dtype=np.float32)
X = XS[1]


def _custom_jvp(save):
    f = ricci.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(*primals), save(tangents[0]) * jnp.cos(*primals)))
    return f


def _custom_jvp_result(save):
    f = ricci.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(*primals), save(tangents[0] * jnp.cos(*primals))))
    return f


def _custom_vjp(save):
    f = ricci.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), save(x)), lambda x, ct: (ct * jnp.cos(x),))
    return f


def _custom_vjp_backward(save):
    f = ricci.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (save(ct * jnp.cos(x)),))
    return f


# The value that a function saves: ``save`` stores its argument and returns it.
LEAKS = {
    "argument": lambda save: lambda x: jnp.sin(save(x)),
    "value": lambda save: lambda x: save(jnp.sin(x)) * 2,
    "tangent of custom_jvp": _custom_jvp,
    "result of custom_jvp": _custom_jvp_result,
    "forward rule of custom_vjp": _custom_vjp,
    "backward rule of custom_vjp": _custom_vjp_backward,
    "carry of scan": lambda save: lambda x: lax.scan(lambda c, v: (save(c) + v, None), x, XS)[0],
    "element of scan": lambda save: lambda x: lax.scan(lambda c, v: (c + save(v), None), x, XS)[0],
    "fori_loop": lambda save: lambda x: lax.fori_loop(0, 3, lambda i, c: save(c) * 2, x),
    "branch": lambda save: lambda x: lax.cond(x > 0, lambda c: save(c) * 2, lambda c: c, x),
    "checkpoint": lambda save: ricci.checkpoint(lambda x: jnp.sin(save(x))),
}
# The runs of the function: transformations of it.
RUNS = {
    "grad": lambda f: ricci.grad(f)(X),
    "linearize": lambda f: ricci.linearize(f, X),
    "vjp": lambda f: ricci.vjp(f, X)[1](X),
    "jvp": lambda f: ricci.jvp(f, (X,), (X,)),
    "jit": lambda f: ricci.jit(f)(X),
    "vmap": lambda f: ricci.vmap(f)(XS),
    "jit of grad": lambda f: ricci.jit(ricci.grad(f))(X),
    "grad of jit": lambda f: ricci.grad(ricci.jit(f))(X),
    "vmap of grad": lambda f: ricci.vmap(ricci.grad(f))(XS),
    "hessian": lambda f: ricci.hessian(f)(X),
}
# Where the rule is not run, or is given arrays.
NO_TRACERS = {
    *((leak, run) for leak in LEAKS for run in ("jit", "vmap") if "custom_" in leak),
    *((leak, "jvp") for leak in LEAKS if "custom_jvp" in leak),
    *((leak, run) for leak in LEAKS for run in ("grad", "linearize", "vjp") if "_vjp" in leak),
}
# A function that has a rule for reverse mode only.
REVERSE_ONLY = {(leak, "jvp") for leak in LEAKS if "custom_vjp" in leak}


def _at_compile_time(t):
    with ricci.ensure_compile_time_eval():
        return t + 1


def _in_a_rule(t):
    f = ricci.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(*primals), tangents[0] * t))
    return ricci.grad(f)(1.0)


USES = {
    "operator": lambda t: t + 1,
    "function": lambda t: jnp.sin(t),
    "itself": lambda t: t * t,
    "stack": lambda t: jnp.stack([t, t]),
    "argument of jit": lambda t: ricci.jit(lambda y: y + 1)(t),
    "closed over by jit": lambda t: ricci.jit(lambda y: y + t)(1.0),
    "returned by jit": lambda t: ricci.jit(lambda y: t)(1.0),
    "closed over by vmap": lambda t: ricci.vmap(lambda y: y + t)(XS),
    "closed over by grad": lambda t: ricci.grad(lambda y: y * t)(1.0),
    "beside a tangent": lambda t: ricci.grad(lambda y: jnp.sin(y) * t + t)(1.0),
    "argument of grad": lambda t: ricci.grad(lambda y: y * 2)(t),
    "tangent of jvp": lambda t: ricci.jvp(jnp.sin, (jnp.float32(1),), (t,)),
    "closed over by checkpoint": lambda t: ricci.grad(ricci.checkpoint(lambda y: y * t))(1.0),
    "closed over by scan": lambda t: lax.scan(lambda c, _: (c + t, None), 0.0, length=2),
    "in a rule": _in_a_rule,
    "at compile time": _at_compile_time,
}


def _leaked(leak, run):
    saved = []
    RUNS[run](LEAKS[leak](lambda x: (saved.append(x), x)[1]))
    return [x for x in saved if isinstance(x, ricci.core.Tracer)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_tracer_whose_trace_has_ended_is_an_error(leak, run, x64):
    with ricci.enable_x64(x64):
        if (leak, run) in REVERSE_ONLY:
            with pytest.raises(TypeError, match="reverse mode"):
                _leaked(leak, run)
            return
        found = _leaked(leak, run)
        assert bool(found) == ((leak, run) not in NO_TRACERS)
        for tracer in found:
            for use in (USES["operator"], USES["argument of jit"], USES["beside a tangent"]):
                with pytest.raises(UnexpectedTracerError, match="after that trace had ended"):
                    use(tracer)
        assert float(ricci.grad(jnp.sin)(0.0)) == 1.0  # nothing is left behind


@pytest.mark.sampled(12)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("leak", "run"),
    [
        ("tangent of custom_jvp", "grad"),
        ("result of custom_jvp", "linearize"),
        ("tangent of custom_jvp", "vmap of grad"),
        ("argument", "grad"),
        ("value", "vmap"),
        ("carry of scan", "jit"),
    ],
)
def test_each_use_of_it_is_an_error(leak, run, use):
    for _ in range(2):
        for tracer in _leaked(leak, run):
            with pytest.raises(UnexpectedTracerError):
                use(tracer)
    ricci.clear_caches()
    for tracer in _leaked(leak, run):
        with pytest.raises(UnexpectedTracerError):
            use(tracer)


@pytest.mark.parametrize("run", ["grad", "linearize", "vjp", "jit of grad", "vmap of grad"])
def test_the_linear_function_of_a_rule_can_be_used_after_its_tape_has_ended(run):
    f = LEAKS["tangent of custom_jvp"](lambda x: x)
    for _ in range(2):
        RUNS[run](f)
    out, pushforward = ricci.linearize(f, X)
    for _ in range(2):
        assert float(pushforward(X)) == pytest.approx(X * np.cos(X))
    assert float(out) == pytest.approx(np.sin(X))


def _slope_of_a_closure(x):
    """The derivative of a function that closes over ``x``, and whose rule calls it."""
    f = ricci.custom_jvp(lambda y: y * x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * x))
    return ricci.grad(f)(x)


# Derivatives of a program that computes the value of such a function as dead code. As in JAX, it
# has been removed by then.
DEAD_CALLS = {
    "jit": lambda f: ricci.grad(ricci.jit(f))(X),
    "jit of jit": lambda f: ricci.grad(ricci.jit(ricci.jit(f)))(X),
    "checkpoint": lambda f: ricci.grad(ricci.checkpoint(f))(X),
    "jvp": lambda f: ricci.jvp(ricci.jit(f), (X,), (np.float32(1),))[1],
    "linearize": lambda f: ricci.linearize(ricci.jit(f), X)[1](np.float32(1)),
    "vmap": lambda f: ricci.vmap(ricci.grad(ricci.jit(f)))(XS)[0],
    "compiled": lambda f: ricci.jit(ricci.grad(ricci.jit(f)))(X),
    "scan": lambda f: ricci.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    )(X),
    "cond": lambda f: ricci.grad(lambda x: lax.cond(x > 0, f, jnp.sin, x))(X),
}


@pytest.mark.parametrize("run", DEAD_CALLS)
def test_rules_of_dead_values_do_not_run(run):
    for _ in range(2):
        assert float(DEAD_CALLS[run](_slope_of_a_closure)) == 1.0


@pytest.mark.parametrize(
    "run", [ricci.grad(_slope_of_a_closure), ricci.jit(ricci.grad(_slope_of_a_closure))]
)
def test_that_rule_is_run_where_nothing_was_recorded(run):
    with pytest.raises(UnexpectedTracerError):
        run(X)


# Threads

TRANSFORMS = {name: run for name, run in RUNS.items() if name not in ("hessian", "grad of jit")} | {
    "scan": lambda f: lax.scan(lambda c, _: (f(c), None), X, length=2),
    "checkpoint": lambda f: ricci.grad(ricci.checkpoint(f))(X),
    "make_jaxpr": lambda f: ricci.make_jaxpr(f)(X),
}


def _in_thread(fun, *args):
    with ThreadPoolExecutor(1) as other:
        return other.submit(fun, *args).exception()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_tracer_that_is_used_in_another_thread_is_an_error(transform, use):
    errors = []

    def f(x):
        errors.append(_in_thread(use, x))
        return x * 2

    transform(f)
    assert errors
    for error in errors:
        assert isinstance(error, UnexpectedTracerError), error
        assert "in another thread" in str(error) or "closed over" in str(error)


def test_a_use_in_another_thread_leaves_nothing_in_the_program():
    def f(x):
        _in_thread(USES["operator"], x)
        return x * 2

    assert str(ricci.make_jaxpr(f)(X)) == str(ricci.make_jaxpr(lambda x: x * 2)(X))


def test_other_threads_may_compute_with_arrays_while_tracing():
    def f(x):
        with ThreadPoolExecutor(1) as other:
            y = other.submit(lambda: ricci.jit(ricci.grad(jnp.sin))(0.0)).result()
        return x * y

    assert float(ricci.jit(f)(X)) == X


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda x: x.shape, None),
        (repr, None),
        (np.asarray, TracerArrayConversionError),
        (int, ConcretizationTypeError),
    ],
)
def test_the_type_of_a_tracer_can_be_read_in_another_thread(read, error):
    errors = []
    ricci.jit(lambda x: (errors.append(_in_thread(read, x)), x)[1])(X)
    assert list(map(type, errors)) == [type(None) if error is None else error]


# Uses of a traced value inside a block of ensure_compile_time_eval.
INSIDE = {
    "operation": lambda y: y * 2,
    "eval_shape": lambda y: y * ricci.eval_shape(lambda: y).shape[0],
    "make_jaxpr": lambda y: y * len(ricci.make_jaxpr(lambda: y * 2)().eqns),
    "jit": lambda y: ricci.jit(lambda: y * 2)(),
    "vmap": lambda y: ricci.vmap(lambda a: a * y)(jnp.ones(2)).sum(0),
    "scan": lambda y: ricci.lax.scan(lambda c, a: (c + a, c), 0.0, jnp.ones(3))[0] + y,
    "closure_convert": lambda y: (lambda f, consts: f(1.0, *consts))(
        *ricci.closure_convert(lambda a: a * y, 1.0)
    ),
}
AROUND = {
    "jit": ricci.jit,
    "grad": lambda f: ricci.grad(lambda x: f(x).sum()),
    "vmap": lambda f: lambda x: ricci.vmap(f)(x[None])[0],
}


@pytest.mark.sampled(13)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("inside", INSIDE)
def test_traced_values_may_be_used_in_blocks_of_compile_time_evaluation(inside, around):
    def f(x, block):
        y = jnp.sin(x)
        with block:
            return INSIDE[inside](y)

    x = jnp.arange(3.0)
    with_block = AROUND[around](lambda x: f(x, ricci.ensure_compile_time_eval()))(x)
    expected = AROUND[around](lambda x: f(x, nullcontext()))(x)
    np.testing.assert_allclose(with_block, expected, rtol=1e-6)


def _over_jvp_rule(rule):
    def f(x):
        doubled = ricci.custom_jvp(lambda y: y * 2)
        doubled.defjvp(lambda primals, tangents: rule(x, primals[0], tangents[0]))
        return doubled(x)

    return f


def _over_vjp_rules(forward, backward=lambda x, ct: ct):
    def f(x):
        doubled = ricci.custom_vjp(lambda y: y * 2)
        doubled.defvjp(lambda y: (forward(x, y), None), lambda _, ct: (backward(x, ct),))
        return doubled(x)

    return f


def _static_function(x):
    f = ricci.custom_jvp(lambda g, y: g(y), nondiff_argnums=(0,))
    f.defjvp(lambda g, primals, tangents: (g(primals[0]), tangents[0]))
    return f(lambda y: y * x, x)


# Rules that close over the value that is being differentiated: its derivative would be lost.
CLOSURES = {
    "factor of a tangent": _over_jvp_rule(lambda x, y, t: (y * 2, t * jnp.cos(x))),
    "factor of a result": _over_jvp_rule(lambda x, y, t: (y * x, t * 2)),
    "a rule's own jvp": _over_jvp_rule(
        lambda x, y, t: ricci.jvp(lambda y: jnp.sin(x) + 0 * y, (y,), (t,))
    ),
    "nothing but the value": _over_jvp_rule(lambda x, y, t: (jnp.sin(x), t)),
    "inside of a loop": _over_jvp_rule(
        lambda x, y, t: (lax.fori_loop(0, 3, lambda i, c: c * x, y), t)
    ),
    "forward rule": _over_vjp_rules(lambda x, y: y * jnp.sin(x)),
    "static argument": _static_function,
}
DIFFERENTIATIONS = ("grad", "linearize", "vjp", "jvp", "jit of grad", "grad of jit", "vmap of grad")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("run", DIFFERENTIATIONS)
@pytest.mark.parametrize("closure", CLOSURES)
def test_a_rule_that_closes_over_the_differentiated_value_is_an_error(closure, run, x64):
    f = CLOSURES[closure]
    reverse_only = (closure, run) == ("forward rule", "jvp")
    error = TypeError if reverse_only else UnexpectedTracerError
    with ricci.enable_x64(x64):
        for _ in range(2):
            with pytest.raises(error):
                RUNS[run](f)
        expected = X * X if closure == "static argument" else 2 * X
        assert float(ricci.jit(f)(X)) == float(f(X)) == expected
        np.testing.assert_array_equal(ricci.vmap(f)(XS)[1], expected)
        with pytest.raises(error):
            RUNS[run](f)


def test_error_says_that_a_rule_closes_over_the_value():
    with pytest.raises(UnexpectedTracerError, match="rule of a custom function.* closes over"):
        ricci.grad(CLOSURES["factor of a result"])(X)


def _escaped():
    saved = []
    ricci.eval_shape(lambda x: saved.append(x + 1) or x, jnp.ones((2, 3)))
    return saved[0]


TYPED = {
    "returned": lambda z: lambda x: z,
    "used": lambda z: lambda x: z * x,
    "in a jitted function": lambda z: ricci.jit(lambda x: z * x),
    "in a loop": lambda z: lambda x: ricci.lax.fori_loop(0, 2, lambda _, c: c + z, z * x),
    "mapped": lambda z: ricci.vmap(lambda x: z[0] * x),
    "differentiated": lambda z: ricci.grad(lambda x: (z * x).sum()),
}


@pytest.mark.parametrize("make", TYPED.values(), ids=TYPED)
def test_eval_shape_needs_only_the_type_of_an_escaped_value(make):
    z = _escaped()
    expected = ricci.eval_shape(make(jnp.ones((2, 3))), jnp.ones((2, 3)))
    for _ in range(2):
        assert ricci.eval_shape(make(z), jnp.ones((2, 3))) == expected
    with pytest.raises(ricci.errors.UnexpectedTracerError):
        ricci.jit(make(z))(jnp.ones((2, 3)))
    with pytest.raises(ricci.errors.UnexpectedTracerError):
        ricci.make_jaxpr(make(z))(jnp.ones((2, 3)))
