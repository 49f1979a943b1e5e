"""Rules of users' operations for dead code, printing, logs and saving."""

import numpy as np
import pytest

import ricci
from ricci import jit, lax, typeof
from ricci import numpy as jnp
from ricci.experimental import hijax
from ricci.interpreters import partial_eval

X = jnp.array([0.5, 1.0, 2.0])
FLOATS = typeof(X)


class SineAndCosine(hijax.HiPrim):
    """The sine of one array and the cosine of another, each of which may be left out."""

    def __init__(self, sine=True, cosine=True):
        self.in_avals = tuple({"x": FLOATS} for keep in (sine, cosine) if keep)
        self.out_aval = tuple(FLOATS for keep in (sine, cosine) if keep)
        self.params = {"sine": sine, "cosine": cosine}
        super().__init__()

    def expand(self, *args):
        kinds = [
            f
            for f, keep in ((jnp.sin, self.params["sine"]), (jnp.cos, self.params["cosine"]))
            if keep
        ]
        return tuple(f(arg["x"]) for f, arg in zip(kinds, args, strict=True))

    def jvp(self, primals, tangents):
        _, push = ricci.linearize(self.expand, *primals)
        filled = [{"x": hijax.instantiate_zeros(t["x"])} for t in tangents]
        return self(*primals), push(*filled)

    def dce(self, used_outs, live_ins):
        assert all(ricci.tree.leaves(live_ins))
        if all(used_outs):
            return True, True, self
        smaller = SineAndCosine(*used_outs) if any(used_outs) else None
        return tuple(used_outs), used_outs, smaller


def sine_alone(x):
    return SineAndCosine()({"x": x}, {"x": 2.0 * x})[0]


def printed(f, *args):
    jaxpr, _ = partial_eval.dce_jaxpr(ricci.make_jaxpr(f)(*args).jaxpr, True)
    return str(jaxpr)


def test_dead_results_are_dropped_by_the_rule_of_an_operation():
    text = printed(sine_alone, X)
    assert "SineAndCosine[sine=True cosine=False] a" in text
    assert "mul" not in text
    assert "SineAndCosine" not in printed(lambda x: (sine_alone(x), x)[1], X)
    whole = printed(lambda x: SineAndCosine()({"x": x}, {"x": x}), X)
    assert "SineAndCosine[sine=True cosine=True] a a" in whole


def in_scan(x):
    return lax.scan(lambda c, _: (sine_alone(c), None), x, None, length=1)[0]


@pytest.mark.parametrize(
    "wrap", [lambda f: f, jit, ricci.checkpoint], ids=["eager", "jit", "checkpoint"]
)
@pytest.mark.parametrize("fun", [sine_alone, in_scan])
def test_operations_without_dead_results_give_the_same(fun, wrap):
    for _ in range(2):
        np.testing.assert_allclose(wrap(fun)(X), np.sin(X), rtol=1e-6)
        gradient = wrap(ricci.grad(lambda x: jnp.sum(wrap(fun)(x))))(X)
        np.testing.assert_allclose(gradient, np.cos(X), rtol=1e-6)
        ricci.clear_caches()


def test_what_is_dead_is_not_expanded_in_jitted_functions():
    expanded = []

    class Listening(SineAndCosine):
        def expand(self, *args):
            expanded.append(len(args))
            return super().expand(*args)

        def dce(self, used_outs, live_ins):
            return used_outs, used_outs, SineAndCosine(*used_outs)

    jit(lambda x: Listening()({"x": x}, {"x": x})[0])(X)
    assert expanded == []


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda self: ((False, False), False, None), "must produce the results that are used"),
        (lambda self: (True, (True, False), self), "has 2 and 2"),
        (lambda self: ([True] * 3, True, self), "used inputs"),
    ],
)
def test_results_of_a_dead_code_rule_are_checked(result, message):
    class Wrong(SineAndCosine):
        def dce(self, used_outs, live_ins):
            return result(self)

    jaxpr = ricci.make_jaxpr(lambda x: Wrong()({"x": x}, {"x": x})[0])(X)
    with pytest.raises(ValueError, match=message):
        partial_eval.dce_jaxpr(jaxpr.jaxpr, True)


