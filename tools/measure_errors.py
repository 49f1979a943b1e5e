"""Measure the errors of programs with mistakes, beside JAX's: length, the user's line, the names.

    python tools/measure_errors.py                     every mistake, a row for each
    python tools/measure_errors.py devices -v          those of a topic, with the texts
    python tools/measure_errors.py --page              the tables of docs/errors/measured.md

The programs stand in `integration/mistakes`. Each is a file of its own and is run as one, in a
process of Ricci and in one of JAX (`RICCI_ORACLE_PYTHON`), where `ricci` in it reads `jax`. What is
measured is the text that Python writes when nothing catches the error.
"""

import argparse
import importlib
import io
import json
import os
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "integration"))

from mistakes import TOPICS, Mistake  # noqa: E402

MARK = "  # here"
SIDES = ("ricci", "jax")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The error that ended a program: its class and bases, its message, all that is printed."""

    classes: list[str]
    message: str
    text: str

    @property
    def error(self) -> str:
        """The name of the error's class; empty if there was none."""
        return self.classes[0] if self.classes else ""

    @property
    def lines(self) -> int:
        """The number of lines that are printed."""
        return len(self.text.splitlines())

    def shows_line(self, line: str) -> bool:
        """Whether the line that the user has to look at is printed."""
        return line in self.text

    def missing(self, mistake: Mistake) -> list[str]:
        """The words that the message lacks."""
        named = mistake.argument and not mistake.of_jaxlib
        words = (*mistake.says, mistake.argument) if named else mistake.says
        return [word for word in words if not _has_word(self.message, word)]


def _has_word(text: str, word: str) -> bool:
    pattern = re.escape(word)
    return (
        re.search(rf"(?<!\w){pattern}(?!\w)" if word.isidentifier() else pattern, text) is not None
    )


def marked_line(mistake: Mistake, side: str = "ricci") -> str:
    """The line of a program that the user has to look at."""
    (line,) = [line for line in mistake.program.splitlines() if line.endswith(MARK)]
    return _for_side(line.removesuffix(MARK).strip(), side)


def _for_side(text: str, side: str) -> str:
    return text if side == "ricci" else re.sub(r"\bricci\b", side, text)


def source(mistake: Mistake, side: str) -> str:
    """The program as a user of one of the libraries has it."""
    body = mistake.program.strip("\n").replace(MARK, "")
    text = f"import ricci\nimport ricci.numpy as jnp\n\n{body}\n"
    return _for_side(text, side)


def provoke(mistake: Mistake, side: str, folder: Path) -> Outcome:
    """Run a program in this process.

    The output of the program, and warnings, are dropped.
    """
    name = re.sub(r"\W+", "_", mistake.name)
    file = folder / f"{name}.py"
    file.write_text(source(mistake, side), encoding="utf-8")
    ignored = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(ignored), redirect_stderr(ignored):
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(file))
        except BaseException as error:  # noqa: BLE001 - errors are measured
            return _outcome(error, file)
    return Outcome([], "", "")


def _outcome(error: BaseException, file: Path) -> Outcome:
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename != str(file):
        entry = entry.tb_next
    text = "".join(traceback.format_exception(error.with_traceback(entry)))
    text = text.replace(str(file.parent), "/home/me")
    message = "".join(traceback.format_exception_only(error))
    classes = [cls.__name__ for cls in type(error).__mro__]
    return Outcome(classes, message, text)


def measure(side: str, topics: Iterable[str]) -> dict[str, Outcome]:
    """Run the programs of some topics in this process, each under its name."""
    importlib.import_module(side)
    with tempfile.TemporaryDirectory() as folder:
        return {
            mistake.name: provoke(mistake, side, Path(folder))
            for topic in topics
            for mistake in TOPICS[topic]
        }


