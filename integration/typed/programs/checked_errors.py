"""Errors as values: what fails inside of a compiled function is told outside of it."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array
from ricci.experimental import checkify


def pick(x: Array, i: Array) -> Array:
    checkify.check(i >= 0, "a negative index: {i}", i=i)
    return jnp.log(x[i])


def main() -> None:
    checked = ricci.jit(checkify.checkify(pick, errors=checkify.all_checks))
    x = jnp.array([1.0, 2.0])
    error, value = checked(x, jnp.asarray(1))
    assert_type(error, checkify.Error)
    error.throw()
    assert value.shape == ()
    error, _ = checked(x, jnp.asarray(-1))
    assert "a negative index: -1" in str(error.get())
    error, _ = checked(x, jnp.asarray(5))
    try:
        error.throw()
    except checkify.JaxRuntimeError as raised:
        assert "out-of-bounds" in str(raised)
