"""Texts of StableHLO modules: renamed, merged for several platforms, and in portable bytes.

Later, and some earlier, versions of XLA can read the portable form.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import AbstractValue, config
from ricci_stablehlo import tensor_type, without_locations
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


# Strings, in which "@" has no meaning, such as constants in hexadecimal; they may be long.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# Tokens: string literals, custom_call targets (not renamed), symbols (renamed).
_TOKENS = re.compile(
    rf"(?P<other>custom_call @(?:[\w$.-]+|{STRING})|(?<!@){STRING})"
    rf"|@(?P<plain>[\w$.-]+)|@(?P<quoted>{STRING})"
)


def renamed(text: str, rename: Callable[[str], str]) -> str:
    """Apply a function to the name of each symbol of a text."""

    def replace(match: re.Match[str]) -> str:
        if match["other"] is not None:
            return match[0]
        plain = match["plain"]
        return "@" + rename(match["quoted"][1:-1] if plain is None else plain)

    return _TOKENS.sub(replace, text)


_MAIN = "  func.func public @main("
_INDEX = '%platform: tensor<i32> {jax.global_constant = "_platform_index"}'


def for_platforms(
    texts: dict[str, str], in_avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> str:
    """Merge modules into one whose first argument is the position of the platform it runs on.

    Each platform's ``@main`` becomes a private function, and the merged ``@main`` calls one of them
    by ``stablehlo.case``. Functions that are equal on several platforms are shared. If all modules
    are equal, the argument is unused.

    Args:
      texts: the module of each platform.
      in_avals, out_avals: the types of the arguments and results of ``@main``, tokens included.
    """
    first, *others = texts.values()
    start = first.index(_MAIN) + len(_MAIN)
    separator = "" if first[start] == ")" else ", "
    if all(text == first for text in others):
        return f"{first[:start]}{_INDEX}{separator}{first[start:]}"
    # Each module has its own numbering of locations, which would clash.
    texts = {platform: without_locations(text) for platform, text in texts.items()}
    first = next(iter(texts.values()))
    start = first.index(_MAIN) + len(_MAIN)
    signature = first[start : first.index("\n", start)]
    args = [f"%arg{i}" for i in range(len(in_avals))]
    in_types = ", ".join(map(tensor_type, in_avals))
    out_types = [tensor_type(aval) for aval in out_avals]
    params = ", ".join(f"{a}: {tensor_type(t)}" for a, t in zip(args, in_avals, strict=True))
    branches: list[str] = []
    results = [f"%r#{i}" for i in range(len(out_types))] if len(out_types) > 1 else ["%r"]
    results = results[: len(out_types)]
    assigned = (
        "" if not out_types else "%r = " if len(out_types) == 1 else f"%r:{len(out_types)} = "
    )
    returned = f" {', '.join(results)} : {', '.join(out_types)}" if out_types else ""
    outs = f"({', '.join(out_types)})"
    merged = _Definitions()
    for platform, text in texts.items():
        main = f"  func.func private @main({params}) -> {outs} {{"
        head = text[text.index(_MAIN) : text.index("\n", text.index(_MAIN))]
        symbols = merged.add(text.replace(head, main, 1), f"_{platform}")
        branches.append(
            f"      {assigned}func.call @{symbols['main']}({', '.join(args)}) : ({in_types}) -> "
            f"{outs}\n      stablehlo.return{returned}"
        )
        if text is first:
            # The attributes of the wrapper's arguments name meshes by their symbols in this module.
            signature = renamed(signature, lambda name, symbols=symbols: symbols[name])
    body = "\n    }, {\n".join(branches)
    return "\n".join(
        [
            first[: first.index("\n")],
            *merged.meshes,
            f"{_MAIN}{_INDEX}{separator}{signature}",
            f'    {assigned}"stablehlo.case"(%platform) ({{',
            body,
            f"    }}) : (tensor<i32>) -> {outs}",
            f"    return{returned}",
            "  }",
            *merged.functions,
            "}",
            "",
        ]
    )


class _Definitions:
    """The functions and meshes of several modules; equal ones are stored once.

    Attributes:
      meshes, functions: their texts.
    """

    def __init__(self):
        self.meshes: list[str] = []
        self.functions: list[str] = []
        self._symbols: dict[str, str] = {}  # by the text without the definition's own symbol

    def add(self, text: str, suffix: str) -> dict[str, str]:
        """Add a module's definitions.

        Args:
          text: the module.
          suffix: the suffix of its symbols.

        Returns:
          The new symbol of each definition.
        """
        pending = _split(text)
        symbols: dict[str, str] = {}

        def symbol_of(name: str) -> str:
            if name in pending:
                # The symbols inside are those of equal definitions, so that equal texts mean equal
                # functions, which call equal functions.
                definition = pending.pop(name)
                anonymous = renamed(definition, lambda n: "?" if n == name else symbol_of(n))
                symbols[name] = self._symbols.setdefault(anonymous, name + suffix)
                if symbols[name] == name + suffix:
                    is_mesh = definition.startswith(_MESH)
                    texts = self.meshes if is_mesh else self.functions
                    texts.append(anonymous.replace("@?", f"@{name + suffix}", 1))
            return symbols.get(name, name + suffix)

        for name in list(pending):
            symbol_of(name)
        return symbols


_MESH = "  sdy.mesh "


def _split(text: str) -> dict[str, str]:
    """Split a module into the texts of its functions and meshes, by their symbols."""
    definitions: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines()[1:-1]:
        if line.startswith(("  func.func ", _MESH)):
            symbol = _TOKENS.search(line)
            assert symbol is not None
            lines = definitions.setdefault(symbol["plain"] or symbol["quoted"][1:-1], [])
        lines.append(line)
    return {name: "\n".join(lines) for name, lines in definitions.items()}
