"""Rules of loops and branches in Python, of composite calls, and of what creates values."""

from typing import Any

import numpy as np

from ricci_ir import Jaxpr, Token
from ricci_lax.authoring import index_of_platform

from ._jaxprs import numpy_dtype, run_jaxpr_numpy
from ._widening import Rule


def _while(
    *operands: np.ndarray,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
) -> list[np.ndarray]:
    start = cond_nconsts + body_nconsts
    cond_consts, consts = operands[:cond_nconsts], operands[cond_nconsts:start]
    carry = list(operands[start:])
    while True:
        (going,) = run_jaxpr_numpy(cond_jaxpr, [*cond_consts, *carry])
        if not going.any():
            return carry
        following = run_jaxpr_numpy(body_jaxpr, [*consts, *carry])
        # The predicate of a batched loop is an array: examples that have ended keep their carry.
        carry = [
            np.where(going.reshape(going.shape + (1,) * (new.ndim - going.ndim)), new, old)
            for new, old in zip(following, carry, strict=True)
        ]


def _scan(
    *operands: np.ndarray,
    jaxpr: Jaxpr,
    length: int,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    **_: Any,
) -> list[np.ndarray]:
    start = num_consts + num_carry
    consts, carry, xs = operands[:num_consts], list(operands[num_consts:start]), operands[start:]
    avals: list[Any] = jaxpr.out_avals[num_carry:]
    # Made before the loop, as a loop of no steps has to return empty arrays of the right types.
    collected = [np.zeros((length, *a.shape), numpy_dtype(a.dtype)) for a in avals]
    for i in reversed(range(length)) if reverse else range(length):
        outs = run_jaxpr_numpy(jaxpr, [*consts, *carry, *(x[i] for x in xs)])
        carry = outs[:num_carry]
        for rows, row in zip(collected, outs[num_carry:], strict=True):
            rows[i] = row
    return [*carry, *collected]


def _platform_index(*, platforms: tuple[tuple[str, ...] | None, ...]) -> np.ndarray:
    # NumPy runs on the host, so that the rules for CPUs apply.
    return np.asarray(index_of_platform("cpu", platforms), np.int32)


control_flow_rules: dict[str, Rule] = {
    "platform_index": _platform_index,
    "cond": lambda index, *operands, branches, **_: run_jaxpr_numpy(branches[int(index)], operands),
    "while": _while,
    "scan": _scan,
}

creation_rules: dict[str, Rule] = {
    "after_all": lambda *tokens: Token(None),
    "composite": lambda *operands, call_jaxpr, **params: run_jaxpr_numpy(call_jaxpr, operands),
    "create_token": lambda: Token(None),
    "dce_sink": lambda x, **params: [],
    "empty": lambda *, shape, dtype, **params: np.zeros(shape, numpy_dtype(dtype)),
    "stage": lambda x: x,
}
