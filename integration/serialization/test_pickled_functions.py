"""Transformed functions, pickled by value (as multiprocessing, Ray and Dask do) and by name."""

import copy
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci import lax, nn
from ricci.experimental import checkify

cloudpickle = pytest.importorskip("cloudpickle", reason="is not among the requirements")

VECTOR = np.arange(1.0, 4.0, dtype="float32")
MATRIX = np.ones((2, 3), "float32")


class Model:
    def __init__(self):
        self.weight = 2.0
        self.jitted = jax.jit(lambda x: 3 * x)

    def loss(self, x):
        return jnp.sum(self.jitted(x) ** 2 * self.weight)


def closure(scale):
    constant = jnp.arange(3.0)
    return lambda x: jnp.sum(jnp.sin(x) * scale * constant)


def functions():
    def plain(x):
        return jnp.sum(jnp.sin(x))

    return {
        "plain": plain,
        "bound method": Model().loss,
        "closure": closure(2.0),
        "lambda": lambda x: jnp.sum(nn.relu(x) ** 2),
        "partial": partial(lambda a, x: jnp.sum(a * x), 2.0),
    }


def with_jvp(f):
    g = jax.custom_jvp(f)
    g.defjvp(lambda p, t: (f(*p), jnp.sum(t[0]) * 5))
    return jax.value_and_grad(g)


def with_jvps(f):
    g = jax.custom_jvp(f)
    g.defjvps(lambda t, out, x: jnp.sum(t) * 5)
    return jax.value_and_grad(g)


def with_vjp(f):
    g = jax.custom_vjp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (5 * x * ct,))
    return jax.value_and_grad(g)


def with_vmap(f):
    g = jax.custom_batching.custom_vmap(f)
    g.def_vmap(lambda size, batched, xs: (jax.vmap(f)(xs) + 1, True))
    return jax.vmap(g)


def closure_over_jit(f):
    g = jax.jit(f)
    return lambda x: g(x) + 1


def equation_count(f):
    g = jax.make_jaxpr(f)
    return lambda x: len(g(x).eqns)


TRANSFORMATIONS = {
    "jit": (jax.jit, VECTOR),
    "jit of keywords": (lambda f: jax.jit(f, inline=True, keep_unused=True), VECTOR),
    "grad": (jax.grad, VECTOR),
    "value_and_grad": (jax.value_and_grad, VECTOR),
    "vmap": (jax.vmap, MATRIX),
    "vmap of axes": (lambda f: jax.vmap(f, in_axes=1), MATRIX.T),
    "jacfwd": (jax.jacfwd, VECTOR),
    "jacrev": (jax.jacrev, VECTOR),
    "hessian": (jax.hessian, VECTOR),
    "checkpoint": (lambda f: jax.grad(jax.checkpoint(f)), VECTOR),
    "checkpoint by policy": (
        lambda f: jax.grad(jax.checkpoint(f, policy=jax.checkpoint_policies.dots_saveable)),
        VECTOR,
    ),
    "custom_jvp": (with_jvp, VECTOR),
    "custom_jvp of arguments": (with_jvps, VECTOR),
    "custom_vjp": (with_vjp, VECTOR),
    "custom_vmap": (with_vmap, MATRIX),
    "sequential_vmap": (lambda f: jax.vmap(jax.custom_batching.sequential_vmap(f)), MATRIX),
    "named_call": (jax.named_call, VECTOR),
    "make_jaxpr": (equation_count, VECTOR),
    "eval_shape": (lambda f: lambda x: jnp.zeros(jax.eval_shape(f, x).shape), VECTOR),
    "vectorize": (lambda f: jnp.vectorize(f, signature="(n)->()"), MATRIX),
    "checkify": (lambda f, c=checkify.checkify: lambda x: c(f)(x)[1], VECTOR),
    "shard_map": (
        lambda f: jax.shard_map(
            f,
            mesh=jax.sharding.Mesh(jax.devices()[:1], "i"),
            in_specs=jax.P("i"),
            out_specs=jax.P(),
            check_vma=False,
        ),
        VECTOR,
    ),
    "jit of grad": (lambda f: jax.jit(jax.grad(f)), VECTOR),
    "grad of jit": (lambda f: jax.grad(jax.jit(f)), VECTOR),
    "vmap of grad": (lambda f: jax.vmap(jax.grad(f)), MATRIX),
    "closure over jit": (closure_over_jit, VECTOR),
    "scan": (
        lambda f: lambda x: lax.scan(lambda c, _: (c + jax.jit(f)(x), None), 0.0, None, 2)[0],
        VECTOR,
    ),
    "Partial": (lambda f: jax.tree_util.Partial(jax.jit(f)), VECTOR),
}


