"""Aggregation of the recordings to the page's data: plain dictionaries, lists and numbers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._lines import MOST_HITS, LineRecorder, SourceLine
from ._runtime import Runtime, busy
from ._sources import Origin
from ._spans import Amounts, Span, disjoint, seconds_of
from ._steps import Miss, Step

# The activities of the main thread. Where several go on at a time, the first counts.
KINDS = ("compile", "lower", "trace", "transfer", "launch")
# The remaining time: the thread did not use the processor, or it did.
WAIT, PYTHON = "wait", "python"

# Parts of the timeline; lines of a file that are shown; rows of the table of operations.
_BINS = 480
_MOST_LINES = 5_000
_MOST_OPERATIONS = 60


def report(
    lines: LineRecorder,
    steps: Sequence[Step],
    misses: Sequence[Miss],
    runtime: Runtime,
    origins: Mapping[tuple[str, str], Origin],
    memory: Sequence[tuple[int, int]],
    start: int,
    end: int,
) -> dict[str, Any]:
    """Return the page's data, without its heading.

    Args:
      lines, steps, misses, runtime, memory: the recordings.
      origins: the scopes and lines of operations, by module and name.
      start, end: the times of the script's start and end, by ``perf_counter_ns``.
    """
    # Spans overlap (a trace within a compile): made disjoint, so that the parts add up to the
    # whole.
    host = disjoint([*(Span(s.start, s.end, s.kind) for s in steps), *runtime.host], KINDS)
    amounts = {kind: seconds_of([s for s in host if s.kind == kind]) for kind in KINDS}
    devices = seconds_of(busy(runtime))
    clock = _Clock(lines, start, end)
    amounts[WAIT] = _waits(clock, amounts)
    by_line = _by_line(clock, amounts, devices)
    launched = _launched(clock, runtime)
    # Key 0 is all code outside of the user's files; it has a row of its own, "outside".
    used = [
        key
        for key in range(1, len(lines.places))
        if lines.hits[key] or any(column[key] for column in by_line.values()) or key in launched
    ]
    files = _files(lines.places[key].file for key in used)
    position = {file["path"]: i for i, file in enumerate(files)}
    place = lambda line: _place(line, position)
    whole = np.array([start, end])
    total = (end - start) / 1e9
    phases = {kind: float(amount.between(whole)[0]) for kind, amount in amounts.items()}
    phases[PYTHON] = max(0.0, total - sum(phases.values()))
    running = float(devices.between(whole)[0])
    return {
        "seconds": total,
        "phases": phases,
        "device": {"busy": running, "idle": max(0.0, total - running), "runs": len(runtime.runs)},
        "timeline": {
            **_timeline(clock, amounts, devices, memory, start, end),
            "places": {key: place(lines.places[key]) for key in used},
        },
        "files": files,
        "lines": [
            {
                **place(lines.places[key]),
                "hits": lines.hits[key],
                "host": {k: float(c[key]) for k, c in by_line.items() if k != "idle" and c[key]},
                "idle": float(by_line["idle"][key]),
                "run": launched.get(key, 0.0),
            }
            for key in used
        ],
        "outside": {k: float(c[0]) for k, c in by_line.items()},
        "operations": _operations(runtime, origins, place),
        "programs": _programs(lines.places, steps, runtime, place),
        "misses": [
            {"name": m.name, "reasons": list(m.reasons), **place(lines.places[m.key])}
            for m in misses
        ],
        "notes": _notes(lines, runtime),
    }


class _Clock:
    """The line that the main thread was at, from each time on."""

    def __init__(self, lines: LineRecorder, start: int, end: int):
        # The change to line keys[i] happens at edges[i]; edges has one more entry, the end of the
        # last.
        times = np.clip(np.array(lines.times, np.int64), start, end)
        self.edges = np.append(times, max(end, int(times[-1])))
        # The first line's time begins before the script does.
        waited = np.append(np.array(lines.waits, np.int64), 0)
        self.waited = np.minimum(waited, np.diff(self.edges)) / 1e9
        self.keys = np.array(lines.keys, np.int64)
        self.count = len(lines.places)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the keys of the lines at some times."""
        # The last edge at or before the time.
        index = np.searchsorted(self.edges[:-1], times, side="right") - 1
        return self.keys[np.clip(index, 0, len(self.keys) - 1)]

    def summed(self, amounts: np.ndarray) -> np.ndarray:
        """Return for each line the sum of the amounts in its spans."""
        return np.bincount(self.keys, amounts, self.count)


def _waits(clock: _Clock, amounts: Mapping[str, Amounts]) -> Amounts:
    """Return the waiting time: that at a line, without any recorded activity.

    Compiling, too, uses other threads, so recorded activities are subtracted first.
    """
    recorded = sum(amount.between(clock.edges) for amount in amounts.values())
    waited = np.clip(clock.waited - recorded, 0.0, None)
    return Amounts(clock.edges, np.concatenate([[0.0], np.cumsum(waited)]))


