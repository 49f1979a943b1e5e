"""Values that are made of several arrays: their types, operations on them, and transformations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import hijax


@dataclass(frozen=True)
class Pair:
    a: Any
    b: Any


@dataclass(frozen=True)
class Leading(hijax.MappingSpec):
    pass


@dataclass(frozen=True)
class PairType(hijax.HiType):
    part: Any

    def lo_ty(self):
        return [self.part, self.part]

    def lower_val(self, hi_val):
        return [hi_val.a, hi_val.b]

    def raise_val(self, *lo_vals):
        return Pair(*lo_vals)

    def to_tangent_aval(self):
        return PairType(self.part.to_tangent_aval())

    def dec_rank(self, size, spec):
        return PairType(self.part.dec_rank(size, 0))

    def inc_rank(self, size, spec):
        return PairType(self.part.inc_rank(size, 0))

    def leading_axis_spec(self):
        return Leading()

    def reshard(self, sharding):
        return PairType(self.part.reshard(sharding))

    def __str__(self):
        return f"Pair[{self.part.str_short()}]"

    second = hijax.aval_property(lambda self: take(self, 1))

    @hijax.aval_method
    def scaled_sum(self, factor):
        return factor * (take(self, 0) + take(self, 1))

    def _add(self, x, y):
        return pair(take(x, 0) + take(y, 0), take(x, 1) + take(y, 1))


hijax.register_hitype(Pair, lambda x: PairType(ricci.typeof(x.a)))


class MakePair(hijax.HiPrim):
    def __init__(self, part):
        self.in_avals, self.out_aval, self.params = (part, part), PairType(part), {}
        super().__init__()

    def expand(self, a, b):
        return Pair(a, b)

    def jvp(self, primals, tangents):
        return pair(*primals), pair(*map(hijax.instantiate_zeros, tangents))

    def vjp_fwd(self, nzs_in, a, b):
        return pair(a, b), None

    def vjp_bwd_retval(self, res, outgrad):
        return take(outgrad, 0), take(outgrad, 1)

    def transpose(self, out_ct, *accums):
        for i, accumulator in enumerate(accums):
            if isinstance(accumulator, hijax.GradAccum):
                accumulator.accum(take(out_ct, i))

    def batch(self, axis_data, args, dims):
        whole = [
            jnp.broadcast_to(x, (axis_data.size, *jnp.shape(x))) if d is None else x
            for x, d in zip(args, dims, strict=True)
        ]
        return pair(*whole), Leading()


class TakePart(hijax.HiPrim):
    def __init__(self, aval, i):
        self.in_avals, self.out_aval, self.params = (aval,), aval.part, {"i": i}
        super().__init__()

    def expand(self, x):
        return (x.a, x.b)[self.params["i"]]

    def jvp(self, primals, tangents):
        i = self.params["i"]
        return take(*primals, i), take(*tangents, i)

    def vjp_fwd(self, nzs_in, x):
        return take(x, self.params["i"]), None

    def vjp_bwd_retval(self, res, outgrad):
        zero = jnp.zeros_like(outgrad)
        return (pair(outgrad, zero) if self.params["i"] == 0 else pair(zero, outgrad),)

    def transpose(self, out_ct, accumulator):
        accumulator.accum(*self.vjp_bwd_retval(None, out_ct))

    def batch(self, axis_data, args, dims):
        return take(*args, self.params["i"]), 0


def pair(a, b):
    return MakePair(ricci.typeof(a))(a, b)


def take(x, i):
    return TakePart(ricci.typeof(x), i)(x)


def product(x):
    return jnp.sin(take(x, 0)) * take(x, 1)


def swap(x):
    return pair(take(x, 1), jnp.cos(take(x, 0)))


def scanned(x):
    """The last carry's first part after a loop of three iterations."""
    step = lambda c, i: (swap(c) + pair(i, i), None)
    return take(lax.scan(step, x, jnp.arange(3.0))[0], 0)


