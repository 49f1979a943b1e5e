"""Differences, gradients and integrals: types, values, derivatives and errors as JAX's."""

import pytest


@pytest.mark.sampled(15)
def test_result_is_jaxs(recorded, check):
    check(recorded)
