"""The calls of tools that analyse a user's function, and tables of their results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._traceback_filtering import api_boundary

__all__ = ["call_with_arguments", "html_table"]


def call_with_arguments[R](
    run: Callable[..., R], fun: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, Any]
) -> R | Callable[..., R]:
    """Call a tool with a function's arguments: now if there are any, else when they follow.

    So a tool is called as a transformation is, ``tool(f)(x)``, or in one go, ``tool(f, x)``.

    Args:
      run: the tool, of which messages have the name: a function of ``fun``, a tuple and a dict of
        its arguments.
      fun: the user's function.
      args, kwargs: the arguments that came with it.

    Raises:
      TypeError: if ``fun`` cannot be called.
    """
    name = run.__name__
    if not callable(fun):
        raise TypeError(f"{name} expects a function, got {fun!r:.60} of type {type(fun).__name__}.")
    if args or kwargs:
        return run(fun, args, kwargs)

    def with_arguments(*args: object, **kwargs: object) -> R:
        return run(fun, args, kwargs)

    label = getattr(fun, "__name__", type(fun).__name__)
    with_arguments.__name__ = with_arguments.__qualname__ = f"{name}({label})"
    return api_boundary(with_arguments)


def html_table(rows: Sequence[Mapping[str, object]], text: str = "") -> str:
    """Return rows of data as an HTML table for notebooks, a column for each key of the first row.

    Args:
      rows: the rows.
      text: printed text that stands below the table.

    Example:
      >>> from ricci_ir import html_table
      >>> html_table([{"line": 3, "bytes": 1024}])
      '<table><tr><th>line</th><th>bytes</th></tr><tr><td>3</td><td>1024</td></tr></table>'
    """
    from html import escape  # noqa: PLC0415 - lazy: only notebooks need it

    columns = list(rows[0]) if rows else []
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = (
        "".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in columns) for row in rows
    )
    table = f"<table>{''.join(f'<tr>{cells}</tr>' for cells in (head, *body))}</table>"
    return f"{table}<pre>{escape(text)}</pre>" if text else table
