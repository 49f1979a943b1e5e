"""The example libraries compute what JAX's do: parameters, outputs, gradients, steps, schedules.

A run takes every twelfth row of the tables; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full`
sets it, all of them.
"""

import os

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

START = """
import importlib
stax = importlib.import_module(jax.__name__ + ".example_libraries.stax")
opt = importlib.import_module(jax.__name__ + ".example_libraries.optimizers")
init = jax.nn.initializers
K = random.key(0)
"""

# Layers, with the shape of their inputs.
LAYERS = """
Dense(5)                                                                  -1 3
Dense(5, init.ones, init.zeros)                                           -1 3
Conv(4, (3, 2), (2, 1), "SAME")                                           -1 7 8 2
Conv(4, (3, 3), padding=[(1, 0), (2, 2)])                                 -1 7 8 2
GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (3, 3))                          -1 2 8 8
Conv1DTranspose(4, (3,), (2,), "SAME")                                    -1 7 2
ConvTranspose(4, (3, 3), (2, 2))                                          -1 5 5 2
GeneralConvTranspose(("NCHW", "HWOI", "NCHW"), 2, (2, 3), (1, 2))         -1 2 5 5
MaxPool((2, 2), (2, 2))                                                   2 7 8 2
AvgPool((3,), padding="SAME")                                             2 7 2
SumPool((2, 2), spec="NCHW")                                              2 2 7 8
BatchNorm()                                                               -1 4 4 2
BatchNorm(0, 1e-3, scale=False, beta_init=init.ones)                      -1 3
BatchNorm((0,), center=False, gamma_init=init.normal(1.0))                -1 3
BatchNorm((0,), center=False, scale=False)                                -1 3
Dropout(0.7)                                                              -1 30
Flatten                                                                   -1 2 3
elementwise(jnp.clip, max=0.5)                                            -1 3
serial(stax.Dense(4), stax.Relu, stax.Dropout(0.5), stax.Dense(2))        -1 3
serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInSum)   -1 3
serial(stax.FanOut(3), stax.parallel(*[stax.Dense(2)] * 3), stax.FanInConcat())      -1 3
shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))                  -1 3
"""
ELEMENTWISE = "Tanh Relu Exp LogSoftmax Softmax Softplus Sigmoid Elu LeakyRelu Selu Gelu Identity"

METHODS = """
sgd(0.1)
sgd(opt.exponential_decay(0.3, 3, 0.8))
momentum(0.1, 0.9)
nesterov(0.1, 0.9)
adagrad(0.1)
adagrad(0.1, momentum=0.5)
rmsprop(0.1)
rmsprop(0.1, gamma=0.5, eps=1e-3)
rmsprop_momentum(0.1)
adam(0.1)
adam(opt.polynomial_decay(0.3, 5, 0.1), b1=0.8, b2=0.9, eps=1e-4)
adamax(0.1)
adamax(opt.piecewise_constant([2, 5], [0.3, 0.2, 0.1]))
sm3(0.1)
sm3(opt.inverse_time_decay(0.3, 3, 0.8), momentum=0.5)
"""

