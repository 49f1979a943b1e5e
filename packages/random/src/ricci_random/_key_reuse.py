"""Keys that are used twice are found in programs and across calls (``jax_debug_key_reuse``).

A key is used up by what draws from it or splits it; ``fold_in``, ``key_data`` and comparisons leave
it as it is. A part of an array of keys that is sliced out, and arrays that are put together, are
new keys, and use up the ones they are made of. What is picked by an index that only the running
program knows is not followed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import (
    Jaxpr,
    JaxprEqn,
    KeyReuseError,
    Tracer,
    Var,
    issubdtype,
    jaxprs_in_params,
    prng_key,
    register_key_checks,
)
from ricci_lax.authoring import KeyRole, key_role_rules

from ._key_array import ADVICE, KeyArray


class Uses(NamedTuple):
    """What a program or an equation does with keys.

    Attributes:
      used: for each operand (a program's constants come first) the keys that it uses up, as a
        mask, or ``None``.
      passed_on: for each result, which operand it is, or ``None`` if it is a new value.
    """

    used: tuple[np.ndarray | None, ...]
    passed_on: tuple[int | None, ...]


def _is_key(atom: Any) -> bool:
    return issubdtype(atom.aval.dtype, prng_key)


def _all(aval: Any) -> np.ndarray:
    return np.ones(aval.shape, bool)


# What equations do


def _nothing(eqn: JaxprEqn) -> Uses:
    return Uses((None,) * len(eqn.invars), (None,) * len(eqn.outvars))


def _all_operands(eqn: JaxprEqn) -> Uses:
    used = tuple(_all(x.aval) if _is_key(x) else None for x in eqn.invars)
    return Uses(used, (None,) * len(eqn.outvars))


def _slice(eqn: JaxprEqn) -> Uses:
    mask = np.zeros(eqn.invars[0].aval.shape, bool)
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * mask.ndim
    mask[tuple(map(slice, starts, limits, strides))] = True
    return Uses((mask,), (None,))


def _call(eqn: JaxprEqn) -> Uses:
    """A program that runs once with the equation's operands."""
    inner = next(jaxprs_in_params(eqn.params))
    return _without_constants(uses_of(inner), inner)


def _without_constants(uses: Uses, jaxpr: Jaxpr) -> Uses:
    n = len(jaxpr.constvars)
    passed_on = tuple(None if i is None or i < n else i - n for i in uses.passed_on)
    return Uses(uses.used[n:], passed_on)


def _cond(eqn: JaxprEqn) -> Uses:
    branches = [_without_constants(uses_of(b), b) for b in eqn.params["branches"]]
    used = [_either(masks) for masks in zip(*(b.used for b in branches), strict=True)]
    results = zip(*(b.passed_on for b in branches), strict=True)
    passed_on = [found[0] if len(set(found)) == 1 else None for found in results]
    return Uses((None, *used), tuple(None if i is None else i + 1 for i in passed_on))


def _either(masks: Sequence[np.ndarray | None]) -> np.ndarray | None:
    found = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(found) if found else None


def _scan(eqn: JaxprEqn) -> Uses:
    n, carries = eqn.params["num_consts"], eqn.params["num_carry"]
    body = _loop_body(eqn, eqn.params["jaxpr"], n, carries)
    carry = _carry_passed_on(body, n, carries)
    xs = [
        None if mask is None else np.broadcast_to(mask, x.aval.shape)
        for mask, x in zip(body.used[n + carries :], eqn.invars[n + carries :], strict=True)
    ]
    stacked = (None,) * (len(eqn.outvars) - carries)
    return Uses((*body.used[: n + carries], *xs), (*carry, *stacked))


def _while(eqn: JaxprEqn) -> Uses:
    n_cond, n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    carries = len(eqn.outvars)
    condition = _loop_body(eqn, eqn.params["cond_jaxpr"], n_cond + carries, 0)
    body = _loop_body(eqn, eqn.params["body_jaxpr"], n, carries)
    carry = [None if i is None else i + n_cond for i in _carry_passed_on(body, n, carries)]
    return Uses((*condition.used[:n_cond], *body.used), tuple(carry))


def _carry_passed_on(body: Uses, n: int, carries: int) -> list[int | None]:
    """The parts of a carry that stay what they are."""
    return [i if i == n + k else None for k, i in enumerate(body.passed_on[:carries])]


def _loop_body(eqn: JaxprEqn, jaxpr: Jaxpr, n: int, carries: int) -> Uses:
    """What the body of a loop uses; an error if what it uses is the same in each iteration."""
    uses = _without_constants(uses_of(jaxpr), jaxpr)
    for i, mask in enumerate(uses.used[: n + carries]):
        if mask is None or not mask.any():
            continue
        if i < n:
            raise KeyReuseError(
                f"{eqn.primitive.name}: its body uses a key from outside of the loop, the same one "
                f"in each iteration.{_where(eqn)}\nSplit the key before the loop and scan over the "
                "parts, or fold_in the number of the iteration."
            )
        if i in uses.passed_on[:carries]:
            raise KeyReuseError(
                f"{eqn.primitive.name}: its body uses the key that it carries, and carries the "
                f"same key on.{_where(eqn)}\nSplit the key in the body: carry one part, use the "
                "other."
            )
    return uses


def _where(eqn: JaxprEqn) -> str:
    source = eqn.source
    return f" It was called at {source.file}:{source.line}." if source and source.file else ""


_RULES: dict[str, Callable[[JaxprEqn], Uses]] = {
    **dict.fromkeys(
        ("concatenate", "optimization_barrier", "rev", "select_n", "stack", "unstack"),
        _all_operands,
    ),
    **dict.fromkeys(("jit", "custom_jvp_call", "custom_vjp_call", "shard_map"), _call),
    "cond": _cond,
    "scan": _scan,
    "slice": _slice,
    "while": _while,
}


def _uses_of_equation(eqn: JaxprEqn) -> Uses:
    if key_role_rules.get(eqn.primitive) in (KeyRole.DRAW, KeyRole.SPLIT):
        return _all_operands(eqn)
    return _RULES.get(eqn.primitive.name, _nothing)(eqn)


# What programs do


def uses_of(jaxpr: Jaxpr) -> Uses:
    """What a program uses up of its constants and arguments.

    Raises:
      KeyReuseError: if it uses one key twice.
    """
    return jaxpr.derived("key uses", lambda: _read(jaxpr))


def _read(jaxpr: Jaxpr) -> Uses:
    operands = [*jaxpr.constvars, *jaxpr.invars]
    used: dict[Any, np.ndarray] = {}
    origin: dict[Any, Any] = {}

    def root(atom: Any) -> Any:
        return origin.get(atom, atom) if isinstance(atom, Var) else None

    for eqn in jaxpr.eqns:
        if not any(map(_is_key, eqn.invars)) and next(jaxprs_in_params(eqn.params), None) is None:
            continue
        uses = _uses_of_equation(eqn)
        for i, (x, mask) in enumerate(zip(eqn.invars, uses.used, strict=True)):
            key = root(x)
            if key is None or mask is None:
                continue
            before = used.get(key)
            if before is not None and (before & mask).any():
                raise KeyReuseError(
                    f"{_name(eqn)} uses a key that has been used before, as its operand {i}."
                    f"{_where(eqn)}\n{ADVICE}"
                )
            used[key] = mask if before is None else before | mask
        for result, i in zip(eqn.outvars, uses.passed_on, strict=True):
            if i is not None and root(eqn.invars[i]) is not None:
                origin[result] = root(eqn.invars[i])
    places = {v: i for i, v in enumerate(operands)}
    results = [places.get(root(x)) if _is_key(x) else None for x in jaxpr.outvars]
    return Uses(tuple(used.get(v) for v in operands), tuple(results))


def _name(eqn: JaxprEqn) -> str:
    return str(eqn.params.get("name", eqn.primitive.name)).removeprefix("_")


# What has been used


def use_up(key: Any, what: str, mask: np.ndarray | None = None) -> None:
    """Note that keys, or those of a mask, are used; those of a transformation's tracer with it.

    Raises:
      KeyReuseError: if one of them has been used before.
    """
    while isinstance(key, Tracer):
        key = getattr(key, "value", getattr(key, "primal", None))
    if not isinstance(key, KeyArray):
        return
    key.use_up(what, mask)


class _Checks:
    """What whoever runs programs asks."""

    def program(self, jaxpr: Jaxpr) -> None:
        uses_of(jaxpr)

    def call(self, jaxpr: Jaxpr, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
        uses = uses_of(jaxpr)
        if not results:
            for i, (x, mask) in enumerate(zip(args, uses.used, strict=True)):
                if mask is not None:
                    use_up(x, f"{name}, as its argument {i},", mask)
        for result, i in zip(results, uses.passed_on, strict=bool(results)):
            if i is not None and isinstance(result, KeyArray) and isinstance(args[i], KeyArray):
                result.uses = args[i].uses


register_key_checks(_Checks())