def measure_elsewhere(side: str, python: str, topics: list[str]) -> dict[str, Outcome]:
    """Run the programs in a new process of an interpreter."""
    command = [python, __file__, "--side", side, *topics]
    flags = "--xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    if side != "ricci":
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {name: Outcome(**values) for name, values in json.loads(done.stdout).items()}


def rows(topics: Iterable[str], measured: dict[str, dict[str, Outcome]]) -> list[list[str]]:
    """Return a row for each mistake, with the errors of both sides."""
    table = []
    for mistake in _of(topics):
        row = [mistake.name]
        for side, outcomes in measured.items():
            outcome = outcomes[mistake.name]
            line = marked_line(mistake, side)
            shows = [
                *["line"] * outcome.shows_line(line),
                *["argument"] * bool(mistake.argument and _names_argument(outcome, mistake)),
            ]
            error = outcome.error or "no error"
            row += [error, str(len(outcome.text)), str(outcome.lines), ", ".join(shows)]
        table.append(row)
    return table


def _of(topics: Iterable[str]) -> list[Mistake]:
    return [mistake for topic in topics for mistake in TOPICS[topic]]


def _names_argument(outcome: Outcome, mistake: Mistake) -> bool:
    return _has_word(outcome.message, mistake.argument)


def summary(topics: Iterable[str], measured: dict[str, dict[str, Outcome]]) -> list[list[str]]:
    """A row for each side: medians and counts over the mistakes that all sides report."""
    mistakes = [m for m in _of(topics) if all(side[m.name].error for side in measured.values())]
    table = []
    for side, outcomes in measured.items():
        reports = [(m, outcomes[m.name]) for m in mistakes]
        characters = [len(o.text) for _, o in reports]
        table.append(
            [
                NAMES[side],
                str(len(reports)),
                f"{statistics.median(characters):.0f}",
                str(max(characters)),
                f"{statistics.median(o.lines for _, o in reports):.0f}",
                str(sum(o.shows_line(marked_line(m, side)) for m, o in reports)),
                f"{sum(_names_argument(o, m) for m, o in reports if m.argument)} of "
                f"{sum(bool(m.argument) for m in mistakes)}",
            ]
        )
    return table


def markdown(head: list[str], body: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


NAMES = {"ricci": "Ricci", "jax": "JAX"}
SUMMARY = [
    "version",
    "errors",
    "characters, median",
    "characters, most",
    "lines, median",
    "line",
    "argument",
]
SIDE = ["class", "characters", "lines", "shows"]


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("topics", nargs="*", default=[], help=", ".join(TOPICS))
    parser.add_argument("--side", choices=SIDES, help="run here, and write JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the texts")
    parser.add_argument("--page", action="store_true", help="print only the tables")
    parser.add_argument("-k", default="", help="show mistakes whose name has this in it")
    options = parser.parse_args()
    topics = options.topics or list(TOPICS)
    if options.side:
        outcomes = measure(options.side, topics)
        json.dump({name: asdict(o) for name, o in outcomes.items()}, sys.stdout)
        return
    measured = {"ricci": measure_elsewhere("ricci", sys.executable, topics)}
    if oracle := os.environ.get("RICCI_ORACLE_PYTHON"):
        measured["jax"] = measure_elsewhere("jax", oracle, topics)
    for mistake in _of(topics):
        missing = measured["ricci"][mistake.name].missing(mistake)
        if options.verbose and options.k in mistake.name:
            print(f"=== {mistake.name}")
            for side, outcomes in measured.items():
                print(f"--- {side}\n{outcomes[mistake.name].text}")
        elif missing and not options.page:
            print(f"{mistake.name}: the message lacks {', '.join(missing)}")
    print(markdown(SUMMARY, summary(topics, measured)))
    for topic in topics:
        head = ["mistake", *(f"{NAMES[side]}: {what}" for side in measured for what in SIDE)]
        print(f"\n## {topic.capitalize()}\n\n{markdown(head, rows([topic], measured))}")


if __name__ == "__main__":
    main()
