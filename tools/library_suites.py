"""Runs the tests that libraries ship, unmodified, on the drop-in; where some fail, on JAX as well.

`python tools/library_suites.py --jax PYTHON --ricci PYTHON [--write PAGE] [NAME…]`:
the two interpreters have the same libraries, one with JAX and one with the drop-in. A library's
source distribution of the installed version is fetched from the registry; its tests run beside it.
`--sample 200` draws that many of each library's tests, by a seed, and `--sample 0` runs them all.

What fails on the drop-in and passes on JAX is counted as failing here only. Its reason stands in
`tools/data/suite_reasons.tsv`: library, a part of the test's name, reason.
"""

import argparse
import csv
import datetime
import json
import os
import random
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import machine, table
from sections import write_section

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / ".nox" / "library-suites"
REASONS = Path(__file__).resolve().parent / "data" / "suite_reasons.tsv"
# One test may take this long, in seconds; a worker that dies is replaced, and its test has failed.
LONGEST = 300


class Suite(NamedTuple):
    """The tests of one library.

    Attributes:
      distribution: its name in the registry.
      tests: folders and files, in its source distribution.
      without: parts of the names of files that need what is not installed, such as TensorFlow.
      options: arguments to pytest.
      variables: what its tests expect in the environment.
    """

    distribution: str
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


ABSL = ("-o", "python_files=*_test.py")
ON_JAX = ("-k", "jax")  # of tests that run on several array libraries
SUITES = {
    suite.distribution: suite
    for suite in (
        Suite("array-api-compat", ("tests",), options=ON_JAX),
        Suite("array-api-extra", ("tests/main",), options=ON_JAX),
        Suite("blackjax", ("tests",), without=("test_multidevice",)),
        Suite("chex", ("chex",), options=ABSL),
        Suite("distrax", ("distrax",), options=ABSL),
        # The names of shim_hk_test's tests differ from run to run.
        Suite("dm-haiku", ("haiku",), without=("flax", "doctest_test", "shim_hk"), options=ABSL),
        Suite(
            "einops",
            ("einops/tests",),
            without=("test_layers", "test_notebooks"),
            variables=(("EINOPS_TEST_BACKENDS", "numpy,jax"),),
        ),
        Suite("flax", ("tests",), without=("tensorboard", "io_test", "download_dataset")),
        Suite("jraph", ("jraph",), without=("ogb_examples",), options=ABSL),
        Suite("mctx", ("mctx",), options=ABSL),
        Suite("numpyro", ("test",)),
        Suite("optax", ("optax",), options=ABSL),
        Suite("rlax", ("rlax",), options=ABSL),
    )
}


class Outcome(NamedTuple):
    """The outcome of a test: ``passed``, ``failed`` or ``skipped``; the last line of a failure."""

    result: str
    message: str = ""


def outcomes(lines: Iterable[str]) -> dict[str, Outcome]:
    """Return each test's outcome, from the lines that pytest-reportlog writes.

    A test has failed if any of its phases did; a module that cannot be collected is one failure.

    >>> said = {"$report_type": "TestReport", "nodeid": "a", "when": "call", "outcome": "passed"}
    >>> outcomes([json.dumps(said)])
    {'a': Outcome(result='passed', message='')}
    """
    results: dict[str, Outcome] = {}
    for line in lines:
        report = json.loads(line)
        kind, name = report["$report_type"], report.get("nodeid")
        if kind == "CollectReport" and report["outcome"] == "failed":
            results[name] = Outcome("failed", _last_line(report["longrepr"]))
        elif kind == "TestReport":
            before = results.get(name, Outcome("")).result
            if report["outcome"] == "failed":
                results[name] = Outcome("failed", _last_line(report["longrepr"]))
            elif before != "failed" and (report["when"] == "call" or report["outcome"] != "passed"):
                results[name] = Outcome(report["outcome"])
    return results


