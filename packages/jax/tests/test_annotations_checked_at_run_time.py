"""Annotations that libraries have checked when functions are called: pydantic, beartype."""

import types
import typing

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src.typing import SupportsDType

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
