"""Differences, gradients and integrals: types, values, derivatives and errors as JAX's."""


def test_result_is_jaxs(recorded, check):
    check(recorded)
