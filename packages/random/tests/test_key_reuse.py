"""With ``jax_debug_key_reuse``, using a key twice raises, within a jaxpr and across calls."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_ir import (
    KeyReuseError,
    KeyRole,
    ShapedArray,
    check_key_reuse,
    debug_key_reuse,
    define,
    key_roles,
    make_jaxpr,
    primitives,
    unsupported,
)

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")
jit = xla.jit


def key():
    return random.key(0)


def again(first, second=random.bits):
    """Use one key twice."""

    def call():
        k = key()
        first(k)
        second(k)

    return call


def both(draw):
    """Use one of two keys, in one jitted program."""
    return lambda: jit(draw)(random.split(key()))


def loop(body):
    return lambda: lax.scan(body, key(), None, length=3)


def closed_over():
    k = key()
    lax.fori_loop(0, 3, lambda i, x: x + random.bits(k), jnp.uint32(0))


def in_branch_and_after():
    def draw(p, k):
        x = lax.cond(p, random.bits, lambda k: jnp.uint32(0), k)
        return x + random.bits(k)

    jit(draw)(True, key())


REUSES = {
    "draw twice": again(random.bits),
    "split and draw": again(random.split),
    "jitted twice": again(jit(lambda k: random.bits(k))),
    "given back by jit": lambda: (
        random.bits(jit(lambda k: (random.bits(k), k))(key())[1])
        and again(jit(lambda k: (random.bits(k), k)[1]))()
    ),
    "in a program": lambda: jit(lambda k: random.bits(k) + random.bits(k))(key()),
    "in a jaxpr": lambda: make_jaxpr(lambda k: random.bits(k) + random.bits(k))(key()),
    "same index": both(lambda k: random.bits(k[0]) + random.bits(k[0])),
    "batch and index": both(lambda k: vmap(random.bits)(k) + random.bits(k[0])),
    "carried on": loop(lambda k, _: (k, random.bits(k))),
    "closed over": closed_over,
    "in a branch and after": in_branch_and_after,
}


@pytest.mark.parametrize("call", REUSES.values(), ids=REUSES)
def test_a_second_use_is_an_error(call):
    with debug_key_reuse(True), pytest.raises(KeyReuseError, match="key"):
        call()


def split_in_body(k, _):
    k, now = random.split(k)
    return k, random.bits(now)


USES = {
    "fold_in": again(lambda k: random.fold_in(k, 1)),
    "clone": again(lambda k: random.bits(random.clone(k))),
    "key_data": again(random.key_data),
    "comparison": again(lambda k: k == k),
    "passed through": again(jit(lambda k: k)),
    "other index": both(lambda k: random.bits(k[0]) + random.bits(k[1])),
    "split in the body": loop(split_in_body),
    "either branch": lambda: jit(
        lambda k: lax.cond(True, random.bits, lambda k: random.bits(k) + 1, k)
    )(key()),
    "plain words": lambda: [random.bits(k) for k in [random.PRNGKey(0)] * 2],
}


@pytest.mark.parametrize("call", USES.values(), ids=USES)
def test_uses_that_do_not_consume_a_key_do_not_raise(call):
    with debug_key_reuse(True):
        call()


def test_reuse_does_not_raise_without_the_option():
    again(random.bits)()


@pytest.mark.parametrize("role", [None, KeyRole.DRAW, KeyRole.FOLD_IN])
def test_a_new_primitive_uses_keys_up_only_by_its_role(role, monkeypatch):
    rules = dict.fromkeys(("jvp", "transpose", "batch", "lower", "sharding"), unsupported("unused"))
    number = define("new_number", abstract_eval=lambda k: ShapedArray((), np.float32), **rules)
    monkeypatch.delitem(primitives, "new_number")
    if role is not None:
        monkeypatch.setitem(key_roles, number, role)
    jaxpr = make_jaxpr(lambda k: (number.bind(k), number.bind(k)))(key())
    if role is KeyRole.DRAW:
        with pytest.raises(KeyReuseError, match="new_number uses a key"):
            check_key_reuse.call(jaxpr.jaxpr)
    else:
        check_key_reuse.call(jaxpr.jaxpr)
