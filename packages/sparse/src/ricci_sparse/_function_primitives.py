"""Primitives that are defined by a function of other operations.

Sparse operations are few lines of gathers, products and scatters. Plain functions would have
all transformations; a primitive has a name, by which a jaxpr shows it and ``sparsify``
finds its rule. ``function_primitive`` makes a primitive of a function. Its rules are those of a
staged call of the function's jaxpr for the operands' types, which is cached.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_rules
from ricci_lax import jit_p
from ricci_stablehlo import Lowering, Value, of_function

_jaxprs: ir.Cache[Any, ir.Jaxpr] = ir.Cache("jaxprs of sparse operations", 2048)


def _type_of(x: Any) -> Any:
    """The type of an operand, or of an undefined primal in a transpose rule."""
    aval = getattr(x, "aval", None)
    return ir.get_aval(x) if aval is None else aval


def function_primitive(
    name: str, fun: Callable[..., ir.Array | Sequence[ir.Array]], *, multiple_results: bool = False
) -> ir.Primitive:
    """Define a primitive by a function of arrays.

    Args:
      name: the printed name.
      fun: ``fun(*operands, **params)``, made of other operations. It returns an array, or a
        sequence of arrays if ``multiple_results``.
      multiple_results: whether the primitive has several results.
    """

    def jaxpr_of(types: tuple[Any, ...], params: dict[str, Any]) -> ir.Jaxpr:
        # Types and parameters determine the jaxpr, together with the settings that tracing reads.
        key = (name, types, *params.items(), ir.trace_key())
        cached = _jaxprs.entries.get(key)
        return _jaxprs.make(key, trace, types, params) if cached is None else cached

    def trace(types: tuple[Any, ...], params: dict[str, Any]) -> ir.Jaxpr:
        def flat(*xs: ir.Array) -> Sequence[Any]:
            result: Any = fun(*xs, **params)
            return result if multiple_results else [result]

        return ir.trace_to_jaxpr(flat, types, ir.DebugInfo("jit", name), ir.no_origin)

    def staged(args: Sequence[Any], params: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """The parameters of the staged call, and the constants that precede its operands."""
        jaxpr = jaxpr_of(tuple(map(_type_of, args)), params)
        # Rules of a staged call take constants as operands; they have no tangents and are not
        # mapped.
        return {"jaxpr": ir.convert_constvars(jaxpr), "name": name}, list(jaxpr.consts)

    def zeros_of(consts: Sequence[Any]) -> list[ad.Zero]:
        return [ad.Zero(ad.tangent_aval(ir.get_aval(c))) for c in consts]

    def results(outs: Any) -> Any:
        return outs if multiple_results else outs[0]

    def abstract_eval(*avals: Any, **params: Any) -> Any:
        return results(jaxpr_of(avals, params).out_avals)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        call, consts = staged(primals, params)
        outs, out_tangents = ad.jvp_rules[jit_p](
            (*consts, *primals), (*zeros_of(consts), *tangents), **call
        )
        return results(outs), results(out_tangents)

    def linearize(
        tape: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        call, consts = staged(primals, params)
        outs, out_tangents = ad.linearize_rules[jit_p](
            tape, (*consts, *primals), (*zeros_of(consts), *tangents), **call
        )
        return results(outs), results(out_tangents)

    def split(tape: Any, args: Sequence[Any], **params: Any) -> Any:
        call, consts = staged(args, params)
        return results(ad.split_call(tape, (*consts, *args), **call))

    def transpose(ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        call, consts = staged(args, params)
        cts = ct if multiple_results else [ct]
        return ad.transpose_rules[jit_p](cts, *consts, *args, **call)[len(consts) :]

    def batch(
        axis: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        # The jaxpr of one example: its batching is left to the rule of the staged call.
        types = tuple(
            aval if dim is None else aval.remove_dimension(dim)
            for aval, dim in zip(map(ir.get_aval, args), dims, strict=True)
        )
        jaxpr = jaxpr_of(types, params)
        call = {"jaxpr": ir.convert_constvars(jaxpr), "name": name}
        consts = jaxpr.consts
        unmapped = (None,) * len(consts)
        outs, out_dims = batch_rules[jit_p](axis, (*consts, *args), (*unmapped, *dims), **call)
        return results(outs), results(out_dims)

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        jaxpr = jaxpr_of(tuple(x.aval for x in operands), params)
        return results(ctx.inline(jaxpr, operands))

    return ir.define(
        name,
        abstract_eval=abstract_eval,
        multiple_results=multiple_results,
        sharding=ir.by_program,
        jvp=jvp,
        linearize=linearize,
        split=split,
        transpose=transpose,
        batch=batch,
        lower=of_function(fun, lower),
    )


__all__ = ["function_primitive"]