POINT = Pair(jnp.float32(2.0), jnp.float32(3.0))
BATCH = Pair(jnp.arange(3.0), jnp.ones(3))


def by_arrays(fun):
    """The same function of a tuple of arrays, by a class that is a pytree."""
    return lambda a, b: fun(pair(a, b))


def close(x, *parts):
    np.testing.assert_allclose(x.a, parts[0], rtol=1e-6)
    np.testing.assert_allclose(x.b, parts[1], rtol=1e-6)


CALLS = {
    "call": product,
    "jit": ricci.jit(product),
    "jit of jit": ricci.jit(lambda x: ricci.jit(product)(x)),
    "checkpoint": ricci.checkpoint(product),
    "cond": lambda x: lax.cond(take(x, 0) > 0, product, lambda x: take(x, 0), x),
    "jit of cond": ricci.jit(lambda x: lax.cond(take(x, 0) >= 0, product, lambda x: 0.0, x)),
    "closure": lambda x: ricci.jit(lambda y: product(x) * y)(1.0),
    "scan": lambda x: lax.scan(lambda c, _: (c, product(c)), x, None, length=2)[1][0],
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("outer", ["plain", "jit", "vmap"])
def test_gradients_of_hi_values_pass_through_calls(name, outer):
    gradient = ricci.grad(CALLS[name])
    expected = np.cos(2.0) * 3.0, np.sin(2.0)
    if outer == "vmap":
        mapped = ricci.vmap(gradient, in_axes=(Leading(),), out_axes=Leading(), axis_size=3)
        close(mapped(BATCH), np.cos(np.arange(3.0)), np.sin(np.arange(3.0)))
        return
    for _ in range(2):
        close((ricci.jit(gradient) if outer == "jit" else gradient)(POINT), *expected)
    ricci.clear_caches()
    close((ricci.jit(gradient) if outer == "jit" else gradient)(POINT), *expected)


def test_jaxprs_have_one_variable_for_a_hi_value():
    jaxpr = ricci.make_jaxpr(product)(POINT)
    (variable,) = jaxpr.invars
    assert variable.aval == PairType(ricci.typeof(jnp.float32(0)))
    assert "a:Pair[float32[]]" in str(jaxpr)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [
        "call_hi_primitive",
        "sin",
        "call_hi_primitive",
        "mul",
    ]


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_loops_carry_and_scan_hi_values(transform):
    step = lambda c, x: (c + product(x), pair(c, take(x, 0)))
    total, collected = transform(lambda x: lax.scan(step, jnp.float32(0.0), x))(BATCH)
    sums = np.cumsum(np.sin(np.arange(3.0)))
    np.testing.assert_allclose(total, sums[-1], rtol=1e-6)
    close(collected, [0.0, sums[0], sums[1]], np.arange(3.0))
    more = transform(lambda x: lax.fori_loop(0, 3, lambda i, c: c + c, x))(POINT)
    close(more, 16.0, 24.0)
    less = lambda x: take(x, 0) < 20.0
    close(transform(lambda x: lax.while_loop(less, lambda c: c + c, x))(POINT), 32.0, 48.0)


def test_derivatives_through_loops_are_those_of_arrays():
    expected = ricci.grad(by_arrays(scanned), (0, 1))(POINT.a, POINT.b)
    close(ricci.grad(scanned)(POINT), *expected)
    close(ricci.jit(ricci.grad(scanned))(POINT), *expected)
    _, tangent = ricci.jvp(scanned, (POINT,), (Pair(jnp.float32(1.0), jnp.float32(0.0)),))
    np.testing.assert_allclose(tangent, expected[0], rtol=1e-6)
    _, push = ricci.linearize(scanned, POINT)
    np.testing.assert_allclose(push(Pair(jnp.float32(0.0), jnp.float32(1.0))), expected[1], 1e-6)


def test_second_derivatives_of_hi_values():
    second = ricci.grad(lambda x: take(ricci.grad(product)(x), 0))(POINT)
    close(second, -np.sin(2.0) * 3.0, np.cos(2.0))


def test_tracers_of_hi_values_have_the_attributes_of_their_type():
    def fun(x):
        assert isinstance(x, ricci.core.Tracer)
        assert isinstance(ricci.typeof(x), PairType)
        return x.second, x.scaled_sum(2.0), x + x

    second, total, double = ricci.jit(fun)(POINT)
    assert (float(second), float(total)) == (3.0, 10.0)
    close(double, 4.0, 6.0)


def test_a_hi_value_is_one_leaf_of_a_pytree():
    assert ricci.tree.leaves({"x": POINT}) == [POINT]


# Operations on arrays with derived rules

FLOAT = ricci.typeof(jnp.float32(0))


def _jvp(self, primals, tangents):
    (x, y), (tx, ty) = primals, map(hijax.instantiate_zeros, tangents)
    return self(x, y), 3.0 * (tx * y + x * ty)


def _linearized(self, res, *tangents):
    (x, y), (tx, ty) = res, map(hijax.instantiate_zeros, tangents)
    return 3.0 * (tx * y + x * ty)


_lin = {"lin": lambda self, nzs_in, x, y: (self(x, y), (x, y)), "linearized": _linearized}
RULES = {
    "jvp": {"jvp": _jvp},
    "vjp from jvp": {"jvp": _jvp, **hijax.vjp_from_jvp._asdict()},
    "lin from jvp": {"jvp": _jvp, **hijax.linearize_from_jvp._asdict()},
    "lin": {"jvp": hijax.jvp_from_lin, **_lin},
    "vjp from lin": {"jvp": hijax.jvp_from_lin, **_lin, **hijax.vjp_from_lin._asdict()},
}


def operation(**rules: Any) -> Any:
    def init(self):
        self.in_avals, self.out_aval, self.params = (FLOAT, FLOAT), FLOAT, {}
        hijax.HiPrim.__init__(self)

    methods = {"__init__": init, "expand": lambda self, x, y: 3.0 * x * y}
    return type("TripleProduct", (hijax.HiPrim,), {**methods, **rules})()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_rules_follow_from_one_rule(rules, transform):
    fun = operation(**RULES[rules], batch_dim_rule=lambda self, axis_data, dims: 0)
    assert float(transform(fun)(2.0, 5.0)) == 30.0
    assert [float(x) for x in transform(ricci.grad(fun, (0, 1)))(2.0, 5.0)] == [15.0, 6.0]
    assert [float(x) for x in transform(ricci.grad(ricci.jit(fun), (0, 1)))(2.0, 5.0)] == [15.0, 6]
    push = lambda x, y: ricci.linearize(fun, x, y)[1](1.0, 1.0)
    assert float(transform(push)(2.0, 5.0)) == 21.0
    assert float(ricci.jvp(fun, (2.0, 5.0), (1.0, 1.0))[1]) == 21.0
    xs = jnp.arange(3.0)
    assert transform(ricci.vmap(fun))(xs, xs).tolist() == [0.0, 3.0, 12.0]
    assert transform(ricci.vmap(ricci.grad(fun)))(xs, xs).tolist() == [0.0, 3.0, 6.0]


@pytest.mark.parametrize(
    ("transform", "method"),
    [(ricci.grad, "vjp_fwd"), (lambda f: lambda *x: ricci.jvp(f, x, x), "jvp")],
)
def test_a_missing_rule_is_named(transform, method):
    with pytest.raises(NotImplementedError, match=f"must implement `{method}`"):
        transform(operation())(2.0, 5.0)
    with pytest.raises(NotImplementedError, match="must implement `batch`"):
        ricci.vmap(operation())(jnp.ones(2), jnp.ones(2))
    with pytest.raises(AttributeError, match=r"should set `self\.in_avals`"):
        hijax.HiPrim()


# A value whose tangents are not made of its parts: integers with a scale


@dataclass(frozen=True)
class Quantized:
    integers: Any
    scale: Any


@dataclass(frozen=True)
class QuantizedType(hijax.HiType):
    shape: tuple[int, ...]

    def lo_ty(self):
        return [
            ricci.core.ShapedArray(self.shape, np.dtype(np.int8)),
            ricci.core.ShapedArray((), np.dtype(np.float32)),
        ]

    def lower_val(self, hi_val):
        return [hi_val.integers, hi_val.scale]

    def raise_val(self, *lo_vals):
        return Quantized(*lo_vals)

    def to_tangent_aval(self):
        return ricci.core.ShapedArray(self.shape, np.dtype(np.float32))


hijax.register_hitype(Quantized, lambda x: QuantizedType(x.integers.shape))


class Converted(hijax.HiPrim):
    """A straight-through conversion, whose derivative is the identity."""

    def __init__(self, operand, result):
        self.in_avals, self.out_aval, self.params = (operand,), result, {}
        super().__init__()

    def expand(self, x):
        if isinstance(x, Quantized):
            return x.integers.astype(np.float32) * x.scale
        scale = jnp.max(jnp.abs(x)) / 127
        return Quantized(jnp.round(x / scale).astype(np.int8), scale)

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, res, outgrad):
        return (outgrad,)


