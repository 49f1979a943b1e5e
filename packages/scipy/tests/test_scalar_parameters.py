"""Scalar parameters beside arrays: the types of results, and functions of the parameters alone."""

import inspect

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax.checkify import checkify, float_checks
from ricci_scipy import special, stats

SCALAR, ARRAY = (ShapeDtypeStruct(shape, np.dtype(np.float32)) for shape in ((), (3,)))
# Distributions of vectors.
OF_VECTORS = {"dirichlet", "multinomial", "multivariate_normal"}
# Functions of orders or degrees that are integers, or single numbers.
OF_INTEGERS = {"lpmn", "lpmn_values", "multigammaln", "polygamma", "sph_harm_y"}


def _functions():
    for name in sorted(set(special.__all__) - OF_INTEGERS):
        yield name, getattr(special, name)
    for module in sorted(set(stats.__all__) - OF_VECTORS):
        for name in getattr(getattr(stats, module), "__all__", ()):
            yield f"{module}.{name}", getattr(getattr(stats, module), name)


def _operand_count(function):
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)


def _types(function, operands):
    return [str(v.aval) for v in make_jaxpr(function)(*operands).outvars]


FUNCTIONS = {name: f for name, f in _functions() if callable(f) and 2 <= _operand_count(f) <= 4}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_the_type_of_arrays(name):
    function = FUNCTIONS[name]
    count = _operand_count(function)
    expected = _types(function, [ARRAY] * count)
    for array in range(count):
        operands = [ARRAY if i == array else SCALAR for i in range(count)]
        assert _types(function, operands) == expected, f"operand {array} is the array"
        operands = [SCALAR if i == array else ARRAY for i in range(count)]
        assert _types(function, operands) == expected, f"operand {array} is the scalar"


def _widest(text, operation):
    return {
        line.split("=")[0].split(":")[1].strip() for line in text.splitlines() if operation in line
    }


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (stats.geom.logpmf, (" log1p ", " log ")),
        (stats.bernoulli.logpmf, (" log1p ",)),
        (stats.gamma.logpdf, (" lgamma ",)),
    ],
)
def test_functions_of_parameters_are_computed_once(function, operations):
    text = str(make_jaxpr(function)(ARRAY, SCALAR))
    for operation in operations:
        assert "f32[]" in _widest(text, operation)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("function", [special.xlogy, special.xlog1py])
def test_a_logarithm_whose_factor_is_0_is_not_computed_outside_of_its_domain(function, shape):
    pytest.importorskip("ricci_xla", reason="values are computed")
    x, y = np.zeros(shape, np.float32), np.full(shape, -2, np.float32)
    error, result = checkify(function, errors=float_checks)(x, y)
    assert error.get() is None
    np.testing.assert_array_equal(result, x)
