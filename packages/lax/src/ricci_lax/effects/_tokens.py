"""Kinds of side effects; tokens, which order them; ``dce_sink``, which keeps values alive."""

from typing import Any

import ricci_ir as ir
from ricci_autodiff import Zero, instantiate, not_linear
from ricci_pytree import tree_leaves
from ricci_stablehlo import Lowering, Value

__all__ = ["DebugEffect", "OrderedDebugEffect", "after_all", "after_all_p", "create_token"]
__all__ += ["create_token_p", "dce_sink"]


class AllowedEffect(ir.Effect):
    """An effect that may happen everywhere, also twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True
    in_custom_derivatives = True
    in_remat = True


@ir.exported
class DebugEffect(AllowedEffect):
    """Debugging output, in no particular order."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Debug"


@ir.exported
class OrderedDebugEffect(AllowedEffect):
    """Debugging output, in program order."""

    __slots__ = ()
    ordered = True

    def __repr__(self) -> str:
        return "OrderedDebug"


class IOEffect(ir.Effect):
    """Input and output, in no particular order; it must not happen twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(ir.Effect):
    """Input and output, in program order; it must not happen twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True
    ordered = True

    def __repr__(self) -> str:
        return "OrderedIO"


debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()
io_effect, ordered_io_effect = IOEffect(), OrderedIOEffect()

# Effects that must not happen twice, nor for examples or branches whose results are not selected.
io_effects = frozenset({io_effect, ordered_io_effect})

# Sets of one effect each, shared.
debug_set = {False: frozenset({debug_effect}), True: frozenset({ordered_debug_effect})}
io_set = {False: frozenset({io_effect}), True: frozenset({ordered_io_effect})}

_no_derivative = ir.unsupported("tokens hold no numbers, so that nothing can be differentiated")
_no_batch = ir.unsupported("a token orders effects for all examples of a batch; it has no axis")


create_token_p: ir.Primitive = ir.define(
    "create_token",
    sharding=ir.by_program,
    abstract_eval=lambda: ir.abstract_token,
    jvp=_no_derivative,
    transpose=not_linear,
    batch=_no_batch,
    lower=Lowering.create_token,
)


def create_token(_: Any = None) -> Any:
    """Create a token that waits for nothing.

    Example:
      >>> from ricci import lax
      >>> lax.create_token().aval
      AbstractToken()

    Source: StableHLO ``create_token``.
    """
    return create_token_p.bind()


def _after_all_aval(*avals: ir.AbstractValue) -> ir.AbstractToken:
    if not all(isinstance(aval, ir.AbstractToken) for aval in avals):
        raise TypeError(
            f"after_all: every operand must be a token, got {', '.join(map(str, avals))}. Make "
            "one with create_token."
        )
    return ir.abstract_token


def _after_all_lower(ctx: Lowering, *operands: Value) -> Value:
    names = "".join(f" {x}" if i == 0 else f", {x}" for i, x in enumerate(operands))
    types = "!stablehlo.token"
    return ctx.append("stablehlo.after_all", names, [ir.abstract_token], types)[0]


after_all_p: ir.Primitive = ir.define(
    "after_all",
    sharding=ir.by_program,
    abstract_eval=_after_all_aval,
    jvp=_no_derivative,
    transpose=not_linear,
    batch=_no_batch,
    lower=_after_all_lower,
)


def after_all(*operands: Any) -> Any:
    """Join tokens into one, which waits for all of them.

    Args:
      operands: tokens.

    Returns:
      A token.

    Raises:
      TypeError: if one is not a token.

    Example:
      >>> from ricci import lax
      >>> lax.after_all(lax.create_token(), lax.create_token()).aval
      AbstractToken()

    Source: StableHLO ``after_all``.
    """
    return after_all_p.bind(*operands)


class _UnusedEffect(AllowedEffect):
    """The effect of ``dce_sink``, by which its equations are not dead code."""

    def __repr__(self) -> str:
        return "NoDCE"


_unused: frozenset = frozenset({_UnusedEffect()})


def _dce_sink_jvp(primals, tangents, **params):
    # The operations that compute the tangent are not dead code, either.
    dce_sink_p.bind(*primals, **params)
    if type(tangents[0]) is not Zero:
        dce_sink_p.bind(instantiate(tangents[0]), **params)
    return [], []


def _dce_sink_batch(axis, args, dims, **params):
    return dce_sink_p.bind(*args, **params), []


def _dce_sink_lower(ctx: Lowering, x: Value, *, prevent_mlir_dce) -> list[Value]:
    if prevent_mlir_dce:
        layouts = [tuple(reversed(range(len(x.shape))))]
        ctx.custom_call(
            "dce_sink", [x], [], has_side_effect=True, operand_layouts=layouts, result_layouts=[]
        )
    return []


dce_sink_p = ir.define(
    "dce_sink",
    sharding=ir.by_program,
    abstract_eval=lambda x, *, prevent_mlir_dce: [],
    multiple_results=True,
    effects=lambda params: _unused,
    jvp=_dce_sink_jvp,
    transpose=not_linear,
    batch=_dce_sink_batch,
    lower=_dce_sink_lower,
    eager=lambda x, **_: [],
)


def dce_sink(val: ir.PyTree, *, prevent_mlir_dce: bool = False) -> None:
    """Use values, so that the equations that compute them are not dead code.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: whether the compiler must keep the computation as well; otherwise it may
        leave it out.

    Example:
      >>> from ricci import lax
      >>> lax.dce_sink((1.0, 2.0))
    """
    for leaf in tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=bool(prevent_mlir_dce))
