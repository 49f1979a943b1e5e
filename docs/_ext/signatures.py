"""Signatures as they are written in the source, so that types have their short names.

Annotations are taken from the source where the function has one of its own, and from its objects
elsewhere, as for functions that a factory made.
"""

import ast
import inspect
import sys
import types
import typing
from functools import cache
from pathlib import Path
from typing import Any

from ricci_ir import NamedUnion

Parameter = inspect.Parameter
LONGEST_DEFAULT = 40


@cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a source file by their first line, which may be a decorator's."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    return found


def function_of(value: Any) -> types.FunctionType | None:
    """The Python function behind a public object, if there is one."""
    if inspect.isclass(value):
        value = value.__init__
    value = inspect.unwrap(value)
    value = getattr(value, "__func__", value)
    if isinstance(value, property):
        value = value.fget
    return value if isinstance(value, types.FunctionType) else None


def _written(value: Any) -> tuple[dict[str, str], str]:
    """The annotations as the source has them: by parameter, and that of the result."""
    function = function_of(value)
    if function is None or not Path(function.__code__.co_filename).is_file():
        return {}, ""
    code = function.__code__
    node = _definitions(code.co_filename).get(code.co_firstlineno)
    if node is None:
        return {}, ""
    spec = node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    notes = {a.arg: _source(a.annotation) for a in every if a is not None and a.annotation}
    return notes, _source(node.returns) if node.returns else ""


def _source(node: ast.expr) -> str:
    """An annotation without the quotes of what is not yet defined where it stands."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)


def annotation(note: Any) -> str:
    """Return how an annotation is written, from its object."""
    if note is None or note is type(None):
        return "None"
    if isinstance(note, str):
        return note
    if note is Ellipsis:
        return "..."
    if isinstance(note, NamedUnion):
        return note.name
    origin, arguments = typing.get_origin(note), typing.get_args(note)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(annotation, arguments))
    if isinstance(note, list | tuple):
        return "[" + ", ".join(map(annotation, note)) + "]"
    if origin is typing.Literal:
        return "Literal[" + ", ".join(map(repr, arguments)) + "]"
    if origin is not None and arguments:
        return f"{annotation(origin)}[{', '.join(map(annotation, arguments))}]"
    return getattr(note, "__name__", None) or str(note).removeprefix("typing.").lstrip("~+-")


@cache
def _declared() -> dict[int, Any]:
    """Objects whose module declares them to be callable in a given form, by their identity.

    Functions that a factory makes are declared so, `sin: UnaryFunction = to_float(...)`.
    """
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("ricci_"):
            for key, note in vars(module).get("__annotations__", {}).items():
                if getattr(note, "_is_protocol", False) and hasattr(module, key):
                    found[id(inspect.unwrap(getattr(module, key)))] = note
    return found


def _default(value: Any) -> str:
    """A default, without the addresses of objects."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__name__
    written = repr(value)
    return "..." if written.startswith("<") or len(written) > LONGEST_DEFAULT else written


def signature(value: Any, *, bound: bool = False) -> str:
    """Return the signature of a function or class, with types, as a call would be written.

    Args:
        value: a callable.
        bound: leave out the first parameter.

    Returns:
        ``(a: ArrayLike, axis: int = -1) -> Array``, or an empty string if it has none.
    """
    protocol = _declared().get(id(inspect.unwrap(value)))
    source = protocol.__call__ if protocol is not None else value
    try:
        form = inspect.signature(source)
    except (TypeError, ValueError):
        return ""
    notes, returns = _written(source)
    parameters = list(form.parameters.values())
    if (protocol is not None or bound) and parameters:
        parameters = parameters[1:]
    if protocol is not None:
        notes = {p.name: notes.get(p.name, "") for p in parameters}
    shown = [p for p in parameters if not _is_internal(p)]
    text = _parameters(shown, notes)
    if inspect.isclass(value):
        return f"({text})"
    if not returns and form.return_annotation is not form.empty:
        returns = annotation(form.return_annotation)
    return f"({text}) -> {returns}" if returns else f"({text})"


def _is_internal(parameter: Parameter) -> bool:
    """Whether it is a keyword that callers do not give, such as ``_split_transpose``."""
    return parameter.name.startswith("_") and parameter.default is not parameter.empty


def _parameters(parameters: list[Parameter], notes: dict[str, str]) -> str:
    """Parameters, with the marks between those of different kinds."""
    words: list[str] = []
    starred = False
    for position, p in enumerate(parameters):
        before = parameters[position - 1].kind if position else None
        if before is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
            words.append("/")
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        starred = starred or p.kind is p.VAR_POSITIONAL
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        note = notes.get(p.name, "")
        if not note and p.annotation is not p.empty:
            note = annotation(p.annotation)
        word = f"{mark}{p.name}" + (f": {note}" if note else "")
        if p.default is not p.empty:
            word += (" = " if note else "=") + _default(p.default)
        words.append(word)
    if parameters and parameters[-1].kind is Parameter.POSITIONAL_ONLY:
        words.append("/")
    return ", ".join(words)
