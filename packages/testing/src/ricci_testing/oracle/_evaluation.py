"""Evaluation of source text, with the result as plain, picklable data.

Both sides of a comparison run this file: Ricci imports it, and the oracle's interpreter runs it
next to `_server.py`. So it imports only NumPy and the standard library, and returns only
instances of classes that both sides have.
"""

import ast
import contextlib
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

import numpy as np

_PYTHON_SCALARS = (bool, int, float, complex)


def evaluate(
    namespace: Mapping[str, Any],
    source: str,
    inputs: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    finish: str = "value",
) -> dict[str, Any]:
    """Evaluate `source` and describe its value, or the error it raised.

    `finish` selects what is described: `"value"` the value itself, `"jaxpr"` the printed jaxpr of
    the function that the text evaluates to, traced for the inputs in the order given.
    """
    code = parse(source)
    with _configured(namespace, config or {}):
        try:
            scope = dict(namespace)
            scope.update((name, _as_array(namespace, value)) for name, value in inputs.items())
            arguments = [scope[name] for name in inputs]
            value = _run(code, scope)
            if finish == "jaxpr":
                value = str(namespace["jax"].make_jaxpr(value)(*arguments))
            return {"leaves": describe(namespace, value), "error": None}
        except Exception as error:  # noqa: BLE001 - the error is the result to compare
            return {"leaves": [], "error": _describe_error(error)}


def describe(namespace: Mapping[str, Any], value: Any) -> list[dict[str, Any]]:
    """List the leaves of `value` in order, each with its path, kind, dtype, shape and content."""
    leaves: list[dict[str, Any]] = []
    _walk(namespace, value, "", leaves)
    return leaves


def parse(source: str) -> tuple[CodeType, CodeType]:
    """Compile the statements before the last expression of the text, and that expression."""
    tree = ast.parse(source.strip())
    last = tree.body.pop() if tree.body else None
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the text must end in an expression:\n{source}")
    expression = ast.Expression(last.value)
    return compile(tree, "<compared text>", "exec"), compile(expression, "<compared text>", "eval")


def _run(code: tuple[CodeType, CodeType], scope: dict[str, Any]) -> Any:
    statements, expression = code
    exec(statements, scope)
    return eval(expression, scope)


def _as_array(namespace: Mapping[str, Any], value: Any) -> Any:
    """Convert NumPy arrays within an input to arrays of the namespace's library."""
    if isinstance(value, np.ndarray) and "jnp" in namespace:
        return namespace["jnp"].asarray(value)
    if isinstance(value, list):
        return [_as_array(namespace, item) for item in value]
    if type(value) is tuple:
        return tuple(_as_array(namespace, item) for item in value)
    if isinstance(value, dict):
        return {key: _as_array(namespace, item) for key, item in value.items()}
    return value


@contextlib.contextmanager
def _configured(namespace: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[None]:
    """Set configuration values during one evaluation."""
    if not settings:
        yield
        return
    config = namespace["jax"].config
    before = {name: getattr(config, name) for name in settings}
    try:
        for name, value in settings.items():
            config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            config.update(name, value)


def _walk(
    namespace: Mapping[str, Any], value: Any, path: str, leaves: list[dict[str, Any]]
) -> None:
    """Append the leaves below `value`; an empty container is a leaf, so that its type counts."""
    children: list[tuple[str, Any]] | None = None
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        children = [(f"{path}.{name}", getattr(value, name)) for name in fields]
    elif isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "()"
        children = [(f"{path}{opening}{i}{closing}", item) for i, item in enumerate(value)]
    elif isinstance(value, dict):
        children = [(f"{path}[{key!r}]", value[key]) for key in sorted(value, key=repr)]
    if not children:
        leaves.append(_describe_leaf(namespace, value, path))
        return
    for child_path, child in children:
        _walk(namespace, child, child_path, leaves)


def _describe_leaf(namespace: Mapping[str, Any], leaf: Any, path: str) -> dict[str, Any]:
    if isinstance(leaf, _PYTHON_SCALARS) and not isinstance(leaf, np.generic):
        return _leaf(path, "python", type(leaf).__name__, (), False, leaf)
    if isinstance(leaf, np.ndarray | np.generic):
        return _leaf(path, "numpy", str(leaf.dtype), np.shape(leaf), False, np.asarray(leaf))
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None and hasattr(leaf, "block_until_ready"):
        is_key = str(dtype).startswith("key<")
        data = namespace["jax"].random.key_data(leaf) if is_key else leaf
        weak = bool(getattr(leaf, "weak_type", False))
        return _leaf(path, "array", str(dtype), tuple(leaf.shape), weak, np.asarray(data))
    return _leaf(path, "text", type(leaf).__name__, (), False, str(leaf))


def _leaf(
    path: str, kind: str, dtype: str, shape: tuple[int, ...], weak_type: bool, value: Any
) -> dict[str, Any]:
    return {
        "path": path,
        "kind": kind,
        "dtype": dtype,
        "shape": tuple(shape),
        "weak_type": weak_type,
        "value": value,
    }


def _describe_error(error: Exception) -> dict[str, Any]:
    return {
        "name": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "message": str(error),
    }
