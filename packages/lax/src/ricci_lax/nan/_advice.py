"""Advice on operations that returned a NaN or an infinity: a table of fixes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import TupleRecord, finfo

from ._trail import Event


class Row(TupleRecord):
    """A fix for some operations, and the condition under which it applies.

    Attributes:
      operations: the names of primitives.
      when: whether the fix applies to an event, by the operands at its element.
      text: the fix; ``{kind}`` and ``{limit}`` are the dtype and its largest number.
    """

    operations: frozenset[str]
    when: Callable[..., Any]
    text: str


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_always = lambda *operands: True
_overflow = "{kind} has no number above {limit}: "
_masked = (
    "a softmax has no value where all elements are -inf: mask with a large finite number, such as "
    "jnp.finfo({kind}).min, or choose another result for such rows with jnp.where"
)
_divisor = (
    "keep 0 out of the divisor: jnp.where(d == 0, 1.0, d) for d, and choose the result as well"
)
_scale = "scale the values down, or compute in a wider dtype"

# The first row that applies to an event is used.
_ROWS = (
    Row(_names("log"), lambda x: x == 0, "keep 0 out: jnp.log(jnp.where(x > 0, x, 1.0)); for "
        "x * log(x) there is jax.scipy.special.xlogy(x, x)"),
    Row(_names("log"), _always, "keep numbers below 0 out: jnp.log(jnp.maximum(x, smallest))"),
    Row(_names("log1p"), _always, "keep numbers up to -1 out: jnp.log1p(jnp.maximum(x, smallest))"),
    Row(_names("sqrt rsqrt cbrt"), lambda x: x < 0,
        "keep numbers below 0 out, which rounding may make: jnp.maximum(x, 0.0)"),
    Row(_names("rsqrt"), _always, "keep 0 out: jnp.where(x > 0, x, 1.0), or add a small number"),
    Row(_names("asin acos atanh"), _always,
        "keep numbers outside of -1 and 1 out, which rounding may make: jnp.clip(x, -1.0, 1.0)"),
    Row(_names("acosh"), _always, "keep numbers below 1 out: jnp.maximum(x, 1.0)"),
    Row(_names("erf_inv"), _always, "keep the argument between -1 and 1: jnp.clip"),
    Row(_names("div"), lambda x, y: y == 0, _divisor),
    Row(_names("rem"), lambda x, y: y == 0, _divisor),
    Row(_names("pow"), lambda x, y: (x == 0) & (y < 0),
        "keep 0 out of the base: jnp.where(x == 0, 1.0, x), and choose the result as well"),
    Row(_names("pow"), lambda x, y: x < 0,
        "a base below 0 has no such power: take jnp.abs(x) or jnp.maximum(x, 0.0)"),
    Row(_names("integer_pow"), lambda x: x == 0,
        "keep 0 out of the base: jnp.where(x == 0, 1.0, x), and choose the result as well"),
    Row(_names("sin cos tan"), _always, "keep infinities out"),
    Row(_names("exp exp2 expm1 sinh cosh"), _always, _overflow + "subtract the maximum from the "
        "exponents first, as jax.nn.softmax and jax.nn.logsumexp do"),
    Row(_names("reduce_prod cumprod prod"), _always,
        _overflow + "sum logarithms instead of multiplying, or compute in a wider dtype"),
    Row(_names("scatter_mul scatter-mul"), _always, _overflow + "scale the updates down"),
    Row(_names("scatter_add scatter-add"), _always, _overflow + "scale the updates down"),
    Row(_names("convert_element_type"), _always,
        _overflow + "scale the values down before they are converted, or keep the wider dtype"),
    Row(_names("gather"), _always, "an index is out of bounds, where nan is filled in: check the "
        "indices, or pass mode='clip' or a fill_value"),
    Row(_names("cholesky"), _always,
        "the matrix is not positive definite: add a small multiple of the identity to it"),
    Row(_names("triangular_solve lu_solve"), _always,
        "the matrix is singular: add a small multiple of the identity to it"),
    Row(_names("eigh svd qr lu eig"), _always, "scale the matrix, or add a small multiple of the "
        "identity to it"),
    Row(_names("lgamma digamma polygamma zeta igamma igammac"), _always,
        "keep the argument inside of the domain, and away from poles"),
    Row(_names("mul integer_pow square pow add sub add_any dot_general reduce_sum cumsum "
               "conv_general_dilated reduce_window_sum cumlogsumexp fft psum psum_invariant"),
        _always, _overflow + _scale),
)  # fmt: skip


def advice(event: Event) -> tuple[str, ...]:
    """Lines of advice on an event, or on the infinity that caused it; empty if there is none."""
    cause = event.cause or event
    if cause.primitive is None:
        return ()
    dtype = cause.result.dtype
    limit = _limit(dtype)
    if cause.came_in:
        if cause.kind == "nan" or not _is_masked(event, cause):
            return ()
        return _lines(_masked.format(kind=dtype, limit=limit))
    operands = _operands_at(cause)
    names = {cause.operation, *cause.place.parts}
    for row in _ROWS:
        if not names & row.operations:
            continue
        if row.when is _always or (operands is not None and row.when(*operands)):
            return _lines(row.text.format(kind=dtype, limit=limit))
    return ()


def _is_masked(event: Event, cause: Event) -> bool:
    """Whether a NaN is the difference of infinities from the user's code, as in a softmax."""
    return event.operation == "sub" and bool(np.isneginf(cause.result[cause.index]))


def _operands_at(event: Event) -> list[Any] | None:
    """The operands' numbers at an event's element, if the operation is elementwise."""
    if not event.matched or any(x is None for x in event.operands):
        return None
    return [np.broadcast_to(x, event.result.shape)[event.index] for x in event.operands]


def _limit(dtype: object) -> str:
    """The largest number of a dtype."""
    return f"{float(finfo(dtype).max):.5g}"


def _lines(text: str, width: int = 92) -> tuple[str, ...]:
    lines: list[str] = []
    for word in f"remedy: {text}".split():
        if lines and len(lines[-1]) + len(word) < width:
            lines[-1] += f" {word}"
        else:
            lines.append(word if not lines else f"  {word}")
    return tuple(lines)
