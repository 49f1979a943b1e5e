"""Values and gradients equal recorded ones.

``data/values.json`` holds, for each expression, what JAX computes on a CPU.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import ricci_nn as nn
import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import grad

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

RECORDED = json.loads((Path(__file__).parent / "data" / "values.json").read_text())
ROUNDING = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}


@pytest.fixture(scope="module")
def scope():
    return {
        "nn": nn,
        "init": nn.initializers,
        "jnp": jnp,
        "grad": grad,
        "X": jnp.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 7.0]),
        "Q": random.normal(random.PRNGKey(0), (2, 3, 4, 5)),
        "KV": random.normal(random.PRNGKey(1), (2, 6, 2, 5)),
        "K": random.PRNGKey(0),
    }


@pytest.mark.sampled(11)
@pytest.mark.parametrize("source", RECORDED)
def test_values_are_as_recorded(scope, source):
    expected = RECORDED[source]
    found = np.asarray(eval(source, dict(scope)))
    assert found.dtype.name == expected["dtype"]
    assert list(found.shape) == expected["shape"]
    real = found.real.dtype
    values = np.asarray([float(v) for v in expected["values"]]).astype(real)
    rtol = ROUNDING.get(found.dtype.name, 0)
    # Relative to the largest value: small ones may be differences of larger ones.
    finite = values[np.isfinite(values)]
    scale = float(np.max(np.abs(finite), initial=0.0)) if finite.size else 0.0
    np.testing.assert_allclose(found.ravel().view(real), values, rtol, rtol * scale)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize_squares_float16_without_overflow(algorithm):
    x = jnp.asarray([300.0, 600.0, 900.0], "float16")
    result = nn.standardize(x, algorithm=algorithm)
    assert result.dtype == x.dtype
    np.testing.assert_allclose(np.asarray(result, float), [-1.2247, 0, 1.2247], atol=2e-3)
