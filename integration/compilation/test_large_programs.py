"""Executables that may need more memory than there is: XLA is asked for it only where it can be."""

import numpy as np

import ricci
from ricci import lax
from ricci_xla.compile import _executable


def test_memory_of_small_programs_is_not_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(_executable, "fills_memory", lambda loaded: asked.append(loaded) or False)
    x = np.ones(3, np.float32)
    assert ricci.jit(lambda x: lax.mul(x, x))(x).tolist() == [1, 1, 1]
    assert not asked

    def body(x):
        return lax.broadcast(x, (2**28,)).sum()

    ricci.jit(lambda x: lax.fori_loop(0, 3, lambda i, y: y + body(x), 0.0)).lower(x).compile()
    assert len(asked) == 1
