"""StableHLO in its portable form: bytes that later, and some earlier, versions of XLA can read."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci_ir import config
from ricci_xla.devices._jaxlib import load_mlir, runtime
from ricci_xla.files import FileError

__all__ = ["from_portable", "to_portable"]

_ignore_forward_compatibility = config.state("jax_export_ignore_forward_compatibility")


@functools.cache
def _version(requirement: str) -> str:
    from jaxlib.mlir._mlir_libs import _stablehlo  # noqa: PLC0415 - lazy: few programs export

    value = getattr(_stablehlo.StablehloCompatibilityRequirement, requirement)
    return _stablehlo.get_version_from_compatibility_requirement(value)


@functools.cache
def bindings() -> tuple[Any, Any]:
    """MLIR's Python bindings and a context; loaded when first needed, which takes 50 ms."""
    return load_mlir()


def to_portable(text: str, large_constants: Sequence[np.ndarray] = ()) -> bytes:
    """Serialize a StableHLO module as a portable artifact.

    Args:
      text: the module.
      large_constants: the constants that are not in the text: see ``lower_jaxpr``.

    The version written is four weeks old, so that programs with a somewhat older jaxlib can read
    it; the newest with ``jax_export_ignore_forward_compatibility``.

    Raises:
      ValueError: if StableHLO of that version has no portable form for an operation.
    """
    version = _version("NONE" if _ignore_forward_compatibility.value else "WEEK_4")
    ir, context = bindings()
    try:
        # For text, jaxlib would create a new context each time, which takes longer than this.
        with context:
            module = ir.Module.parse(text)
            if large_constants:
                module.operation.walk(lambda operation: _fill(ir, operation, large_constants))
            # True: operations of other dialects, such as shardings in `sdy`, are allowed.
            return runtime.mlir.serialize_portable_artifact(module, version, True)
    except (RuntimeError, ir.MLIRError) as error:
        reason = str(error).partition("Detailed error from MLIR:")[2].strip() or str(error)
        raise ValueError(
            f"the program cannot be written as portable StableHLO of version {version}: "
            f"{reason.splitlines()[0][:400]}"
        ) from error


def _fill(ir: Any, operation: Any, constants: Sequence[np.ndarray]) -> Any:
    """Set the value of an operation that represents a large constant."""
    attributes = operation.attributes
    if "ricci.constant" in attributes:
        array = constants[ir.IntegerAttr(attributes["ricci.constant"]).value]
        if array.dtype.kind == "V":  # bfloat16, of which MLIR takes the bits
            array = array.view(np.int16)
        kind = operation.results[0].type
        with ir.Location.unknown():
            attributes["value"] = ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=kind)
        del attributes["ricci.constant"]
    return ir.WalkResult.ADVANCE


def from_portable(artifact: bytes) -> Any:
    """Deserialize a portable artifact to an MLIR module.

    Raises:
      FileError: if it is invalid, or of a version that this jaxlib does not read.
    """
    ir, context = bindings()
    with context:
        try:
            return runtime.mlir.deserialize_portable_artifact(artifact)
        except (RuntimeError, ir.MLIRError) as error:
            raise FileError(
                f"the program is not portable StableHLO that this jaxlib reads: {error}"
            ) from error
