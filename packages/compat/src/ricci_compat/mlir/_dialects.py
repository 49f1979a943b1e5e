"""The registry of MLIR's upstream dialects, for contexts that a library creates."""

from typing import TYPE_CHECKING

from jaxlib.mlir._mlir_libs import _jax_mlir_ext

from ricci_xla.authoring import load_mlir

if TYPE_CHECKING:
    from jaxlib.mlir import ir


def _registry() -> "ir.DialectRegistry":
    ir, _ = load_mlir()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    return registry


upstream_dialects: "ir.DialectRegistry" = _registry()
