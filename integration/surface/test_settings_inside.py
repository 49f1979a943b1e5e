"""Settings that are changed inside a function hold there, whatever the function is called through.

An operation keeps the settings that it was applied under: its program may be lowered, batched or
transposed long after the block has ended that gave them.
"""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax, random
from ricci_ir import jaxpr_as_fun, use_backend
from ricci_reference import reference_backend

X = np.array([0.3, -0.2, 0.8], np.float32)

# Each converts to float64 itself, which is float32 where 64-bit dtypes are off.
WIDE = {
    "sin": lambda x: jnp.sin(x.astype("float64")) * 2.0,
    "created": lambda x: x * jnp.ones(3) + jnp.linspace(0, 1, 3),
    "jit": lambda x: ricci.jit(lambda y: y * jnp.arange(3.0))(x.astype("float64")),
    "at": lambda x: x.astype("float64").at[0].set(2.0),
    "custom_jvp": lambda x: ricci.nn.relu(x.astype("float64")),
    "scan": lambda x: lax.scan(lambda c, y: (c + y, c), jnp.zeros(()), x.astype("float64"))[0],
}


def _total(f):
    return lambda x: f(x).sum().astype("float32")


VALUES = {
    "jit": lambda f: ricci.jit(f),
    "jit of jit": lambda f: ricci.jit(ricci.jit(f)),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=1)[1][0],
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, f, f, x),
    "vmap": lambda f: lambda x: ricci.vmap(f)(jnp.stack([x * 2, x]))[1],
    "jvp": lambda f: lambda x: ricci.jvp(f, (x,), (x,))[0],
    "vjp": lambda f: lambda x: ricci.vjp(f, x)[0],
    "eval_jaxpr": lambda f: lambda x: jaxpr_as_fun(ricci.make_jaxpr(f)(x), x)[0],
}
GRADIENTS = {
    "grad": lambda f: ricci.grad(_total(f)),
    "jit of grad": lambda f: ricci.jit(ricci.grad(_total(f))),
    "grad of jit": lambda f: ricci.grad(_total(ricci.jit(f))),
    "vmap of grad": lambda f: lambda x: ricci.vmap(ricci.grad(_total(f)))(x[None])[0],
    "grad of checkpoint": lambda f: ricci.grad(_total(ricci.checkpoint(f))),
    "grad of scan": lambda f: ricci.grad(
        lambda x: lax.scan(lambda c, _: (c, _total(f)(c)), x, None, length=1)[1].sum()
    ),
    "vjp": lambda f: lambda x: ricci.vjp(_total(f), x)[1](jnp.float32(1))[0],
    "linearize": lambda f: (
        lambda x: ricci.vmap(ricci.linearize(_total(f), x)[1])(jnp.eye(3, dtype="float32"))
    ),
}


def _evaluated(f):
    """A function, traced as a program whose operations the current backend then evaluates."""
    return lambda x: jaxpr_as_fun(ricci.make_jaxpr(f)(x), x)[0]


def _same(found, expected):
    assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("wide", [True, False], ids=["wide inside", "narrow inside"])
@pytest.mark.parametrize("name", WIDE)
def test_the_width_of_an_inner_block(name, wide):
    def inside(x):
        with ricci.enable_x64(wide):
            return WIDE[name](x)

    with ricci.enable_x64(wide):
        alone = WIDE[name](jnp.asarray(X))
        slope = ricci.grad(_total(WIDE[name]))(jnp.asarray(X))
    with ricci.enable_x64(not wide):
        _same(inside(jnp.asarray(X)), alone)
        for transform in VALUES.values():
            _same(transform(inside)(jnp.asarray(X)), alone)
        for transform in GRADIENTS.values():
            _same(transform(inside)(jnp.asarray(X)), slope)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("wide", [True, False], ids=["wide inside", "narrow inside"])
@pytest.mark.parametrize("name", WIDE)
def test_programs_that_numpy_evaluates(name, wide):
    def inside(x):
        with ricci.enable_x64(wide):
            return WIDE[name](x)

    with ricci.enable_x64(not wide):
        value, slope = inside(jnp.asarray(X)), ricci.grad(_total(inside))(jnp.asarray(X))
        with use_backend(reference_backend):
            x = jnp.asarray(X)
            for transform in VALUES.values():
                _same(_evaluated(transform(inside))(x), value)
            for transform in GRADIENTS.values():
                _same(_evaluated(transform(inside))(x), slope)
                _same(transform(inside)(x), slope)


@pytest.mark.parametrize("transform", [lambda f: f, *map(VALUES.get, ("jit", "jvp", "vjp"))])
def test_a_python_scalar_keeps_the_type_it_was_given_as(transform):
    def inside(x):
        with ricci.enable_x64(True):
            return jnp.sin(x.astype("float64")) * x

    gradient = ricci.grad(lambda x: transform(inside)(x).astype("float32"))(1.0)
    assert (gradient.dtype, gradient.weak_type) == ("float32", True)
    np.testing.assert_allclose(gradient, np.sin(1) + np.cos(1), rtol=1e-6)