def test_printed_jaxprs_show_the_parameters_that_an_operation_names():
    class Named(SineAndCosine):
        def pp_params(self):
            return {"z": 1, "body": ricci.make_jaxpr(jnp.sin)(1.0)}

    class Bare(SineAndCosine):
        def pp_params(self):
            return {}

    call = lambda kind: lambda x: kind()({"x": x}, {"x": x})
    text = " ".join(str(ricci.make_jaxpr(call(Named))(X)).split())
    assert "Named[ z=1 body={ lambda ; d:f32[]. let e:f32[] = sin d in (e,) } ] a a" in text
    assert " = Bare a a" in str(ricci.make_jaxpr(call(Bare))(X))
    assert (repr(Bare()), repr(SineAndCosine())) == ("Bare", "SineAndCosine[sine=True cosine=True]")


class Product(hijax.HiPrim):
    """A product whose backward rule logs the norm of the cotangent under a name."""

    def __init__(self, name="norm"):
        self.in_avals, self.out_aval, self.params = (FLOATS, FLOATS), FLOATS, {"name": name}
        super().__init__()

    def expand(self, x, y):
        return x * y

    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), (x, y)

    def vjp_bwd_retval_logs(self, res, outgrad):
        return (outgrad * res[1], outgrad * res[0]), {self.params["name"]: jnp.sum(outgrad**2)}


class ProductByAccumulators(Product):
    vjp_bwd_retval_logs = hijax.HiPrim.vjp_bwd_retval_logs

    def vjp_bwd(self, res, outgrad, *accums):
        for accumulator, x in zip(accums, res[::-1], strict=True):
            accumulator.accum(outgrad * x)
        return {self.params["name"]: jnp.sum(outgrad**2)}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", [Product, ProductByAccumulators])
@pytest.mark.parametrize("inner", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["eager", "jit"])
def test_backward_rules_of_operations_log(kind, inner, outer):
    twice = lambda x: kind("last")(inner(kind("first"))(x, x), 2.0 * x)

    def run(x):
        return ricci.vjp(inner(twice), x)[1].with_logs(jnp.ones(3))

    for _ in range(2):
        (gradient,), logs = outer(run)(X)
        np.testing.assert_allclose(gradient, 6 * X**2, rtol=1e-6)
        assert set(logs) == {"first", "last"}
        assert float(logs["last"]) == 3.0
        np.testing.assert_allclose(logs["first"], np.sum(np.square(2 * X)), rtol=1e-6)
        np.testing.assert_allclose(
            outer(ricci.grad(lambda x: jnp.sum(twice(x))))(X), 6 * X**2, rtol=1e-6
        )
    ricci.clear_caches()
    assert float(outer(run)(X)[1]["last"]) == 3.0


def test_loops_stack_the_logs_of_operations():
    def looped(x):
        return lax.scan(lambda c, _: (Product()(c, x), None), x, None, length=2)[0]

    (gradient,), logs = ricci.vjp(looped, X)[1].with_logs(jnp.ones(3))
    np.testing.assert_allclose(gradient, 3 * X**2, rtol=1e-6)
    np.testing.assert_allclose(logs["norm"], [np.sum(np.square(X)), 3.0], rtol=1e-6)


@pytest.mark.parametrize("logs", [3, [1.0]])
def test_logs_of_an_operation_are_a_dict(logs):
    class Wrong(Product):
        def vjp_bwd_retval_logs(self, res, outgrad):
            return (outgrad, outgrad), logs

    with pytest.raises(TypeError, match="Wrong must return None or a dict"):
        ricci.vjp(Wrong(), X, X)[1].with_logs(jnp.ones(3))


class Wave(hijax.HiPrim):
    """The sine of an exponential, which a checkpoint saves."""

    def __init__(self):
        self.in_avals, self.out_aval, self.params = (FLOATS,), FLOATS, {}
        super().__init__()

    def expand(self, x):
        return jnp.sin(jnp.exp(x))

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, map(hijax.instantiate_zeros, tangents)
        return self(x), t * jnp.exp(x) * jnp.cos(jnp.exp(x))

    def remat(self, trace, x):
        assert trace.policy is None or callable(trace.policy)
        exponential = jnp.exp(x)
        return jnp.sin(exponential), exponential, recomputed


