"""MLIR modules: their context, text, symbols and functions, and merging of modules."""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ricci_ir import AbstractValue, Jaxpr
from ricci_stablehlo import lower_jaxpr, tensor_type
from ricci_xla.authoring import load_mlir

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["make_ir_context", "merge_mlir_modules", "module_to_bytecode", "module_to_string"]


def make_ir_context() -> "ir.Context":
    """The MLIR context with the dialects of compiled modules.

    It is one for the whole process, since objects of two contexts cannot be combined. Use it in a
    ``with`` block.
    """
    _, context = load_mlir()
    return context


def module_to_string(module: "ir.Module", enable_debug_info: bool | None = None) -> str:
    """The text of a module.

    Args:
      module: an MLIR module.
      enable_debug_info: whether operations are written with their locations; by default not.
    """
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def module_to_bytecode(module: "ir.Module") -> bytes:
    """A module in MLIR's binary form."""
    file = BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def merge_mlir_modules(
    dst_module: "ir.Module",
    sym_name: str,
    src_module: "ir.Module",
    dst_symtab: "ir.SymbolTable | None" = None,
) -> str:
    """Add the functions of a module to another one, as private functions.

    Args:
      dst_module: the module that gets them.
      sym_name: the new name of ``main``, if it is free.
      src_module: the other module, which is not changed.
      dst_symtab: the symbol table of ``dst_module``, if one is in use.

    Returns:
      The new name of ``main``.

    Raises:
      ValueError: if the other module has no function ``main``.
    """
    ir, _ = load_mlir()
    used = {symbol_of(operation) for operation in dst_module.body.operations} - {""}
    with dst_module.context, ir.Location.unknown():
        # By its bytes, since the source may belong to another context, and is not to be changed.
        copy = ir.Module.parse(module_to_bytecode(src_module))
        renamed: dict[str, str] = {}
        for operation in copy.body.operations:
            name = symbol_of(operation)
            if name:
                free = renamed[name] = _free_name(sym_name if name == "main" else name, used)
                used.add(free)
        if "main" not in renamed:
            raise ValueError("merge_mlir_modules: the module to be added has no function 'main'")
        # Before the functions move: in the destination, a call could refer to either module's
        # function.
        rename_symbols(copy, renamed)
        table = ir.SymbolTable(dst_module.operation) if dst_symtab is None else dst_symtab
        for operation in list(copy.body.operations):
            clone = operation.operation.clone(ir.InsertionPoint(dst_module.body))
            if clone.operation.name == "func.func":
                clone.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if symbol_of(clone):
                table.insert(clone)
    return renamed["main"]


def rename_symbols(module: "ir.Module", names: dict[str, str]) -> None:
    """Rename functions and other symbols of a module, with all their uses."""
    ir, _ = load_mlir()
    # In two steps, by temporary names: a new name may be the old name of another symbol.
    moved = {f"{old}.renamed.{i}": new for i, (old, new) in enumerate(names.items()) if old != new}
    olds = [old for old, new in names.items() if old != new]
    for steps in (zip(olds, moved, strict=True), moved.items()):
        for old, new in steps:
            (operation,) = [x for x in module.body.operations if symbol_of(x) == old]
            ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
            ir.SymbolTable.set_symbol_name(operation, new)


def symbol_of(operation: "ir.Operation | ir.OpView") -> str:
    """The name of a function or of another symbol; empty for an operation without one."""
    attributes: Any = operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _free_name(name: str, used: set[str]) -> str:
    unique, number = name, 0
    while unique in used:
        unique, number = f"{name}_{number}", number + 1
    return unique


def create_function(
    symbol: str, in_avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> "ir.Operation":
    """Create a private function without a body, at the current insertion point."""
    ir, _ = load_mlir()
    types = [[ir.Type.parse(tensor_type(aval)) for aval in side] for side in (in_avals, out_avals)]
    return ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(symbol),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(*types)),
        },
        regions=1,
    )


def module_of_jaxpr(
    jaxpr: Jaxpr, name: str, platform: str, host_callbacks: list[Any], **options: Any
) -> "ir.Module":
    """Lower a jaxpr to an MLIR module.

    Args:
      jaxpr: the jaxpr; its constants are in the text.
      name: the module's name.
      platform: the platform that the module is for.
      host_callbacks: a list to which the Python functions that it calls are added.
      options: see ``ricci_stablehlo.lower_jaxpr``.
    """
    text = lower_jaxpr(
        jaxpr,
        name,
        platform=platform,
        host_callbacks=host_callbacks,
        embed_constants=True,
        **options,
    )
    ir, context = load_mlir()
    with context:
        return ir.Module.parse(text)
