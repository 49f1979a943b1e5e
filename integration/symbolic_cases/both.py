"""JAX's outcomes of the calls, from its own process."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ricci_testing.oracle._client import find_interpreter

from .cases import Case


def jax_errors(cases: Sequence[Case]) -> list[str]:
    """For each call the class of the error that exporting it raises in JAX; empty if none.

    Raises:
      FileNotFoundError: if there is no interpreter that has JAX.
    """
    interpreter = find_interpreter()
    if interpreter is None:
        raise FileNotFoundError("the oracle's environment is missing: run nox -s oracle")
    command = [str(interpreter), "-E", str(Path(__file__).with_name("oracle.py"))]
    asked = "".join(f"{json.dumps(_question(case))}\n" for case in cases)
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def _question(case: Case) -> list[object]:
    arrays = {name: [x.dtype.name, list(x.shape)] for name, x in case.arrays.items()}
    others = {
        name: x.tolist() if isinstance(x, np.ndarray | np.generic) else x
        for name, x in case.inputs.items()
        if name not in arrays
    }
    others = {name: x if not isinstance(x, complex) else x.real for name, x in others.items()}
    return [case.source, arrays, others, case.size]


_RECORD = Path(__file__).with_name("errors.tsv")


def recorded_errors() -> dict[str, tuple[str, str]]:
    """By call, the classes of the errors in JAX and here; calls without any are left out."""
    lines = _RECORD.read_text().splitlines()
    return {call: (there, here) for call, there, here in (line.split("\t") for line in lines)}


def record_errors(errors: dict[str, tuple[str, str]]) -> None:
    """Write what ``recorded_errors`` reads."""
    rows = (f"{call}\t{there}\t{here}\n" for call, (there, here) in errors.items())
    _RECORD.write_text("".join(rows))
