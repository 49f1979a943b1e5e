"""Compare Ricci with JAX on a GPU: values, training, memory, callbacks, profiles, kernels, times.

    python tools/gpu_check.py [--budget 350] [--platform cuda|cpu] [--jax PYTHON] [--out FOLDER]

Each side is a process of its own: Ricci's drop-in from this checkout, and real JAX of an
interpreter (`--jax`, by default this one without the checkout on its path). Neither this process
nor the checkout needs to be installed, nor a network. With `--platform cpu` it is a dry run; with
`--step 10` every tenth program is run. The table is printed and written as JSON.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("jax", "ricci")


class Check:
    """The processes of a check, and the time that is left for them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = Path(options.out).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.deadline = time.monotonic() + options.budget

    def left(self) -> float:
        """The seconds that are left."""
        return self.deadline - time.monotonic()

    def start(
        self, side: str, phase: str, tag: str = "", *shard: str, **variables: str
    ) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a phase of a side, and return its process and the file of its facts."""
        out = self.folder / f"{phase}-{side}{tag}.json"
        out.unlink(missing_ok=True)
        sources = map(str, sorted(ROOT.glob("packages/*/src"))) if side == "ricci" else ()
        platform = self.options.platform
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu" if platform == "cpu" or phase == "numpy" else "cuda,cpu",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "integration"), *sources]),
            "GPU_CHECK_LIMIT": str(max(5.0, min(self.options.cap, self.left()) - 10)),
            "GPU_CHECK_STEP": str(self.options.step),
            "XLA_FLAGS": "",  # one CPU device
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            **variables,
        }
        python = sys.executable if side == "ricci" else self.options.jax
        command = [python, "-W", "ignore", "-m", "gpu_cases.running", phase, str(out), *shard]
        log = out.with_suffix(".log").open("wb")
        with log:
            process = subprocess.Popen(
                command, env=environment, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
            )
        return process, out

    def facts(self, process: subprocess.Popen[bytes], out: Path) -> dict[str, Any]:
        """Wait for a process, and return its facts, or how it ended."""
        limit, end = max(1.0, min(self.options.cap, self.left())), ""
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            end = f"killed after {limit:.0f} seconds; its output: "
        if out.exists():
            return json.loads(out.read_text())
        return {"_failed": end + out.with_suffix(".log").read_text(errors="replace")[-1500:]}

    def both(self, phase: str, tag: str = "", **variables: str) -> dict[str, dict[str, Any]]:
        """Run a phase on both sides at once."""
        started = {side: self.start(side, phase, tag, **variables) for side in SIDES}
        return {side: self.facts(*process) for side, process in started.items()}


def gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, relative to the largest value or 1; infinite for NaNs."""
    if ours.shape != theirs.shape:
        return float("inf")
    if ours.dtype.kind in "biu":
        return 0.0 if np.array_equal(ours, theirs) else float("inf")
    wide = np.complex128 if "c" in (ours.dtype.kind, theirs.dtype.kind) else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    different = ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    if not different.any():
        return 0.0
    largest = max(1.0, float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)))
    with np.errstate(invalid="ignore"):
        difference = float(np.max(np.abs(ours - theirs)[different])) / largest
    return float("inf") if np.isnan(difference) else difference


def values(check: Check) -> dict[str, Any]:
    """Compare the programs' results with JAX's on the card, and with NumPy's."""
    shards = check.options.shards
    sides = [("jax", "values"), ("ricci", "values"), ("ricci", "numpy")]
    started = {
        (side, phase, i): check.start(side, phase, f".{i}", str(i), str(shards))
        for side, phase in sides
        for i in range(shards)
    }
    facts: dict[tuple[str, str], dict[str, Any]] = {key: {} for key in sides}
    results: dict[tuple[str, str], dict[str, np.ndarray]] = {key: {} for key in sides}
    for (side, phase, _), (process, out) in started.items():
        facts[side, phase] |= check.facts(process, out)
        arrays = out.with_suffix(".npz")
        if arrays.exists():
            results[side, phase] |= dict(np.load(arrays))
    ours, theirs, numpys = (results[key] for key in (sides[1], sides[0], sides[2]))
    wrong: dict[str, str] = {}
    same = compared = 0
    for name, their in facts["jax", "values"].items():
        our = facts["ricci", "values"].get(name, "missing")
        if name.startswith("_") or isinstance(their, str):
            continue
        compared += 1
        if isinstance(our, str):
            wrong[name] = our
            continue
        count, tolerance, exact = their
        keys = [f"{name}|{i}" for i in range(count)]
        from_jax = max((gap(ours[k], theirs[k]) for k in keys), default=0.0)
        same += from_jax == 0.0
        if from_jax > (0.0 if exact else tolerance):
            wrong[name] = f"differs from JAX by {from_jax:.2g}"
        elif all(k in numpys for k in keys):
            from_numpy = max(gap(ours[k], numpys[k]) for k in keys)
            of_jax = max(gap(theirs[k], numpys[k]) for k in keys)
            if from_numpy > 20 * max(tolerance, of_jax):
                wrong[name] = f"differs from NumPy by {from_numpy:.2g}, JAX by {of_jax:.2g}"
    failed = [f["_failed"] for f in facts.values() if "_failed" in f]
    return {"compared": compared, "same bits": same, "wrong": wrong, "failed": failed}


