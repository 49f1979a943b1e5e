"""Fingerprints of the values that a warm start depends on."""

from ricci_xla import jit
from ricci_xla.warm._fingerprint import fingerprint


def test_fingerprints_of_guarded_functions_include_their_closure():
    one, other = jit(static_argnums=0), jit(static_argnums=1)
    assert fingerprint(one) == fingerprint(jit(static_argnums=0)) != fingerprint(other)
