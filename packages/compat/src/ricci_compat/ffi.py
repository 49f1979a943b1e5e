"""Lowering rules that build calls of registered functions: two functions of ``jax.ffi``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci_ir import AbstractValue, ShapedArray, api_boundary, physical_aval
from ricci_stablehlo import attribute, custom_call_attributes, tensor_type
from ricci_xla.authoring import load_mlir

# XLA's API version of custom calls whose attributes are typed (a dictionary); earlier versions have
# one opaque string.
_TYPED = 4


@api_boundary
def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Make a function that builds the call of a registered function, for a lowering rule.

    Args:
      call_target_name: the name that ``register_ffi_target`` registered.
      operand_layouts, result_layouts: the layout of each: a ``Layout``, the dimensions from minor
        to major, or ``None`` for row-major.
      backend_config: attributes of each call; before convention 4 a string.
      skip_ffi_layout_processing: leave layouts to the compiler.
      lowering_args: ``result_types``, ``has_side_effect``, ``operand_output_aliases``,
        ``api_version``, ``extra_attributes`` and ``called_computations`` of the operation.

    Returns:
      ``build(ctx, *operands, **params)``, which returns the operation. ``ctx`` is the rule's
      context; the parameters become attributes.

    Raises:
      ValueError: when called, for attributes that the convention does not support.
      TypeError: when called, for an unknown argument.

    Example:
      >>> from ricci import ffi
      >>> build = ffi.build_ffi_lowering_function("my_norm", has_side_effect=True)
      >>> def rule(ctx, x, *, eps):
      ...     return build(ctx, x, eps=eps).results
    """

    def build(ctx: object, *operands: object, **params: Any) -> Any:
        """Build the operation."""
        return _build(
            ctx,
            call_target_name,
            operands,
            _config(backend_config, params, lowering_args.get("api_version", _TYPED)),
            None if skip_ffi_layout_processing else (operand_layouts, result_layouts),
            **lowering_args,
        )

    return build


@api_boundary
def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: object,
) -> Callable[..., Any]:
    """Make a lowering rule that calls a registered function.

    The primitive's parameters become attributes of the call.

    Args:
      call_target_name, operand_layouts, result_layouts, backend_config: as for
        ``build_ffi_lowering_function``.
      skip_ffi_layout_processing, lowering_args: as for ``build_ffi_lowering_function``.

    Returns:
      The rule.

    Example:
      >>> from ricci import ffi
      >>> rule = ffi.ffi_lowering("my_norm", operand_layouts=[(1, 0)])
    """
    build = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(ctx: object, *operands: object, **params: object) -> Any:
        """Build the call, and return its results."""
        return list(build(ctx, *operands, **params).results)

    return rule


def _config(
    config: Mapping[str, Any] | str | None, params: Mapping[str, Any], api_version: int
) -> dict[str, str] | str | None:
    if api_version >= _TYPED:
        if isinstance(config, str):
            raise ValueError(
                "ffi_lowering: backend_config must be a dictionary if api_version is 4, which it "
                f"is by default; got {config!r}."
            )
        return {name: _text(value) for name, value in {**(config or {}), **params}.items()}
    if params:
        raise ValueError(
            "ffi_lowering: attributes need api_version >= 4, which is "
            f"{api_version}; they are {', '.join(params)}."
        )
    if config is None or isinstance(config, str):
        return config or ""
    raise ValueError(f"ffi_lowering: backend_config must be a string, got {config!r}.")


def _text(value: object) -> str:
    ir, _ = load_mlir()
    return str(value) if isinstance(value, ir.Attribute) else attribute(value)


def _build(
    ctx: Any,
    target: str,
    operands: Sequence[Any],
    config: dict[str, str] | str | None,
    layouts: tuple[Any, Any] | None,
    *,
    result_types: Sequence[Any] | None = None,
    result_shapes: object = None,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = _TYPED,
    extra_attributes: Mapping[str, Any] | None = None,
    called_computations: Sequence[str] = (),
) -> Any:
    ir, _ = load_mlir()
    if result_types is None:
        result_types = [ir.Type.parse(tensor_type(aval)) for aval in ctx.avals_out]
    orders: dict[str, Any] = {}
    if layouts is not None:
        orders["operand_layouts"] = _orders("operand_layouts", layouts[0], ctx.avals_in)
        orders["result_layouts"] = _orders("result_layouts", layouts[1], ctx.avals_out)
    texts = custom_call_attributes(
        target,
        len(result_types),
        backend_config=config,
        api_version=min(api_version, _TYPED),
        has_side_effect=has_side_effect,
        # JAX's mapping goes from operand to output, the attribute's from output to operand.
        output_operand_aliases={o: i for i, o in (operand_output_aliases or {}).items()},
        **orders,
    )
    attributes = {name: ir.Attribute.parse(text) for name, text in texts.items()}
    if called_computations:
        symbols = [ir.FlatSymbolRefAttr.get(name) for name in called_computations]
        attributes["called_computations"] = ir.ArrayAttr.get(symbols)
    attributes |= extra_attributes or {}
    flat = [x for operand in operands for x in _values(operand)]
    return ir.Operation.create("stablehlo.custom_call", list(result_types), flat, attributes)


def _values(operand: object) -> Sequence[Any]:
    return operand if isinstance(operand, list | tuple) else [operand]


def _orders(
    what: str, layouts: Sequence[Any] | None, avals: Sequence[AbstractValue]
) -> list[tuple[int, ...]]:
    """Convert layouts to minor-to-major orders of dimensions."""
    if layouts is None:
        layouts = [None] * len(avals)
    if len(layouts) != len(avals):
        raise ValueError(f"ffi_lowering: {what} has {len(layouts)} entries, expected {len(avals)}.")
    return [_order(layout, aval) for layout, aval in zip(layouts, avals, strict=True)]


def _order(layout: Any, aval: AbstractValue) -> tuple[int, ...]:
    if layout is None:
        # The physical type: an array of keys has further dimensions for the words of each.
        rank = physical_aval(aval).ndim if isinstance(aval, ShapedArray) else 0
        return tuple(range(rank - 1, -1, -1))
    # A Layout lists dimensions from major to minor, the attribute from minor to major. A plain
    # sequence is in the attribute's order already.
    order = getattr(layout, "major_to_minor", None)
    return tuple(map(int, layout)) if order is None else tuple(order[::-1])