VALUES = """
[opt.constant(0.1)(3), opt.make_schedule(0.2)(3), opt.make_schedule(lambda i: i)(3)]
[opt.exponential_decay(1.0, 10, 0.5)(i) for i in (0, 3, np.int32(12), jnp.int32(3))]
[opt.inverse_time_decay(1.0, 10, 0.5)(i) for i in (0, 3, jnp.int32(13))]
[opt.inverse_time_decay(1.0, 10, 0.5, staircase=True)(i) for i in (0, 13, jnp.int32(13))]
[opt.polynomial_decay(1.0, 10, 0.1, 2.0)(i) for i in (0, 3, jnp.int32(13))]
[opt.piecewise_constant([2, 5], [1.0, 0.5, 0.1])(i) for i in (0, 2, 3, jnp.int32(6))]
[opt.l2_norm(x) for x in ({"a": 3.0, "b": jnp.ones(2)}, jnp.arange(3), jnp.array([3j, 4]))]
opt.clip_grads([3.0, jnp.array([0.0, 4.0]), np.float16(1.0)], 1.0)
opt.clip_grads([3.0, jnp.array([0.0, 4.0])], 100.0)
opt.adam(0.1).init_fn([1.0, jnp.ones(2, jnp.int32)]).packed_state
opt.unpack_optimizer_state(opt.adam(0.1).init_fn([1.0, (jnp.ones(2),)]))[1][0].subtree
opt.pack_optimizer_state({"a": opt.JoinPoint((1.0, [2.0]))}).packed_state
opt.pack_optimizer_state([1.0])
opt.sgd(0.1).update_fn(0, [1.0], opt.sgd(0.1).init_fn((1.0,)))
opt.optimizer(lambda: (lambda x: (x,), lambda i, g, s: s[0], lambda s: s[0]))().init_fn(1.0)
opt.make_schedule(np.ones(2))
opt.piecewise_constant([1], [1.0])
opt.piecewise_constant([[1]], [1.0, 2.0])
opt.zip([1], [2, 3])
opt.map(lambda x: x + 1, [1, 2])
stax.Dropout(0.5)[1]((), jnp.ones(3))
tuple(stax.parallel(stax.Identity, stax.Identity)[0](K, [(-1, 2), (-1, 3)]))
stax.FanOut(2)[0](K, (-1, 3))
"""


def layer_texts(layer: str, shape: str) -> tuple[str, str]:
    """The compared facts of a layer: its shape and parameters; outputs and gradients."""
    sizes = tuple(int(n) for n in shape.split())
    filled = tuple(2 if n == -1 else n for n in sizes)
    made = f"{START}make, apply = stax.{layer}\nshape, params = make(K, {sizes})\n"
    computed = f"""X = random.normal(random.key(1), {filled})
loss = lambda params, x: (apply(params, x, rng=random.key(2)) ** 2).sum()
[apply(params, X, rng=random.key(2)), jax.grad(loss, (0, 1))(params, X)]
"""
    return f"{made}(jax.tree.map(int, shape), params)", made + computed


def steps_text(method: str, wide: bool) -> str:
    """Ten steps along gradients that are the same for every method."""
    dtype = "float64" if wide else "float32"
    return f"""{START}
W = random.normal(K, (3, 4), jnp.{dtype})
method = opt.{method}
update = jax.jit(method.update_fn)
state = method.init_fn({{"w": W, "b": [W[0]]}})
for i in range(10):
    grads = jax.tree.map(lambda x: jnp.cos(3 * x) + 0.1 * x, method.params_fn(state))
    state = update(i, grads, state)
eager = method.update_fn(10, grads, state)
[method.params_fn(state), state.packed_state, eager.packed_state]
"""


def requests() -> dict[str, Request]:
    """Everything that is compared, by a name for the test."""
    rows = [line.rsplit("  ", 1) for line in LAYERS.strip().splitlines()]
    rows += [[name, "-1 4"] for name in ELEMENTWISE.split()]
    found = {}
    for layer, shape in rows:
        made, computed = layer_texts(layer.strip(), shape.strip())
        found[f"init {layer.strip()}"] = Request(made, {})
        found[f"apply {layer.strip()}"] = Request(computed, {})
    for method in METHODS.strip().splitlines():
        for wide in (False, True):
            config = {"jax_enable_x64": wide}
            found[f"{method}, {64 if wide else 32}"] = Request(steps_text(method, wide), {}, config)
    found |= {text: Request(START + text, {}) for text in VALUES.strip().splitlines()}
    return found


STEP = 1 if os.environ.get("RICCI_ORACLE_CASES") == "all" else 12
REQUESTS = dict(list(requests().items())[::STEP])


@pytest.fixture(scope="module")
def answers():
    results = shared_oracle().run_many(list(REQUESTS.values()), timeout=600)
    return dict(zip(REQUESTS, results, strict=True))


@pytest.mark.sampled(7)
@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.parametrize("name", REQUESTS)
def test_example_libraries_agree_with_jax(name, answers):
    request = REQUESTS[name]
    found = evaluate_with(ricci_namespace(), request.source, {}, config=request.config)
    compare(found, answers[name], source=name, rtol=0.0 if name.startswith("init ") else 2e-6)
