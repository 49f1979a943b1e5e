"""Complex functions beside their branch cuts: the sign of a zero determines the side."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp

FUNCTIONS = "sqrt log log2 log10 log1p arcsin arccos arctan arcsinh arccosh arctanh".split()
PARTS = [2.0, -2.0, 0.5, -0.5, 0.0, -0.0]
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS])


def _parts(z):
    """The parts of complex numbers, and their signs where they are not rounding errors."""
    parts = np.stack([np.real(z), np.imag(z)])
    return parts, np.signbit(parts) & ((parts == 0) | (np.abs(parts) > 1e-6))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit, ricci.vmap], ids=["eager", "jit", "vmap"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_choose_the_side_of_a_cut_as_in_numpy(name, dtype, wrap):
    with ricci.enable_x64(dtype == "complex128"), np.errstate(all="ignore"):
        values, signs = _parts(wrap(getattr(jnp, name))(jnp.asarray(NUMBERS, dtype)))
        right_values, right_signs = _parts(getattr(np, name)(NUMBERS))
    np.testing.assert_allclose(values, right_values, rtol=1e-5, atol=1e-6)
    rounded = np.abs(right_values) < 1e-6
    assert (signs == right_signs)[~np.isnan(right_values) & ~rounded].all()
