"""The names of the leaves of a call's arguments, for error messages."""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from ._keys import keystr
from ._registry import default_registry


def argument_paths(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    signature: inspect.Signature | Callable[..., Any] | None = None,
) -> list[str]:
    """Names such as ``x['w'][0]`` for the leaves of the arguments of a call.

    Args:
      args: positional arguments.
      kwargs: keyword arguments.
      signature: the called function, or its signature. If it is missing, cannot be read or does
        not accept the arguments, the names begin with ``args[0]`` and ``kwargs['k']``.

    Returns:
      One name for each leaf, in the order of ``tree_leaves((args, kwargs))``.

    >>> from ricci_pytree import argument_paths
    >>> argument_paths(({"w": [1, 2]}, 3), {"k": 4}, lambda x, *rest, **options: None)
    ["x['w'][0]", "x['w'][1]", 'rest[0]', "options['k']"]
    >>> argument_paths((1, [2]), {"k": 4})
    ['args[0]', 'args[1][0]', "kwargs['k']"]
    """
    positional, keyword = _argument_names(len(args), kwargs or {}, _names_of(signature))
    names = list(_leaf_names(positional, args))
    for key in sorted(kwargs or {}):
        names.extend(_leaf_names([keyword[key]], [(kwargs or {})[key]]))
    return names


def _leaf_names(names: Iterable[str], values: Iterable[Any]) -> Iterable[str]:
    for name, value in zip(names, values, strict=True):
        for path, _ in default_registry.flatten_with_path(value)[0]:
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
    # ``inspect.signature`` asks each wrapper for its ``__signature__``. Jitted functions compute
    # that from the function inside, so that the time would double with each wrapper, partial
    # function and method.
    seen: set[int] = set()
    own: dict[str, Any] = {}
    # A method shows the attributes of its function, whose first parameter it has bound.
    while id(fun) not in seen and not isinstance(fun, MethodType):
        seen.add(id(fun))
        own = getattr(fun, "__dict__", None) or {}
        if "__wrapped__" in own and "__signature__" not in own:
            fun = own["__wrapped__"]
    if (
        isinstance(fun, partial)
        and type(fun.func) is not FunctionType
        and "__signature__" not in own
    ):
        return inspect.signature(partial(_described(fun.func), *fun.args, **fun.keywords))
    if isinstance(fun, MethodType) and type(fun.__func__) is not FunctionType:
        return inspect.signature(MethodType(_described(fun.__func__), fun.__self__))
    return inspect.signature(fun)


def _described(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose signature is known to be that of another."""

    def described(*args: object, **keywords: object) -> None: ...

    described.__signature__ = _signature_of(fun)  # type: ignore[attr-defined]
    return described


class _Names(NamedTuple):
    """The names of a function's parameters.

    Attributes:
      positional: those that can be given by position.
      keywords: those that can be given by keyword.
      rest, options: those of ``*rest`` and ``**options``, if the function has them.
    """

    positional: Sequence[str] = ()
    keywords: Collection[str] = ()
    rest: str | None = None
    options: str | None = None


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
    """As ``inspect.signature`` finds them, without making its objects."""
    names, count, flags = code.co_varnames, code.co_argcount, code.co_flags
    end = count + code.co_kwonlyargcount
    rest = bool(flags & inspect.CO_VARARGS)
    return _Names(
        names[:count],
        names[code.co_posonlyargcount : end],
        names[end] if rest else None,
        names[end + rest] if flags & inspect.CO_VARKEYWORDS else None,
    )


def _argument_names(
    count: int, kwargs: dict[str, Any], known: _Names
) -> tuple[list[str], dict[str, str]]:
    positional, keywords, rest, options = known
    if count > len(positional) and rest is None:
        # The function does not accept that many: number all of them instead of naming some.
        positional, rest = [], "args"
    options = options or "kwargs"
    names = [*positional[:count]] + [f"{rest}[{i}]" for i in range(count - len(positional))]
    return names, {k: k if k in keywords else f"{options}[{k!r}]" for k in kwargs}
