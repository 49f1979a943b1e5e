"""Annotated calls: a family of primitives that call a jaxpr with attributes for the compiler."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import Primitive, by_program, define, live_call, looks_like
from ricci_lax.control_flow._bodies import leaf_avals, trace_body
from ricci_lax.rules._law_examples import no_examples
from ricci_lax.staged_calls._call_rules import call_rules
from ricci_pytree import argument_paths, tree_flatten, tree_unflatten
from ricci_stablehlo import Value, thread_tokens, tokens_at

__all__ = ["annotated_call", "call_annotated"]


def annotated_call(
    name: str,
    lower: Callable[..., Sequence[Value]],
    derived: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Primitive:
    """A primitive that calls its ``jaxpr``; derivatives and batches of a call bind it again.

    Operands: the jaxpr's arguments.

    Args:
      name: the primitive's name.
      lower: ``lower(ctx, *operands, jaxpr, **params)``.
      derived: returns the parameters of the call that computes only tangents or cotangents, for
        those of the call that is differentiated.

    Returns:
      The primitive.
    """

    primitive = define(
        name,
        abstract_eval=lambda *avals, jaxpr, **_: jaxpr.out_avals,
        multiple_results=True,
        sharding=by_program,
        memo=False,
        effects=lambda params: params["jaxpr"].effects,
        **call_rules(lambda: primitive, "jaxpr", derived),
        examples=no_examples("it runs its jaxpr, whose operations have laws themselves"),
        lower=lower,
        program=lambda *, jaxpr, **_: (jaxpr, name),
        dead_code=live_call,
        order=tokens_at(0, jaxpr=lambda eqn, effects: thread_tokens(eqn.params["jaxpr"], effects)),
    )
    return primitive


def call_annotated(primitive: Primitive, fun: Callable[..., Any], **params: object) -> Any:
    """A function that calls ``fun`` by a primitive of ``annotated_call``.

    Args:
      primitive: the primitive.
      fun: a function of pytrees of arrays.
      params: the primitive's parameters besides ``jaxpr``.

    Returns:
      A function of the same arguments and results.
    """
    unpacked = lambda args, options: fun(*args, **options)
    unpacked = looks_like(fun)(unpacked)

    @looks_like(fun)
    def call(*args: object, **options: object) -> Any:
        leaves, tree = tree_flatten((args, options))
        paths = lambda: argument_paths(args, options, fun)
        avals = leaf_avals(primitive.name, paths, leaves)
        body = trace_body(primitive.name, unpacked, tree, avals, allowed=None)
        outs = primitive.bind(*body.consts, *leaves, jaxpr=body.jaxpr, **params)
        return tree_unflatten(body.out_tree, outs)

    return call
