"""The programs of a library's model with a planted cause of a NaN, for `run_find_nan.py`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import ricci

type Program = Callable[[], tuple[Any, str, Callable[..., Any]]]


def cases(
    step: Callable[..., Any],
    cause: Callable[..., Any],
    operation: str,
    *,
    healthy: tuple[Any, ...],
    planted: tuple[Any, ...],
    threads: bool = True,
) -> dict[str, Program]:
    """Return programs that find the cause in a step, after nothing in a healthy one.

    They run the step as it is and under jit, twice, without cached programs, and in two threads,
    unless the library has a state that its threads share (`threads=False`).
    """

    def find(function: Callable[..., Any]) -> Any:
        nothing = ricci.find_nan(function)(*healthy)
        assert nothing is None, f"healthy: {nothing}"
        return ricci.find_nan(function)(*planted)

    def on(function: Callable[..., Any]) -> Program:
        return lambda: (find(function), operation, cause)

    def cleared() -> tuple[Any, str, Callable[..., Any]]:
        jax.clear_caches()
        return find(jax.jit(step)), operation, cause

    def in_threads() -> tuple[Any, str, Callable[..., Any]]:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(find, [jax.jit(step), jax.jit(step)])
        assert str(first) == str(second), f"{first}\n{second}"
        return first, operation, cause

    jitted = jax.jit(step)
    programs: dict[str, Program] = {
        "plain": on(step),
        "jit": on(jitted),
        "jit again": on(jitted),
        "without cached programs": cleared,
    }
    return programs | {"two threads": in_threads} if threads else programs
