"""Measures the formulas for CPUs beside XLA's own functions: errors, and times by size.

    nox -s bench-formulas -- [TEXT] [--largest N] [--write docs/guides/cpu-functions.md]

Runs the rows whose names hold the text. Errors are in units of the last place, beside NumPy's in
wider floats, of a million elements. Both forms take turns in one process on one core; the least
processor time of several calls counts, in nanoseconds an element.
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench import machine, table
from scipy import special

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci_lax.elementwise import _cpu_formulas

START, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
SECONDS = 0.3  # how long a row is repeated at each size
WIDER = {"float32": np.float64, "float64": np.longdouble}

type Bounds = tuple[float, float]
type Row = tuple[Callable[..., Any], Callable[..., Any], str, tuple[Bounds, ...]]
# Each row: the function, NumPy's, the dtype, the range of each operand.
ROWS: dict[str, Row] = {
    "sin": (lax.sin, np.sin, "float32", ((-20, 20),)),
    "tan": (lax.tan, np.tan, "float32", ((-20, 20),)),
    "arcsin": (lax.asin, np.arcsin, "float32", ((-1, 1),)),
    "arccos": (lax.acos, np.arccos, "float32", ((-1, 1),)),
    "arctan2": (lax.atan2, np.arctan2, "float32", ((-3, 3), (-3, 3))),
    "cbrt": (lax.cbrt, np.cbrt, "float32", ((-9, 9),)),
    "power": (lax.pow, np.power, "float32", ((0.1, 3), (-9, 9))),
    "expm1": (lax.expm1, np.expm1, "float32", ((-1, 1),)),
    "log1p": (lax.log1p, np.log1p, "float32", ((-0.9, 9),)),
    "erfc": (lax.erfc, special.erfc, "float32", ((-4, 9),)),
    "remainder": (lax.rem, np.fmod, "float32", ((-99, 99), (0.1, 0.5))),
    "sin, float64": (lax.sin, np.sin, "float64", ((-20, 20),)),
    "exp, float64": (lax.exp, np.exp, "float64", ((-20, 20),)),
    "log, float64": (lax.log, np.log, "float64", ((0.1, 9),)),
    "log1p, float64": (lax.log1p, np.log1p, "float64", ((-0.9, 9),)),
}


def operands(row: Row, size: int) -> list[np.ndarray]:
    """Uniform numbers in the ranges of a row."""
    random = np.random.default_rng(0)
    return [random.uniform(*bounds, size).astype(row[2]) for bounds in row[3]]


def compiled(row: Row, size: int, least_size: float) -> Callable[..., Any]:
    """Compile a row for arrays of a size, with formulas from the least size on."""
    before = _cpu_formulas._LEAST_SIZE
    _cpu_formulas._LEAST_SIZE = least_size  # pyright: ignore[reportAttributeAccessIssue]
    try:
        ricci.clear_caches()  # of lowered functions
        arguments = [ricci.ShapeDtypeStruct((size,), row[2]) for _ in row[3]]
        with ricci.native_kernels(False):
            return ricci.jit(lambda *xs: row[0](*xs)).lower(*arguments).compile()
    finally:
        _cpu_formulas._LEAST_SIZE = before


def least_times(calls: list[Callable[[], Any]]) -> list[float]:
    """The least processor time of each call, taking turns."""
    least = [float("inf")] * len(calls)
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        for i, call in enumerate(calls):
            start = time.process_time()
            ricci.block_until_ready(call())
            least[i] = min(least[i], time.process_time() - start)
    return least


def last_places(result: np.ndarray, exact: np.ndarray) -> float:
    """The greatest error in units of the last place, of results that are normal numbers."""
    unit = np.spacing(np.abs(exact).astype(result.dtype))
    normal = np.abs(exact) >= np.finfo(result.dtype).tiny
    return float(np.max(np.abs(result[normal] - exact[normal]) / unit[normal]))


def cells(row: Row, sizes: list[int]) -> list[str]:
    """Both errors, and both times at each size."""
    errors, times = [], []
    for size in sizes:
        both = [compiled(row, size, least_size) for least_size in (0, math.inf)]
        xs = operands(row, size)
        if size == 10**6:
            wider = [x.astype(WIDER[row[2]]) for x in xs]
            exact = np.asarray(row[1](*wider))
            errors = [f"{last_places(np.asarray(call(*xs)), exact):.2f}" for call in both]
        arrays = [jnp.asarray(x) for x in xs]
        pair = least_times([partial(call, *arrays) for call in both])
        times.append(", ".join(f"{seconds / size * 1e9:.2f}" for seconds in pair))
    return [", ".join(errors), *times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    ricci.config.update("jax_enable_x64", True)
    title = machine()
    os.sched_setaffinity(0, {0})
    sizes = [10**n for n in range(3, 8) if 10**n <= arguments.largest]
    rows = []
    for name, row in ROWS.items():
        if arguments.text in name:
            rows.append([name, *cells(row, sizes)])
            print(*rows[-1], sep="  ", flush=True)
    titles = ["function", "error", *(f"{size:,}" for size in sizes)]
    text = (
        "Written by `nox -s bench-formulas -- --write docs/guides/cpu-functions.md`: the "
        "formula, then XLA's own function. The greatest error of 10⁶ numbers is in units of the "
        f"last place; times are nanoseconds an element, at each size. {title}, 1 of them used.\n\n"
        f"{table(titles, rows)}\n"
    )
    if arguments.write:
        page = arguments.write.read_text(encoding="utf-8")
        head, _, after = page.partition(START)
        page = f"{head}{START}{text}{END}{after.partition(END)[2]}"
        arguments.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
