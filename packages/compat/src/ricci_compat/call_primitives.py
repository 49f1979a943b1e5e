"""Rules of libraries' primitives that call a jaxpr, derived from it: ``jax.extend.core``."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_stablehlo as hlo
from ricci_autodiff import jvp_rules, linearize_rules, split_rules, transpose_rules
from ricci_batching import batch_rules
from ricci_lax.authoring import call_rules

from .partial_eval import dce_called_jaxpr, dce_rules

_TABLES = {
    "jvp": jvp_rules,
    "linearize": linearize_rules,
    "split": split_rules,
    "transpose": transpose_rules,
    "batch": batch_rules,
}


def eval_jaxpr_transpose(
    prim: ir.Primitive, ct: Sequence[Any], *args: Any, call_jaxpr: ir.Jaxpr, **params: Any
) -> list[Any]:
    """The transpose rule of a primitive that calls a jaxpr: call the transposed jaxpr.

    Args:
      prim: the primitive.
      ct: the cotangents of the results.
      args: the operands; the linear ones are ``UndefinedPrimal``.
      call_jaxpr: the jaxpr.
      params: the other parameters.

    Returns:
      The cotangent of each operand; ``None`` if it is zero, or the operand is not linear.
    """
    rules = call_rules(lambda: prim, "call_jaxpr")
    return rules["transpose"](ct, *args, call_jaxpr=call_jaxpr, **params)


def create_call_primitive(name: str, inline_jax_late: bool = True) -> ir.Primitive:
    """A primitive that calls a jaxpr, with the rules of that jaxpr.

    It is applied by ``bind(*args, call_jaxpr=jaxpr)``; other parameters are stored, and unused.

    Args:
      name: its name in printed jaxprs.
      inline_jax_late: whether lowering inlines the jaxpr, instead of calling a function with the
        name of the parameter ``name``, if any.

    Returns:
      The primitive.

    Example:
      >>> import ricci
      >>> from ricci import lax
      >>> from ricci.extend.core import create_call_primitive
      >>> call = create_call_primitive("block")
      >>> inner = ricci.make_jaxpr(lax.sin)(1.0)
      >>> ricci.make_jaxpr(lambda x: call.bind(x, call_jaxpr=inner))(2.0).eqns[0].primitive
      block
    """
    primitive = ir.Primitive(name, multiple_results=True, memo=False)
    register_call_primitive_rules(primitive, inline_jax_late=inline_jax_late)
    return primitive


def register_call_primitive_rules(
    prim: ir.Primitive,
    name: str | None = None,
    transpose_rule: Callable[..., Any] | None = None,
    inline_jax_late: bool = True,
) -> None:
    """Register the rules of a primitive that calls its parameter ``call_jaxpr``.

    Args:
      prim: the primitive; it has several results from now on.
      name: the name of its functions in lowered modules; by default the primitive's.
      transpose_rule: ``transpose_rule(cts, *operands, **params)``, instead of the jaxpr's.
      inline_jax_late: whether lowering inlines the jaxpr.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.extend.core import Primitive, register_call_primitive_rules
      >>> block = Primitive("block_of_mine")
      >>> register_call_primitive_rules(block)
      >>> inner = ricci.make_jaxpr(jnp.sin)(1.0)
      >>> f = lambda x: block.bind(x, call_jaxpr=inner)[0]
      >>> round(float(ricci.grad(f)(0.0)), 4)
      1.0
    """
    prim.multiple_results = True
    prim.aval_memo = None  # a cache would keep jaxprs alive
    prim.effects = lambda params: params["call_jaxpr"].effects
    prim.def_abstract_eval(lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals)
    symbol = prim.name if name is None else name

    def lower(
        ctx: hlo.Lowering, *operands: hlo.Value, call_jaxpr: ir.Jaxpr, **params: Any
    ) -> list[hlo.Value]:
        if inline_jax_late:
            return ctx.inline(call_jaxpr, operands)
        return ctx.call(call_jaxpr, params.get("name", symbol), operands)

    def evaluate(*args: Any, call_jaxpr: ir.Jaxpr, **params: Any) -> list[Any]:
        return ir.eval_jaxpr(call_jaxpr, call_jaxpr.consts, *args)

    for kind, rule in call_rules(lambda: prim, "call_jaxpr").items():
        _TABLES[kind].define(prim, rule)
    if transpose_rule is not None:
        transpose_rules[prim] = transpose_rule
    ir.sharding_rules[prim] = ir.by_program
    ir.program_rules[prim] = lambda *, call_jaxpr, **params: (
        call_jaxpr,
        params.get("name", symbol),
    )
    hlo.lower_rules[prim] = lower
    ir.eager_rules[prim] = evaluate
    hlo.order_rules[prim] = hlo.tokens_at(
        0, call_jaxpr=lambda eqn, effects: hlo.thread_tokens(eqn.params["call_jaxpr"], effects)
    )
    dce_rules[prim] = dce_called_jaxpr
