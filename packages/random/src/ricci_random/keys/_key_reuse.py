"""Detection of keys that are used twice, in jaxprs and across calls (``jax_debug_key_reuse``).

Drawing from a key or splitting it consumes it. ``fold_in``, ``key_data`` and comparisons do not.
Slices and concatenations of arrays of keys are new keys, and consume the keys that they
contain. Traced indices are not tracked.

A jaxpr is read equation by equation: for every operand, a mask of its keys that are used;
for every result, whether it is an operand returned unchanged. Nested jaxprs (branches, bodies of
loops, calls) are read first.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._key_array import ADVICE, KeyArray


class Uses(ir.TupleRecord):
    """The keys that a jaxpr or an equation consumes, and those that it returns unchanged.

    Attributes:
      used: for each operand (a jaxpr's constants come first) a mask of the keys that are used, or
        ``None`` for none.
      forwarded: for each result the position of the operand that it is, or ``None`` if it is a
        new value.
    """

    used: tuple[np.ndarray | None, ...]
    forwarded: tuple[int | None, ...]


def _is_key(atom: ir.Atom) -> bool:
    return ir.issubdtype(atom.aval.dtype, ir.prng_key)


def _all(aval: ir.ShapedArray) -> np.ndarray:
    return np.ones(aval.shape, bool)


# Rules of equations


def _nothing(eqn: ir.JaxprEqn) -> Uses:
    return Uses((None,) * len(eqn.invars), (None,) * len(eqn.outvars))


def _all_operands(eqn: ir.JaxprEqn) -> Uses:
    used = tuple(_all(x.aval) if _is_key(x) else None for x in eqn.invars)
    return Uses(used, (None,) * len(eqn.outvars))


def _slice(eqn: ir.JaxprEqn) -> Uses:
    mask = np.zeros(eqn.invars[0].aval.shape, bool)
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * mask.ndim
    mask[tuple(map(slice, starts, limits, strides))] = True
    return Uses((mask,), (None,))


def _call(eqn: ir.JaxprEqn) -> Uses:
    """The rule of equations that evaluate a jaxpr once, with the equation's operands."""
    inner = next(ir.jaxprs_in_params(eqn.params))
    return _without_constants(uses_of(inner), inner)


def _without_constants(uses: Uses, jaxpr: ir.Jaxpr) -> Uses:
    """Uses of a jaxpr's arguments without its constants, numbered like an equation's operands."""
    n = len(jaxpr.constvars)
    forwarded = tuple(None if i is None or i < n else i - n for i in uses.forwarded)
    return Uses(uses.used[n:], forwarded)


def _cond(eqn: ir.JaxprEqn) -> Uses:
    branches = [_without_constants(uses_of(b), b) for b in eqn.params["branches"]]
    used = [_either(masks) for masks in zip(*(b.used for b in branches), strict=True)]
    results = zip(*(b.forwarded for b in branches), strict=True)
    # A result is an operand returned unchanged only if every branch returns that operand. The
    # equation's first operand is the index of the branch, so positions are one greater.
    forwarded = [positions[0] if len(set(positions)) == 1 else None for positions in results]
    return Uses((None, *used), tuple(None if i is None else i + 1 for i in forwarded))


def _either(masks: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The keys that any of the branches uses."""
    present = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(present) if present else None


def _scan(eqn: ir.JaxprEqn) -> Uses:
    n, carries = eqn.params["num_consts"], eqn.params["num_carry"]
    body = _loop_body(eqn, eqn.params["jaxpr"], n, carries)
    carry = _forwarded_carry(body, n, carries)
    # The mask of a slice applies to each iteration, and thus to every slice of the scanned array.
    xs = [
        None if mask is None else np.broadcast_to(mask, x.aval.shape)
        for mask, x in zip(body.used[n + carries :], eqn.invars[n + carries :], strict=True)
    ]
    stacked = (None,) * (len(eqn.outvars) - carries)
    return Uses((*body.used[: n + carries], *xs), (*carry, *stacked))


def _while(eqn: ir.JaxprEqn) -> Uses:
    n_cond, n = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    carries = len(eqn.outvars)
    # The body receives the carry that the condition has read, so a condition that uses a key of the
    # carry is an error as well: the carry counts among its constants.
    condition = _loop_body(eqn, eqn.params["cond_jaxpr"], n_cond + carries, 0)
    body = _loop_body(eqn, eqn.params["body_jaxpr"], n, carries)
    carry = [None if i is None else i + n_cond for i in _forwarded_carry(body, n, carries)]
    return Uses((*condition.used[:n_cond], *body.used), tuple(carry))


def _forwarded_carry(body: Uses, n: int, carries: int) -> list[int | None]:
    """For each part of a carry its position, if the body returns it unchanged."""
    return [i if i == n + k else None for k, i in enumerate(body.forwarded[:carries])]


def _loop_body(eqn: ir.JaxprEqn, jaxpr: ir.Jaxpr, n: int, carries: int) -> Uses:
    """The uses of a loop's body or condition.

    Args:
      eqn: the loop.
      jaxpr: its body, or its condition.
      n: the number of leading arguments that are constants of the loop.
      carries: the number of carried arguments after them.

    Raises:
      KeyReuseError: if it uses a key that is the same in each iteration.
    """
    uses = _without_constants(uses_of(jaxpr), jaxpr)
    for i, mask in enumerate(uses.used[: n + carries]):
        if mask is None or not mask.any():
            continue
        if i < n:
            raise ir.KeyReuseError(
                f"{eqn.primitive.name}: its body uses a key from outside of the loop, the same one "
                f"in each iteration.{_source(eqn)}\nSplit the key before the loop and scan over "
                "the parts, or fold_in the number of the iteration."
            )
        if i in uses.forwarded[:carries]:
            raise ir.KeyReuseError(
                f"{eqn.primitive.name}: its body uses the key that it carries, and returns the "
                f"same key.{_source(eqn)}\nSplit the key in the body: carry one part, use the "
                "other."
            )
    return uses


def _source(eqn: ir.JaxprEqn) -> str:
    """The user's line of an equation, as a sentence."""
    source = eqn.source
    if not source or not source.file:
        return ""
    return f" It was called at {ir.shown_file(source.file)}:{source.line}."


_RULES: dict[str, Callable[[ir.JaxprEqn], Uses]] = {
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


def _uses_of_equation(eqn: ir.JaxprEqn) -> Uses:
    if ir.key_roles.get(eqn.primitive) in (ir.KeyRole.DRAW, ir.KeyRole.SPLIT):
        return _all_operands(eqn)
    return _RULES.get(eqn.primitive.name, _nothing)(eqn)


# Programs


def uses_of(jaxpr: ir.Jaxpr) -> Uses:
    """The uses of a jaxpr's constants and arguments.

    Raises:
      KeyReuseError: if it uses a key twice.
    """
    return jaxpr.derived("key uses", lambda: _read(jaxpr))


def _read(jaxpr: ir.Jaxpr) -> Uses:
    operands = [*jaxpr.constvars, *jaxpr.invars]
    used: dict[ir.Var, np.ndarray] = {}  # by the variable that a key was first bound to
    origin: dict[ir.Var, ir.Var] = {}  # that variable, for results that are forwarded operands

    def root(atom: ir.Atom) -> ir.Var | None:
        return origin.get(atom, atom) if isinstance(atom, ir.Var) else None

    for eqn in jaxpr.eqns:
        if (
            not any(map(_is_key, eqn.invars))
            and next(ir.jaxprs_in_params(eqn.params), None) is None
        ):
            continue
        uses = _uses_of_equation(eqn)
        for i, (x, mask) in enumerate(zip(eqn.invars, uses.used, strict=True)):
            key = root(x)
            if key is None or mask is None:
                continue
            before = used.get(key)
            if before is not None and (before & mask).any():
                raise ir.KeyReuseError(
                    f"{_name(eqn)} uses a key that has been used before, as its operand {i}."
                    f"{_source(eqn)}\n{ADVICE}"
                )
            used[key] = mask if before is None else before | mask
        for result, i in zip(eqn.outvars, uses.forwarded, strict=True):
            if i is not None and (variable := root(eqn.invars[i])) is not None:
                origin[result] = variable
    positions: dict[ir.Var | None, int] = {v: i for i, v in enumerate(operands)}
    results = [positions.get(root(x)) if _is_key(x) else None for x in jaxpr.outvars]
    return Uses(tuple(used.get(v) for v in operands), tuple(results))


def _name(eqn: ir.JaxprEqn) -> str:
    """The name of an equation for messages: of the called function, else of the primitive."""
    return str(eqn.params.get("name", eqn.primitive.name)).removeprefix("_")


# Arrays of keys


def consume(key: object, what: str, mask: np.ndarray | None = None) -> None:
    """Mark keys, or those of a mask, as used.

    For a tracer of ``vmap`` or ``jvp``, its concrete keys are marked.

    Raises:
      KeyReuseError: if one of them has been used before.
    """
    while isinstance(key, ir.Tracer):
        key = getattr(key, "value", getattr(key, "primal", None))
    if not isinstance(key, KeyArray):
        return
    key.consume(what, mask)


ir.check_key_reuse.provide(uses_of)


@ir.mark_used_keys.provide
def _mark_used(jaxpr: ir.Jaxpr, name: str, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Mark the keys that a call uses; given results, let forwarded keys share their marks."""
    uses = uses_of(jaxpr)
    if not results:
        for i, (x, mask) in enumerate(zip(args, uses.used, strict=True)):
            if mask is not None:
                consume(x, f"{name}, as its argument {i},", mask)
    for result, i in zip(results, uses.forwarded, strict=bool(results)):
        if i is not None and isinstance(result, KeyArray) and isinstance(args[i], KeyArray):
            result.uses = args[i].uses
