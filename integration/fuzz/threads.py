"""Programs in two threads at once, with empty caches, against the same programs in one."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ricci_testing import Result, evaluate_with, ricci_namespace

from .agreement import Disagreement, question
from .programs import Program

ROUNDS = 2
THREADS = 2


def races(programs: Sequence[Program]) -> Iterator[Disagreement]:
    """Yield a disagreement for each program that gives something else in two threads at once.

    Both threads evaluate all programs: in the first round in the same order, so that they compile
    the same at the same time, then in opposite ones.

    Args:
        programs: programs of one width, which is set for all threads.
    """
    space = ricci_namespace()
    config = space["jax"].config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", programs[0].wide)
    try:
        expected = [_evaluate(program) for program in programs]
        for number in range(ROUNDS):
            space["jax"].clear_caches()
            for results in _at_once(programs, is_reversed=number % 2 == 1):
                pairs = zip(programs, results, expected, strict=True)
                for program, found, alone in pairs:
                    if _shown(found) != _shown(alone):
                        text = f"ours:   {_shown(found)}\nalone: {_shown(alone)}"
                        yield Disagreement(program, "threads", "values", text)
    finally:
        config.update("jax_enable_x64", before)


def _at_once(programs: Sequence[Program], *, is_reversed: bool) -> list[list[Result]]:
    """The results of each thread, in the order of the programs."""
    barrier = threading.Barrier(THREADS)
    results: list[dict[str, Result]] = [{} for _ in range(THREADS)]

    def work(thread: int) -> None:
        barrier.wait()
        step = -1 if is_reversed and thread else 1
        for program in programs[::step]:
            results[thread][program.seed] = _evaluate(program)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [[found[program.seed] for program in programs] for found in results]


def _evaluate(program: Program) -> Result:
    return evaluate_with(ricci_namespace(), question(program, theirs=False).source, {})


def _shown(result: Result) -> str:
    """A result as text, with all digits; of an error the class."""
    if result.error:
        return result.error.name
    return "\n".join(
        str(replace(leaf, value="" if leaf.kind == "text" else np.asarray(leaf.value).tolist()))
        for leaf in result.leaves
        if leaf.path != "['message']"
    )
