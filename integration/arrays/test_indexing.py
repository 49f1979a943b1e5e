"""Indexing outside of programs compiles once for a form, not for a value; names and lines."""

import warnings

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci_testing import ricci_namespace

X = np.arange(24.0, dtype=np.float32).reshape(4, 6)

# Uses of an index that differ in values only; `n` is 0, 1, 2.
FORMS = {
    "int": lambda x, n: x[n],
    "negative int": lambda x, n: x[-1 - n],
    "int out of bounds": lambda x, n: x[n + 10],
    "NumPy int": lambda x, n: x[np.int64(n)],
    "array of rank 0": lambda x, n: x[jnp.asarray(n)],
    "slice": lambda x, n: x[n : n + 2],
    "two ints": lambda x, n: x[n, n + 1],
    "column": lambda x, n: x[:, n],
    "array": lambda x, n: x[jnp.asarray([n, n + 1])],
    "NumPy array": lambda x, n: x[np.array([n, n + 1])],
    "mask": lambda x, n: x[np.arange(4) == n],
    "get": lambda x, n: x.at[n].get(mode="fill"),
    "set": lambda x, n: x.at[n].set(float(n)),
    "set a slice": lambda x, n: x.at[n : n + 2].set(n),
    "add to every other": lambda x, n: x.at[:, n : n + 3 : 2].add(n),
    "set backwards": lambda x, n: x.at[n + 1 : None if n == 0 else n - 1 : -1].set(n),
    "add to an element": lambda x, n: x.at[n, n].add(n),
    "multiply at an array": lambda x, n: x.at[np.array([n, n])].multiply(2.0),
    "divide": lambda x, n: x.at[n].divide(2.0),
    "power": lambda x, n: x.at[n].power(2.0),
    "max": lambda x, n: x.at[..., n].max(n),
    "apply": lambda x, n: x.at[:, n].apply(jnp.sin),
}


def test_compilations_are_told(compilations):
    before = len(compilations)
    ricci.jit(lambda x: x * 3 + 1)(X)
    assert len(compilations) == before + 1


@pytest.mark.parametrize("form", FORMS)
def test_values_of_an_index_are_not_compiled(form, compilations):
    x = jnp.asarray(X)
    for _ in range(4):  # the first calls of an operation may be NumPy's, and the next one compiles
        FORMS[form](x, 0)
    before = len(compilations)
    FORMS[form](x, 1), FORMS[form](x, 2)
    assert len(compilations) == before


@pytest.mark.parametrize("index", ["1", "-5", "7", "1:3", "np.array([3, 0, 3])", "..., 2", "None"])
def test_gradient_of_an_index_is_the_scatter(index):
    scope = ricci_namespace() | {"x": jnp.asarray(X)}
    found = eval(f"jax.grad(lambda x: (x[{index}] * x[{index}]).sum())(x)", scope)
    expected = eval(f"jnp.zeros_like(x).at[{index}].add(2 * x[{index}], mode='clip')", scope)
    np.testing.assert_allclose(found, expected)


def test_narrowing_warns_once_at_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            jnp.zeros(2, dtype="float64")
    assert [(w.filename, "float64" in str(w.message)) for w in caught] == [(__file__, True)]


def test_a_traced_size_names_the_argument():
    with pytest.raises(TypeError, match="argument n"):
        ricci.jit(lambda n: jnp.zeros((n, 2)))(3)
    with pytest.raises(TypeError, match=r"total_repeat_length(.|\n)*argument n"):
        ricci.jit(lambda n: jnp.ones(3).repeat(n))(np.array([3]))
    with pytest.raises(IndexError, match=r"jnp.where\(mask(.|\n)*size=n"):
        ricci.jit(lambda x: x[x > 0])(X)


ONLY_OF_ARRAYS = (
    "x.devices() x.is_deleted() x.delete() x.item(0) x.tolist() x.tobytes() x.addressable_shards "
    "x.committed x.is_fully_replicated x.unsafe_buffer_pointer() x.__dlpack__()"
).split()


@pytest.mark.parametrize("use", ONLY_OF_ARRAYS)
def test_data_dependent_indexing_raises_concretization_error(use):
    with pytest.raises(ricci.errors.ConcretizationTypeError, match=r"x\.\w+(.|\n)*argument x"):
        ricci.jit(lambda x: eval(use, {"x": x}))(X)


def test_the_values_behind_a_differentiated_array_are_known():
    def fun(x):
        assert x.devices() == {ricci.devices()[0]} and not x.is_deleted()
        return x * x.item()

    assert float(ricci.grad(fun)(3.0)) == 3.0


@pytest.mark.parametrize(
    ("use", "error"),
    [
        ("bool(x)", ValueError),
        ("int(x)", TypeError),
        ("float(x)", TypeError),
        ("[1, 2][x]", TypeError),
        ("bool(x[:0])", ValueError),
    ],
)
def test_conversion_of_several_elements_to_a_scalar_raises_type_error(use, error):
    for run in (lambda fun: fun(jnp.asarray(X)), lambda fun: ricci.jit(fun)(X)):
        with pytest.raises(error) as caught:
            run(lambda x: eval(use, {"x": x}))
        assert not isinstance(caught.value, ricci.errors.JAXTypeError)


def test_a_traced_array_is_not_copied_and_not_pickled():
    def fun(x):
        assert __import__("copy").deepcopy({"x": x})["x"] is x
        with pytest.raises(ricci.errors.ConcretizationTypeError, match="pickled"):
            __import__("pickle").dumps(x)
        return x

    ricci.jit(fun)(X)