def rounded(x):
    dense = ricci.typeof(x)
    quantized = QuantizedType(dense.shape)
    return Converted(quantized, dense)(Converted(dense, quantized)(x))


@pytest.mark.parametrize("inner", [lambda f: f, ricci.jit, ricci.checkpoint])
@pytest.mark.parametrize("outer", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_residuals_may_be_quantized(inner, outer):
    x = jnp.array([1.0, -2.0, 3.0])
    loss = inner(lambda x: jnp.sum(rounded(x) ** 2))
    np.testing.assert_allclose(outer(ricci.grad(loss))(x), 2 * rounded(x), rtol=1e-6)
    step = lambda c, _: (2.0 * rounded(c), None)
    loop = inner(lambda x: jnp.sum(lax.scan(step, x, None, length=2)[0]))
    assert outer(ricci.grad(loop))(x).tolist() == [4.0, 4.0, 4.0]


def test_accumulators_of_unused_cotangents_add_nothing():
    kinds: list[type] = []

    def backward(self, res, outgrad, *accums):
        kinds.extend(map(type, accums))
        for accumulator, x in zip(accums, res[::-1], strict=True):
            accumulator.accum(3.0 * x * outgrad)

    fun = operation(vjp_fwd=lambda self, nzs_in, x, y: (self(x, y), (x, y)), vjp_bwd=backward)
    assert float(ricci.grad(fun)(2.0, 5.0)) == 15.0
    assert kinds == [hijax.ValAccum, hijax.NullAccum]


def test_a_custom_staging_is_asked_where_a_jaxpr_is_recorded():
    def staging(self, trace, source_info, *args):
        raise ValueError("only outside of jit")

    fun = operation(staging=staging)
    assert float(fun(2.0, 5.0)) == 30.0
    for transform in (ricci.jit, ricci.make_jaxpr):
        with pytest.raises(ValueError, match="only outside of jit"):
            transform(fun)(2.0, 5.0)


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_values_are_resharded_as_their_type_says(transform):
    mesh = ricci.make_mesh((2,), ("i",), devices=ricci.devices()[:2])
    x = Pair(jnp.arange(4.0), jnp.ones(4))
    with ricci.set_mesh(mesh):
        for _ in range(2):
            moved = transform(lambda x: ricci.reshard(x, ricci.P("i")))(x)
            close(moved, np.arange(4.0), np.ones(4))
            assert (moved.a.sharding.spec, moved.b.sharding.spec) == (ricci.P("i"),) * 2
            ricci.clear_caches()
        jaxpr = ricci.make_jaxpr(lambda x: ricci.reshard(x, ricci.P("i")))(x)
        assert "Pair[float32[4@i]]" in str(jaxpr)
        whole = transform(lambda x: ricci.reshard(x, ricci.P()))(moved)
        assert whole.a.sharding.is_fully_replicated


def test_types_that_cannot_be_resharded_say_so():
    x = Quantized(jnp.ones(4, np.int8), 1.0)
    mesh = ricci.make_mesh((2,), ("i",), devices=ricci.devices()[:2])
    with ricci.set_mesh(mesh), pytest.raises(NotImplementedError, match="implement `reshard`"):
        ricci.reshard(x, ricci.P("i"))


WEAK = ricci.typeof(2.0)
REF = hijax.AbstractRef(ricci.core.ShapedArray((2,), np.int32))
TYPE_METHODS = {
    "pair": (PairType(FLOAT), PairType(FLOAT), PairType(FLOAT)),
    "floats": (FLOAT, FLOAT, FLOAT),
    "weak": (WEAK, WEAK, FLOAT),
    "reference": (REF, hijax.AbstractRef(ricci.core.ShapedArray((2,), ricci.dtypes.float0)), REF),
}


@pytest.mark.parametrize("name", TYPE_METHODS)
def test_every_type_has_the_methods_of_types(name):
    aval, tangent, strong = TYPE_METHODS[name]
    assert aval.at_least_vspace() == aval.to_tangent_aval() == aval.to_ct_aval() == tangent
    assert aval.normalize() == aval.strip_weak_type() == aval.update_weak_type(False) == strong
    assert aval.update_manual_axis_type(FLOAT.manual_axis_type) == aval


def test_weak_types_of_parts_are_those_that_the_type_updates():
    class Updated(PairType):
        def update_weak_type(self, weak_type):
            return Updated(self.part.update_weak_type(weak_type))

    aval = Updated(WEAK)
    assert aval.normalize() == aval.strip_weak_type() == Updated(FLOAT)
    assert aval.strip_weak_type().update_weak_type(True) == aval


@pytest.mark.parametrize("method", ["update", "reshard", "to_tangent_aval", "at_least_vspace"])
def test_types_without_a_method_name_it(method):
    bare = type("Bare", (hijax.HiType,), {})()
    args = (None,) if method == "reshard" else ()
    with pytest.raises(NotImplementedError, match=method.replace("at_least_vspace", "tangent")):
        getattr(bare, method)(*args)


def test_types_of_arrays_have_the_rank_of_batches():
    aval = ricci.core.ShapedArray((2, 3), np.float32)
    batch = ricci.core.ShapedArray((2, 4, 3), np.float32)
    assert (aval.inc_rank(4, 1), batch.dec_rank(4, 1), aval.leading_axis_spec()) == (batch, aval, 0)
    assert aval.inc_rank(4, None) == aval.dec_rank(4, None) == aval
    ref = hijax.AbstractRef(aval)
    assert (ref.inc_rank(4, 1).inner_aval, ref.inc_rank(4, 1).dec_rank(4, 1)) == (batch, ref)
    assert float(FLOAT.vspace_add(jnp.float32(1.0), jnp.float32(2.0))) == 3.0
    with pytest.raises(IndexError):
        aval.dec_rank(4, 2)


class Square(hijax.HiPrim):
    """A pair of products of parts, which a checkpoint saves as a pair."""

    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x):
        return Pair(x.a * x.a, x.b * x.b)

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        parts = [2 * take(x, i) * take(t, i) for i in range(2)]
        return self(x), pair(*parts)

    def remat(self, trace, x):
        parts = [take(x, i) for i in range(2)]
        return pair(*(p * p for p in parts)), x, lambda saved, x: self(x)


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit], ids=["eager", "jit"])
def test_checkpoints_save_values_of_several_arrays(transform):
    square = lambda x: take(Square(ricci.typeof(x))(x), 0) * 2.0
    for _ in range(2):
        close(transform(ricci.grad(ricci.checkpoint(square)))(POINT), 8.0, 0.0)
