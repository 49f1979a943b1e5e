"""Forms of arguments and results that programs written for JAX use, as JAX takes them."""

from functools import partial

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ONE = np.float32(1.5)

OLDER_COND = [
    "lambda p: lax.cond(p > 0, p, lambda x: x + 1, 2 * p, lambda x: x * 5)",
    "lambda p: lax.cond(p > 0, (p, 2), lambda x: x[0] + 1, jnp.ones(3), lambda x: x.sum())",
    "jax.jit(lambda p: lax.cond(p > 0, p, lambda x: x + 1, 2 * p, lambda x: x * 5))",
    "jax.grad(lambda p: lax.cond(p > 0, p, lambda x: x + 1, 2 * p, lambda x: x * 5))",
    "jax.vmap(lambda q: lax.cond(q > 0, q, lambda x: x + 1, q, lambda x: x * 5))",
    "lambda p: lax.cond(p > 0, None, lambda x: 1, None, lambda x: 2)",
    "lambda p: lax.cond(p > 0, p, lambda x: x + 1, p, 3.0)",
    "lambda p: lax.cond(p > 0, p, lambda x: x + 1, p, lambda x: 5)",
]


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("p", [ONE, -ONE], ids=["true", "false"])
@pytest.mark.parametrize("source", OLDER_COND)
def test_cond_with_an_operand_for_each_branch(source, p):
    assert_same(f"({source})(jnp.asarray(p){'[None]' if 'vmap' in source else ''})", p=p)


SIZED = [None, "a", [None], object(), (1, None), {}, set(), [1, 2], 3, [[1], [2]], X, [X, X]]


@pytest.mark.parametrize("value", SIZED, ids=lambda value: type(value).__name__)
def test_shape_ndim_and_size_of_other_objects_are_those_of_numpy(value):
    assert jnp.shape(value) == np.shape(value)
    assert jnp.ndim(value) == np.ndim(value)
    assert jnp.size(value) == np.size(value)


REDUCTIONS = ["sum", "mean", "prod", "max", "min", "any", "all", "std", "var", "median", "nansum"]
REDUCTIONS += ["nanmean", "nanmax", "nanstd", "count_nonzero", "ptp", "average", "expand_dims"]
REDUCTIONS += ["flip", "linalg.norm"]
AXES = {
    "range": range(2),
    "list": [0, 1],
    "NumPy array": np.array([0, 1]),
    "array": jnp.array([0, 1]),
    "set": {0, 1},
    "generator": (0, 1),
}


