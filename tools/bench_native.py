"""Times what the kernels of `ricci_native` serve, with them and without, and writes the table.

    python tools/bench_native.py [TEXT] [--cores N] [--largest N] [--write docs/guides/native.md]

Runs the rows whose names hold the text, at sizes from 10³ to the largest. Both forms take turns in
one process; the least processor time of several calls counts, with that of NumPy beside it.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench import machine, table

import ricci
import ricci.numpy as jnp
from ricci import lax, random

START, END = "<!-- times -->\n", "<!-- end of times -->\n"
SECONDS = 0.5  # how long a row is repeated


def _floats(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=n).astype(np.float32)


def _positive(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 9, n).astype(np.float32)


def _small_integers(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1000, n).astype(np.int32)


def _rows(n: int) -> np.ndarray:
    return _floats(n // 500 * 500).reshape(-1, 500)


type Row = tuple[Callable[[int], np.ndarray], Callable[[Any], Any], Callable[[Any], Any]]
# Each row: its array for a number of elements, the function, and NumPy's.
ROWS: dict[str, Row] = {
    "sort, float32": (_floats, lambda x: jnp.sort(x), np.sort),
    "sort, float64": (lambda n: _floats(n).astype(np.float64), lambda x: jnp.sort(x), np.sort),
    "sort, int32": (_small_integers, lambda x: jnp.sort(x), np.sort),
    "sort of rows of 500": (_rows, lambda x: jnp.sort(x), np.sort),
    "argsort, float32": (_floats, lambda x: jnp.argsort(x), lambda x: np.argsort(x, stable=True)),
    "permutation": (
        _small_integers,
        lambda x: random.permutation(random.key(0), x),
        np.random.default_rng(0).permutation,
    ),
    "unique, 1000 of int32": (
        _small_integers,
        lambda x: jnp.unique(x, size=1000, fill_value=0),
        np.unique,
    ),
    "median of rows of 500": (
        _rows,
        lambda x: jnp.median(x, axis=1),
        lambda x: np.median(x, axis=1),
    ),
    "quantile, float32": (_floats, lambda x: jnp.quantile(x, 0.9), lambda x: np.quantile(x, 0.9)),
    "top_k, 100": (
        _floats,
        lambda x: lax.top_k(x, 100),
        lambda x: np.sort(np.partition(x, -100)[-100:]),
    ),
    "max of rows of 500": (_rows, lambda x: jnp.max(x, 1), lambda x: np.max(x, 1)),
    "argmax, float32": (_floats, lambda x: jnp.argmax(x), np.argmax),
    "argmax of rows of 500": (_rows, lambda x: jnp.argmax(x, 1), lambda x: np.argmax(x, 1)),
    "argmax of exp": (_floats, lambda x: jnp.argmax(jnp.exp(x)), lambda x: np.argmax(np.exp(x))),
    "cumsum, float32": (_floats, lambda x: jnp.cumsum(x), np.cumsum),
    "cumsum of rows of 500": (_rows, lambda x: jnp.cumsum(x, 1), lambda x: np.cumsum(x, 1)),
    "cumsum of 2 x, less x": (
        _floats,
        lambda x: jnp.cumsum(2 * x) - x,
        lambda x: np.cumsum(2 * x) - x,
    ),
    "sin": (_floats, lambda x: jnp.sin(x), np.sin),
    "tan": (_floats, lambda x: jnp.tan(x), np.tan),
    "cbrt": (_floats, lambda x: jnp.cbrt(x), np.cbrt),
    "power of 1.7": (_positive, lambda x: x**1.7, lambda x: x ** np.float32(1.7)),
    "log, float64": (lambda n: _positive(n).astype(np.float64), lambda x: jnp.log(x), np.log),
    "exp": (_floats, lambda x: jnp.exp(x), np.exp),
}


def compiled(function: Callable[[Any], Any], x: ricci.Array, *, native: bool) -> Callable[[], Any]:
    """Return a call of the function, with kernels or without."""
    with ricci.native_kernels(native):
        call = ricci.jit(function).lower(x).compile()
    return lambda: ricci.block_until_ready(call(x))


def least_times(calls: list[Callable[[], object]]) -> list[float]:
    """Return the least processor time of each call in milliseconds; they take turns."""
    least = [float("inf")] * len(calls)
    end = time.perf_counter() + SECONDS
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        # In both directions, since a call may get new pages for those that the last one freed.
        for i in range(len(calls))[:: 1 if rounds % 2 else -1]:
            start = time.process_time()
            calls[i]()
            least[i] = min(least[i], 1e3 * (time.process_time() - start))
    return least


def measured(pattern: str, largest: int) -> Iterator[list[str]]:
    """Yield the rows of the table: the work, the size, and the times in milliseconds."""
    for name, (make, function, peer) in ROWS.items():
        if pattern not in name:
            continue
        with ricci.enable_x64("float64" in name):
            for size in (10**e for e in range(3, 8) if 10**e <= largest):
                array = make(size)
                x = jnp.asarray(array)
                both = [compiled(function, x, native=native) for native in (True, False)]
                times = least_times([*both, lambda peer=peer, array=array: peer(array)])
                ratio = times[1] / times[0]
                yield [name, f"{size:,}", *(f"{t:.3g}" for t in times), f"{ratio:.2f}"]


def main() -> None:
    """Measure, print the table, and write it into a page if one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    host = machine()
    os.sched_setaffinity(0, range(options.cores))
    head = ["work", "elements", "kernel", "XLA", "NumPy", "XLA / kernel"]
    rows = list(measured(options.pattern, options.largest))
    text = (
        f"Written by `nox -s bench-native -- --write docs/guides/native.md`. Processor time in "
        f"milliseconds, the least of several calls in turn, on {options.cores} core. "
        f"{host}, NumPy {np.__version__}.\n\n{table(head, rows)}\n"
    )
    print(text)
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        before, tail = page.split(START)
        after = tail.split(END)[1]
        options.write.write_text(f"{before}{START}{text}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
