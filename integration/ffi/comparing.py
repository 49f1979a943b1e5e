"""The same sources, evaluated by Ricci and by the oracle."""

from collections.abc import Iterator, Sequence

import numpy as np

import jax
from ricci_testing import Request, evaluate_with, ricci_namespace, shared_oracle

from .cases import START

X = np.array([1, 2, 3], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


def both(sources: Sequence[str], start: str = START) -> Iterator:
    """Each source, and its values by Ricci and by the oracle."""
    names = {**ricci_namespace(), "jax": jax}
    inputs = {"x": X, "m": M}
    requests = [Request(start + source, inputs) for source in sources]
    theirs = shared_oracle().run_many(requests)
    ours = [evaluate_with(names, r.source, inputs) for r in requests]
    return zip(sources, ours, theirs, strict=True)
