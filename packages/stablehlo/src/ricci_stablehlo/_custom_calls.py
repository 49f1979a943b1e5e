"""The attributes of ``stablehlo.custom_call``."""

from collections.abc import Mapping, Sequence

from ._attributes import dictionary
from ._types import string

__all__ = ["custom_call_attributes"]


def custom_call_attributes(
    target: str,
    result_count: int,
    *,
    backend_config: Mapping[str, str] | str | None = None,
    api_version: int = 4,
    has_side_effect: bool = False,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    output_operand_aliases: Mapping[int, int] | None = None,
) -> dict[str, str]:
    """Return the texts of the attributes of a custom call; see ``Lowering.custom_call``."""
    attrs = {"api_version": f"{api_version} : i32", "call_target_name": string(target)}
    if isinstance(backend_config, str):
        attrs["backend_config"] = string(backend_config)
    elif backend_config is not None:
        attrs["backend_config"] = dictionary(backend_config)
    if has_side_effect:
        attrs["has_side_effect"] = "true"
    if operand_layouts is not None:
        attrs["operand_layouts"] = f"[{', '.join(map(_layout, operand_layouts))}]"
    if result_layouts is not None:
        attrs["result_layouts"] = f"[{', '.join(map(_layout, result_layouts))}]"
    if output_operand_aliases:
        aliases = ", ".join(
            "#stablehlo.output_operand_alias<"
            f"output_tuple_indices = [{'' if result_count == 1 else out}], "
            f"operand_index = {operand}, operand_tuple_indices = []>"
            for out, operand in output_operand_aliases.items()
        )
        attrs["output_operand_aliases"] = f"[{aliases}]"
    return attrs


def _layout(order: Sequence[int]) -> str:
    values = ", ".join(map(str, order))
    return f"dense<{'[' + values + ']' if len(order) else ''}> : tensor<{len(order)}xindex>"
