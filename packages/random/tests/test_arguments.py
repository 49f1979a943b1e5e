"""Arguments of samplers: errors, broadcasting, dtypes and derivatives."""

import inspect
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import grad
from ricci_ir import make_jaxpr

KEY = np.array([0, 1], np.uint32)

REFUSED = [
    (lambda k: random.uniform(k, (2.5,)), TypeError, "integers"),
    (lambda k: random.uniform(k, (-1,)), ValueError, "negative size"),
    (lambda k: random.uniform(k, dtype=int), ValueError, "float dtype"),
    (lambda k: random.normal(k, dtype=int), ValueError, "float or complex"),
    (lambda k: random.bits(k, dtype=float), ValueError, "unsigned"),
    (lambda k: random.randint(k, (2,), 0, 5, dtype=float), TypeError, "randint"),
    (lambda k: random.bernoulli(k, 2), TypeError, "bernoulli"),
    (lambda k: random.bernoulli(k, 0.5, mode="x"), ValueError, "mode='x'"),
    (lambda k: random.gumbel(k, mode="x"), ValueError, "mode"),
    (lambda k: random.pareto(k, np.ones(2), (3,)), ValueError, "pareto|broadcast"),
    (lambda k: random.choice(k, 0), ValueError, "a "),
    (lambda k: random.choice(k, 5, (6,), replace=False), ValueError, "sample"),
    (lambda k: random.choice(k, 5, p=np.ones(4, np.float32)), ValueError, "p "),
    (lambda k: random.choice(k, np.ones((2, 2)), axis=2), ValueError, "axis 2"),
    (lambda k: random.permutation(k, 3.5), TypeError, "integer"),
    (lambda k: random.permutation(k, np.arange(3), axis=1), ValueError, "axis 1"),
    (lambda k: random.categorical(k, np.ones((2, 3)), axis=5), IndexError, "axis 5"),
    (lambda k: random.categorical(k, np.ones(3), shape=(5,), replace=False), ValueError, "5"),
    (lambda k: random.multivariate_normal(k, np.ones(2), np.eye(3)), ValueError, "cov"),
    (lambda k: random.multivariate_normal(k, 1.0, np.eye(3)), ValueError, "mean"),
    (
        lambda k: random.multivariate_normal(k, np.ones(2), np.eye(2), (), method="x"),
        ValueError,
        "x",
    ),
    (lambda k: random.orthogonal(k, 3, dtype=int), ValueError, "float or complex"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        make_jaxpr(call)(KEY)


def test_a_shape_must_be_concrete():
    with pytest.raises(TypeError, match="known|concrete"):
        make_jaxpr(lambda k, n: random.uniform(k, (n,)))(KEY, 3)


# A sampler, and the shape and dtype of its result.
RESULTS = [
    (lambda k: random.uniform(k, 3), (3,), "float32"),
    (lambda k: random.uniform(k, (2,), "bfloat16"), (2,), "bfloat16"),
    (lambda k: random.normal(k, (2,), "complex64"), (2,), "complex64"),
    (lambda k: random.bernoulli(k, np.float32([0.1, 0.2])), (2,), "bool"),
    (lambda k: random.truncated_normal(k, np.zeros(3), 1.0), (3,), "float32"),
    (lambda k: random.categorical(k, np.ones((2, 3)), axis=0), (3,), "int32"),
    (lambda k: random.choice(k, np.ones((5, 2)), (3, 4)), (3, 4, 2), "float32"),
    (lambda k: random.choice(k, 3, (0,)), (0,), "int32"),
    (lambda k: random.permutation(k, -3), (0,), "int32"),
    (lambda k: random.bits(k, (2,), "uint16"), (2,), "uint16"),
    (lambda k: random.rademacher(k, (2,), float), (2,), "float32"),
]


@pytest.mark.parametrize(("call", "shape", "dtype"), RESULTS)
def test_results_have_the_shape_and_dtype_of_the_arguments(call, shape, dtype):
    (result,) = make_jaxpr(call)(KEY).out_avals
    assert (result.shape, str(result.dtype)) == (shape, dtype)


def test_samples_are_differentiable_by_their_bounds():
    pytest.importorskip("ricci_xla", reason="values are computed by a backend")
    u = random.uniform(KEY, (4,))
    by_minval = grad(lambda a: random.uniform(KEY, (4,), minval=a).sum())(0.0)
    np.testing.assert_allclose(by_minval, 4 - jnp.sum(u), rtol=1e-6)


def test_equal_bounds_give_the_lower():
    pytest.importorskip("ricci_xla", reason="values are computed by a backend")
    assert np.asarray(random.randint(KEY, (3,), 5, 0)).tolist() == [5, 5, 5]


FUNCTIONS = {name: getattr(random, name) for name in random.__all__}
FUNCTIONS = {name: fun for name, fun in FUNCTIONS.items() if isinstance(fun, FunctionType)}


@pytest.mark.parametrize("fun", FUNCTIONS.values(), ids=FUNCTIONS)
def test_samplers_have_annotated_signatures(fun):
    signature = inspect.signature(fun)
    types = {name: p.annotation for name, p in signature.parameters.items()}
    types["return"] = signature.return_annotation
    unknown = {name for name, found in types.items() if found in (inspect.Parameter.empty, Any)}
    assert not unknown
    assert inspect.getdoc(fun)