@pytest.mark.sampled(17)
@pytest.mark.parametrize("called", [False, True], ids=["before a call", "after a call"])
@pytest.mark.parametrize("function", functions())
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformed_functions_are_pickled_by_value(name, function, called):
    transform, argument = TRANSFORMATIONS[name]
    g = transform(functions()[function])
    if called:
        g(argument)
    copied = pickle.loads(cloudpickle.dumps(g))
    for _ in range(2):
        jax.tree.map(np.testing.assert_array_equal, copied(argument), g(argument))


def test_another_process_gets_the_same_results(tmp_path):
    path = tmp_path / "functions"
    cases = {
        (name, function): (TRANSFORMATIONS[name][0](functions()[function]), argument)
        for name, (_, argument) in TRANSFORMATIONS.items()
        for function in ("plain", "bound method", "closure")
    }
    this = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(this)
    try:
        path.write_bytes(cloudpickle.dumps([f for f, _ in cases.values()]))
    finally:
        cloudpickle.unregister_pickle_by_value(this)
    arguments = [argument for _, argument in cases.values()]
    (tmp_path / "arguments").write_bytes(pickle.dumps(arguments))
    code = (
        "import pickle, sys, numpy, ricci\n"
        "read = lambda name: pickle.load(open(f'{sys.argv[1]}/{name}', 'rb'))\n"
        "functions, arguments = read('functions'), read('arguments')\n"
        "outs = [f(x) for f, x in zip(functions, arguments)]\n"
        "outs = ricci.tree.map(numpy.asarray, outs)\n"
        "pickle.dump(outs, open(f'{sys.argv[1]}/outs', 'wb'))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    outs = pickle.loads((tmp_path / "outs").read_bytes())
    for out, (f, argument) in zip(outs, cases.values(), strict=True):
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), out, f(argument))


def test_pickled_jitted_functions_keep_their_options_and_attributes():
    f = jax.jit(lambda x, n: x * n, static_argnums=1, donate_argnums=0)
    f.note = "kept"
    copied = pickle.loads(cloudpickle.dumps(f))
    x = jnp.ones(2)
    assert copied(x, 3).tolist() == [3, 3]
    assert copied.note == "kept"
    assert copied.__name__ == f.__name__
    assert "tf.aliasing_output" in copied.lower(jnp.ones(2), 3).as_text()


def test_jitted_functions_that_call_themselves_are_pickled():
    namespace = {"jit": jax.jit}
    exec("@jit\ndef f(x):\n    return x if x.ndim == 0 else f(x[0])", namespace)
    copied = pickle.loads(cloudpickle.dumps(namespace["f"]))
    assert float(copied(jnp.ones((2, 2)))) == 1.0


def test_pickled_functions_are_not_cached_results():
    offset = {"by": 1.0}
    f = jax.jit(lambda x: x + offset["by"])
    f(1.0)
    copied = pickle.loads(cloudpickle.dumps(f))
    assert float(copied(2.0)) == 3.0


@pytest.mark.parametrize(
    "value",
    [jnp.add, jnp.logical_and, jnp.sin, nn.relu, nn.gelu, lax.add_p, lax.scan_p, jax.jit, jax.grad],
)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_what_ricci_names_is_pickled_by_name(value, dumps):
    assert pickle.loads(dumps({"value": value}))["value"] is value
    assert copy.deepcopy(value) is value


def test_primitives_of_users_are_pickled_by_their_state():
    primitive = jax.extend.core.Primitive("mine")
    copied = pickle.loads(cloudpickle.dumps(primitive))
    assert (copied.name, copied is primitive) == ("mine", False)
