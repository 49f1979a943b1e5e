"""Runs jobs in this interpreter's JAX, and prints their results as JSON: `python device_jobs`."""

import importlib
import json
import sys
import traceback
from collections import Counter
from pathlib import Path

from _counting import COLLECTIVE, instructions

FOLDER = Path(__file__).parent
NAMES = sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))


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


if __name__ == "__main__":
    sys.path[:0] = [str(FOLDER)]
    print(json.dumps({name: told(name) for name in sys.argv[1:] or NAMES}))
