"""References that hold differentiated values, as arguments of functions with custom rules."""

import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

import ricci
import ricci.numpy as jnp


@ricci.custom_vjp
def _doubled(ref, factor):
    return 2 * factor * ref[...]


def _doubled_fwd(ref, factor):
    return 2 * factor * ricci.ref.get(ref, ...), (ref, factor)


# Unlike the function's own derivative, so that the rule is seen to run.
_doubled.defvjp(_doubled_fwd, lambda saved, ct: (ct * saved[0][...] * 10, ct * 7))


@ricci.custom_jvp
def _read(ref):
    return ref[...]


_read.defjvp(lambda primals, tangents: (primals[0][...], 3 * tangents[0][...]))


@ricci.custom_vjp
def _overwritten(ref):
    ref[...] = ref[...] * 2
    return ref[...]


_overwritten.defvjp(lambda ref: (_overwritten(ref), None), lambda _, ct: (ct,))

TRANSFORMED = {
    "grad": lambda f: ricci.grad(f)(3.0),
    "vjp": lambda f: ricci.vjp(f, 3.0)[1](1.0)[0],
    "vmap of grad": lambda f: ricci.vmap(ricci.grad(f))(jnp.full(2, 3.0))[1],
    "grad of vmap": lambda f: ricci.grad(lambda x: ricci.vmap(f)(x).sum())(jnp.full(2, 3.0))[1],
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("transformed", TRANSFORMED)
def test_custom_rules_apply_to_the_values_of_references(transformed, x64):
    derivative = TRANSFORMED[transformed]
    with ricci.enable_x64(x64):
        for _ in range(2):
            assert derivative(lambda x: _doubled(ricci.new_ref(x), 2.0)) == 30
            assert derivative(lambda x: _read(ricci.new_ref(x))) == 3
            ricci.clear_caches()


def _squared_through_a_write(x):
    ref = ricci.new_ref(x)
    ref[...] = ref[...] ** 2
    return _read(ref) + ref[...]


def test_a_reference_that_was_written_has_the_derivative_of_what_it_holds():
    expected = 4 * 2 * 3.0
    assert ricci.grad(_squared_through_a_write)(3.0) == expected
    assert ricci.grad(ricci.jit(_squared_through_a_write))(3.0) == expected
    assert ricci.jit(ricci.grad(_squared_through_a_write))(3.0) == expected
    value, tangent = ricci.jvp(_squared_through_a_write, (3.0,), (1.0,))
    assert (value, tangent) == (18, expected)


def test_custom_vjp_decides_by_the_value_of_a_reference():
    @ricci.custom_vjp
    def magnitude(ref):
        return ref[...] if ref[...] > 0 else -ref[...]

    magnitude.defvjp(lambda ref: (magnitude(ref), ref[...]), lambda x, ct: (ct * x,))
    assert ricci.grad(lambda x: magnitude(ricci.new_ref(x)))(-3.0) == -3


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_custom_functions_that_write_references_are_refused(compiled):
    f = lambda x: _overwritten(ricci.new_ref(x))
    with pytest.raises(NotImplementedError, match="writes references"):
        ricci.grad(ricci.jit(f) if compiled else f)(1.0)
    assert f(3.0) == 6
