"""Functions of Python numbers under jit compute as on arrays, not by Python arithmetic."""

import inspect
import itertools

import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_ir import eval_shape
from ricci_pytree import tree_leaves
from ricci_scipy import special, stats
from ricci_xla import jit

NUMBERS = (0.0, 2.5, 0, -1.0)
# These take vectors, or integers that are known.
NOT_OF_NUMBERS = ("bessel_jn", "lpmn", "lpmn_values", "sph_harm_y", "dirichlet", "multinomial")
MODULES = {
    "special": special,
    **{name: m for name, m in vars(stats).items() if inspect.ismodule(m) and name[0] != "_"},
}
FUNCTIONS = [
    (f"{place}.{name}", f)
    for place, module in MODULES.items()
    for name, f in vars(module).items()
    if inspect.isfunction(f)
    if name[0] != "_" and not {place, name} & set(NOT_OF_NUMBERS)
]


def types(f, *args):
    """The result of a program without arguments, or the class of its error."""
    try:
        found = eval_shape(lambda: f(*args))
    except Exception as error:  # noqa: BLE001  compared with what arrays give
        return type(error)
    return [(x.shape, x.dtype) for x in tree_leaves(found)]


def sum_of(results):
    return sum(jnp.sum(jnp.real(x)) for x in tree_leaves(results))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "f"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_jit_computes_python_numbers_as_arrays(name, f):
    tried = 0
    for count in (1, 2, 3, 4):
        for numbers in itertools.product(NUMBERS[: 5 - count], repeat=count):
            arrays = [jnp.asarray(x) for x in numbers]
            expected = types(f, *arrays)
            if isinstance(expected, type):
                continue
            tried += 1
            assert types(f, *numbers) == expected, numbers
            positions = tuple(i for i, x in enumerate(numbers) if isinstance(x, float))
            if positions:
                gradient = grad(lambda *xs: sum_of(f(*xs)), positions)
                assert types(gradient, *numbers) == types(gradient, *arrays), numbers
    assert tried


def test_division_by_a_python_zero_is_that_of_arrays():
    assert jit(lambda: grad(special.xlogy, 1)(1.0, 0.0))() == jnp.inf
    assert jit(lambda: stats.norm.cdf(1.0, 0, 0))() == 1
    assert jnp.isnan(jit(lambda: stats.norm.pdf(0, 0, 0))())
