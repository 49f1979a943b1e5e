"""Runs libraries written for JAX on the drop-in and on JAX, unmodified, and compares the two.

`python tools/libraries.py --jax PYTHON --ricci PYTHON [--write PAGE] [NAME…]`: the two
interpreters have the same libraries, one with JAX and one with the drop-in. For each library there
is a job, which trains something, and a table of small calls, both in `integration/libraries`. Each
run has a process of its own; the two sides take turns, and of several turns the least time counts.
"""

import argparse
import ast
import dataclasses
import datetime
import json
import os
import pickle
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

import numpy as np
from bench import machine, table
from sections import write_section

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "integration" / "libraries"
JOBS = sorted(file.stem.removeprefix("job_") for file in FOLDER.glob("job_*.py"))
CALLS = sorted(file.stem.removeprefix("api_") for file in FOLDER.glob("api_*.py"))
# Models, with a planted cause or as they are, by the script that runs tools on them.
MODELS = {
    f"run_{tool}.py": sorted(file.stem.removeprefix(kind) for file in FOLDER.glob(f"{kind}*.py"))
    for tool, kind in (
        ("find_nan", "nan_"),
        ("precision", "precision_"),
        ("tools", "tools_"),
        ("warm", "warm_"),
    )
}
# Of the time that JAX takes: from the first import to the first step's loss, and for a later step.
FIRST_STEP, STEADY_STEP = 0.7, 1.0
# The relative difference of losses that rounding alone may cause.
ROUNDING = 1e-4
TOLERANCE = 2e-5
# The jobs whose steps' memory is planned, and how far a plan may lie from the compiler's figure.
PLANNED = ("equinox", "flax_linen", "flax_nnx", "haiku", "optax")
PLAN_TOLERANCE = 0.1
# The folder of JAX's own kernels, which are executed from its wheel.
KERNELS = "import jax, os; print(os.path.dirname(jax.__file__) + '/experimental/pallas/ops')"
VARIABLES = {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "0"}
# The distribution of a job's library, where it is not the first word of the job's name.
DISTRIBUTIONS = {
    "haiku": "dm-haiku",
    "mjx": "mujoco-mjx",
    "orbax": "orbax-checkpoint",
    "ott": "ott-jax",
    "processes": "flax",
    "stax": "jax",
    "tfp": "tfp-nightly",
}


