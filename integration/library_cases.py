"""Calls of scipy, random, nn, image and sparse: one of each function, a line each.

They stand in `data/library_calls.txt`, and use the names that `OPERANDS` defines.
"""

import re
from pathlib import Path

import numpy as np

LINES = (Path(__file__).parent / "data" / "library_calls.txt").read_text().splitlines()[1:]
OPERANDS = """
import numpy as np
F = jnp.array([1.0, 2.0, 3.0], 'float32')
H = jnp.array([0.25, 0.5, 0.75], 'float32')
I = jnp.array([0, 1, 2], 'int32')
M = jnp.array([[1.0, 2.0, 3.0], [2.0, 5.0, 4.0]], 'float32')
S = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], 'float32')
L = jnp.sin(jnp.arange(32, dtype='float32'))
A = jnp.ones((1, 4, 2, 8), 'float32')
K = random.key(0)
"""
SUBMODULES = "cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse.linalg"
SUBMODULES += " spatial.transform special stats"
# Modules that are not attributes of their packages before they are imported.
MODULES = [f"scipy.{name}" for name in SUBMODULES.split()] + ["image", "experimental.sparse.linalg"]


def operands() -> dict[str, np.ndarray]:
    """Return the arrays of ``OPERANDS`` by name, without the key."""
    scope: dict[str, object] = {"jnp": np}
    exec(OPERANDS.replace("K = random.key(0)", ""), scope)
    return {name: value for name, value in scope.items() if isinstance(value, np.ndarray)}


def used_operands(line: str, names: str = "FHMSLA") -> tuple[str, ...]:
    """Return the names among ``names`` that a line uses; without others, those of floats."""
    return tuple(name for name in names if re.search(rf"\b{name}\b", line))
