"""Static numbers that Python calls equal are not mixed up by caches.

`0.0` equals `-0.0`, and `1` equals `1.0` and `True`. A call whose jaxpr or executable holds such a
number gives the same with empty caches as after a call with an equal number. A run takes the calls
that were mixed up once and a sample of the others; with RICCI_ORDER_CASES=all, as
`nox -s orders-full` sets it, all.

The static arguments of `jit` are compared by `==` and their type, as in JAX, so that they are
not among the calls: what is nested in one, such as `(0.0,)`, is taken for `(-0.0,)`.
"""

import os
import random
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import pallas
from ricci_ir import exact_key, static_number

EVERYTHING = os.environ.get("RICCI_ORDER_CASES") == "all"
SAMPLE = 6
NUMBERS = (0.0, -0.0, 1, True, 1.0)
X = jnp.asarray(np.float32([1, 2, 3, -4]))
K = jnp.asarray(np.int32([0, 1, 2, 3]))
OUTSIDE = jnp.asarray(np.int32([0, 9]))
MASK = jnp.asarray(np.array([True, False, True, False]))


def _body(v, carry, x):
    return carry + v * 0, x * v


def _scaling(v, block, out):
    out[...] = block[...] * v


def _custom_jvp():
    function = partial(ricci.custom_jvp, nondiff_argnums=(1,))(lambda x, v: x * v)
    function.defjvp(lambda v, primals, tangents: (primals[0] * v, tangents[0] * v))
    return function


def _custom_vjp():
    function = partial(ricci.custom_vjp, nondiff_argnums=(1,))(lambda x, v: x * v)
    function.defvjp(lambda x, v: (x * v, None), lambda v, _, ct: (ct * v,))
    return function


WITH_JVP, WITH_VJP = _custom_jvp(), _custom_vjp()
SAVED = ricci.checkpoint(lambda x, v: x * v, static_argnums=1)
SHAPE = ricci.ShapeDtypeStruct((4,), np.float32)
MIXED_UP = {
    "get": lambda v: X.at[OUTSIDE].get(mode="fill", fill_value=v),
    "take": lambda v: jnp.take(X, OUTSIDE, mode="fill", fill_value=v),
    "take_along_axis": lambda v: jnp.take_along_axis(X, OUTSIDE, 0, mode="fill", fill_value=v),
    "scan of a partial": lambda v: lax.scan(partial(_body, v), 0.0, X)[1],
}
OTHERS = {
    "get of integers": lambda v: K.at[OUTSIDE].get(mode="fill", fill_value=v),
    "pad": lambda v: jnp.pad(X, 1, constant_values=v),
    "pad of integers": lambda v: jnp.pad(K, 1, constant_values=v),
    "pad with a ramp": lambda v: jnp.pad(X, 1, "linear_ramp", end_values=v),
    "full": lambda v: jnp.full(3, v),
    "full_like": lambda v: lax.full_like(X, v),
    "asarray": lambda v: jnp.asarray(v),
    "product": lambda v: X * v,
    "product of integers": lambda v: K * v,
    "power": lambda v: X**v,
    "power of integers": lambda v: (K + 1) ** v,
    "where": lambda v: jnp.where(MASK, X, v),
    "select": lambda v: jnp.select([MASK], [K], v),
    "clip": lambda v: jnp.clip(K, v, None),
    "nan_to_num": lambda v: jnp.nan_to_num(X * np.nan, nan=v),
    "sum": lambda v: jnp.sum(X[:0], initial=v),
    "max": lambda v: jnp.max(K, initial=v),
    "reduce": lambda v: lax.reduce(X, np.float32(v), lambda a, b: a + b * v, (0,)),
    "linspace": lambda v: jnp.linspace(v, v, 3),
    "arange": lambda v: jnp.arange(v, 2),
    "diff": lambda v: jnp.diff(X * 0, prepend=v),
    "insert": lambda v: jnp.insert(X, 1, v),
    "append": lambda v: jnp.append(K, v),
    "piecewise": lambda v: jnp.piecewise(X, [MASK], [v]),
    "interp": lambda v: jnp.interp(X, X[:2], X[:2], left=v, right=v),
    "unique": lambda v: jnp.unique(X, size=6, fill_value=v),
    "nonzero": lambda v: jnp.nonzero(MASK, size=4, fill_value=v)[0],
    "setdiff1d": lambda v: jnp.setdiff1d(X, X[:1], size=6, fill_value=v),
    "intersect1d": lambda v: jnp.intersect1d(X, X[:1], size=6, fill_value=v),
    "var": lambda v: jnp.var(X, ddof=v),
    "quantile": lambda v: jnp.quantile(X, v),
    "norm": lambda v: jnp.linalg.norm(X, v),
    "set": lambda v: K.at[1].set(v),
    "apply": lambda v: X.at[1].apply(lambda x: x * v),
    "unwrap": lambda v: jnp.unwrap(X, period=v + 2),
    "leaky_relu": lambda v: ricci.nn.leaky_relu(X, v),
    "standardize": lambda v: ricci.nn.standardize(X, epsilon=v),
    "uniform": lambda v: ricci.random.uniform(ricci.random.key(0), (3,), minval=v, maxval=v),
    "constant": lambda v: ricci.nn.initializers.constant(v)(ricci.random.key(0), (3,)),
    "scan": lambda v: lax.scan(lambda c, x: (c, x * v), 0.0, X)[1],
    "fori_loop": lambda v: lax.fori_loop(0, 2, lambda i, c: c * v, X),
    "cond": lambda v: lax.cond(True, lambda x: x * v, lambda x: x, X),
    "map of a partial": lambda v: lax.map(partial(lambda v, x: x * v, v), X),
    "associative_scan": lambda v: lax.associative_scan(lambda a, b: a * v + b * v, X),
    "custom_jvp": lambda v: WITH_JVP(X, v),
    "grad of custom_jvp": lambda v: ricci.grad(lambda x: WITH_JVP(x, v).sum())(X),
    "custom_vjp": lambda v: WITH_VJP(X, v),
    "grad of custom_vjp": lambda v: ricci.grad(lambda x: WITH_VJP(x, v).sum())(X),
    "grad of checkpoint": lambda v: ricci.grad(lambda x: SAVED(x, v).sum())(X),
    "jit of a partial": lambda v: ricci.jit(partial(lambda v, x: x * v, v))(X),
    "composite": lambda v: lax.composite(lambda x, s: x * s, "our.scale")(X, s=v),
    "vectorize": lambda v: jnp.vectorize(lambda a, b: a * b, excluded=(1,))(X, v),
    "pallas_call": lambda v: pallas.pallas_call(partial(_scaling, v), SHAPE, interpret=True)(X),
}
CALLS = MIXED_UP | OTHERS
CHOSEN = [*MIXED_UP, *(OTHERS if EVERYTHING else random.Random(0).sample(sorted(OTHERS), SAMPLE))]