def _last_line(shown: object) -> str:
    if isinstance(shown, dict) and shown.get("reprcrash"):
        shown = shown["reprcrash"]["message"]
    lines = [line.strip() for line in str(shown).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")]
    return (errors or lines or [""])[-1 if errors else 0].removeprefix("E ").strip()[:200]


def fetch(suite: Suite, version: str, python: str) -> Path:
    """Return the folder of a library's source distribution, fetched if it is not there."""
    folder = SOURCES / f"{suite.distribution}-{version}"
    if not folder.exists():
        asked = f"{suite.distribution}=={version}"
        options = ["--quiet", "--no-deps", "--no-binary", suite.distribution, "--dest", SOURCES]
        subprocess.run([python, "-m", "pip", "download", *options, asked], check=True)
        stem = suite.distribution.replace("-", "_")
        (archive,) = SOURCES.glob(f"{stem}-{version}.tar.gz")
        with tarfile.open(archive) as content:
            content.extractall(SOURCES, filter="data")
        (SOURCES / archive.name.removesuffix(".tar.gz")).rename(folder)
    return folder


def settings(folder: Path) -> list[str]:
    """Return the options that make pytest read the library's settings, and not the workspace's."""
    file = folder / "pyproject.toml"
    if not file.exists() or "[tool.pytest" not in file.read_text(encoding="utf-8"):
        file = folder / "pytest.ini"
        if not file.exists():
            file.write_text("[pytest]\n")
    return ["-c", str(file), "--rootdir", str(folder)]


class Side(NamedTuple):
    """An interpreter with the libraries."""

    name: str
    python: str

    def version(self, distribution: str) -> str:
        """Return the version of a library there."""
        program = f"from importlib.metadata import version; print(version({distribution!r}))"
        done = subprocess.run(
            [self.python, "-c", program], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def pytest(self, suite: Suite, folder: Path, *arguments: str) -> dict[str, Outcome]:
        """Run pytest in the library's folder, and return the outcomes in its log."""
        log = SOURCES / f"{suite.distribution}-{self.name}.jsonl"
        log.unlink(missing_ok=True)
        options = [*settings(folder), "--report-log", str(log), *suite.options]
        # One line for each test, whatever the library's own options ask for.
        plain = ["--verbosity=-1", "--color=no"]
        command = [self.python, "-m", "pytest", *plain, *options]
        ours = {"JAX_PLATFORMS": "cpu", **dict(suite.variables)}
        with open(SOURCES / f"{suite.distribution}-{self.name}.txt", "w") as output:
            subprocess.run(
                [*command, *arguments],
                cwd=folder,
                env={**os.environ, **ours},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return outcomes(log.read_text().splitlines()) if log.exists() else {}

    def run(self, suite: Suite, folder: Path, names: list[str]) -> dict[str, Outcome]:
        """Run some tests, each in a worker that may die without the others."""
        listed = SOURCES / f"{suite.distribution}-{self.name}.args"
        listed.write_text("\n".join(names))
        limits = ["-n", "1", "--timeout", str(LONGEST), "--max-worker-restart", "50"]
        process = self.pytest(suite, folder, *limits, f"@{listed}")
        silent = Outcome("failed", "ended without an outcome")
        reached = set(process) | {name.partition("::")[0] for name in process}
        return process | {name: silent for name in names if name not in reached}

    def collect(self, suite: Suite, folder: Path) -> tuple[list[str], dict[str, Outcome]]:
        """Return the names of the tests, and the modules that cannot be collected."""
        ignored = [f"--ignore-glob=*{part}*" for part in suite.without]
        process = self.pytest(suite, folder, "--collect-only", *ignored, *suite.tests)
        output = (SOURCES / f"{suite.distribution}-{self.name}.txt").read_text()
        return [line for line in output.splitlines() if "::" in line and " " not in line], process


class Result(NamedTuple):
    """The outcomes of a library's tests on the drop-in, and the failures that JAX lacks."""

    suite: Suite
    version: str
    tests: int
    ours: dict[str, Outcome]
    here_only: dict[str, Outcome]

    def row(self) -> list[str]:
        """Return the library's cells in the table."""
        counts = Counter(outcome.result for outcome in self.ours.values())
        both = counts["failed"] - len(self.here_only)
        figures = [self.tests, counts.total(), counts["passed"], counts["skipped"], both]
        return [self.suite.distribution, self.version, *map(str, figures), str(len(self.here_only))]


def compare(suite: Suite, theirs: Side, ours: Side, sample: int, seed: int, chosen: str) -> Result:
    """Run a library's tests on the drop-in, and if any fails, on JAX."""
    version = ours.version(suite.distribution)
    folder = fetch(suite, version, theirs.python)
    names, broken = ours.collect(suite, folder)
    names = [name for name in names if chosen in name]
    count = len(names)
    if sample and count > sample:
        names = sorted(random.Random(seed).sample(names, sample))
    # A module that cannot be collected is run again, to see whether JAX can.
    failures = {**broken, **(ours.run(suite, folder, names) if names else {})}
    failed = [name for name, outcome in failures.items() if outcome.result == "failed"]
    # The same tests in the same order, for what one test does may matter to the next.
    there = theirs.run(suite, folder, [*broken, *names]) if failed else {}
    passes = {name for name, outcome in there.items() if outcome.result == "passed"}
    here_only = {
        name: failures[name]
        for name in failed
        if name in passes or any(other.startswith(f"{name}::") for other in passes)
    }
    return Result(suite, version, count, failures, here_only)


def reasons() -> list[tuple[str, str, str]]:
    """Return the rows of the table of reasons: library, part of a test's name, reason."""
    with open(REASONS, encoding="utf-8", newline="") as file:
        return [(row[0], row[1], row[2]) for row in csv.reader(file, delimiter="\t") if row]


def explained(
    result: Result, explanations: list[tuple[str, str, str]]
) -> Iterator[tuple[str, str]]:
    """For each test that fails here only, its name and the reason, empty if none is known."""
    for name in result.here_only:
        why = [
            reason
            for library, part, reason in explanations
            if library == result.suite.distribution and part in name
        ]
        yield name, why[0] if why else ""


def report(results: list[Result], sample: int, seed: int) -> tuple[str, bool]:
    """Return the section in Markdown, and whether every failure here only has a reason."""
    explanations = reasons()
    drawn = f"of each at most {sample}, drawn with seed {seed}" if sample else "all of each"
    header = ["library", "version", "tests", "ran", "passed", "skipped", "failed on JAX, too"]
    parts = [
        "## The libraries' own tests",
        "Written by `nox -s library-suites -- --write docs/coming-from-jax/libraries.md`: the "
        f"tests in the source distributions, {drawn}, unmodified on the drop-in; where any failed, "
        "the same on JAX.",
        f"{datetime.date.today()}, {machine()}.",
        table([*header, "failed here only"], [result.row() for result in results]),
    ]
    lines, whole = [], True
    for result in results:
        for name, why in explained(result, explanations):
            reason = why or f"**no reason known**: {result.here_only[name].message}"
            lines.append(f"- {result.suite.distribution}, `{name}`: {reason}")
            whole = whole and bool(why)
    if lines:
        parts.append("What fails here only:\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n", whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SUITES)}; all by default")
    parser.add_argument("--jax", required=True, help="the interpreter with JAX and the libraries")
    parser.add_argument("--ricci", required=True, help="the one with the drop-in")
    parser.add_argument("--sample", type=int, default=200, help="tests of a library; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-k", dest="chosen", default="", help="only tests with this in their name")
    parser.add_argument("--write", type=Path, help="write the section to this file")
    options = parser.parse_args()

    SOURCES.mkdir(parents=True, exist_ok=True)
    theirs, ours = Side("jax", options.jax), Side("ricci", options.ricci)
    results = []
    for name in options.names or SUITES:
        print(name, file=sys.stderr, flush=True)
        drawn = options.sample, options.seed, options.chosen
        results.append(compare(SUITES[name], theirs, ours, *drawn))
    text, whole = report(results, options.sample, options.seed)
    print(text)
    if options.write:
        write_section(options.write, "suites", text)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
