"""Times the forms in which a convolution can be computed on a CPU, and writes which is the fastest.

    python tools/bench_convolutions.py [TEXT] [--cores N] [--write docs/convolutions.md]

Runs the rows whose names hold the text: each kind of convolution in both layouts, forward and by
its derivatives. The forms take turns in one process; the least processor time of several calls
counts.
"""

import argparse
import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from bench import machine, table

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci_lax.contractions import _convolution as lowering

START, END = "<!-- times -->\n", "<!-- end of times -->\n"
SECONDS = 0.3  # how long a row is repeated


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """A kind of convolution: batch, features and spatial sizes first, then the kernels' shape."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    groups: int = 1
    stride: int = 1
    spread: int = 1  # dilation of the operand: a transposed convolution
    dilation: int = 1


KINDS = {
    "3×3, 32 features": Kind((8, 32, 32, 32), (32, 32, 3, 3)),
    "3×3, 128 features, 14²": Kind((4, 128, 14, 14), (128, 128, 3, 3)),
    "3×3, 3 to 32 features": Kind((8, 3, 32, 32), (32, 3, 3, 3)),
    "5×5, 16 features": Kind((8, 16, 28, 28), (16, 16, 5, 5)),
    "1×1, 64 to 128 features": Kind((8, 64, 32, 32), (128, 64, 1, 1)),
    "3×3, 4 groups of 8": Kind((8, 32, 32, 32), (32, 8, 3, 3), groups=4),
    "3×3, depthwise": Kind((8, 64, 28, 28), (64, 1, 3, 3), groups=64),
    "3×3, steps of 2": Kind((8, 32, 32, 32), (32, 32, 3, 3), stride=2),
    "3×3, dilated by 2": Kind((8, 32, 32, 32), (32, 32, 3, 3), dilation=2),
    "3×3, transposed by 2": Kind((8, 32, 16, 16), (32, 32, 3, 3), spread=2),
    "in 1-D, 9, 32 features": Kind((8, 32, 1024), (32, 32, 9)),
    "in 3-D, 3×3×3, 8 features": Kind((2, 8, 16, 16, 16), (8, 8, 3, 3, 3)),
}


def padding(kind: Kind) -> list[tuple[int, int]]:
    """The padding that keeps the size, if nothing else changes it."""
    wide = [kind.dilation * (k - 1) for k in kind.w[2:]]
    return [(p // 2, p - p // 2) for p in wide]


def convolution(kind: Kind, last: bool, x: Any, w: Any) -> Any:
    """The operation itself."""
    n = len(kind.x) - 2
    space = "DHW"[3 - n :]
    numbers = (f"NC{space}", f"OI{space}", f"NC{space}")
    if last:
        numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    steps = (kind.stride,) * n, padding(kind), (kind.spread,) * n, (kind.dilation,) * n
    return lax.conv_general_dilated(x, w, *steps, numbers, feature_group_count=kind.groups)


def shifts(kind: Kind, x: Any) -> Iterator[Any]:
    """The operand as each element of the kernel meets it: batch, features, positions."""
    zero = np.zeros((), x.dtype)
    edges = [(0, 0, 0)] * 2 + [(low, high, kind.spread - 1) for low, high in padding(kind)]
    x = lax.pad(x, zero, edges)
    window, ones = kind.w[2:], (1,) * 2
    for tap in itertools.product(*map(range, window)):
        starts = [kind.dilation * t for t in tap]
        reach = [kind.dilation * (k - 1) for k in window]
        ends = [s + n - r for s, n, r in zip(starts, x.shape[2:], reach, strict=True)]
        steps = (*ones, *(kind.stride,) * len(window))
        yield lax.slice(x, (0, 0, *starts), (*x.shape[:2], *ends), steps)


def with_features_first(form: Callable[..., Any]) -> Callable[..., Any]:
    """A form for features in front of space, with transpositions where they are last."""

    def call(kind: Kind, last: bool, x: Any, w: Any) -> Any:
        if not last:
            return form(kind, x, w)
        result = form(kind, jnp.moveaxis(x, -1, 1), jnp.moveaxis(w, (-1, -2), (0, 1)))
        return jnp.moveaxis(result, 1, -1)

    return call


@with_features_first
def patches(kind: Kind, x: Any, w: Any) -> Any:
    """A product of all patches of the operand (im2col) and the kernels."""
    parts = jnp.stack([*shifts(kind, x)])
    space = parts.shape[3:]
    parts = parts.reshape(len(parts), len(x), kind.groups, -1, int(np.prod(space)))
    kernels = w.reshape(kind.groups, -1, w.shape[1], len(parts))
    result = jnp.einsum("tngcp,goct->ngop", parts, kernels)
    return result.reshape(len(x), len(w), *space)


@with_features_first
def taps(kind: Kind, x: Any, w: Any) -> Any:
    """A sum of products of the shifted operand and each element of the kernels."""
    total: Any = 0
    space: tuple[int, ...] = ()
    kernels = jnp.moveaxis(w.reshape(*w.shape[:2], -1), 2, 0)
    for part, kernel in zip(shifts(kind, x), kernels, strict=True):
        space = part.shape[2:]
        part = part.reshape(len(x), kind.groups, -1, int(np.prod(space)))
        total += jnp.einsum("ngcp,goc->ngop", part, kernel.reshape(kind.groups, -1, w.shape[1]))
    return total.reshape(len(x), len(w), *space)


# Winograd's minimal filtering of 4×4 tiles, F(2×2, 3×3): Lavin and Gray, 2016.
TILES = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float32)
KERNELS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
RESULTS = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float32)


@with_features_first
def winograd(kind: Kind, x: Any, w: Any) -> Any:
    """Products of transformed tiles, 4 for 9 multiplications."""
    if kind.w[2:] != (3, 3) or (kind.groups, kind.stride, kind.spread, kind.dilation) != (1,) * 4:
        raise NotImplementedError
    batch, _, height, width = x.shape
    rows, columns = height // 2, width // 2
    x = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    cut = lambda i, j: x[:, :, i : i + 2 * rows - 1 : 2, j : j + 2 * columns - 1 : 2]
    tiles = jnp.stack([jnp.stack([cut(i, j) for j in range(4)]) for i in range(4)])
    tiles = jnp.einsum("ai,bj,ijnchw->abcnhw", TILES, TILES, tiles)
    kernels = jnp.einsum("ai,bj,ocij->aboc", KERNELS, KERNELS, w)
    products = jnp.einsum("aboc,abcp->abop", kernels, tiles.reshape(*tiles.shape[:3], -1))
    result = jnp.einsum("ia,jb,abop->ijop", RESULTS, RESULTS, products)
    result = result.reshape(2, 2, len(w), batch, rows, columns)
    return result.transpose(3, 2, 4, 0, 5, 1).reshape(batch, len(w), height, width)


def as_written() -> AbstractContextManager[object]:
    """Lower convolutions to XLA's operation, whatever they are."""
    return mock.patch.object(lowering, "_write_for_cpu", lambda *_, **__: None)


