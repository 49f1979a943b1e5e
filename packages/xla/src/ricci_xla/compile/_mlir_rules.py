"""Registers a lazy import of ``ricci_xla.mlir`` for lowering rules that build MLIR objects."""

from importlib import import_module
from typing import Any

from ricci_stablehlo import Value, mlir_rule_runner


@mlir_rule_runner.provide
def run_mlir_rule(*args: Any) -> list[Value]:
    """Run a rule by ``ricci_xla.mlir.run_mlir_rule``."""
    return import_module("ricci_xla.mlir").run_mlir_rule(*args)
