"""Fingerprints of the values that a warm start depends on."""

from ricci_xla import jit
from ricci_xla.warm._fingerprint import fingerprint


def test_fingerprint_of_a_boundary_holds_what_its_function_closes_over():
    one, other = jit(static_argnums=0), jit(static_argnums=1)
    assert fingerprint(one) == fingerprint(jit(static_argnums=0)) != fingerprint(other)
