"""Programs inside of programs, on sparse values: calls, loops and branches."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_lax as lax
from ricci_ir import Array, Jaxpr, Primitive, program_rules
from ricci_sparse._base import is_sparse

from ._rule_table import SparseRule, further_rules, of_arrays, sparse_rules_bcoo, sparse_rules_bcsr
from ._sparsify import eval_sparse
from ._values import (
    ArrayOrSparse,
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
)


def _program_rule(primitive: Primitive) -> SparseRule | None:
    """The rule of a primitive that stands for a program: its equations, one by one."""
    program = program_rules.get(primitive)
    if program is None:
        return None

    def rule(
        spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any
    ) -> Sequence[SparsifyValue]:
        jaxpr, _ = program(**params)
        return eval_sparse(jaxpr, jaxpr.consts, spvalues, spenv)

    return rule


further_rules.append(_program_rule)


def _on_arrays(jaxpr: Jaxpr) -> Callable[..., list[ArrayOrSparse]]:
    """A program as a function of arrays, some of which are sparse."""

    def run(*arrays: ArrayOrSparse) -> list[ArrayOrSparse]:
        spenv = SparsifyEnv()
        values = arrays_to_spvalues(spenv, list(arrays))
        outs = eval_sparse(jaxpr, jaxpr.consts, values, spenv)
        return spvalues_to_arrays(spenv, list(outs))

    return run


def _cond(
    index: Array, *operands: ArrayOrSparse, branches: Sequence[Jaxpr], **params: Any
) -> list[ArrayOrSparse]:
    return lax.switch(index, [_on_arrays(branch) for branch in branches], *operands)


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
    holds, body = _on_arrays(cond_jaxpr), _on_arrays(body_jaxpr)
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
    run = _on_arrays(jaxpr)

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
