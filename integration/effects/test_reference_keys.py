"""Random keys on the NumPy backend: the same keys and the same numbers as the compiler's."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax, random
from ricci_batching import axis_name_rules
from ricci_ir import jaxpr_as_fun, use_backend
from ricci_reference import reference_backend
from ricci_stablehlo import extended_lower_rules

GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


def _keys(impl="threefry2x32", shape=(2, 3)):
    """Keys as a program's argument: their words, so that each backend makes its own array."""
    words = random.key_data(random.split(random.key(7, impl=impl), shape))
    return np.asarray(words)


def _on_keys(function, impl="threefry2x32"):
    """A function of keys as one of words; its results that are keys are words, too."""

    def on_words(words):
        results = function(random.wrap_key_data(words, impl=impl))
        return [
            random.key_data(x) if ricci.dtypes.issubdtype(x.dtype, ricci.dtypes.prng_key) else x
            for x in ricci.tree.leaves(results)
        ]

    return on_words


def _evaluated(function):
    """A function, traced as a program whose operations the current backend then evaluates."""
    return lambda x: jaxpr_as_fun(ricci.make_jaxpr(ricci.jit(function))(x), x)


def _check(function, words, exact=True):
    """Called and as a program, a function of words gives what its compiled form does."""
    expected = ricci.jit(function)(words)
    with use_backend(reference_backend):
        for found in (function(words), _evaluated(function)(words)):
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.dtype == theirs.dtype
                if exact:
                    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
                else:
                    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


# Operations that move keys

_POSITIONS = np.array([[1, 7], [0, -1]])
# One call for each primitive that has a rule for elements that are arrays, in the order of names.
MOVED = {
    "broadcast_in_dim": lambda k: lax.broadcast_in_dim(k[0], (4, 3), (1,)),
    "concatenate": lambda k: lax.concatenate([k, k[:1]], 0),
    "copy": lax.copy_p.bind,
    "dynamic_slice": lambda k: lax.dynamic_slice(k, (1, 5), (1, 2)),
    "dynamic_update_slice": lambda k: lax.dynamic_update_slice(k, k[:1, :2], (1, 1)),
    "eq": lambda k: (k == k[:, ::-1], k == k[0, 0]),
    "gather": lambda k: (jnp.take(k, _POSITIONS, 1), k.at[_POSITIONS].get(mode="fill")),
    "ne": lambda k: (k != k[::-1], k[0, 0] != k),
    "pad": lambda k: lax.pad(k, k[1, 2], [(1, -1, 0), (0, 2, 1)]),
    "reshape": lambda k: (k.reshape(3, 2), k.ravel()),
    "rev": lambda k: lax.rev(k, (1,)),
    "scatter": lambda k: (k.at[_POSITIONS, 1].set(k[0, 0]), k.at[1].set(k[0])),
    "select_n": lambda k: (
        jnp.where(np.array([[True], [False]]), k, k[0, 0]),
        lax.select_n(np.array([[0, 1, 2], [2, 1, 0]]), k, k[::-1], k[:, ::-1]),
    ),
    "slice": lambda k: lax.slice(k, (0, 0), (2, 3), (1, 2)),
    "sort": lambda k: lax.sort((np.array([[3, 1, 2], [1, 1, 0]]), k), dimension=1, num_keys=1),
    "split": lambda k: lax.split(k, (1, 2), 1),
    "squeeze": lambda k: lax.squeeze(k[:1], (0,)),
    "stack": lambda k: jnp.stack([k, k[::-1]], 1),
    "tile": lambda k: lax.tile(k, (2, 1)),
    "transpose": lambda k: (k.T, lax.transpose(k, (1, 0))),
    "unstack": lambda k: lax.unstack(k, 1),
}


def test_the_table_has_each_operation_that_moves_keys():
    # Those of devices and of named axes have tests of their own, in the package parallel.
    apart = {primitive.name for primitive in axis_name_rules} | {"reshard"}
    assert {primitive.name for primitive in extended_lower_rules} - apart == set(MOVED)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", MOVED)
def test_keys_are_moved(name):
    function = MOVED[name]
    _check(_on_keys(function), _keys())
    batched = lambda k: ricci.vmap(function)(jnp.stack([k, k[::-1]]))
    _check(_on_keys(batched), _keys())


def _with_rule(function):
    ruled = ricci.custom_jvp(function)
    ruled.defjvps(None, None)
    return ruled


@pytest.mark.parametrize(
    "function",
    {
        "identity": lambda k: k,
        "none": lambda k: k[:0],
        "zeros_like": jnp.zeros_like,
        "full": lambda k: jnp.full((2,), k[0, 0]),
        "cond": lambda k: [lax.cond(p, lambda k: k[0], lambda k: k[1], k) for p in (True, False)],
        "switch": lambda k: ricci.vmap(lambda i: lax.switch(i, [lambda: k[0, 0], lambda: k[1, 2]]))(
            jnp.arange(2)
        ),
        "while": lambda k: lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, random.split(c[1])[1]), (0, k[0, 0])
        ),
        "while of a batch": lambda k: ricci.vmap(
            lambda n, k: lax.fori_loop(0, n, lambda i, k: random.fold_in(k, i), k)
        )(jnp.arange(3), k[0]),
        "scan": lambda k: lax.scan(
            lambda c, row: (random.split(c)[0], (c, row[1], random.bits(c))), k[0, 0], k
        ),
        "scan backwards": lambda k: lax.scan(lambda c, x: (x, c), k[0, 0], k[1], reverse=True),
        "map": lambda k: lax.map(lambda row: random.fold_in(row[0], 3), k),
        "custom_jvp": lambda k: _with_rule(lambda x, k: random.split(k[0, 0]))(1.0, k),
        "checkpoint": lambda k: ricci.checkpoint(lambda k: random.split(k[0, 0]))(k),
        "barrier": lax.optimization_barrier,
        "iteration": lambda k: list(k[0]),
        "roll": lambda k: jnp.roll(k, 1, 1),
        "repeat": lambda k: jnp.repeat(k, 2, 0),
    }.items(),
    ids=lambda item: item[0],
)
def test_keys_in_programs(function):
    _check(_on_keys(function[1]), _keys())


