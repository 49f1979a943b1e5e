"""Runs a library's everyday functions, and writes their results to a file.

`python run_api.py NAME FILE`: NAME as in `api_NAME.py`, whose `CASES` maps names to functions of no
arguments. A result is any pytree of arrays and plain values; an error counts by its class.
"""

import importlib
import pickle
import re
import sys
import traceback

import numpy as np

import jax


def plain(leaf):
    """A leaf as NumPy, or as its text without addresses."""
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    if isinstance(leaf, jax.Array) and leaf.dtype == jax.numpy.bfloat16:
        return np.asarray(leaf.astype("float32"))
    if isinstance(leaf, (jax.Array, np.ndarray, np.generic, bool, int, float, complex)):
        return np.asarray(leaf)
    if callable(leaf):
        return "a callable"
    return re.sub(r" at 0x[0-9a-f]+", "", str(leaf))


def outcome(case):
    """The leaves of what a case gives, or the class of its error and where it arose."""
    try:
        return [plain(leaf) for leaf in jax.tree.leaves(case())]
    except Exception as error:  # noqa: BLE001  # whatever a library raises is compared
        frames = traceback.format_exc().strip().splitlines()
        return {"error": type(error).__name__, "text": "\n".join(frames[-12:])}


def main(name: str, file: str) -> None:
    """Run the cases of a library and pickle their outcomes."""
    cases = importlib.import_module(f"api_{name}").CASES
    with open(file, "wb") as out:
        pickle.dump({case: outcome(function) for case, function in cases.items()}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
