"""The one place where jaxlib is imported, with its log level set first."""

import importlib
import os
from typing import Any

# jaxlib reads this when it is loaded; without it every new client logs its devices to stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib import cpu_sparse as cpu_sparse
from jaxlib import lapack as lapack
from jaxlib import xla_client as xla_client

# These have no stubs.
hlo: Any = _hlo
runtime: Any = _jax


def load_mlir() -> tuple[Any, Any]:
    """MLIR's bindings, and what registers the dialects; loaded for what cannot do without."""
    ir = importlib.import_module("jaxlib.mlir.ir")
    extension = importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    dialects = [
        importlib.import_module(f"jaxlib.mlir.dialects.{name}")
        for name in ("stablehlo", "chlo", "sdy")
    ]
    registry, context = ir.DialectRegistry(), ir.Context()
    extension.register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in dialects:
        dialect.register_dialect(context)
    context.load_all_available_dialects()
    return ir, context


__all__ = ["cpu_sparse", "hlo", "lapack", "load_mlir", "runtime", "xla_client"]
