"""Casts of lines, applied to the text of a program as its author would.

A line that is cast computes in a wider dtype. Every other line rounds the values that it computes
with to the narrow dtype of the program. The program runs eagerly, with loops of Python, whose
states may have any dtype. Nothing of ``precision`` takes part.
"""

import ast
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import ricci.numpy as jnp
from ricci import lax, tree

_MODULES = frozenset({"jnp", "lax", "nn", "np", "ricci", "scipy"})
_LOOPS = frozenset({"cond", "fori_loop", "scan", "while_loop"})
_NARROW = frozenset({"bfloat16", "float16"})


def with_casts(
    source: Callable[..., Any], lines: Iterable[int], narrow: Any, wide: Any
) -> Callable[..., Any]:
    """Return a program of one narrow dtype with some of its lines computed in a wider one.

    Args:
      source: the function, with loops of ``lax`` and functions of its own inside.
      lines: the lines of the file to compute in ``wide``.
      narrow, wide: the dtypes.
    """
    text, start = inspect.getsourcelines(source)
    module = ast.increment_lineno(ast.parse("".join(text)), start - 1)
    module = ast.fix_missing_locations(_Casts(lines).visit(module))
    names = {
        **source.__globals__,
        "lax": _Eager(),
        "in_narrow": partial(_converted, narrow),
        "in_wide": partial(_converted, wide),
        "narrow_dtype": narrow,
        "wide_dtype": wide,
    }
    exec(compile(module, inspect.getfile(source), "exec"), names)
    return names[source.__name__]


class _Casts(ast.NodeTransformer):
    """Wraps the values that a line uses in calls which convert them."""

    def __init__(self, lines: Iterable[int]):
        self.lines = frozenset(lines)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = []  # rows of the table, and checkpoints, which change no value
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        return self._converted(node) if isinstance(node.ctx, ast.Load) else node

    # Names on their own are returned and passed to functions of the program as they are.
    def visit_Return(self, node: ast.Return) -> Any:
        node.value = self._unless_name(node.value)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        node.elts = [self._unless_name(element) for element in node.elts]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        node.left, node.right = map(self._operand, (node.left, node.right))
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        visit = self.visit
        if isinstance(function, ast.Name):
            visit = self._unless_name
        elif isinstance(function, ast.Attribute) and self._is_module(function.value):
            if function.attr in _LOOPS:
                visit = self._unless_name
        elif isinstance(function, ast.Attribute):
            function.value = self.visit(function.value)
        node.args = [visit(argument) for argument in node.args]
        node.keywords = [ast.keyword(x.arg, visit(x.value)) for x in node.keywords]
        return self._converted(node) if node.lineno in self.lines else node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        is_wide = node.lineno in self.lines
        if node.attr == "dtype" or (is_wide and node.attr in _NARROW):
            name = ast.Name("wide_dtype" if is_wide else "narrow_dtype", ast.Load())
            return ast.copy_location(name, node)
        if not self._is_module(node.value):
            node.value = self.visit(node.value)
        return node

    def _converted(self, node: Any) -> ast.Call:
        name = "in_wide" if node.lineno in self.lines else "in_narrow"
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node], []), node)

    def _operand(self, node: Any) -> Any:
        is_result = isinstance(node, ast.Call | ast.Subscript)
        return self._converted(self.visit(node)) if is_result else self.visit(node)

    def _unless_name(self, node: Any) -> Any:
        return node if node is None or isinstance(node, ast.Name) else self.visit(node)

    def _is_module(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return self._is_module(node.value)
        return isinstance(node, ast.Name) and node.id in _MODULES


class _Eager:
    """The functions of ``lax``, with loops of Python."""

    def __getattr__(self, name: str) -> Any:
        return globals()[f"_{name}"] if name in _LOOPS else getattr(lax, name)


def _converted(dtype: Any, x: Any) -> Any:
    is_inexact = hasattr(x, "astype") and jnp.issubdtype(x.dtype, np.inexact)
    return x.astype(dtype) if is_inexact else x


def _scan(step: Any, state: Any, xs: Any = None, length: int | None = None, reverse: Any = False):
    count = len(tree.leaves(xs)[0]) if length is None else length
    collected = []
    for i in reversed(range(count)) if reverse else range(count):
        state, result = step(state, tree.map(lambda x, i=i: x[i], xs))
        collected.append(result)
    if reverse:
        collected.reverse()
    return state, tree.map(lambda *each: jnp.stack(each), *collected)


def _fori_loop(start: int, stop: int, body: Any, state: Any) -> Any:
    for i in range(start, stop):
        state = body(i, state)
    return state


def _while_loop(going: Any, body: Any, state: Any) -> Any:
    while going(state):
        state = body(state)
    return state


def _cond(predicate: Any, accepted: Any, rejected: Any, *operands: Any) -> Any:
    return (accepted if predicate else rejected)(*operands)