# Each form: the function, and the context in which it is compiled.
FORMS: dict[str, tuple[Callable[..., Any], Callable[[], AbstractContextManager[object]]]] = {
    "XLA's": (convolution, as_written),
    "patches": (patches, nullcontext),
    "taps": (taps, nullcontext),
    "Winograd": (winograd, nullcontext),
    "Ricci": (convolution, lambda: ricci.native_kernels(False)),
    "with kernels": (convolution, nullcontext),
}
DERIVATIVES = ("forward", "by operand", "by kernels")


def compiled(form: str, kind: Kind, last: bool, derivative: str) -> Callable[[], Any] | None:
    """Return a call of a form, or None where there is none."""
    function, context = FORMS[form]
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype(np.float32) for shape in (kind.x, kind.w))
    if last:
        x, w = np.moveaxis(x, 1, -1).copy(), np.moveaxis(w, (0, 1), (-1, -2)).copy()
    forward = lambda x, w: function(kind, last, x, w)
    operands: list[Any] = [jnp.asarray(x), jnp.asarray(w)]
    call = forward
    try:
        cotangent = jnp.ones(ricci.eval_shape(forward, x, w).shape, np.float32)
        if derivative != "forward":
            index = DERIVATIVES.index(derivative) - 1
            call = lambda x, w, ct: ricci.vjp(forward, x, w)[1](ct)[index]
            operands.append(cotangent)
        ricci.clear_caches()
        with context():
            executable = ricci.jit(call).lower(*operands).compile()
    except NotImplementedError:
        return None
    return lambda: ricci.block_until_ready(executable(*operands))


def least_times(calls: dict[str, Callable[[], Any] | None]) -> dict[str, float]:
    """The least processor time of each call in milliseconds; they take turns."""
    least: dict[str, float] = {}
    end = time.perf_counter() + SECONDS * len(calls)
    rounds = 0
    while rounds < 4 or time.perf_counter() < end:
        rounds += 1
        for name, call in calls.items():
            if call is None or (rounds > 4 and least[name] > 20 * min(least.values())):
                continue
            start = time.process_time()
            call()
            least[name] = min(least.get(name, np.inf), 1e3 * (time.process_time() - start))
    return least


def main() -> None:
    """Measure, print the table, and write it into a page if one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    host = machine()
    os.sched_setaffinity(0, range(options.cores))
    rows = []
    for name, last, derivative in itertools.product(KINDS, (False, True), DERIVATIVES):
        row = f"{name}, features {'last' if last else 'first'}, {derivative}"
        if options.text not in row:
            continue
        times = least_times({f: compiled(f, KINDS[name], last, derivative) for f in FORMS})
        best = min(times, key=times.__getitem__)
        rows.append([row, *(f"{times[f]:.3g}" if f in times else "–" for f in FORMS), best])
        print(" | ".join(rows[-1]), flush=True)
    text = (
        "Written by `python tools/bench_convolutions.py --write docs/convolutions.md`. Processor "
        f"time in milliseconds, the least of several calls in turn, on {options.cores} core. "
        f"{host}.\n\n{table(['convolution', *FORMS, 'fastest'], rows)}\n"
    )
    if options.write is not None:
        page = options.write.read_text(encoding="utf-8")
        before, after = page.split(START)
        options.write.write_text(f"{before}{START}{text}{END}{after.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
