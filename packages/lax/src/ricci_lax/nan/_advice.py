"""Advice on operations that returned a NaN or an infinity, in values and in gradients."""

import ast
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import Source, TupleRecord, finfo

from ._singular import Singular, singular_of
from ._trail import Event
from ._watch import Hit, Mask


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
    Row(_names("pure_callback io_callback"), _always,
        "the Python function that it calls returned it: look for the cause in that function"),
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


# ``where`` computes both of its values, and both of their derivatives. The value that is not
# selected has the cotangent 0, and 0 times an infinite derivative is NaN. The fix is a second
# ``where`` on the argument of the operation, which replaces the bad values.


_SELECTIONS = ("where", "select")


def expression(source: Source) -> ast.expr | None:
    """The expression that an instruction belongs to, if the source can be read."""
    if source.code is None or not 0 <= source.offset // 2:
        return None
    start, end, left, right = list(source.code.co_positions())[source.offset // 2]
    if start is None or end is None or left is None or right is None:
        return None
    lines = [linecache.getline(source.file, i).encode() for i in range(start, end + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:right]
    lines[0] = lines[0][left:]
    try:
        return ast.parse(f"({b''.join(lines).decode()})", mode="eval").body
    except SyntaxError:
        return None


def _argument(node: ast.expr | None, rule: Singular) -> ast.expr | None:
    """The argument in an operation's expression that has no finite derivative."""
    if isinstance(node, ast.BinOp):
        return node.right if rule.operand else node.left
    if isinstance(node, ast.Call):
        which = rule.operand
        if len(node.args) > which and not isinstance(node.args[which], ast.Starred):
            return node.args[which]
        if not node.args and isinstance(node.func, ast.Attribute):
            return node.func.value  # a method: x.sum()
    return None


def _condition(mask: Mask, hit: Hit) -> tuple[str, str] | None:
    """A selection's function and condition as source text, if it is in the same code as the hit."""
    node = expression(Source(*mask.place.origin))
    if not isinstance(node, ast.Call) or mask.place.origin[0] is not hit.place.origin[0]:
        return None
    function = ast.unparse(node.func)
    if function.rpartition(".")[2] not in _SELECTIONS or len(node.args) != 3:
        return None
    return function, ast.unparse(node.args[0])


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: str):
        self.old, self.new = old, ast.parse(new, mode="eval").body

    def visit(self, node: ast.AST) -> Any:
        """The new expression in place of the old one."""
        return self.new if node is self.old else self.generic_visit(node)


def remedy(hit: Hit) -> tuple[str, ...]:
    """Two lines of advice on an operation whose derivative is not finite."""
    node = expression(Source(*hit.place.origin))
    rule = singular_of(hit.primitive)
    argument = _argument(node, rule) if _is_call_of(node, hit, rule) else None
    harmless = rule.harmless
    if node is None or argument is None:
        return (
            f"remedy: choose the argument of {hit.operation} before it is computed, with a where "
            f"that puts {harmless} there,",
            "  and its result with a second where.",
        )
    old, arg = ast.unparse(node), ast.unparse(argument)
    selections = [(mask, _condition(mask, hit)) for mask in hit.masks]
    for mask, selection in selections:
        if selection is not None:
            function, condition = selection
            choices = f"{arg}, {harmless}" if mask.case else f"{harmless}, {arg}"
            new = _with(node, argument, f"{function}({condition}, {choices})")
            return (
                f"remedy: choose the argument, too, with a second where: write {new}",
                f"  in place of {old}, and keep the where around it.",
            )
    if selections:
        return (
            f"remedy: choose the argument, too, with a second where: in {old}",
            f"  write jnp.where(c, {arg}, {harmless}) for {arg}, with the first one's condition c.",
        )
    # Both the argument and the result are selected: with the result alone, the derivative at that
    # point would be 0 times infinity.
    bad = "bad"
    if rule.at_zero and not _is_part(hit):
        name = arg if len(arg) <= 12 else "a"
        bad = f"{name} == 0"
        premise = "" if name == arg else f"with a = {arg}: "
        new = _with(node, argument, f"jnp.where({bad}, {harmless}, {name})")
    else:
        premise = "with bad true at that point: "
        new = _with(node, argument, f"jnp.where(bad, {harmless}, {arg})")
    return (
        f"remedy: keep that point out with two wheres: {premise}{old}",
        f"  becomes jnp.where({bad}, 0.0, {new}).",
    )


def _with(node: ast.expr, old: ast.expr, new: str) -> str:
    return ast.unparse(_Replace(old, new).visit(node))


def _is_part(hit: Hit) -> bool:
    """Whether an operation is part of a function of Ricci's that does more."""
    return bool(hit.place.parts)


def _is_call_of(node: ast.expr | None, hit: Hit, rule: Singular) -> bool:
    """Whether an expression is the operation's own call, not a call around it (``jit(f)(x)``)."""
    if not isinstance(node, ast.Call):
        return True
    function = node.func
    name = getattr(function, "attr", None) or getattr(function, "id", "")
    names = {hit.operation, *hit.place.parts, *rule.spellings}
    return name in names