def described(result):
    """List the types and the bytes of the results."""
    return [
        (x.dtype, getattr(x, "weak_type", None), np.asarray(x).tobytes())
        for x in ricci.tree.leaves(result)
    ]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOSEN)
def test_a_call_with_an_equal_number_before_changes_nothing(name):
    call = CALLS[name]
    ricci.clear_caches()
    forwards = [described(call(v)) for v in NUMBERS]
    ricci.clear_caches()
    backwards = [described(call(v)) for v in reversed(NUMBERS)][::-1]
    # The first of an order has empty caches: the others are compared with each other.
    assert forwards == backwards


@pytest.mark.parametrize("transform", [ricci.jit, lambda f: f], ids=["jit", "eager"])
def test_a_fill_of_minus_zero_keeps_its_sign_in_a_mapped_call(transform):
    for fill in (0.0, -0.0, 0.0):
        read = lambda x, fill=fill: x.at[OUTSIDE].get(mode="fill", fill_value=fill)
        filled = transform(ricci.vmap(read))(X[None])[0, 1]
        assert np.signbit(filled) == np.signbit(fill)


def test_complex_fills_keep_the_signs_of_both_parts():
    z = jnp.asarray(np.complex64([1 + 1j]))
    for fill in (0j, complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0), 0j):
        filled = z.at[OUTSIDE].get(mode="fill", fill_value=fill)[1]
        assert np.asarray(filled).tobytes() == np.complex64(fill).tobytes()


def test_a_new_nan_as_a_fill_compiles_nothing():
    X.at[OUTSIDE].get(mode="fill", fill_value=float("nan"))
    entries = {name: size.entries for name, size in ricci.debug.caches().items()}
    X.at[OUTSIDE].get(mode="fill", fill_value=-float("nan"))
    assert {name: size.entries for name, size in ricci.debug.caches().items()} == entries


EQUAL = [
    (0.0, -0.0),
    (1, True),
    (1, 1.0),
    (1.0, np.float32(1)),
    ((1,), (True,)),
    (0j, complex(-0.0)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_exact_keys_tell_equal_numbers_apart(one, other):
    assert one == other
    assert exact_key(one) != exact_key(other)
    assert exact_key(one) == exact_key(one)
    assert exact_key(frozenset([one])) != exact_key(frozenset([other]))


def test_static_numbers_are_numbers():
    negative = static_number(-0.0)
    assert negative != 0.0 and hash(negative) == hash(static_number(-0.0))
    assert np.signbit(np.asarray(negative, np.float32)) and repr(negative) == "-0.0"
    assert static_number(float("nan")) is static_number(-float("nan"))
    assert [type(static_number(x)) for x in (1, True, 2.0, None)] == [int, bool, float, type(None)]
