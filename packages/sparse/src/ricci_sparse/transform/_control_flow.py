"""Sparse rules of primitives with jaxprs: calls, loops and branches."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_lax as lax
from ricci_ir import Array, Jaxpr, Primitive, program_rules
from ricci_sparse._base import is_sparse

from ._sparsify import eval_sparse
from ._values import (
    ArrayOrSparse,
    SparseRule,
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    further_rules,
    of_arrays,
    sparse_rules_bcoo,
    sparse_rules_bcsr,
    spvalues_to_arrays,
)


def _call_rule(primitive: Primitive) -> SparseRule | None:
    """The rule of a call: evaluate the equations of its jaxpr."""
    inner_jaxpr = program_rules.get(primitive)
    if inner_jaxpr is None:
        return None

    def rule(
        spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any
    ) -> Sequence[SparsifyValue]:
        jaxpr, _ = inner_jaxpr(**params)
        return eval_sparse(jaxpr, jaxpr.consts, spvalues, spenv)

    return rule


further_rules.append(_call_rule)


def _as_function(jaxpr: Jaxpr) -> Callable[..., list[ArrayOrSparse]]:
    """A jaxpr as a function of arrays, some of which are sparse."""

    def run(*arrays: ArrayOrSparse) -> list[ArrayOrSparse]:
        # An environment of its own: its arrays are tracers of the loop's or branch's trace.
        spenv = SparsifyEnv()
        values = arrays_to_spvalues(spenv, list(arrays))
        outs = eval_sparse(jaxpr, jaxpr.consts, values, spenv)
        return spvalues_to_arrays(spenv, list(outs))

    return run


def _cond(
    index: Array, *operands: ArrayOrSparse, branches: Sequence[Jaxpr], **params: Any
) -> list[ArrayOrSparse]:
    return lax.switch(index, [_as_function(branch) for branch in branches], *operands)


def _while(
    *operands: ArrayOrSparse,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    **params: Any,
) -> list[ArrayOrSparse]:
    first = cond_nconsts + body_nconsts
    cond_consts, body_consts = operands[:cond_nconsts], operands[cond_nconsts:first]
    holds, body = _as_function(cond_jaxpr), _as_function(body_jaxpr)
    return lax.while_loop(
        lambda carry: holds(*cond_consts, *carry)[0],
        lambda carry: body(*body_consts, *carry),
        list(operands[first:]),
    )


def _scan(
    *operands: ArrayOrSparse,
    jaxpr: Jaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: Any,
    **params: Any,
) -> list[ArrayOrSparse]:
    first = num_consts + num_carry
    consts, init, xs = operands[:num_consts], operands[num_consts:first], operands[first:]
    if any(map(is_sparse, xs)):
        raise NotImplementedError(
            "sparsify: scan over a sparse array. Make it dense first, with todense, or loop over "
            "its positions."
        )
    run = _as_function(jaxpr)

    def body(carry: list[ArrayOrSparse], x: list[Array]) -> tuple[list[ArrayOrSparse], list[Array]]:
        outs = run(*consts, *carry, *x)
        collected = outs[num_carry:]
        if any(map(is_sparse, collected)):
            raise NotImplementedError(
                "sparsify: a scan that collects sparse arrays. Return them with todense."
            )
        return outs[:num_carry], collected

    carry, ys = lax.scan(body, list(init), list(xs), length, reverse, unroll)
    return [*carry, *ys]


for _primitive, _rule in ((lax.cond_p, _cond), (lax.while_p, _while), (lax.scan_p, _scan)):
    sparse_rules_bcoo[_primitive] = of_arrays(_rule, multiple_results=True)
    sparse_rules_bcsr[_primitive] = sparse_rules_bcoo[_primitive]
