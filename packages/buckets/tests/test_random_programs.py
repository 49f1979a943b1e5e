"""Random small functions have the same results for any content of their padding.

Each program is a chain of operations that are drawn at random, on matrices of which any axis may be
padded; the sum and the maximum after each operation are results as well.
"""

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_buckets import bucketed, padding
from ricci_xla import jit

COUNT = int(os.environ.get("RICCI_RANDOM_PROGRAMS", "8"))
SIZE = 7

# Functions from a matrix to one, of finite numbers that stay small. Any of its dimensions may be
# padded.
STEPS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "normalize": lambda x: x / (1 + jnp.abs(x).max(0)),
    "center": lambda x: x - x.mean(0),
    "center columns": lambda x: x - x.mean(1, keepdims=True),
    "transpose": lambda x: x.T,
    "reverse": lambda x: x[::-1],
    "sort": lambda x: jnp.sort(x, 0),
    "argsort": lambda x: x[jnp.argsort(x[:, 0])],
    "cumulate": lambda x: jnp.cumsum(x, 0) / x.shape[0],
    "cumulate back": lambda x: lax.cumsum(x, 0, reverse=True) / x.shape[0],
    "shift": lambda x: jnp.concatenate([x[-1:], x[:-1]]),
    "double": lambda x: jnp.concatenate([x, 0.5 * x], 0)[::2],
    "repeat": lambda x: jnp.repeat(x, 2, 0)[1::2],
    "pad": lambda x: jnp.pad(x, ((1, 1), (0, 0)))[1:-1],
    "flatten": lambda x: x.reshape(-1)[None] * jnp.ones((2, 1)),
    "columns": lambda x: x.T.reshape(-1, 1),
    "regroup": lambda x: x.T.reshape(x.shape),
    "gram": lambda x: x @ x.T / (1 + (x * x).sum()),
    "softmax": lambda x: jnp.exp(x - x.max(0)) / jnp.exp(x - x.max(0)).sum(0),
    "recurrence": lambda x: lax.scan(lambda c, a: (jnp.tanh(c + a), c), x[0], x)[1],
    "recurrence back": lambda x: lax.scan(lambda c, a: (jnp.tanh(c + a), c), x[0], x, reverse=True)[
        1
    ],
    "loop": lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: 0.5 * c + x[i], x),
    "threshold": lambda x: jnp.where(x > jnp.median(x), x, 0.0),
    "fetch": lambda x: jnp.take(x, jnp.array([0, 2, -1]), axis=0, mode="clip"),
    "write": lambda x: x.at[1:].add(x[:-1]) / 2,
    "scatter": lambda x: jnp.zeros((3, x.shape[1])).at[jnp.arange(x.shape[0]) % 3].max(x),
    "slope": grad(lambda x: (jnp.tanh(x) ** 2).mean() * x.shape[0]),
    "slope of a pool": grad(
        lambda x: jnp.sin(
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (1, 1), ((1, 0), (0, 0)))
        ).sum()
    ),
}


def _program(seed):
    names = random.Random(seed).choices(list(STEPS), k=6)

    def run(x):
        results = []
        for name in names:
            x = STEPS[name](x)
            results += [x.sum(), x.max()]
        return results, x

    return names, run


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(COUNT))
def test_results_of_random_functions_do_not_depend_on_padding(seed, monkeypatch):
    monkeypatch.setattr(padding, "extreme", True)
    names, run = _program(seed)
    function = bucketed(run, sizes=[SIZE])
    for length in (2, 5):
        x = np.random.default_rng(seed).normal(size=(length, 3)).astype(np.float32)
        found, last = function(x)
        wanted, wanted_last = jit(run)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4, err_msg=str(names))
        np.testing.assert_allclose(last, wanted_last, rtol=1e-3, atol=1e-4, err_msg=str(names))
