"""``checkpoint``: residuals, recomputation, and errors."""

import gc
import weakref

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import check_jaxpr, eval_jaxpr, make_jaxpr
from ricci_lax import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    cos,
    custom_vjp,
    dot,
    mul,
    reduce_sum,
    scan,
    sin,
)
from ricci_lax.derivatives._residuals import saved_residuals
from ricci_stablehlo import lower_jaxpr

X = np.array([0.5, -1.2, 2.0], np.float32)
A = np.arange(9, dtype=np.float32).reshape(3, 3) / 9


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def twice(x):
    return sin(sin(x))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def kept(fun, *args):
    """The residuals, without the arguments."""
    return [what for _, what in saved_residuals(fun, *args) if "argument" not in what]


def inner(jaxpr):
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "remat2"]
    return eqn.params["jaxpr"]


def test_checkpoint_saves_only_the_arguments():
    assert len(kept(twice, X)) == 2
    assert kept(checkpoint(twice), X) == []


def test_the_backward_pass_recomputes():
    jaxpr = make_jaxpr(grad(lambda x: total(checkpoint(twice)(x))))(X)
    check_jaxpr(jaxpr)
    assert names(inner(jaxpr)) == ["sin", "cos", "cos", "mul", "mul"]


@pytest.mark.parametrize(("prevent_cse", "barriers"), [(True, 1), (False, 0), ((True, False), 1)])
def test_a_barrier_prevents_cse_of_the_recomputation(prevent_cse, barriers):
    fun = grad(lambda x: total(checkpoint(twice, prevent_cse=prevent_cse)(x)))
    text = lower_jaxpr(make_jaxpr(fun)(X), "f")
    assert text.count("optimization_barrier") == barriers


def named(x):
    return sin(checkpoint_name(sin(dot(A, x)), "a"))


POLICIES = checkpoint_policies
DOTS = [POLICIES.dots_saveable, POLICIES.checkpoint_dots_with_no_batch_dims]
A_ONLY = [
    POLICIES.save_only_these_names("a"),
    POLICIES.save_any_names_but_these("b"),
    POLICIES.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["a"],
        offload_src="device",
        offload_dst="pinned_host",
    ),
]


@pytest.mark.parametrize(
    ("policy", "sines", "products"),
    [
        (None, 1, 2),
        (POLICIES.nothing_saveable, 1, 2),
        (POLICIES.everything_saveable, 0, 1),
        (POLICIES.save_anything_except_these_names("a"), 0, 1),
        (POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host"), 1, 1),
        (POLICIES.save_from_both_policies(DOTS[0], A_ONLY[0]), 0, 1),
        *((policy, 1, 1) for policy in DOTS),
        *((policy, 0, 2) for policy in A_ONLY),
    ],
)
def test_policies_select_the_saved_values(policy, sines, products):
    fun = grad(lambda x: total(checkpoint(named, policy=policy)(x)))
    jaxpr = make_jaxpr(fun)(X)
    check_jaxpr(jaxpr)
    again = names(inner(jaxpr))
    assert (again.count("sin"), again.count("dot_general")) == (sines, products)


def test_a_policy_must_decide():
    fun = checkpoint(twice, policy=lambda *_, **__: "yes")
    with pytest.raises(TypeError, match="checkpoint policy(?s:.*)'yes'"):
        make_jaxpr(grad(lambda x: total(fun(x))))(X)


def test_nested_checkpoints_save_less():
    def chain(count):
        if count == 1:
            return sin
        first, second = chain(count // 2), chain(count // 2)
        return lambda x: first(checkpoint(second)(x))

    for depth in (2, 3, 4):
        assert len(saved_residuals(chain(2**depth), X)) == depth + 1


def test_inside_a_loop():
    step = checkpoint(lambda c, a: (mul(sin(c), cos(a)), None))
    jaxpr = make_jaxpr(grad(lambda x: total(scan(step, x, A)[0])))(X)
    check_jaxpr(jaxpr)
    forward = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan")
    # The carry is all that is kept.
    assert len(forward.outvars) == 2


def test_forward_mode_and_batches_keep_the_unit():
    fun = checkpoint(twice)
    assert names(make_jaxpr(vmap(fun))(A)) == ["remat2"]
    assert names(make_jaxpr(lambda x: jvp(fun, (x,), (x,)))(X)) == ["remat2"]


def test_static_arguments():
    fun = checkpoint(lambda n, x, flag=True: mul(x, float(n)) if flag else x, static_argnums=0)
    jaxpr = make_jaxpr(lambda x: fun(3, x))(X)
    assert "mul a 3.0" in str(jaxpr) or "3.0" in str(jaxpr)
    by_name = checkpoint(lambda x, flag: sin(x) if flag else x, static_argnames="flag")
    assert names(inner(make_jaxpr(lambda x: by_name(x, True))(X))) == ["sin"]
    assert names(inner(make_jaxpr(lambda x: by_name(x, flag=False))(X))) == []


def test_concrete_functions_are_unchanged():
    fun = lambda x: x
    assert checkpoint(fun, concrete=True) is fun


def test_bad_arguments():
    with pytest.raises(TypeError, match="checkpoint: x is 's', of type str"):
        checkpoint(lambda x: x)("s")
    with pytest.raises(ValueError, match="name each once"):
        POLICIES.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )


def test_wrappers_of_one_function_share_its_traces():
    traced = []

    def fun(x):
        traced.append(x)
        return sin(x)

    values = [checkpoint(fun)(X) for _ in range(4)]
    assert len(traced) == 1
    np.testing.assert_allclose(values, [np.sin(X)] * 4, rtol=1e-6)
    slopes = [grad(lambda x: total(checkpoint(fun)(x)))(X) for _ in range(2)]
    assert len(traced) == 1
    np.testing.assert_allclose(slopes, [np.cos(X)] * 2, rtol=1e-6)


def test_wrappers_do_not_keep_a_function_alive():
    def fun(x):
        return sin(x)

    for _ in range(3):
        checkpoint(fun)(X)
    watch = weakref.ref(fun)
    del fun
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("policy", [None, checkpoint_policies.dots_saveable])
@pytest.mark.parametrize("reads", ["function", "forward", "backward"])
def test_custom_rules_read_traced_arrays_of_the_function_around(reads, policy):
    def gradient(wrap):
        def step(w, x):
            scale = sin(x)
            by = lambda part, h: mul(h, scale) if reads == part else mul(h, 2.0)

            @custom_vjp
            def act(h):
                return by("function", h)

            act.defvjp(lambda h: (by("forward", h), None), lambda _, ct: (by("backward", ct),))
            layer = wrap(lambda w: sin(act(mul(w, x))))
            return grad(lambda w: reduce_sum(layer(w), (0,)))(w)

        return step

    kept = make_jaxpr(gradient(lambda f: f))(X, X)
    again = make_jaxpr(gradient(lambda f: checkpoint(f, policy=policy)))(X, X)
    check_jaxpr(again)
    lower_jaxpr(again, "step")
    np.testing.assert_allclose(
        eval_jaxpr(again, again.consts, X, X)[0], eval_jaxpr(kept, kept.consts, X, X)[0], rtol=1e-6
    )
