"""Record what the oracle computes on a CPU in integration/data/recorded.

To add a case or to change an input, edit the texts of a file there (the value of a new case may be
null) and run this: entries that the oracle's result agrees with stay as they are.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ricci_testing import Leaf, Request, Result, shared_oracle

RECORDED = Path(__file__).resolve().parent.parent / "integration" / "data" / "recorded"
RTOL = 1e-6  # a few roundings of float32; what differs by more is recorded anew


def _number(value: float) -> Any:
    if not np.isfinite(value):
        return str(value)
    return int(value) if value == int(value) and abs(value) < 1e9 else float(f"{value:.9g}")


def _entry_of_leaf(leaf: Leaf) -> dict[str, Any]:
    values = np.asarray(leaf.value)
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    numbers = [_number(x) for x in wide.ravel().view(np.float64)]
    return {"dtype": leaf.dtype, "shape": list(leaf.shape), "values": numbers}


def entry_of(result: Result) -> Any:
    """The entry of a file for a result: the class of the error, or the arrays."""
    if result.error is not None:
        return result.error.name
    return [_entry_of_leaf(leaf) for leaf in result.leaves if leaf.kind == "array"]


def agree(old: Any, new: Any) -> bool:
    """Whether two entries are equal, up to rounding."""
    if not (isinstance(old, list) and isinstance(new, list) and len(old) == len(new)):
        return old == new
    for x, y in zip(old, new, strict=True):
        if (x["dtype"], x["shape"]) != (y["dtype"], y["shape"]):
            return False
        actual, expected = (np.array([float(v) for v in leaf["values"]]) for leaf in (x, y))
        size = float(np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0))
        if not np.allclose(actual, expected, rtol=RTOL, atol=RTOL * size, equal_nan=True):
            return False
    return True


def written(file: dict[str, Any]) -> str:
    """The text of a file: a line for each part of the setup, and one for each case."""
    lines = [f"    {json.dumps(source)}: {json.dumps(x)}" for source, x in file["cases"].items()]
    setup = json.dumps(file["setup"], indent=2).replace("\n", "\n  ")
    return f'{{\n  "setup": {setup},\n  "cases": {{\n' + ",\n".join(lines) + "\n  }\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the files that are named, by default all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="their names without .json, by default all")
    names = parser.parse_args(arguments).files
    for path in sorted(RECORDED.glob("*.json")):
        if names and path.stem not in names:
            continue
        file = json.loads(path.read_text())
        setup, cases = file["setup"], file["cases"]
        results = shared_oracle().run_many(
            [Request("\n".join([*setup, source]), {}) for source in cases], timeout=600
        )
        entries = {source: entry_of(x) for source, x in zip(cases, results, strict=True)}
        changed = [source for source, new in entries.items() if not agree(cases[source], new)]
        cases.update({source: entries[source] for source in changed})
        path.write_text(written(file))
        print(f"{path.stem}: {len(changed)} of {len(cases)} recorded anew", *changed, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