# Operations on keys, and samplers

_one = lambda k: k[0, 0]
EXACT = {
    "seed": lambda k: random.key(3),
    "traced seed": lambda k: random.key(random.key_data(k)[0, 0, 1].astype("int32")),
    "split": lambda k: random.split(_one(k), (2, 2)),
    "fold_in": lambda k: random.fold_in(_one(k), 5),
    "fold_in of a batch": lambda k: ricci.vmap(random.fold_in, (None, 0))(_one(k), jnp.arange(3)),
    "clone": random.clone,
    "wrap and unwrap": lambda k: random.wrap_key_data(random.key_data(k), impl=k.dtype),
    "bits": lambda k: [random.bits(_one(k), (5,), f"uint{width}") for width in (8, 16, 32)],
    "randint": lambda k: random.randint(_one(k), (4, 2), -3, 9),
    "uniform": lambda k: random.uniform(_one(k), (7,), minval=-1.0),
    "uniform, half": lambda k: random.uniform(_one(k), (7,), "bfloat16"),
    "bernoulli": lambda k: random.bernoulli(_one(k), 0.3, (9,)),
    "permutation": lambda k: random.permutation(_one(k), 6),
    "choice": lambda k: random.choice(_one(k), 9, (3,), replace=False),
    "rademacher": lambda k: random.rademacher(_one(k), (4,)),
}
ROUNDED = {
    "normal": lambda k: random.normal(_one(k), (3, 2)),
    "exponential": lambda k: random.exponential(_one(k), (4,)),
    "gumbel": lambda k: random.gumbel(_one(k), (4,)),
    "truncated_normal": lambda k: random.truncated_normal(_one(k), -1.0, 2.0, (4,)),
    "categorical": lambda k: random.categorical(_one(k), jnp.arange(4.0), shape=(5,)),
    "gamma": lambda k: random.gamma(_one(k), 2.0, (2,)),
    "poisson": lambda k: random.poisson(_one(k), 3.0, (2,)),
    "multivariate_normal": lambda k: random.multivariate_normal(_one(k), jnp.ones(2), jnp.eye(2)),
}
SAMPLERS = {**EXACT, **ROUNDED}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("impl", GENERATORS)
def test_numbers_from_keys(name, impl):
    if name == "poisson" and impl != "threefry2x32":
        pytest.skip("draws exact numbers from keys of Threefry only")
    _check(_on_keys(SAMPLERS[name], impl), _keys(impl), name in EXACT)


@pytest.mark.parametrize("name", ["split", "fold_in", "bits", "randint", "uniform", "normal"])
def test_numbers_from_keys_inside(name):
    draw = lambda k: SAMPLERS[name](k.reshape(1, 1))
    in_loop = lambda k: lax.scan(lambda c, x: (c + 1, draw(x)), 0, k.ravel())[1]
    for function in (ricci.vmap(ricci.vmap(draw)), in_loop):
        _check(_on_keys(function), _keys(), name in EXACT)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential"])
def test_gradients_through_samplers(name):
    def loss(scale, k):
        return jnp.sum(SAMPLERS[name](k) * scale**2)

    in_loop = lambda scale, k: lax.scan(lambda c, k: (c + loss(scale, k[None]), None), 0.0, k)[0]
    for fun in (loss, ricci.jit(loss), ricci.checkpoint(loss), in_loop):
        gradients = lambda k, fun=fun: [ricci.grad(fun)(3.0, k), ricci.hessian(fun)(3.0, k)]
        _check(_on_keys(gradients), _keys(), exact=False)
    slope = lambda k: ricci.grad(lambda a: random.gamma(k[0, 0], a, (2,)).sum())(1.5)
    _check(_on_keys(slope), _keys(), exact=False)


def test_wide_bits():
    with ricci.enable_x64(True):
        for impl in GENERATORS:
            _check(_on_keys(lambda k: random.bits(k[0, 0], (3,), "uint64"), impl), _keys(impl))
            _check(_on_keys(lambda k: random.randint(k[0, 0], (3,), 0, 2**40), impl), _keys(impl))


def test_keys_of_one_backend_on_the_other():
    compiled = random.split(random.key(3))
    with use_backend(reference_backend):
        found = random.split(compiled[1])
        assert (found == random.split(random.split(random.key(3))[1])).all()
        words = np.asarray(random.key_data(found))
    np.testing.assert_array_equal(words, random.key_data(random.split(compiled[1])))