def _with_jvp_rule(f):
    g = ricci.custom_jvp(f)
    g.defjvp(lambda primals, tangents: ricci.jvp(f, primals, tangents))
    return g


WRAPPERS = {
    "alone": lambda f: f,
    "jit": ricci.jit,
    "checkpoint": ricci.checkpoint,
    "custom_jvp": _with_jvp_rule,
    "cond": lambda f: lambda x: lax.cond(x > 0, f, f, x),
    "vmap": lambda f: lambda x: ricci.vmap(f)(jnp.stack([x]))[0],
}
SLOPES = {
    "grad": ricci.grad,
    "value_and_grad": lambda f: lambda x: ricci.value_and_grad(f)(x)[1],
    "jvp": lambda f: lambda x: ricci.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: ricci.vjp(f, x)[1](ricci.eval_shape(f, x).dtype.type(1))[0],
    "linearize": lambda f: lambda x: ricci.linearize(f, x)[1](1.0),
    "jacfwd": ricci.jacfwd,
    "jacrev": ricci.jacrev,
    "hessian": lambda f: lambda x: -ricci.hessian(f)(np.pi / 2 - x),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("wide", [True, False], ids=["wide inside", "narrow inside"])
@pytest.mark.parametrize("outer", [True, False], ids=["wide outside", "narrow outside"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("scalar", [float, np.float64], ids=["Python", "NumPy"])
def test_a_scalar_has_its_slope_in_every_transformation(scalar, wrapper, outer, wide):
    def inside(x):
        with ricci.enable_x64(wide):
            return jnp.sin(x)

    with ricci.enable_x64(outer):
        fun = WRAPPERS[wrapper](inside)
        for name, slope in SLOPES.items():
            for transformed in (slope(fun), ricci.jit(slope(fun))):
                result = transformed(scalar(0.5))
                assert result.dtype == ("float64" if outer else "float32"), name
                np.testing.assert_allclose(result, np.cos(0.5), rtol=1e-6, err_msg=name)


def test_an_inner_jit_is_compiled_at_the_width_of_its_call():
    inner = ricci.jit(lambda x: x.astype("float64") * jnp.arange(3))

    def outer(x):
        with ricci.enable_x64(True):
            return inner(x).sum()

    for _ in range(2):
        assert ricci.jit(outer)(1.0).dtype == "float64"
        assert ricci.grad(lambda x: outer(x).astype("float32"))(1.0) == 3
        assert inner(1.0).dtype == "float32"
        assert ricci.vmap(outer)(jnp.ones(2)).dtype == "float64"


# Random bits


def _draws(key):
    with ricci.threefry_partitionable(False):
        first = random.bits(key, (3,)), random.key_data(random.split(key, 3))
    with ricci.threefry_partitionable(True):
        second = random.bits(key, (3,)), random.key_data(random.split(key, 3))
    return *first, *second


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "transform",
    {
        "jit": ricci.jit,
        "jit of jit": lambda f: ricci.jit(ricci.jit(f)),
        "vmap": lambda f: lambda k: [x[1] for x in ricci.vmap(f)(jnp.stack([k, k]))],
        "scan": lambda f: (
            lambda k: [x[0] for x in lax.scan(lambda c, _: (c, f(c)), k, None, length=2)[1]]
        ),
        "cond": lambda f: lambda k: lax.cond(jnp.sum(random.key_data(k)) < 9, f, f, k),
        "checkpoint": ricci.checkpoint,
        "composed": lambda f: ricci.jit(ricci.checkpoint(lambda k: ricci.jit(f)(k))),
    }.items(),
    ids=lambda item: item[0],
)
def test_which_bits_are_drawn(transform):
    key = random.key(0)
    expected = _draws(key)
    assert (np.asarray(expected[0]) != np.asarray(expected[2])).all()
    for _ in range(2):
        for found, want in zip(transform[1](_draws)(key), expected, strict=True):
            np.testing.assert_array_equal(found, want)


def test_bits_of_one_jitted_function_called_under_two_settings():
    uniform = ricci.jit(lambda key: random.uniform(key, (3,)))

    def both(key):
        with ricci.threefry_partitionable(False):
            first = uniform(key)
        with ricci.threefry_partitionable(True):
            return first, uniform(key)

    key = random.key(0)
    expected = both(key)
    assert (np.asarray(expected[0]) != np.asarray(expected[1])).any()
    for f in (ricci.jit(both), both):
        for found, want in zip(f(key), expected, strict=True):
            np.testing.assert_array_equal(found, want)


# Each computes keys as well, which the caller has no use for.
_bits_and_keys = ricci.jit(lambda key: (random.bits(key, (3,)), random.key_data(random.split(key))))
PARTLY_NEEDED = {
    "jit": _bits_and_keys,
    "checkpoint": ricci.checkpoint(_bits_and_keys),
    "cond": lambda key: lax.cond(
        jnp.sum(random.key_data(key)) < 9, _bits_and_keys, _bits_and_keys, key
    ),
    "scan": lambda key: lax.scan(
        lambda c, _: (random.split(c)[0], _bits_and_keys(c)), key, None, length=2
    )[1],
    "while": lambda key: lax.fori_loop(
        0, 2, lambda i, c: (_bits_and_keys(key)[0] + c[0], c[1] + 1), (jnp.zeros(3, "uint32"), 0)
    ),
}


@pytest.mark.parametrize("name", PARTLY_NEEDED)
def test_dead_code_elimination_keeps_the_random_bits(name):
    def draw(key):
        with ricci.threefry_partitionable(False):
            return PARTLY_NEEDED[name](key)[0]

    key = random.key(0)
    np.testing.assert_array_equal(ricci.jit(draw)(key), draw(key))


@ricci.custom_jvp
def _twice(x):
    return x * 2


_twice.defjvp(lambda primals, tangents: (_twice(*primals), _twice(*tangents)))


@pytest.mark.parametrize(
    "transform",
    {
        "cond": lambda f: lambda x: lax.cond(x[0] < 9, f, f, x),
        "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=1)[1][0],
        "map": lambda f: lambda x: lax.map(f, x[None])[0],
        "checkpoint": ricci.checkpoint,
        "jit": ricci.jit,
    }.items(),
    ids=lambda item: item[0],
)
def test_a_rule_that_draws_bits_for_tangents(transform):
    def drawn(x):
        with ricci.threefry_partitionable(False):
            return (_twice(x) * random.uniform(random.key(0), (3,))).sum()

    function = transform[1](drawn)
    ruled = ricci.custom_jvp(lambda x: function(x))
    ruled.defjvp(lambda primals, tangents: (function(*primals), function(*tangents)))
    expected = ricci.grad(drawn)(X)
    for outer in (lambda f: f, ricci.jit):
        np.testing.assert_allclose(outer(ricci.grad(ruled))(X), expected, rtol=1e-6)


# Other settings


@pytest.mark.parametrize("transform", [lambda f: f, ricci.jit, ricci.vmap, ricci.checkpoint])
def test_strict_promotion_inside(transform):
    def f(x):
        y = x + jnp.int32(1)
        with ricci.numpy_dtype_promotion("strict"):
            return y * jnp.int32(1)

    for _ in range(2):
        with pytest.raises(ValueError, match="strict"):
            transform(f)(jnp.ones(2))


def test_precision_of_products_and_of_their_gradients():
    def f(x):
        with ricci.default_matmul_precision("highest"):
            first = x @ x
        return (first + x @ x).sum()

    x = jnp.ones((2, 2))
    for fun in (f, ricci.grad(f)):
        text = ricci.jit(fun).lower(x).as_text()
        dots = [line for line in text.splitlines() if "dot_general" in line]
        assert sum("HIGHEST" in line for line in dots) == len(dots) / 2 > 0


def test_other_settings_are_not_put_in_force_again():
    seen = []

    @ricci.custom_vjp
    def f(x):
        return x * 2

    def backward(_, ct):
        seen.append((ricci.config.jax_default_matmul_precision, ricci.config.jax_enable_x64))
        return (ct * 2,)

    f.defvjp(lambda x: (f(x), None), backward)

    def g(x):
        with ricci.default_matmul_precision("highest"), ricci.enable_x64(True):
            return f(x)

    x = jnp.float32(1)
    ricci.grad(g)(x)
    ricci.jit(ricci.grad(g))(x)
    ricci.grad(ricci.jit(g))(x)
    assert seen == [(None, True)] * 3


LEAVING = {
    "a product": (lambda y: y @ y, "float64"),
    "a gradient of a product": (ricci.grad(lambda y: jnp.sin(y) @ y), "float64"),
    "a Python scalar": (lambda y: y * 1.5, "float32"),
    "a narrow array": (lambda y: y + jnp.ones(2, "float32"), "float32"),
    "an index": (lambda y: y[jnp.argmax(y)], "float64"),
    "a wide index": (lambda y: jnp.arange(3.0)[_wide_index()], "float32"),
    "take": (lambda y: jnp.take(jnp.arange(3.0), _wide_index()), "float32"),
}


def _wide_index():
    with ricci.enable_x64(True):
        return jnp.array(1)


@pytest.mark.parametrize("use", LEAVING)
def test_values_that_leave_a_wide_block_are_computed_with(use):
    compute, dtype = LEAVING[use]
    with ricci.enable_x64(True):
        y = jnp.array([0.1, 0.2], "float64")
        expected = compute(y)
    for way in (compute, ricci.jit(compute)):
        result = way(y)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=1e-6)