@dataclasses.dataclass(slots=True)
class Side:
    """An interpreter with the libraries, and what the jobs and calls gave there."""

    name: str
    python: str
    jobs: dict[str, dict] = dataclasses.field(default_factory=dict)
    calls: dict[str, dict] = dataclasses.field(default_factory=dict)
    plans: dict[str, dict] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    def run(self, script: str, *arguments: str) -> str | None:
        """Return what a script of the folder prints, or keep the last line of its error."""
        done = subprocess.run(
            [self.python, str(FOLDER / script), *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **VARIABLES},
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        lines = done.stderr.strip().splitlines() or ["no message"]
        self.errors[" ".join([script, arguments[0]])] = lines[-1]
        return None

    def run_job(self, name: str, data: str) -> None:
        """Run a job once more, and keep the least of its times."""
        output = self.run("run_job.py", name, data)
        if output is None:
            return
        reply: dict = json.loads(output.splitlines()[-1])
        before = self.jobs.get(name, reply)
        for key in ("first_step", "steady_step"):
            reply[key] = min(reply[key], before[key])
        self.jobs[name] = reply

    def run_plan(self, name: str, data: str) -> None:
        """Plan the memory of a job's step."""
        output = self.run("run_plan.py", name, data)
        if output is not None:
            self.plans[name] = json.loads(output.splitlines()[-1])

    def run_calls(self, name: str, folder: str) -> None:
        """Run the calls of a library."""
        file = Path(folder, f"{self.name}_{name}.pickle")
        if self.run("run_api.py", name, str(file)) is not None:
            self.calls[name] = pickle.loads(file.read_bytes())

    def versions(self) -> dict[str, str]:
        """Return the versions of all that is installed there, by distribution."""
        program = (
            "import json\n"
            "from importlib.metadata import distributions\n"
            "print(json.dumps({d.name.lower().replace('_', '-'): d.version"
            " for d in distributions()}))"
        )
        if not Path(self.python).exists():
            return {}
        done = subprocess.run([self.python, "-c", program], capture_output=True, text=True)
        return json.loads(done.stdout or "{}")


def apart(theirs: list[float], ours: list[float]) -> float:
    """Return the greatest difference of two curves, as a share of theirs.

    >>> apart([1.0, 2.0], [1.0, 2.2])
    0.1
    """
    if len(theirs) != len(ours):
        return float("inf")
    one, two = np.array(theirs), np.array(ours)
    return round(float(np.max(np.abs(one - two) / np.maximum(np.abs(one), 1e-12))), 12)


def distribution(job: str) -> str:
    """Return the distribution of the library that a job is about.

    >>> distribution("haiku_sharded")
    'dm-haiku'
    """
    library = job.partition("_")[0]
    return DISTRIBUTIONS.get(library, library)


def purpose(job: str) -> str:
    """Return what a job does, in its own words."""
    text = (FOLDER / f"job_{job}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]


def milliseconds(seconds: float) -> str:
    """Return a time with three digits.

    >>> milliseconds(0.01234)
    '12.3 ms'
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def job_row(name: str, theirs: Side, ours: Side) -> tuple[list[str], bool]:
    """Return the cells of a job, and whether it agrees and reaches its quality."""
    if name not in theirs.jobs or name not in ours.jobs:
        return [name, "failed", *["–"] * 7], False
    jax, ricci = theirs.jobs[name], ours.jobs[name]
    distance = apart(jax["losses"], ricci["losses"])
    reached = all(ricci["quality"][key] >= least for key, least in ricci["required"].items())
    quality = ", ".join(
        f"{key.replace('_', ' ')} {ricci['quality'][key]:.3f} (≥ {least})"
        for key, least in ricci["required"].items()
    )
    times = []
    for key, budget in (("first_step", FIRST_STEP), ("steady_step", STEADY_STEP)):
        ratio = ricci[key] / jax[key]
        note = "" if ratio <= budget else " **over**"
        times += [milliseconds(jax[key]), milliseconds(ricci[key]), f"{ratio:.2f}{note}"]
    agrees = distance <= ROUNDING
    difference = "equal" if distance == 0 else f"{distance:.1e}{'' if agrees else ' **differs**'}"
    return [name, quality, difference, *times], agrees and reached


def same_leaf(theirs: object, ours: object) -> bool:
    """Tell whether two leaves of results agree: types and shapes, and values to rounding."""
    if isinstance(theirs, str) or isinstance(ours, str):
        return isinstance(theirs, str) and isinstance(ours, str) and theirs == ours
    one, two = np.asarray(theirs), np.asarray(ours)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    if not np.issubdtype(one.dtype, np.inexact):
        return bool(np.array_equal(one, two))
    return bool(np.allclose(one, two, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def difference(theirs: object, ours: object) -> str | None:
    """Return in what two outcomes of a call differ, or None."""
    if isinstance(theirs, dict) or isinstance(ours, dict):
        names = [f"{o['error']}" if isinstance(o, dict) else "a result" for o in (theirs, ours)]
        if names[0] == names[1]:
            return None
        text = ours["text"].strip().splitlines()[-1] if isinstance(ours, dict) else ""
        return f"JAX: {names[0]}; Ricci: {names[1]} {text[:120]}".rstrip()
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return "not run on both"
    if len(theirs) != len(ours):
        return f"JAX: {len(theirs)} leaves; Ricci: {len(ours)}"
    for index, (one, two) in enumerate(zip_longest(theirs, ours)):
        if not same_leaf(one, two):
            return f"leaf {index}: JAX: {one!s:.60}; Ricci: {two!s:.60}".replace("\n", " ")
    return None


def calls_row(name: str, theirs: Side, ours: Side) -> tuple[list[str], list[str]]:
    """Return the cells of a library's calls, and what differs."""
    if name not in theirs.calls or name not in ours.calls:
        return [name, "failed", "–"], [f"{name}: could not be run"]
    environment = {
        case: difference(outcome, ours.calls[name].get(case))
        for case, outcome in theirs.calls[name].items()
    }
    lines = [f"{name}, {case}: {text}" for case, text in environment.items() if text]
    return [name, str(len(environment)), str(len(environment) - len(lines))], lines


def plan_row(name: str, plan: dict) -> tuple[list[str], bool]:
    """Return the cells of a memory plan, and whether it is near the compiler's figure.

    >>> plan_row("optax", {"plan": 1_048_576, "compiler": 2_097_152})
    (['optax', '1.00 MiB', '2.00 MiB', '0.500 **off**'], False)
    """
    ratio = plan["plan"] / plan["compiler"]
    near = abs(ratio - 1) <= PLAN_TOLERANCE
    sizes = [f"{plan[key] / 2**20:.2f} MiB" for key in ("plan", "compiler")]
    return [name, *sizes, f"{ratio:.3f}{'' if near else ' **off**'}"], near


def report(theirs: Side, ours: Side, jobs: list[str], calls: list[str]) -> tuple[str, bool]:
    """Return the report in Markdown, and whether everything agrees."""
    rows = [job_row(name, theirs, ours) for name in jobs]
    counted = [calls_row(name, theirs, ours) for name in calls]
    header = ["job", "quality", "losses differ by", "first step, JAX", "Ricci", "ratio"]
    header += ["step, JAX", "Ricci", "ratio"]
    versions = theirs.versions()
    parts = [
        "# Libraries",
        "Written by `nox -s libraries -- --write docs/coming-from-jax/libraries.md`. Each library "
        "is the newest from the registry that accepts the JAX beside it, and runs unmodified on "
        "the drop-in. A job trains the same model from the same keys on both; its first "
        f"step counts from the first import to the first loss "
        f"(at most {FIRST_STEP} of JAX's), the others by their median (at most {STEADY_STEP:g}).",
        f"{datetime.date.today()}, {machine()}.",
        table(header, [cells for cells, _ in rows]),
        "The library of each job, its version, and what the job does:",
        table(
            ["job", "library", "version", "what it does"],
            [
                [name, distribution(name), versions.get(distribution(name), "–"), purpose(name)]
                for name in jobs
            ],
        ),
        "Small calls of each library's everyday functions, and how many give the same:",
        table(["library", "calls", "agree"], [cells for cells, _ in counted]),
    ]
    plans = [plan_row(name, plan) for name, plan in ours.plans.items()]
    if plans:
        parts += [
            "The most memory that a step of these jobs takes, as `ricci.memory_plan` finds it and "
            f"as the compiler assigns it (at most {PLAN_TOLERANCE:.0%} apart):",
            table(["job", "plan", "compiler", "ratio"], [cells for cells, _ in plans]),
        ]
    lines = [f"- {line}" for _, messages in counted for line in messages]
    lines += [
        f"- {s.name}, {what}: {why}" for s in (theirs, ours) for what, why in s.errors.items()
    ]
    if lines:
        parts.append("What differs:\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n", not lines and all(is_met for _, is_met in [*rows, *plans])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these, as in job_NAME.py and api_NAME.py")
    parser.add_argument("--jax", required=True, help="the interpreter with JAX and the libraries")
    parser.add_argument("--ricci", required=True, help="the one with the drop-in")
    parser.add_argument("--alternations", type=int, default=3)
    parser.add_argument("--write", type=Path, help="write the report to this file")
    options = parser.parse_args()

    theirs, ours = Side("jax", options.jax), Side("ricci", options.ricci)
    if "jax_kernels" in (options.names or CALLS):
        folder = subprocess.check_output([options.jax, "-c", KERNELS], text=True)
        os.environ["JAX_KERNELS"] = folder.strip()
    jobs = [name for name in JOBS if not options.names or name in options.names]
    calls = [name for name in CALLS if not options.names or name in options.names]
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "data.npz"))
        if theirs.run("make_data.py", data) is None:
            sys.exit(f"no data: {theirs.errors}")
        for name in jobs:
            print(name, file=sys.stderr, flush=True)
            for _ in range(options.alternations):
                theirs.run_job(name, data)
                ours.run_job(name, data)
            if name in PLANNED:
                ours.run_plan(name, data)
        for name in calls:
            print(f"{name}, calls", file=sys.stderr, flush=True)
            theirs.run_calls(name, folder)
            ours.run_calls(name, folder)
        for script, names in MODELS.items():
            for name in names:
                if not options.names or name in options.names:
                    print(f"{name}, {script}", file=sys.stderr, flush=True)
                    ours.run(script, name)
    text, is_met = report(theirs, ours, jobs, calls)
    print(text)
    if options.write:
        write_section(options.write, "jobs", text)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
