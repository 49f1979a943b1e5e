"""Suggest the double-where fix for NaN gradients.

``where`` computes both of its values, and both of their derivatives. The value that is not selected
has the cotangent 0, and 0 times an infinite derivative is NaN. The fix is a second ``where`` on the
argument of the operation, which replaces the bad values.
"""

import ast
import linecache
from typing import Any

from ricci_ir import Source
from ricci_lax.rules._singular import Singular, singular_of

from ._watch import Hit, Mask

_SELECTIONS = ("where", "select")


def source_text(source: Source) -> str:
    """The user's line of code, stripped."""
    return linecache.getline(source.file, source.line).strip() if source.code else ""


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
