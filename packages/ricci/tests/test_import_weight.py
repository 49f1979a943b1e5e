"""Modules that importing Ricci does not load, because they are slow to load and rarely needed."""

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
    "ricci_ir._error_hints",
    "ricci_ir._tracer_names",
    "ricci_ir.dimensions._scope",
    "ricci_ir.jaxprs._array_calls",
    "ricci_ir.jaxprs._check",
    "ricci_ir.jaxprs._make_jaxpr",
    "ricci_ir.jaxprs._print",
    "ricci_nn",
    "ricci_numpy.arrays._filling",
    "ricci_numpy.shapes._reshaping",
    "ricci_numpy.ufuncs._mixed_comparison",
    "ricci_stablehlo._callbacks",
    "ricci_xla.calls._stages",
    "ricci_xla.compile._packing",
    "ricci_xla.compile._partitioners",
    "ricci_xla.meshes._arrangement",
    "ricci_xla.tracing._cache_misses",
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
