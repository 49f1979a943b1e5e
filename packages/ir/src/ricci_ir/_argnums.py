"""Positions and names of the arguments that a transformation treats apart, as static ones."""

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any, SupportsIndex

from ricci_pytree import read_signature

from ._messages import similar_names

__all__ = ["resolve_argnums"]


def resolve_argnums(
    fun: Callable[..., Any],
    kind: str,
    argnums: int | Sequence[int] | None,
    argnames: str | Iterable[str] | None = None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the positions and names of arguments, inferring each from the other.

    Args:
      fun: the function.
      kind: what the arguments are, such as ``"static"``, for messages.
      argnums: their positions, or ``None`` to infer them from ``argnames``. Those from the end
        stay negative where the signature cannot be read.
      argnames: their names, or ``None``.

    Raises:
      TypeError: if a position is not an integer, or a name not a string.
      ValueError: if ``fun`` has no such argument, or takes one that is named by position only.

    Example:
      >>> from ricci_ir import resolve_argnums
      >>> resolve_argnums(lambda x, n: x, "static", -1)
      ((1,), ('n',))
    """
    numbers = None if argnums is None else _ints(kind, argnums)
    names = None if argnames is None else _strings(kind, argnames)
    if not numbers and not names:
        return (), ()
    signature = read_signature(fun)
    if signature is None:
        return numbers or (), names or ()
    parameters = signature.parameters.values()
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if numbers is not None and not variadic:
        for n in numbers:
            if not -len(positional) <= n < len(positional):
                raise ValueError(
                    f"{kind}_argnums={numbers} is out of range: {_name(fun)} takes "
                    f"{len(positional)} positional arguments."
                )
        numbers = tuple(n % len(positional) for n in numbers)
    if names is not None:
        parameter_names = {p.name for p in parameters}
        keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
        unknown = [name for name in names if name not in parameter_names]
        if unknown and not keywords:
            near = [n for name in unknown for n in similar_names(name, parameter_names)]
            raise ValueError(
                f"{kind}_argnames names {unknown}, but {_name(fun)} has no such argument; it takes "
                f"{', '.join(p.name for p in parameters) or 'none'}."
                f"{f' Did you mean {near[0]!r}?' if near else ''}"
            )
        unnamed = [
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) and p.name in names
        ]
        if unnamed:
            raise ValueError(
                f"{kind}_argnames names {unnamed}, but {_name(fun)} takes these by position only. "
                f"Give their positions as {kind}_argnums."
            )
    # A call may pass the argument by position or by name, and it must be static either way.
    if numbers is None and names is not None:
        numbers = tuple(i for i, name in enumerate(positional) if name in names)
    elif names is None and numbers is not None:
        keyword_ok = {p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
        names = tuple(
            positional[n]
            for n in numbers
            if 0 <= n < len(positional) and positional[n] in keyword_ok
        )
    return numbers or (), names or ()


def _ints(kind: str, value: int | Sequence[int]) -> tuple[int, ...]:
    numbers = (value,) if isinstance(value, SupportsIndex) else tuple(value)
    if not all(isinstance(n, SupportsIndex) for n in numbers):
        raise TypeError(f"{kind}_argnums must be an int or a sequence of ints, got {value!r}.")
    return tuple(map(index, numbers))


def _strings(kind: str, value: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    result = tuple(value)
    if not all(isinstance(n, str) for n in result):
        raise TypeError(f"{kind}_argnames must be a string or strings, got {value!r}.")
    return result


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", None) or repr(fun)
