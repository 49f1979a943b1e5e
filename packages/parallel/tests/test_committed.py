"""Arguments, operations and results that are committed to different devices."""

import numpy as np
import pytest

from ricci_lax import add
from ricci_parallel import device_put, pmap, with_sharding_constraint
from ricci_xla import Mesh, NamedSharding, P, devices, jit

X = np.arange(8, dtype=np.float32)


def split(count: int = 8) -> NamedSharding:
    return NamedSharding(Mesh(devices()[:count], "x"), P("x"))


def first():
    return device_put(X, devices()[0])


def test_both_arguments_are_named():
    f = jit(lambda params, step: add(params["w"], step))
    with pytest.raises(ValueError) as caught:
        f({"w": first()}, device_put(X, devices()[1]))
    text = str(caught.value)
    assert "argument params['w'] to device ids [0] on cpu" in text
    assert "argument step to device ids [1] on cpu" in text
    np.testing.assert_array_equal(f({"w": first()}, X), 2 * X)


def test_operation_is_named_with_its_line():
    f = jit(lambda x: with_sharding_constraint(x, split()))
    with pytest.raises(ValueError) as caught:
        f(first())
    text = str(caught.value)
    assert "argument x to device ids [0] on cpu" in text
    line = f.__wrapped__.__code__.co_firstlineno
    assert f"sharding_constraint at {__file__}:{line}" in text
    assert f(X).sharding == split()


def test_sharding_that_differs_from_in_shardings_is_named():
    f = jit(lambda x: add(x, 1.0), in_shardings=split())
    with pytest.raises(ValueError, match="argument x of <lambda>, of type float32") as caught:
        f(first())
    assert str(split()) in str(caught.value) and str(first().sharding) in str(caught.value)
    np.testing.assert_array_equal(f(device_put(X, split())), X + 1)


def test_compiled_function_names_arguments_committed_elsewhere():
    compiled = jit(lambda x: add(x, 1.0)).lower(device_put(X, split())).compile()
    with pytest.raises(ValueError, match="argument x of type float32"):
        compiled(first())
    np.testing.assert_array_equal(compiled(X), X + 1)


def test_argument_on_one_device_of_a_mapped_function():
    f = pmap(lambda x, y: add(x, y), in_axes=(0, None))
    with pytest.raises(ValueError, match="argument x of <lambda>"):
        f(first(), 1.0)
    np.testing.assert_array_equal(f(X, device_put(np.float32(2), devices()[3])), X + 2)


def test_array_that_is_closed_over_is_moved():
    away = device_put(X, split(4))
    total = jit(lambda x: add(x, away))(first())
    assert total.devices() == {devices()[0]}
    np.testing.assert_array_equal(total, 2 * X)