def differing(sides: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the facts in which the sides differ, both sides of each; failures always count."""
    theirs, ours = (sides[side] for side in SIDES)
    names = sorted({*theirs, *ours} - {"_device"})
    rows = {name: [theirs.get(name), ours.get(name)] for name in names}
    differ = {n: r for n, r in rows.items() if r[0] != r[1] or n == "_failed"}
    return {"compared": len(names), "differ": differ}


def diverged(rows: dict[str, Any]) -> list[str]:
    """Return the models whose losses differ by more than 1%, or are missing on one side."""
    return [
        name
        for name, (theirs, ours) in rows.items()
        if not (isinstance(theirs, list) and isinstance(ours, list))
        or gap(np.asarray(ours), np.asarray(theirs)) > 0.01
    ]


def ratios(runs: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the medians of both sides' times, and Ricci's relative to JAX's."""
    rows: dict[str, Any] = {}
    for name in runs[0]["jax"] if runs else ():
        values: list[list[Any]] = [[run[side].get(name) for run in runs] for side in SIDES]
        if all(isinstance(x, int | float) for side in values for x in side):
            jax, ricci = (float(np.median(side)) for side in values)
            rows[name] = [round(jax, 4), round(ricci, 4), round(ricci / jax, 3) if jax else None]
    return rows


def starts(check: Check) -> dict[str, Any]:
    """Start twice with a folder for the compilation cache: the second process reads it."""
    cache = check.folder / "cache"
    variables = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    rows = {}
    for turn in ("cold", "warm"):
        for side in SIDES:
            folder = {"JAX_COMPILATION_CACHE_DIR": str(cache / side)}
            started = check.start(side, "start", f".{turn}", **variables, **folder)
            rows[f"{turn} {side}"] = check.facts(*started)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run the check; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=350.0, help="seconds for everything")
    parser.add_argument("--cap", type=float, default=130.0, help="seconds for one process")
    parser.add_argument("--platform", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--jax", default=sys.executable, help="the interpreter that has real JAX")
    parser.add_argument("--out", default="gpu_check", help="the folder of tables and logs")
    parser.add_argument("--step", type=int, default=1, help="run every so many programs")
    parser.add_argument("--shards", type=int, default=2, help="processes of each side for values")
    parser.add_argument("--turns", type=int, default=2, help="alternating runs of the times")
    check = Check(parser.parse_args(arguments))
    begin = time.monotonic()
    report: dict[str, Any] = {"values": values(check)}
    trained = check.both("training")
    report["device"] = trained["ricci"].get("_device")
    report["training"] = differing(trained)
    report["features"] = differing(check.both("features"))
    runs = []
    for turn in range(check.options.turns):
        if check.left() > 20:
            order = SIDES if turn % 2 == 0 else SIDES[::-1]
            run = {s: check.facts(*check.start(s, "speed", f".{turn}")) for s in order}
            runs.append(run)
    report["times"] = ratios(runs)
    report["starts"] = starts(check) if check.left() > 20 else "no time"
    report["seconds"] = round(time.monotonic() - begin, 1)
    text = json.dumps(report, indent=1, default=str)
    (check.folder / "gpu_check.json").write_text(text)
    print(text)
    wrong = report["values"]["wrong"] or report["values"]["failed"]
    failed = diverged(report["training"]["differ"])
    return int(bool(wrong or failed or report["features"]["differ"]))


if __name__ == "__main__":
    sys.exit(main())