def _by_line(
    clock: _Clock, amounts: Mapping[str, Amounts], devices: Amounts
) -> dict[str, np.ndarray]:
    """Return for each kind the seconds of each line; and those in which no device was busy."""
    total = np.diff(clock.edges) / 1e9
    seconds = {kind: clock.summed(amounts[kind].between(clock.edges)) for kind in amounts}
    whole = clock.summed(total)
    seconds[PYTHON] = np.maximum(0.0, whole - sum(seconds.values()))
    seconds["idle"] = np.maximum(0.0, whole - clock.summed(devices.between(clock.edges)))
    # Less than half a microsecond is the rounding of differences of cumulative sums.
    return {kind: np.where(column < 5e-7, 0.0, column) for kind, column in seconds.items()}


def _launched(clock: _Clock, runtime: Runtime) -> dict[int, float]:
    """Return the seconds of device runs by the line that launched them."""
    seconds: dict[int, float] = defaultdict(float)
    runs = [run for run in runtime.runs if run.launched]
    for run, key in zip(runs, clock.at(np.array([r.launched for r in runs])), strict=True):
        seconds[int(key)] += (run.end - run.start) / 1e9
    return dict(seconds)


def _timeline(
    clock: _Clock,
    amounts: Mapping[str, Amounts],
    devices: Amounts,
    memory: Sequence[tuple[int, int]],
    start: int,
    end: int,
) -> dict[str, Any]:
    """Return shares of equal parts of the time: of each kind, and of busy devices."""
    edges = np.linspace(start, end, _BINS + 1)
    width = max(1e-12, (end - start) / 1e9 / _BINS)
    share = lambda amount: [round(float(x), 3) for x in amount.between(edges) / width]
    kinds = {kind: share(amount) for kind, amount in amounts.items()}
    # Time of no other kind is Python's.
    remaining = 1 - np.sum(list(kinds.values()), axis=0)
    kinds[PYTHON] = [round(max(0.0, float(x)), 3) for x in remaining]
    return {
        "kinds": kinds,
        "device": share(devices),
        "keys": [int(key) for key in clock.at((edges[:-1] + edges[1:]) / 2)],
        "memory": [
            [round(max(0, time - start) / 1e9, 4), size] for time, size in _thinned(memory, _BINS)
        ],
    }


def _thinned(samples: Sequence[Any], most: int) -> Sequence[Any]:
    step = max(1, len(samples) // most)
    return [*samples[::step], *samples[-1:]] if samples else []


def _files(names: Iterable[str]) -> list[dict[str, Any]]:
    files = []
    for name in sorted(set(names)):
        try:
            text = Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            text = []
        files.append({"path": name, "name": Path(name).name, "text": text[:_MOST_LINES]})
    return files


def _place(place: SourceLine | None, position: Mapping[str, int]) -> dict[str, Any]:
    if place is None or not place.line:
        return {"file": None, "line": 0, "where": ""}
    text = f"{Path(place.file).name}:{place.line}"
    return {"file": position.get(place.file), "line": place.line, "where": text}


def _operations(
    runtime: Runtime, origins: Mapping[tuple[str, str], Origin], place: Any
) -> list[dict[str, Any]]:
    """Return the slowest operations, by their exclusive time."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    count: dict[tuple[str, str], int] = defaultdict(int)
    for op in runtime.operations:
        seconds[op.module, op.name] += op.self_time / 1e9
        count[op.module, op.name] += 1
    slowest = sorted(seconds, key=seconds.__getitem__, reverse=True)[:_MOST_OPERATIONS]
    rows = []
    for key in slowest:
        origin = origins.get(key, Origin("", None))
        rows.append(
            {
                "name": key[1],
                "program": key[0].removeprefix("jit_"),
                "path": origin.path,
                "count": count[key],
                "seconds": seconds[key],
                **place(origin.place),
            }
        )
    return rows


def _programs(
    places: Sequence[SourceLine], steps: Sequence[Step], runtime: Runtime, place: Any
) -> list[dict[str, Any]]:
    """Return for each function its traces, lowerings, compilations and runs, with their times."""
    rows: dict[str, dict[str, Any]] = {}

    def row(name: str, line: SourceLine | None) -> dict[str, Any]:
        fresh = {"name": name, "run": 0.0, "runs": 0, **place(line)}
        for kind in ("trace", "lower", "compile"):
            fresh |= {kind: 0.0, f"{kind}s": 0}
        return rows.setdefault(name, fresh)

    for step in sorted(steps, key=lambda s: s.start):
        entry = row(step.name, places[step.key])
        entry[step.kind] += (step.end - step.start) / 1e9
        entry[f"{step.kind}s"] += 1
    # XLA names the module of a jitted function jit_<name>; steps have the function's name.
    for run in runtime.runs:
        entry = row(run.module.removeprefix("jit_"), None)
        entry["run"] += (run.end - run.start) / 1e9
        entry["runs"] += 1
    cost = lambda e: e["trace"] + e["lower"] + e["compile"] + e["run"]
    return sorted(rows.values(), key=cost, reverse=True)


def _notes(lines: LineRecorder, runtime: Runtime) -> list[str]:
    notes = []
    if any(hits >= MOST_HITS for hits in lines.hits):
        notes.append(
            f"Lines that were reached more than {MOST_HITS:,} times are measured until then; their "
            "later time counts with the line that was reached before them."
        )
    unknown = sum(not run.launched for run in runtime.runs)
    if unknown:
        notes.append(f"Of {len(runtime.runs)} runs, it is not known which line launched {unknown}.")
    return notes
