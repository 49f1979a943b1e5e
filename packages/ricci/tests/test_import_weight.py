"""What importing Ricci leaves for later, because it takes long to load and is rarely needed."""

import subprocess
import sys

LATER = {
    "code",
    "dataclasses",
    "decimal",
    "difflib",
    "email",
    "fractions",
    "html",
    "importlib.metadata",
    "jaxlib.lapack",
    "jaxlib.xla_client",
    "logging",
    "opt_einsum",
    "pkgutil",
    "ricci_autodiff._api",
    "ricci_batching._trace",
    "ricci_ir.jaxprs._array_calls",
    "ricci_nn",
    "ricci_stablehlo._callbacks",
    "ricci_xla.meshes._arrangement",
    "rich",
    "string",
    "traceback",
    "zipfile",
}


def test_rarely_used_modules_are_not_imported():
    program = "import sys, ricci; ricci.numpy; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "ricci_numpy" in loaded
    assert not LATER & set(loaded)
