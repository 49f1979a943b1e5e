"""A user's traceback through a transformation: the user's frames and the call's, and a note."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

ONE = 1.0
MANY = jnp.ones(2)


def user(*args):
    raise ValueError("mine")


def with_jvp(fun, rule):
    custom = ricci.custom_jvp(fun)
    custom.defjvp(rule)
    return custom


def with_vjp(fun, fwd, bwd):
    custom = ricci.custom_vjp(fun)
    custom.defvjp(fwd, bwd)
    return custom


def with_vmap(fun, rule):
    custom = ricci.custom_batching.custom_vmap(fun)
    custom.def_vmap(rule)
    return custom


same = lambda x: x
# Calls in which the user's function is called directly: it, and the line here, are all there is.
CALLS = {
    "grad": lambda: ricci.grad(user)(ONE),
    "value_and_grad": lambda: ricci.value_and_grad(user)(ONE),
    "jvp": lambda: ricci.jvp(user, (ONE,), (ONE,)),
    "vjp": lambda: ricci.vjp(user, ONE),
    "linearize": lambda: ricci.linearize(user, ONE),
    "linear_transpose": lambda: ricci.linear_transpose(user, ONE),
    "vmap": lambda: ricci.vmap(user)(MANY),
    "jit": lambda: ricci.jit(user)(ONE),
    "jit of jit": lambda: ricci.jit(ricci.jit(user))(ONE),
    "jit of grad": lambda: ricci.jit(ricci.grad(user))(ONE),
    "grad of jit": lambda: ricci.grad(ricci.jit(user))(ONE),
    "vmap of grad": lambda: ricci.vmap(ricci.grad(user))(MANY),
    "lower": lambda: ricci.jit(user).lower(ONE),
    "trace": lambda: ricci.jit(user).trace(ONE),
    "eval_shape of jit": lambda: ricci.jit(user).eval_shape(ONE),
    "jacfwd": lambda: ricci.jacfwd(user)(MANY),
    "jacrev": lambda: ricci.jacrev(user)(MANY),
    "hessian": lambda: ricci.hessian(user)(MANY),
    "checkpoint": lambda: ricci.checkpoint(user)(ONE),
    "grad of checkpoint": lambda: ricci.grad(ricci.checkpoint(user))(ONE),
    "make_jaxpr": lambda: ricci.make_jaxpr(user)(ONE),
    "eval_shape": lambda: ricci.eval_shape(user, ONE),
    "pmap": lambda: ricci.pmap(user)(MANY[:1]),
    "cond": lambda: lax.cond(True, user, user, ONE),
    "while_loop": lambda: lax.while_loop(user, user, ONE),
    "scan": lambda: lax.scan(user, ONE, MANY),
    "map": lambda: lax.map(user, MANY),
    "custom_jvp": lambda: with_jvp(user, user)(ONE),
    "jit of custom_jvp": lambda: ricci.jit(with_jvp(user, user))(ONE),
    "grad of custom_jvp": lambda: ricci.grad(with_jvp(same, user))(ONE),
    "jit of grad of custom_jvp": lambda: ricci.jit(ricci.grad(with_jvp(same, user)))(ONE),
    "vmap of custom_jvp": lambda: ricci.vmap(with_jvp(user, user))(MANY),
    "custom_vjp": lambda: with_vjp(user, user, user)(ONE),
    "grad of custom_vjp": lambda: ricci.grad(with_vjp(same, user, user))(ONE),
    "backward rule": lambda: ricci.grad(with_vjp(same, lambda x: (x, x), user))(ONE),
    "vmap of backward rule": lambda: ricci.vmap(ricci.grad(with_vjp(same, lambda x: (x, x), user)))(
        MANY
    ),
    "vmap of custom_vmap": lambda: ricci.vmap(with_vmap(same, user))(MANY),
    "custom_gradient": lambda: ricci.grad(ricci.custom_gradient(user))(ONE),
    "custom_root": lambda: lax.custom_root(user, ONE, user, user),
    "custom_linear_solve": lambda: lax.custom_linear_solve(user, MANY, user),
    "closure_convert": lambda: ricci.closure_convert(user, ONE),
    "vectorize": lambda: jnp.vectorize(user)(np.ones(2)),
}


@pytest.mark.parametrize("call", CALLS)
def test_only_the_users_frames_are_shown(call):
    with pytest.raises(ValueError, match="mine") as caught:
        CALLS[call]()
    frames, tb = [], caught.value.__traceback__
    while tb is not None:
        frames.append(tb.tb_frame.f_code.co_name)
        tb = tb.tb_next
    assert frames == ["test_only_the_users_frames_are_shown", "<lambda>", "user"]
    (note,) = caught.value.__notes__
    assert "jax_traceback_filtering" in note
