"""Runs jobs in this interpreter's JAX, and prints what they give as JSON: `python device_jobs`."""

import importlib
import json
import re
import sys
import traceback
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))
COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) \(.*?^}", re.MULTILINE | re.DOTALL)
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*? ([a-z][\w-]*)\(", re.MULTILINE)
FREE = {"parameter", "constant", "get-tuple-element", "tuple", "bitcast"}


def told(name):
    """Return the losses of a job, and what its compiled programs hold."""
    try:
        losses, programs = importlib.import_module(name).run()
    except Exception:  # noqa: BLE001 - the others are run nevertheless
        return {"error": traceback.format_exc()}
    texts = {key: program.as_text() for key, program in programs.items()}
    return {
        "losses": [float(loss) for loss in losses],
        "collectives": {key: Counter(COLLECTIVE.findall(text)) for key, text in texts.items()},
        "instructions": {key: instructions(text) for key, text in texts.items()},
    }


def instructions(text):
    """Return how many instructions a program runs.

    A fusion is one: how often XLA repeats cheap ones inside of fusions says nothing of the work.
    """
    bodies = (m.group() for m in COMPUTATION.finditer(text) if "fused" not in m.group(1))
    return sum(kind not in FREE for body in bodies for kind in INSTRUCTION.findall(body))


if __name__ == "__main__":
    sys.path[:0] = [str(FOLDER)]
    print(json.dumps({name: told(name) for name in sys.argv[1:] or NAMES}))
