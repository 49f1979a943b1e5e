"""Runs jitted functions of one library from a warm start's bundle, on the drop-in.

`python run_warm.py NAME [PROGRAM…]`: NAME as in `warm_NAME.py`. Its `PROGRAMS` maps titles to
functions of no arguments that call jitted functions, and return arrays. All calls of a program must
be kept by the first process and warm in the second, or in the third where the library caches, with
equal results, unless its table `REFUSED` holds words of the reason. `VALUE` is the title of a
program, and a function that changes a value of the library; `EDIT` is a title, and an edit of the
library's source: a file, the old and the new text. After either the result of the program must be
the new one. The exit status is 1 where one is wrong.

`python run_warm.py NAME --calls BUNDLE [PROGRAM…]` makes the calls, and prints what came of them.
`--value` changes the value before.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import jax
import ricci

TOLERANCE = 1e-5


def arrays(tree: Any) -> list[Any]:
    """Return the arrays of a tree as lists, random keys as words."""
    leaves = []
    for leaf in jax.tree.leaves(tree):
        is_key = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(
            leaf.dtype, jax.dtypes.prng_key
        )
        array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
        leaves += [part.astype(float).tolist() for part in parts]
    return leaves


def make_calls(name: str, bundle: str, titles: list[str], *, changes_value: bool) -> None:
    """Call the programs, and print a line of JSON for each."""
    start = ricci.warm_start(bundle)
    module = importlib.import_module(f"warm_{name}")
    if changes_value:
        module.VALUE[1]()
    rows = {}
    for title in titles:
        before = len(start.calls)
        result = arrays(module.PROGRAMS[title]())
        calls = [(call.function, call.outcome, call.reason) for call in start.calls[before:]]
        rows[title] = {"title": title, "calls": calls, "result": result}
    start.end()
    for title, row in rows.items():
        jax.clear_caches()
        row["expected"] = arrays(module.PROGRAMS[title]())
        print(json.dumps(row), flush=True)


def calls(
    name: str, bundle: Path, *titles: str, value: bool = False, folder: str = ""
) -> dict[str, Any]:
    """Return the output of another process, by title."""
    command = [sys.executable, __file__, name, "--calls", str(bundle), *titles]
    paths = [folder, os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [*command, "--value"] if value else command,
        capture_output=True,
        text=True,
        check=False,
        # Hashes of texts differ between processes, as they do for users.
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONHASHSEED": "random",
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["title"]: row for row in rows}


def differ(one: list[Any], two: list[Any]) -> bool:
    """Whether two lists of arrays differ."""
    return len(one) != len(two) or not all(
        np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        for a, b in zip(one, two, strict=True)
    )


def judge_pair(first: dict[str, Any], second: dict[str, Any], refused: str | None) -> str | None:
    """Return the problems of a program in two equal processes; an empty list if there are none."""
    for row in (first, second):
        if differ(row["result"], row["expected"]):
            return "wrong values"
    if not first["calls"]:
        return "no calls"
    if refused is not None:
        reasons = [reason for _, outcome, reason in first["calls"] if outcome == "not kept"]
        return None if any(refused in reason for reason in reasons) else f"not refused: {reasons}"
    for row, right in ((first, ("kept", "warm")), (second, ("warm",))):
        for function, outcome, reason in row["calls"]:
            if outcome not in right:
                return f"{function}: {outcome}: {reason}"
    return None


def judge_change(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the problems of a program after a change; an empty list if there are none."""
    if differ(after["result"], after["expected"]):
        return "a stale result"
    if not differ(after["result"], before["result"]):
        return "the change changes nothing"
    return None


def edited(folder: str, file: str, old: str, new: str) -> None:
    """Copy a package to a folder, and edit a file of it there."""
    package = file.partition("/")[0]
    source = importlib.util.find_spec(package)
    assert source is not None and source.submodule_search_locations
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source.submodule_search_locations[0], Path(folder, package), ignore=ignored)
    path = Path(folder, file)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(name: str, *asked: str) -> int:
    """Run the programs, and return how many are wrong."""
    module = importlib.import_module(f"warm_{name}")
    titles = asked or tuple(module.PROGRAMS)
    refused = getattr(module, "REFUSED", {})
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder, "bundle")
        first, second = (calls(name, bundle, *titles) for _ in range(2))
        for title in titles:
            found[title] = judge_pair(first[title], second[title], refused.get(title))
        if any("has changed" in (wrong or "") for wrong in found.values()):
            # A library caches what the calls before had traced, which were warm in the second.
            third = calls(name, bundle, *titles)
            for title in titles:
                found[title] = judge_pair(first[title], third[title], refused.get(title))
        copies = [Path(shutil.copy(bundle, f"{bundle}{i}")) for i in range(2)]
        if module.VALUE[0] in titles:
            title = module.VALUE[0]
            after = calls(name, copies[0], title, value=True)
            found[f"{title}, another value"] = judge_change(first[title], after[title])
        if module.EDIT[0] in titles:
            title, *edit = module.EDIT
            edited(folder, *edit)
            after = calls(name, copies[1], title, folder=folder)
            found[f"{title}, another file"] = judge_change(first[title], after[title])
    for title, wrong in found.items():
        print(f"{name}, {title}: {(wrong or 'right')[:400]}", flush=True)
    return sum(wrong is not None for wrong in found.values())


if __name__ == "__main__":
    if "--calls" in sys.argv:
        library, _, path, *programs = (x for x in sys.argv[1:] if x != "--value")
        make_calls(library, path, programs, changes_value="--value" in sys.argv)
    else:
        sys.exit(1 if run(*sys.argv[1:]) else 0)
