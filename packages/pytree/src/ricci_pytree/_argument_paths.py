"""The names of the leaves of a call's arguments, for error messages."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from ._engine import keystr
from ._flattening import IsLeaf, tree_flatten_with_path


def argument_paths(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    signature: inspect.Signature | Callable[..., Any] | None = None,
    is_leaf: IsLeaf = None,
) -> list[str]:
    """Names such as ``x['w'][0]`` for the leaves of the arguments of a call.

    Args:
      args: positional arguments.
      kwargs: keyword arguments.
      signature: the called function, or its signature. If it is missing, cannot be read or does
        not accept the arguments, the names begin with ``args[0]`` and ``kwargs['k']``.
      is_leaf: whether a node is a leaf, also if it is a container.

    Returns:
      One name for each leaf, in the order of ``tree_leaves((args, kwargs))``.

    >>> from ricci_pytree import argument_paths
    >>> argument_paths(({"w": [1, 2]}, 3), {"k": 4}, lambda x, *rest, **options: None)
    ["x['w'][0]", "x['w'][1]", 'rest[0]', "options['k']"]
    >>> argument_paths((1, [2]), {"k": 4})
    ['args[0]', 'args[1][0]', "kwargs['k']"]
    """
    positional, keyword = _argument_names(len(args), kwargs or {}, _names_of(signature))
    names = list(_leaf_names(positional, args, is_leaf))
    for key in sorted(kwargs or {}):
        names.extend(_leaf_names([keyword[key]], [(kwargs or {})[key]], is_leaf))
    return names


def _leaf_names(names: Iterable[str], values: Iterable[Any], is_leaf: IsLeaf) -> Iterable[str]:
    for name, value in zip(names, values, strict=True):
        for path, _ in tree_flatten_with_path(value, is_leaf)[0]:
            yield name + keystr(path)


def read_signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; ``None`` if it cannot be read, as of many built-in functions.

    Args:
      fun: the function.

    Returns:
      The signature, or ``None``.

    Example:
      >>> from ricci_pytree import read_signature
      >>> read_signature(lambda x, y=1: x)
      <Signature (x, y=1)>
    """
    try:
        return _signature_of(fun)
    except (TypeError, ValueError):
        return None


def _signature_of(fun: Callable[..., Any]) -> inspect.Signature:
    # ``inspect.signature`` reads the ``__signature__`` of each wrapper. Jitted functions compute
    # that from the function inside, which doubles the time with each wrapper, partial function
    # and method.
    seen: set[int] = set()
    attributes: dict[str, Any] = {}
    # A method forwards the attributes of its function, whose first parameter is bound.
    while id(fun) not in seen and not isinstance(fun, MethodType):
        seen.add(id(fun))
        attributes = getattr(fun, "__dict__", None) or {}
        if "__wrapped__" in attributes and "__signature__" not in attributes:
            fun = attributes["__wrapped__"]
    if (
        isinstance(fun, partial)
        and type(fun.func) is not FunctionType
        and "__signature__" not in attributes
    ):
        return inspect.signature(partial(_described(fun.func), *fun.args, **fun.keywords))
    if isinstance(fun, MethodType) and type(fun.__func__) is not FunctionType:
        return inspect.signature(MethodType(_described(fun.__func__), fun.__self__))
    return inspect.signature(fun)


def _described(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the signature of another, which ``inspect.signature`` just reads."""

    def described(*args: object, **keywords: object) -> None: ...

    described.__signature__ = _signature_of(fun)  # type: ignore[attr-defined]
    return described


class _Names(NamedTuple):
    """The names of a function's parameters.

    Attributes:
      positional: parameters that can be passed by position.
      keywords: parameters that can be passed by keyword.
      varargs, varkw: parameters such as ``*args`` and ``**kwargs``, or ``None``.
    """

    positional: Sequence[str] = ()
    keywords: Collection[str] = ()
    varargs: str | None = None
    varkw: str | None = None


def _names_of(signature: inspect.Signature | Callable[..., Any] | None) -> _Names:
    if type(signature) is FunctionType and not signature.__dict__:
        return _names_in(signature.__code__)
    if signature is not None and not isinstance(signature, inspect.Signature):
        signature = read_signature(signature)
    if signature is None:
        return _Names()
    parameters = list(signature.parameters.values())
    by_kind = {parameter.kind: parameter.name for parameter in parameters}
    return _Names(
        [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)],
        {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)},
        by_kind.get(inspect.Parameter.VAR_POSITIONAL),
        by_kind.get(inspect.Parameter.VAR_KEYWORD),
    )


def _names_in(code: CodeType) -> _Names:
    """The names that ``inspect.signature`` reads, without the cost of its objects."""
    names, count, flags = code.co_varnames, code.co_argcount, code.co_flags
    end = count + code.co_kwonlyargcount
    has_varargs = bool(flags & inspect.CO_VARARGS)
    return _Names(
        names[:count],
        names[code.co_posonlyargcount : end],
        names[end] if has_varargs else None,
        names[end + has_varargs] if flags & inspect.CO_VARKEYWORDS else None,
    )


def _argument_names(
    count: int, kwargs: dict[str, Any], parameters: _Names
) -> tuple[list[str], dict[str, str]]:
    positional, keywords, varargs, varkw = parameters
    if count > len(positional) and varargs is None:
        # The function does not accept that many: number all of them instead of naming some.
        positional, varargs = [], "args"
    varkw = varkw or "kwargs"
    names = [*positional[:count]] + [f"{varargs}[{i}]" for i in range(count - len(positional))]
    return names, {k: k if k in keywords else f"{varkw}[{k!r}]" for k in kwargs}
