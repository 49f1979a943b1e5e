"""Hands lowering rules that build MLIR objects to ``ricci_xla.mlir``, which is loaded for them."""

from importlib import import_module
from typing import Any

from ricci_stablehlo import Value, mlir_rules


def run_mlir_rule(*args: Any) -> list[Value]:
    """Run a rule; see ``ricci_xla.mlir.run_mlir_rule``."""
    return import_module("ricci_xla.mlir").run_mlir_rule(*args)


mlir_rules.register(run_mlir_rule)
