"""The backend that the first computation imports."""

import subprocess
import sys

import pytest

FIRST_COMPUTATIONS = {
    "operation": ("jnp.arange(3) + 1", "[1 2 3]"),
    "array": ("jnp.array([1.0, 2.0])", "[1. 2.]"),
    "index": ("jnp.array([1.0, 2.0])[1]", "2.0"),
    "DLPack": ("jnp.from_dlpack(np.arange(3, dtype=np.int32))", "[0 1 2]"),
    "scalar": ("jnp.float32(2) * 2", "4.0"),
}


@pytest.mark.parametrize("name", FIRST_COMPUTATIONS)
def test_the_first_computation_imports_an_installed_backend(name):
    expression, printed = FIRST_COMPUTATIONS[name]
    program = f"import numpy as np, ricci_numpy as jnp; print({expression})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout.strip(), run.returncode) == (printed, 0), run.stderr


def test_tracing_imports_no_backend():
    program = (
        "import sys, ricci_numpy as jnp, ricci_ir as ir\n"
        "ir.make_jaxpr(lambda x: jnp.sin(x) + jnp.arange(3))(jnp.float32(2).dtype.type(1))\n"
        "print(ir.has_backend(), 'ricci_xla' in sys.modules, 'ricci_reference' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["False"] * 3, run.stderr


def test_an_error_names_the_backends_where_none_is_installed():
    program = (
        "import importlib.util\n"
        "import ricci_numpy as jnp\n"
        "importlib.util.find_spec = lambda name: None\n"
        "jnp.arange(3)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "cannot compute 'iota': no backend is installed" in run.stderr
    assert "Install ricci_xla (compiled) or ricci_reference (NumPy)" in run.stderr
