"""The light install: the front end and the NumPy reference, without the compiler."""

import subprocess
import sys

import numpy as np

import ricci_numpy as jnp
import ricci_reference  # noqa: F401  (evaluates outside of traces)
from ricci_autodiff import grad, value_and_grad
from ricci_batching import vmap
from ricci_ir import make_jaxpr
from ricci_stablehlo import lower_jaxpr


def loss(weights, x):
    return jnp.mean(jnp.tanh(x @ weights) ** 2)


WEIGHTS = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
X = np.linspace(0, 2, 12, dtype=np.float32).reshape(4, 3)


def test_light_install_computes_gradients_without_jaxlib():
    program = (
        "import sys; sys.modules['jaxlib'] = None\n"
        "import ricci_numpy as jnp, ricci_reference\n"
        "from ricci_autodiff import grad\n"
        "print(float(grad(lambda x: jnp.sin(x) * x)(0.0)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() == "0.0"


def test_evaluation_agrees_with_numpy():
    expected = np.mean(np.tanh(X @ WEIGHTS) ** 2)
    np.testing.assert_allclose(loss(WEIGHTS, X), expected, rtol=1e-6)


def test_gradient_agrees_with_finite_differences():
    value, gradient = value_and_grad(loss)(WEIGHTS, X)
    step = np.zeros_like(WEIGHTS)
    step[1, 0] = 1e-2
    slope = (loss(WEIGHTS + step, X) - loss(WEIGHTS - step, X)) / 2e-2
    np.testing.assert_allclose(gradient[1, 0], slope, rtol=1e-3)
    np.testing.assert_allclose(value, loss(WEIGHTS, X), rtol=1e-6)


def test_vmap_agrees_with_the_loop():
    per_example = vmap(lambda row: grad(loss)(WEIGHTS, row[None]))(X)
    looped = np.stack([grad(loss)(WEIGHTS, row[None]) for row in X])
    np.testing.assert_allclose(per_example, looped, rtol=1e-6)


def test_the_gradient_lowers_to_stablehlo():
    jaxpr = make_jaxpr(grad(loss))(WEIGHTS, X)
    text = lower_jaxpr(jaxpr, "gradient")
    assert "stablehlo.tanh" in text
    assert text.count("stablehlo.dot_general") == 2
    assert "func.func public @main(%arg0: tensor<3x2xf32>, %arg1: tensor<4x3xf32>)" in text
