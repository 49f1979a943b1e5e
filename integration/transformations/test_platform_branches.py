"""Loops and branches whose static choices are traced, or are of another platform."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.core import Primitive


@pytest.mark.parametrize("loop", ["scan", "fori_loop"])
def test_a_traced_unroll_is_a_concretization_error(loop):
    loops = {
        "scan": lambda u: lax.scan(lambda c, x: (c, x), 0.0, jnp.arange(3.0), unroll=u),
        "fori_loop": lambda u: lax.fori_loop(0, 3, lambda i, c: c, 0.0, unroll=u),
    }
    with pytest.raises(ricci.errors.ConcretizationTypeError, match=f"unroll of {loop}"):
        ricci.jit(loops[loop])(2)


def test_functions_of_other_platforms_need_no_rules_outside_of_jit():
    opaque = Primitive("opaque", lambda x: x)
    fun = lambda x: lax.platform_dependent(x, other=opaque.bind, default=jnp.sin)
    for transform in (ricci.grad, ricci.hessian, ricci.jacfwd, lambda f: ricci.grad(ricci.grad(f))):
        assert float(transform(fun)(1.0)) == float(transform(jnp.sin)(1.0))
    np.testing.assert_array_equal(ricci.vmap(fun)(jnp.ones(2)), jnp.sin(jnp.ones(2)))
    with pytest.raises(NotImplementedError, match="opaque"):
        ricci.jit(ricci.grad(fun))(1.0)


@pytest.mark.parametrize(
    "argument", [1.5, np.float32(1.5), np.arange(3)], ids=["float", "scalar", "ints"]
)
def test_functions_made_for_each_call_use_their_own_closures(argument):
    for offset in (1.0, 2.0, 3.0, 4.0):
        total, count = lax.platform_dependent(
            argument,
            cpu=lambda x: (x + offset, 3),  # noqa: B023
            default=lambda x: (x - offset, 3),  # noqa: B023
        )
        expected = jnp.asarray(argument) + offset
        assert isinstance(total, ricci.Array) and isinstance(count, ricci.Array)
        assert total.dtype == expected.dtype
        assert total.aval.weak_type == expected.aval.weak_type
        np.testing.assert_array_equal(total, expected)


def test_only_the_function_of_the_platform_is_called_outside_of_jit():
    called: list[str] = []

    def of_cpu(x):
        called.append("cpu")
        return x * 2, x

    def of_others(x):
        called.append("default")
        return x

    fun = lambda x: lax.platform_dependent(x, cpu=of_cpu, tpu=of_others, default=of_others)[0]
    if ricci.default_backend() == "cpu":
        assert float(fun(2.0)) == 4
        assert float(ricci.grad(fun)(2.0)) == 2
        np.testing.assert_array_equal(ricci.vmap(fun)(jnp.ones(2)), jnp.full(2, 2.0))
        assert called == ["cpu"] * 3
    with pytest.raises(TypeError, match="the same structure"):
        ricci.jit(fun)(2.0)
