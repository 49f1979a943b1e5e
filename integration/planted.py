"""Functions with a planted cause: the line that ends with ``# cause``."""

import inspect
from collections.abc import Callable
from typing import Any


def line_of_cause(fun: Callable[..., Any]) -> int:
    """The number of the line in its file; a function has one."""
    lines, start = inspect.getsourcelines(inspect.unwrap(fun))
    (line,) = [start + i for i, text in enumerate(lines) if text.rstrip().endswith("# cause")]
    return line
