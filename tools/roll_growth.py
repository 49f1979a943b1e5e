"""Measure the first step of models of growing depth, in a Python loop and with ``ricci.roll``.

    python tools/roll_growth.py [--write FILE] [--first-steps N] [MODEL ...]

Prints a row for each model and depth: the processor time of the first step (of all threads), that
of a later step, the least of ten, and the difference of the two: tracing, lowering and compiling.
With ``--first-steps`` the first step is the least of so many, each of a new model without caches.
Steps with and without ``roll`` alternate. The last row of a model is the growth of each with
``roll``, from the least depth to the greatest. The models are those of ``MODELS``, all by default;
``nnx`` needs Flax and optax, and is left out with a message where they are not installed. With
``--write``, the table replaces the part of the file that is marked ``<!-- roll growth -->``.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from roll_growth_models import DEPTHS, MODELS, Step

import ricci

MARKS = ("<!-- roll growth -->", "<!-- end -->")
COLUMNS = ("model", "layers", *("first step", "with `roll`", "a step", "with `roll`"))
COLUMNS += ("difference", "with `roll`")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


class Times(NamedTuple):
    """The processor seconds of the first step and of a later one."""

    first: float
    later: float

    @property
    def difference(self) -> float:
        """The time of tracing, lowering and compiling."""
        return self.first - self.later


def processor_time(step: Step) -> float:
    """The processor seconds that a step takes."""
    start = time.process_time()
    ricci.block_until_ready(step())
    return time.process_time() - start


def measured(makers: list[Callable[[], Step]], repetitions: int) -> list[Times]:
    """Time the first steps of several models, then later ones in turn."""
    firsts, laters, steps = [], [], []
    for make in makers:
        step = make()
        ricci.clear_caches()
        first = processor_time(step)
        for _ in range(repetitions - 1):
            step = make()
            ricci.clear_caches()
            first = min(first, processor_time(step))
        firsts.append(first)
        laters.append(processor_time(step))
        steps.append(step)
    for _ in range(10):
        laters = [min(t, processor_time(s)) for t, s in zip(laters, steps, strict=True)]
    return [Times(first, later) for first, later in zip(firsts, laters, strict=True)]


def seconds(time: float) -> str:
    """A time as text."""
    return f"{time:.1f} s" if time >= 1 else f"{time * 1e3:.3g} ms"


def rows_of(name: str, model: Callable[[int, bool], Step], repetitions: int) -> list[str]:
    """Measure a model at all depths."""
    rows: list[str] = []
    rolled: list[Times] = []
    for depth, both in DEPTHS[name]:
        makers = [partial(model, depth, is_rolled) for is_rolled in (False, True)[not both :]]
        *plain, times = measured(makers, repetitions)
        rolled.append(times)
        columns = [(None if not plain else plain[0][i], times[i]) for i in (0, 1)]
        columns.append((plain[0].difference if plain else None, times.difference))
        cells = [f"{'' if a is None else seconds(a)} | {seconds(b)}" for a, b in columns]
        rows.append(f"| {name} | {depth} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    growth = rolled[-1].first / rolled[0].first, rolled[-1].difference / rolled[0].difference
    rows.append(f"| | growth | | {growth[0]:.2f} × | | | | {growth[1]:.2f} × |")
    print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure the models that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--first-steps", type=int, default=1, metavar="N")
    parser.add_argument("--write", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    MODELS["MLP"](3, True)()  # starts the compiler
    table = HEAD.split("\n")
    print(HEAD)
    for name in arguments.models or MODELS:
        try:
            table += rows_of(name, MODELS[name], arguments.first_steps)
        except ModuleNotFoundError as error:
            print(f"{name} is left out: {error}")
    if arguments.write:
        before, _, tail = arguments.write.read_text().partition(MARKS[0])
        _, _, after = tail.partition(MARKS[1])
        rows = "\n".join(table)
        arguments.write.write_text(f"{before}{MARKS[0]}\n{rows}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
