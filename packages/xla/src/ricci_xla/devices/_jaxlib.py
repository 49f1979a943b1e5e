"""Import of jaxlib, after setting its log level; other modules import jaxlib from this one."""

import os
from functools import cache
from types import ModuleType
from typing import Any

# jaxlib reads this when it is loaded; without it every new client logs its devices to stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from ricci_pytree import check_jaxlib, explain_jaxlib

try:
    from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]
    from jaxlib.version import __version__ as jaxlib_version
except Exception as _error:
    raise explain_jaxlib(_error) from _error
check_jaxlib()

# jaxlib brings no stubs for these.
hlo: Any = _hlo
runtime: Any = _jax


@cache
def load_xla_client() -> ModuleType:
    """Load jaxlib's functions in Python that make clients and register kernels.

    Loaded when the first client is made, since they import ``logging``.
    """
    try:
        from jaxlib import xla_client  # noqa: PLC0415 - lazy: it takes 3 ms
    except Exception as error:
        raise explain_jaxlib(error) from error
    return xla_client


@cache
def load_mlir() -> tuple[Any, Any]:
    """Load MLIR's Python bindings, and a context with the dialects of our modules.

    Loaded when first needed, since most modules are passed to jaxlib as text.
    """
    from jaxlib.mlir import ir  # noqa: PLC0415 - lazy: it takes 50 ms
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # noqa: PLC0415 - lazy
    from jaxlib.mlir.dialects import chlo, sdy, stablehlo  # noqa: PLC0415 - lazy

    # So that functions have its methods.
    from jaxlib.mlir.dialects import func as func  # noqa: PLC0415 - lazy

    registry, context = ir.DialectRegistry(), ir.Context()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    context.load_all_available_dialects()
    return ir, context


__all__ = ["hlo", "jaxlib_version", "load_mlir", "load_xla_client", "runtime"]
