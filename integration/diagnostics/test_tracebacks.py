"""A user's traceback: the user's frames, and a note; none of Ricci's own."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

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


# The parts of jaxprs have no boundaries: tracing makes them all the time, and only those who
# extend Ricci make them themselves.
WITHOUT_BOUNDARIES = {
    "ricci.core.Jaxpr",
    "ricci.core.JaxprEqn",
    "ricci.core.ShapedArray",
    "ricci.experimental.hijax.AbstractRef",
    "ricci.experimental.jet.JetTracer",
    "ricci.experimental.pallas.semaphore",
    "ricci.experimental.pallas.tpu.dma_semaphore",
    "ricci.extend.core.primitives.register_call_primitive_rules",
    "ricci.extend.linear_util.WrappedFun",
    "ricci.extend.source_info_util.SourceInfo",
    "ricci.interpreters.ad.JVPTracer",
    "ricci.kernels.KernelFinding",
    "ricci.random.KeyArray",
    "ricci.ref.AbstractRef",
}


def test_wrong_calls_of_public_functions_show_no_frames_of_ricci(tmp_path):
    program = Path(__file__).parents[1] / "wrong_calls.py"
    packages = [*filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(packages)},
    )
    frames = json.loads(done.stdout)
    assert len(frames) > 1400
    shown = {name: found for name, found in frames.items() if found}
    assert shown.keys() <= WITHOUT_BOUNDARIES, shown


def escaped():
    kept = []
    ricci.jit(lambda x: kept.append(x))(1.0)
    return kept[0]


# Calls that fail, of other objects than a namespace's functions.
UNUSUAL = {
    "option": (lambda: ricci.config.update("jax_enable_x46", True), AttributeError),
    "option read": (lambda: ricci.config.jax_enable_x46, AttributeError),
    "option set": (lambda: setattr(ricci.config, "jax_enable_x64", True), AttributeError),
    "option as a block": (lambda: ricci.default_matmul_precision("fine"), ValueError),
    "module": (lambda: jnp.sine, AttributeError),
    "sharding": (lambda: ricci.NamedSharding(mesh(), ricci.P("column")), ValueError),
    "place": (lambda: ricci.device_put(np.ones(2), "cpu"), ValueError),
    "update": (lambda: jnp.ones(2).at[0].set("a"), TypeError),
    "update of many": (lambda: jnp.ones(2).at[:].mul(jnp.ones(3)), ValueError),
    "length": (lambda: len(jnp.float32(1)), TypeError),
    "number": (lambda: float(MANY), TypeError),
    "truth": (lambda: bool(MANY), ValueError),
    "index": (lambda: range(MANY), TypeError),
    "dtype": (lambda: jnp.float32("a"), ValueError),
    "truth of an escaped array": (lambda: bool(escaped()), ricci.errors.TracerBoolConversionError),
    "number of an escaped array": (lambda: float(escaped()), ricci.errors.ConcretizationTypeError),
    "escaped array in NumPy": (
        lambda: np.asarray(escaped()),
        ricci.errors.TracerArrayConversionError,
    ),
    "trees": (lambda: ricci.tree.map(lambda a, b: a, [1], [1, 2]), ValueError),
    "too few leaves": (lambda: ricci.tree.unflatten(ricci.tree.structure([1, 2]), [1]), ValueError),
    "keys without an order": (lambda: ricci.tree.leaves({1: 0, "a": 0}), ValueError),
    "grid": (lambda: jnp.mgrid["a"], TypeError),
}


def mesh():
    return ricci.make_mesh((1,), ("row",), devices=ricci.devices()[:1])


@pytest.mark.parametrize("call", UNUSUAL)
def test_other_calls_show_no_frames_of_ricci(call):
    function, error = UNUSUAL[call]
    with pytest.raises(error) as caught:
        function()
    assert [entry.name for entry in caught.traceback] == [
        "test_other_calls_show_no_frames_of_ricci",
        "<lambda>",
    ]
    np.testing.assert_array_equal(ricci.tree.map(lambda x: x + 1, [MANY])[0], 2 * np.ones(2))


@pytest.mark.parametrize("over", ["map", "map_with_path", "reduce"])
def test_the_function_of_a_tree_fails(over):
    with pytest.raises(ValueError, match="^mine$") as caught:
        getattr(ricci.tree, over)(user, [1, 2])
    assert [entry.name for entry in caught.traceback][1:] == ["user"]


def test_a_cyclic_tree():
    cycle = []
    cycle.append(cycle)
    for function in (ricci.tree.leaves, ricci.tree.structure, ricci.tree.flatten):
        with pytest.raises(RecursionError, match="contains itself") as caught:
            function(cycle)
        assert len(caught.traceback) == 1


@pytest.mark.parametrize(
    "function", [ricci.jit, ricci.device_put, ricci.tree.map, ricci.tree.reduce, ricci.remat]
)
def test_guarded_functions_can_be_pickled_and_copied(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert function.__doc__


def test_two_names_of_one_function():
    assert ricci.remat is ricci.checkpoint
    assert ricci.jacobian is ricci.jacrev
    assert ricci.reshard is ricci.sharding.reshard
