"""Conversion of exported functions to file records."""

from typing import Any

from ricci_ir import is_symbolic_dim
from ricci_xla.exported import ExportedRecord, encode_abstract_sharding, node_forms
from ricci_xla.files import encode_tree, encode_type


def record_of(exported: Any, vjp_order: int) -> ExportedRecord:
    """The record of an exported function with its derivatives up to an order.

    Raises:
      TypeError: if its trees have nodes that cannot be written.
      ValueError: if it has fewer derivatives.
    """
    if vjp_order > 0 and not exported.has_vjp():
        raise ValueError(
            f"{exported.fun_name} cannot be serialized with vjp_order={vjp_order}: it was read "
            "from a file without a derivative of that order. Export it again."
        )
    return ExportedRecord(
        fun_name=exported.fun_name,
        in_tree=_tree(exported, "an argument", exported.in_tree),
        in_types=[encode_type(aval) for aval in exported.in_avals],
        out_tree=_tree(exported, "a result", exported.out_tree),
        out_types=[encode_type(aval) for aval in exported.out_avals],
        in_shardings=[encode_abstract_sharding(s) for s in exported._in_named_shardings],
        out_shardings=[encode_abstract_sharding(s) for s in exported._out_named_shardings],
        nr_devices=exported.nr_devices,
        platforms=list(exported.platforms),
        ordered_effects=[_effect(exported, e) for e in exported.ordered_effects],
        unordered_effects=[_effect(exported, e) for e in exported.unordered_effects],
        disabled_checks=[str(check) for check in exported.disabled_safety_checks],
        module=exported.mlir_module_serialized,
        calling_convention=exported.calling_convention_version,
        kept_args=list(exported.module_kept_var_idx),
        uses_global_constants=exported.uses_global_constants,
        constraints=_constraints(exported),
        vjp=record_of(exported.vjp(), vjp_order - 1) if vjp_order > 0 else None,
    )


def _constraints(exported: Any) -> list[str]:
    """The constraints on the symbolic sizes of an exported function."""
    sizes = (n for aval in exported.in_avals for n in aval.shape if is_symbolic_dim(n))
    scope = next((n.scope for n in sizes), None)
    return [] if scope is None else [constraint.text for constraint in scope.constraints]


def _effect(exported: Any, effect: object) -> str:
    """The name of an effect's class, after checking that its instances are equal."""
    try:
        if type(effect)() == effect:
            return effect_name(effect)
    except TypeError:  # the class takes arguments
        pass
    raise ValueError(
        f"{exported.fun_name} cannot be serialized: its effect {effect!r} differs from "
        f"{type(effect).__qualname__}(), which a reader of the file would create. Give the "
        "class __eq__ and __hash__ without arguments, or keep the effect out of the function."
    )


def effect_name(effect: object) -> str:
    """The name of an effect's class."""
    return f"{type(effect).__module__}.{type(effect).__qualname__}"


def _tree(exported: Any, what: str, tree: Any) -> Any:
    try:
        return encode_tree(tree, node_forms)
    except TypeError as error:
        raise ValueError(
            f"{exported.fun_name} cannot be serialized: in {what}, {error}. Register it with "
            "export.register_pytree_node_serialization or register_namedtuple_serialization."
        ) from error