def recomputed(exponential, x):
    """The sine of the exponential, with its derivative by the exponential's argument."""
    return jnp.sin(exponential) + exponential * jnp.cos(exponential) * (x - lax.stop_gradient(x))


POLICIES = {
    "none": None,
    "nothing": ricci.checkpoint_policies.nothing_saveable,
    "dots": ricci.checkpoint_policies.dots_saveable,
    "everything": ricci.checkpoint_policies.everything_saveable,
}
WRAPPED_WAVES = {
    "call": lambda x: Wave()(x),
    "jit": lambda x: jit(Wave())(x),
    "scan": lambda x: lax.scan(lambda c, _: (Wave()(c), None), x, None, length=1)[0],
    "cond": lambda x: lax.cond(x[0] > 0, Wave(), jnp.sin, x),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("inside", WRAPPED_WAVES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["eager", "jit"])
def test_recomputation_rules_give_the_same_derivatives(outer, policy, inside):
    wave = WRAPPED_WAVES[inside]
    loss = lambda x: jnp.sum(2 * ricci.checkpoint(wave, policy=POLICIES[policy])(x))
    expected = 2 * np.exp(X) * np.cos(np.exp(X))
    for _ in range(2):
        np.testing.assert_allclose(outer(ricci.grad(loss))(X), expected, rtol=1e-5)
        ricci.clear_caches()


@pytest.mark.parametrize("inside", ["call", "jit", "scan"])
def test_checkpoints_save_what_a_recomputation_rule_saves(inside):
    f = ricci.checkpoint(WRAPPED_WAVES[inside])
    text = str(ricci.make_jaxpr(lambda x: ricci.vjp(f, x)[1](x))(X))
    backward = text[text.index("remat2") :]
    assert "Wave" not in text
    assert " exp " not in backward and " cos " in backward


def test_policies_that_save_an_operation_leave_it_whole():
    f = ricci.checkpoint(Wave(), policy=ricci.checkpoint_policies.everything_saveable)
    assert "Wave" in str(ricci.make_jaxpr(lambda x: ricci.vjp(f, x)[1](x))(X))


def test_a_recomputation_of_another_type_is_refused():
    class Wrong(Wave):
        def remat(self, trace, x):
            return self(x), (), lambda _, x: x[0]

    with pytest.raises(TypeError, match="recomputation of Wrong.remat must return an output"):
        ricci.grad(lambda x: jnp.sum(ricci.checkpoint(Wrong())(x)))(X)


def test_the_default_recomputation_is_that_of_the_operation():
    out, saved, again = SineAndCosine().remat(None, {"x": X}, {"x": X})
    repeated = again(saved, {"x": X}, {"x": X})
    assert (saved, len(out)) == ((), 2)
    np.testing.assert_array_equal(repeated, out)


class Shifted(hijax.HiPrim):
    """An array plus positions, which the expansion makes by a function."""

    def __init__(self, aval, positions):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {"positions": positions}
        super().__init__()

    def expand(self, x):
        return x + self.params["positions"]()


POSITIONS = np.arange(3.0)


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: jit(jit(f))])
def test_expansions_have_the_settings_of_the_call(wrap):
    def shifted(x):
        with ricci.enable_x64(True):
            wide = x.astype("float64")
            return Shifted(typeof(wide), lambda: jnp.arange(3.0))(wide)

    result = wrap(shifted)(X)
    assert result.dtype == "float64"
    np.testing.assert_array_equal(result, np.float64(X) + POSITIONS)


def test_expansions_have_the_name_scope_of_the_call():
    call = ricci.named_scope("layer")(Shifted(FLOATS, lambda: jnp.arange(3.0)))
    assert "layer/iota" in jit(call).lower(X).as_text(debug_info=True)


@pytest.mark.parametrize("constant", [POSITIONS, np.zeros(3), jnp.arange(3.0), 2.0])
@pytest.mark.parametrize("inside", ["call", "scan"])
def test_expansions_close_over_constants(constant, inside):
    call = Shifted(FLOATS, lambda: constant)
    loop = lambda x: lax.scan(lambda c, _: (call(c), None), x, None, length=2)[0]
    result = jit(call if inside == "call" else loop)(X)
    np.testing.assert_allclose(result, X + (1 + (inside == "scan")) * np.float32(constant))