@pytest.mark.sampled(41)
@pytest.mark.parametrize("kind", AXES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_may_be_any_collection_of_ints(name, kind):
    fun = jnp
    for part in name.split("."):
        fun = getattr(fun, part)
    axis = iter(AXES[kind]) if kind == "generator" else AXES[kind]
    np.testing.assert_array_equal(fun(X, axis=axis), fun(X, axis=(0, 1)))


@pytest.mark.parametrize("fun", [ricci.nn.logsumexp, ricci.nn.softmax, ricci.nn.standardize])
@pytest.mark.parametrize("axis", [range(2), [0, 1], np.array([0, 1]), {0, 1}], ids=str)
def test_axes_of_exponential_sums_may_be_any_collection_of_ints(fun, axis):
    np.testing.assert_array_equal(fun(X, axis=axis), fun(X, axis=(0, 1)))


@pytest.mark.parametrize("axis", [1.0, [0.5], 2, [0, 0]], ids=str)
def test_other_axes_are_refused(axis):
    with pytest.raises((TypeError, ValueError)):
        jnp.sum(X, axis=axis)


def test_a_text_is_the_name_of_an_axis_in_scope():
    with pytest.raises(NameError, match="unbound axis name: '0'"):
        jnp.sum(X, axis="0")


@pytest.mark.sampled(19)
@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float32", "bfloat16"])
@pytest.mark.parametrize(
    "start",
    ["lax.add, 0.0", "lax.add, 0", "lax.max, -np.inf", "lax.min, np.inf", "lax.max, -1.0"]
    + ["lax.mul, 1.0", "lax.add, jnp.float32(0)", "lax.add, False", "lax.add, 1j"],
)
def test_reductions_start_from_identities_of_any_dtype(start, dtype):
    prelude = f"op, init = {start}\nx = jnp.asarray(x).astype('{dtype}')\n"
    assert_same(f"{prelude}lax.reduce(x, init, op, (1,))", x=X)
    assert_same(f"{prelude}lax.reduce_window(x, init, op, (1, 2), (1, 1), 'VALID')", x=X)


class Anything:
    """Auxiliary data that is neither an array nor a pytree of arrays."""


AUX = ["text", None, Anything(), ("a", 1), {"k": "v"}, len, np.array(["a"], object)]


@pytest.mark.parametrize("aux", AUX, ids=lambda x: type(x).__name__)
def test_auxiliary_data_may_be_anything(aux):
    def fun(x):
        return x * 2.0, (x * 3.0, aux)

    for value, other in [
        ricci.value_and_grad(fun, has_aux=True)(ONE)[0],
        ricci.vjp(fun, ONE, has_aux=True)[::2],
        ricci.jvp(fun, (ONE,), (ONE,), has_aux=True)[::2],
        ricci.linearize(fun, ONE, has_aux=True)[::2],
    ]:
        assert float(value) == 3.0
        assert float(other[0]) == 4.5
        assert other[1] is aux or other[1] == aux
    for transform in (ricci.grad, ricci.jacrev, ricci.jacfwd):
        derivative, other = transform(fun, has_aux=True)(ONE)
        assert float(derivative) == 2.0
        assert isinstance(other[0], ricci.Array)
    inner = ricci.jit(lambda x: ricci.vjp(fun, x, has_aux=True)[2][0])
    assert float(inner(ONE)) == 4.5


XS = jnp.ones((1, 2))


class Model:
    """A callable with attributes, one of which has a name that is not a string."""

    def __init__(self):
        self.weight = 3.0
        self.__name__ = 5

    def __call__(self, x):
        return (x * self.weight).sum()


@pytest.mark.parametrize(
    "transform",
    [ricci.vmap, ricci.grad, ricci.value_and_grad, ricci.jacfwd, ricci.jacrev, ricci.hessian]
    + [ricci.checkpoint, ricci.pmap, ricci.jit, ricci.custom_jvp, ricci.custom_vjp],
)
def test_a_transformed_object_keeps_its_attributes(transform):
    model = Model()
    transformed = transform(model)
    assert transformed.weight == 3.0
    if not transform.__name__.startswith("custom_"):
        same = transform(lambda x: model(x))
        for x, y in zip(*map(ricci.tree.leaves, (transformed(XS), same(XS))), strict=True):
            np.testing.assert_array_equal(x, y)


SHAPES = ricci.ShapeDtypeStruct((3,), jnp.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit], ids=["plain", "jit"])
def test_a_function_that_is_only_traced_may_return_types(wrap):
    out = ricci.eval_shape(wrap(lambda x: (SHAPES, x)), jnp.ones(2))
    assert out == (SHAPES, ricci.ShapeDtypeStruct((2,), jnp.float32))
    nested = ricci.eval_shape(lambda: ricci.eval_shape(lambda x: x * 2, jnp.ones(2)))
    assert nested == ricci.ShapeDtypeStruct((2,), jnp.float32)
    assert ricci.make_jaxpr(lambda x: SHAPES)(1.0).out_avals[0].shape == (3,)
    with pytest.raises(TypeError, match="ShapeDtypeStruct"):
        ricci.jit(lambda x: SHAPES)(1.0)


def test_the_operands_of_cond_are_named_in_errors():
    with pytest.raises(TypeError, match="true_fun and false_fun must be functions"):
        lax.cond(True, 1.0, 2.0)


def test_the_type_of_a_token_is_described():
    token = lax.create_token()
    out = ricci.eval_shape(lambda t, x: (lax.after_all(t, t), x), token, 1.0)
    assert type(out[0]).__name__ == "AbstractToken"
    assert type(ricci.jit(lambda t: t)(token)) is type(token)


FUNCTIONS = [np.sum, jnp.sin, jnp.add, ricci.nn.relu, ricci.jit(abs), partial(jnp.sum, axis=0), abs]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: type(function).__name__)
@pytest.mark.parametrize("transform", [ricci.jit, ricci.grad])
def test_functions_among_the_arguments_are_called_so(transform, function):
    model = {"activation": function, "weights": X}
    with pytest.raises(TypeError, match=r"'activation'.* It is a function: keep it out"):
        transform(lambda model: jnp.sum(model["weights"]))(model)


def test_classes_of_ricci_are_shown_without_private_modules():
    with pytest.raises(TypeError, match="of type ScalarType, which is not an array"):
        ricci.jit(lambda x: x)(jnp.float32)
