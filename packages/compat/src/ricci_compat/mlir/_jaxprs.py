"""Lowering of jaxprs inside of rules that build MLIR objects: functions, calls, modules."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricci_ir import AbstractValue, Effect, Jaxpr, NameStack, convert_constvars
from ricci_xla.authoring import load_mlir

from ._contexts import (
    AxisContext,
    LoweringParameters,
    LoweringResult,
    LoweringRuleContext,
    ModuleContext,
    ShapePolyLoweringState,
    TokenSet,
    declared_function,
    write_call,
)
from ._modules import module_of_jaxpr
from ._types import IrValues, flatten_ir_values

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["core_call_lowering", "jaxpr_subcomp", "lower_jaxpr_to_fun", "lower_jaxpr_to_module"]


def core_call_lowering(
    ctx: LoweringRuleContext,
    *args: IrValues,
    name: str,
    backend: object = None,
    inline_jax_late: bool = False,
    call_jaxpr: Jaxpr,
    **params: object,
) -> "list[ir.Value[Any]]":
    """Lower a primitive that applies a jaxpr to a call of the jaxpr's function.

    Args:
      ctx: the context of the rule.
      args: MLIR values, the operands.
      name: the name of the function, if it is free.
      call_jaxpr: the jaxpr.
      backend, inline_jax_late, params: accepted for compatibility, and ignored.
    """
    return write_call(ctx.module_context, call_jaxpr, name, flatten_ir_values(args))


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Jaxpr,
    name_stack: NameStack,
    tokens: TokenSet,
    consts_for_constvars: "Sequence[ir.Value[Any]]",
    *args: IrValues,
    dim_var_values: Sequence[Any] = (),
    const_lowering: Mapping[Any, Any] | None = None,
    outer_traceback: object = None,
) -> "tuple[tuple[ir.Value[Any], ...], TokenSet]":
    """Lower a jaxpr at the current insertion point, to a call of its function.

    Args:
      ctx: the module.
      jaxpr: the jaxpr, without ordered effects.
      name_stack: its name scopes.
      tokens: the tokens of ordered effects, which are returned unchanged.
      consts_for_constvars: MLIR values of its constants; by default those that it is closed over.
      args: MLIR values of its arguments.
      dim_var_values, const_lowering, outer_traceback: accepted for compatibility, and ignored.

    Returns:
      MLIR values of the results, and the tokens.
    """
    # The innermost scope: the name of the jitted function, if there is one.
    name = str(name_stack).rpartition("/")[2] or "fun"
    operands = [*consts_for_constvars, *flatten_ir_values(args)]
    # Given constants become arguments ahead of the others, as the operands are ordered.
    if consts_for_constvars:
        jaxpr = convert_constvars(jaxpr)
    return tuple(write_call(ctx, jaxpr, name, operands)), tokens


def lower_jaxpr_to_fun(
    ctx: ModuleContext,
    name: str,
    jaxpr: Jaxpr,
    effects: Sequence[Effect],
    *,
    num_const_args: int = 0,
    main_function: bool = False,
    replicated_args: object = None,
    in_avals: Sequence[AbstractValue] | None = None,
    out_avals: Sequence[AbstractValue] | None = None,
    arg_shardings: object = None,
    result_shardings: object = None,
    use_sharding_annotations: bool = True,
    input_output_aliases: object = None,
    xla_donated_args: object = None,
    arg_names: object = None,
    result_names: object = None,
    arg_memory_kinds: object = None,
    result_memory_kinds: object = None,
    arg_layouts: object = None,
    result_layouts: object = None,
    propagated_out_mem_kinds: object = None,
    detached: bool = False,
) -> "ir.OpView":
    """Lower a jaxpr to a private function, an operation of the module.

    Args:
      ctx: the module.
      name: the name of the function, if it is free.
      jaxpr: the jaxpr, closed over its constants and without ordered effects.
      effects: the ordered effects, of which there may be none.
      num_const_args, main_function, replicated_args, in_avals, out_avals, arg_shardings,
        result_shardings, use_sharding_annotations, input_output_aliases, xla_donated_args,
        arg_names, result_names, arg_memory_kinds, result_memory_kinds, arg_layouts,
        result_layouts, propagated_out_mem_kinds, detached: accepted for compatibility, and
        ignored.

    Raises:
      NotImplementedError: if there are ordered effects.
    """
    if effects:
        names = ", ".join(sorted(map(str, effects)))
        raise NotImplementedError(
            f"lower_jaxpr_to_fun: the program has the ordered effects {{{names}}}. Bind it as a "
            "jitted function instead, which passes their tokens on."
        )
    return declared_function(ctx, jaxpr, name)


def lower_jaxpr_to_module(
    module_name: str,
    jaxpr: Jaxpr,
    *,
    num_const_args: int = 0,
    in_avals: Sequence[AbstractValue] | None = None,
    out_avals: Sequence[AbstractValue] | None = None,
    ordered_effects: Sequence[Effect] = (),
    platforms: Sequence[str] = ("cpu",),
    backend: object = None,
    axis_context: AxisContext | None = None,
    donated_args: Sequence[bool] = (),
    replicated_args: object = None,
    arg_shardings: object = None,
    result_shardings: object = None,
    in_layouts: object = None,
    out_layouts: object = None,
    arg_names: Sequence[str] = (),
    result_names: Sequence[str] | None = None,
    num_partitions: int = 1,
    all_default_mem_kind: bool = True,
    input_output_aliases: object = None,
    propagated_out_mem_kinds: object = None,
    lowering_parameters: LoweringParameters | None = None,
) -> LoweringResult:
    """Lower a jaxpr to an MLIR module with the public function ``main``.

    Args:
      module_name: the module's name.
      jaxpr: the jaxpr; its constants are written into the module.
      ordered_effects: its ordered effects.
      platforms: the platform that the module is for.
      donated_args: whether a result may reuse each argument's buffer.
      arg_names, result_names: the user's names of arguments and results.
      num_partitions: the number of devices that the module is partitioned over.
      num_const_args, in_avals, out_avals, backend, axis_context, replicated_args, arg_shardings,
        result_shardings, in_layouts, out_layouts, all_default_mem_kind, input_output_aliases,
        propagated_out_mem_kinds, lowering_parameters: accepted for compatibility, and ignored.
        ``jit(f).lower`` takes shardings and layouts.
    """
    callbacks: list[Any] = []
    module = module_of_jaxpr(
        jaxpr,
        module_name,
        platforms[0],
        callbacks,
        donors=[i for i, donated in enumerate(donated_args) if donated],
        arg_names=arg_names,
        result_info=result_names,
        num_partitions=num_partitions,
    )
    module.operation.attributes["sym_name"] = _string(module, module_name)
    return LoweringResult(module, [], callbacks, ShapePolyLoweringState((), None))


def _string(module: "ir.Module", text: str) -> "ir.Attribute":
    ir, _ = load_mlir()
    return ir.StringAttr.get(text, module.context)
