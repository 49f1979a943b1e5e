"""``custom_vjp`` functions with ``optimize_remat``, inside of ``checkpoint``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax


@ricci.custom_vjp
def tangent(x):
    return jnp.tan(x)


# The forward rule computes another value, which tells which of the two ran.
tangent.defvjp(
    lambda x: (jnp.sin(x), (jnp.cos(x),)), lambda r, ct: (r[0] * ct,), optimize_remat=True
)

remat = ricci.checkpoint
PROGRAMS: dict[str, Callable[[], Any]] = {
    "alone": lambda: remat(tangent),
    "branch": lambda: remat(lambda x: lax.cond(x > 0, tangent, lambda x: x, x)),
    "inner jit": lambda: remat(ricci.jit(tangent)),
    "jit": lambda: ricci.jit(remat(tangent)),
    "nested": lambda: remat(remat(tangent)),
    "policy": lambda: remat(tangent, policy=ricci.checkpoint_policies.everything_saveable),
    "scan": lambda: remat(
        lambda x: lax.scan(lambda c, _: (tangent(c), None), x, None, length=1)[0]
    ),
    "scan of it": lambda: (
        lambda x: lax.scan(remat(lambda c, _: (tangent(c), None)), x, None, length=1)[0]
    ),
    "vmap": lambda: lambda x: remat(ricci.vmap(tangent))(x[None])[0],
}


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_checkpoint_runs_the_function_in_place_of_its_forward_rule(name, way):
    both = ricci.value_and_grad(PROGRAMS[name]())
    value, slope = (ricci.jit(both) if way == "jit" else both)(jnp.float32(0.7))
    np.testing.assert_allclose([value, slope], [np.tan(0.7), np.cos(0.7)], rtol=1e-5)


def test_forward_rule_runs_outside_of_checkpoint():
    value, slope = ricci.value_and_grad(tangent)(jnp.float32(0.7))
    np.testing.assert_allclose([value, slope], [np.sin(0.7), np.cos(0.7)], rtol=1e-5)


def test_function_differentiated_before_keeps_its_program_inside_of_checkpoint():
    jitted = ricci.jit(tangent)
    ricci.value_and_grad(jitted)(0.7)
    value, _ = ricci.value_and_grad(remat(jitted))(0.7)
    np.testing.assert_allclose(value, np.tan(0.7), rtol=1e-5)


def test_forward_pass_stores_no_residuals_of_the_rule():
    text = str(ricci.make_jaxpr(ricci.value_and_grad(remat(tangent)))(0.7))
    assert "sin" not in text
    assert text.count("tan ") == 1
