"""``fit_memory`` on a transformer, a ResNet and a U-Net: limits that policies by hand meet."""

import numpy as np
import pytest

pytest.importorskip("ricci_parallel", reason="the light tests run where it is not installed")

from memory_programs import MODELS, POLICIES, SHARES, step_of

import ricci
from ricci.parallel import MemoryLimitError

SMALL = {
    "transformer": {"layers": 4, "width": 32, "tokens": 32},
    "ResNet": {"blocks": 4, "channels": 8, "size": 16},
    "U-Net": {"channels": 4, "depth": 2, "size": 32},
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param](**SMALL[request.param])


def peak_of(model, policy=None):
    return ricci.memory_plan(step_of(model, policy))(model.parameters, model.batch).peak_bytes


@pytest.mark.sampled(4)  # of 9, among them every model and every share
@pytest.mark.parametrize("share", SHARES)
def test_limits_that_a_policy_by_hand_meets_are_met(model, share):
    limit = int(share * peak_of(model))
    fitted = ricci.fit_memory(step_of(model), limit)
    try:
        fit = fitted.plan(model.parameters, model.batch)
    except MemoryLimitError as error:
        assert "the least peak that recomputation reaches" in str(error)
        assert min(peak_of(model, policy) for policy in POLICIES.values()) > limit
        return
    assert fit.peak_bytes <= limit < fit.unlimited
    expected = ricci.jit(step_of(model))(model.parameters, model.batch)
    for result, value in zip(
        ricci.tree.leaves(fitted(model.parameters, model.batch)),
        ricci.tree.leaves(expected),
        strict=True,
    ):
        scale = np.max(np.abs(value))
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.sampled(2)
def test_the_peak_of_a_plan_is_that_of_the_optimized_executable(model):
    fit = ricci.fit_memory(step_of(model), "1GB").plan(model.parameters, model.batch)
    compiled = ricci.jit(step_of(model)).lower(model.parameters, model.batch).compile()
    sizes = compiled.memory_analysis()
    assert fit.peak_bytes == (
        sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    )
