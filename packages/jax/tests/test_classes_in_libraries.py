"""Public classes as libraries use them: checked at run time, subclassed, read as dataclasses."""

import dataclasses
import types
import typing

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src.typing import SupportsDType
from jax.experimental.pallas import mosaic_gpu

MEMBERS = {
    str(member): member
    for union in (jax.typing.ArrayLike, jax.typing.DTypeLike)
    for member in typing.get_args(union)
    if not isinstance(member, types.GenericAlias)
}


@pytest.mark.parametrize("name", MEMBERS)
def test_the_classes_of_a_union_have_instance_checks(name):
    assert not isinstance(object(), MEMBERS[name])


@pytest.mark.parametrize("value", [jnp.float32, np.zeros(2), np.float32(1)])
def test_an_object_with_a_dtype_is_an_instance_of_its_protocol(value):
    assert isinstance(value, SupportsDType) and not isinstance(1, SupportsDType)
    assert SupportsDType in typing.get_args(jax.typing.DTypeLike)


def test_jitted_functions_are_told_from_others_by_their_protocol():
    assert isinstance(jax.jit(jnp.sin), jax.stages.Wrapped)
    assert not isinstance(lambda x: x, jax.stages.Wrapped)
    assert isinstance(jax.nn.initializers.zeros, jax.nn.initializers.Initializer)


class Batched(jax.ShapeDtypeStruct):
    """A description with an additional attribute, as tokamax has."""

    def __init__(self, shape, dtype, axes):
        super().__init__(shape, dtype)
        self.axes = axes


def test_a_subclass_of_a_description_has_attributes_of_its_own():
    batched = Batched((2, 3), jnp.float32, (0,))
    assert (batched.axes, jax.eval_shape(jnp.sin, batched).shape) == ((0,), (2, 3))
    with pytest.raises(RuntimeError, match="immutable"):
        batched.shape = (1,)
    with pytest.raises(AttributeError, match="axes"):
        jax.ShapeDtypeStruct((2,), jnp.float32).axes = (0,)


def test_dimensions_of_a_ragged_product_are_a_dataclass():
    numbers = jax.lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
    assert dataclasses.is_dataclass(numbers)
    names = ["dot_dimension_numbers", "lhs_ragged_dimensions", "rhs_group_dimensions"]
    assert [field.name for field in dataclasses.fields(numbers)] == names
    assert dataclasses.asdict(numbers)["lhs_ragged_dimensions"] == (0,)
    changed = dataclasses.replace(numbers, rhs_group_dimensions=[1])
    assert changed.rhs_group_dimensions == (1,) and changed != numbers


def test_names_of_kernel_languages_may_be_called_where_a_module_is_imported():
    body = "decorated = gpu.inline_mgpu()(lambda _: None)\nlayout = gpu.Layout.WGMMA.reduce(0)"
    module = types.ModuleType("library")
    vars(module)["gpu"] = mosaic_gpu
    exec(body, module.__dict__)
    for name in ("decorated", "layout"):
        with pytest.raises(NotImplementedError, match="kernels"):
            getattr(module, name)()
    with pytest.raises(NotImplementedError, match="inline_mgpu"):
        exec(body, {"gpu": mosaic_gpu, "__name__": "__main__"})


class AlwaysEqual:
    """A function that equals all others of this class."""

    def __init__(self, fun):
        self.fun = fun

    def __call__(self, *args):
        return self.fun(*args)

    def __eq__(self, other):
        return isinstance(other, AlwaysEqual)

    def __hash__(self):
        return 0


@pytest.mark.parametrize("x64", [False, True])
def test_the_function_of_a_pullback_may_be_wrapped(x64):
    def pullback(x, wrap=True):
        _, pull = jax.vjp(lambda x: jnp.sin(x) * x, x)
        if wrap:
            pull.fun = AlwaysEqual(pull.fun)
        return pull

    with jax.enable_x64(x64):
        assert jax.tree.structure(pullback(1.0)) == jax.tree.structure(pullback(2.0))
        assert jax.tree.structure(pullback(1.0, False)) != jax.tree.structure(pullback(2.0, False))
        expected = np.sin(2.0) + 2 * np.cos(2.0)
        chosen = jax.lax.cond(True, lambda: pullback(2.0), lambda: pullback(1.0))
        for pull in (pullback(2.0), jax.jit(pullback)(2.0), chosen, pullback(2.0).replace()):
            for _ in range(2):
                np.testing.assert_allclose(pull(1.0)[0], expected, rtol=1e-5)
