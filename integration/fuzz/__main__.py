"""`python -m fuzz COUNT SEED` in `integration`: programs on both sides, and what differs."""

import argparse
import collections
import sys
import time
from collections.abc import Iterator

from .agreement import Disagreement, disagreements
from .expected import reason
from .grammar import program
from .programs import Program
from .reducing import reduced
from .threads import races

SLICE = 24


def main() -> int:
    """Run as many programs as asked; return 1 where some disagree without a reason."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("seed", nargs="?", default="0")
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long")
    parser.add_argument("--no-reduce", action="store_true", help="print programs as they are")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    parser.add_argument("--width", choices=("32", "64", "both"), default="both")
    parser.add_argument("--threads", action="store_true", help="two threads against one")
    parser.add_argument("--operations", type=int, nargs=2, default=(8, 20), metavar="N")
    options = parser.parse_args()
    numbers = range(options.start, options.start + options.count)
    wide = {"32": False, "64": True, "both": None}[options.width]
    if options.show:
        for number in numbers:
            print(program(f"{options.seed}.{number}", wide, tuple(options.operations)), end="\n\n")
        return 0
    start, done = time.monotonic(), 0
    left: list[str] = []
    reasons: collections.Counter[str] = collections.Counter()
    for at in range(0, len(numbers), SLICE):
        seeds = [f"{options.seed}.{number}" for number in numbers[at : at + SLICE]]
        programs = [program(seed, wide, tuple(options.operations)) for seed in seeds]
        differing = _races(programs) if options.threads else filter(None, disagreements(programs))
        for difference in differing:
            smallest = difference if options.no_reduce or options.threads else reduced(difference)
            why = reason(difference) or reason(smallest)
            if why:
                reasons[why] += 1
                continue
            left.append(difference.program.seed)
            print(smallest, end="\n\n", flush=True)
        done += len(programs)
        elapsed = time.monotonic() - start
        print(f"# {done} programs in {elapsed:.0f} s, {len(left)} disagree", flush=True)
        if options.seconds and elapsed > options.seconds:
            break
    for why, count in reasons.most_common():
        print(f"# {count} accepted: {why}")
    print(f"# disagreements without a reason: {len(left)} of {done}: {' '.join(left)}")
    return 1 if left else 0


def _races(programs: list[Program]) -> Iterator[Disagreement]:
    """Run programs in two threads at once, those of each width together."""
    for width in (False, True):
        of_width = [each for each in programs if each.wide == width]
        if of_width:
            yield from races(of_width)


if __name__ == "__main__":
    sys.exit(main())
