"""Bound methods as bodies of loops: traced once, and again when their object has changed."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ricci
from ricci import lax

ONE, ONES = np.float32(1), np.ones(3, np.float32)


class Solver:
    """Counts how often its methods are traced, in a list that is not its own."""

    def __init__(self, rate, traces):
        self.rate = rate
        self.trace = traces.append

    def step(self, carry, x):
        self.trace("step")
        return carry * self.rate + x, carry

    def grow(self, x):
        self.trace("grow")
        return x * self.rate

    def is_small(self, x):
        self.trace("is_small")
        return x < 100 * self.rate

    def grow_at(self, i, x):
        self.trace("grow_at")
        return x * self.rate


LOOPS = {
    "scan": lambda s: lax.scan(s.step, ONE, ONES)[0],
    "while_loop": lambda s: lax.while_loop(s.is_small, s.grow, ONE),
    "fori_loop": lambda s: lax.fori_loop(0, 3, s.grow_at, ONE),
    "fori_loop of unknown length": lambda s: ricci.jit(
        lambda n: lax.fori_loop(0, n, s.grow_at, ONE)
    )(3),
    "cond": lambda s: lax.cond(True, s.grow, lambda x: x, ONE),
    "switch": lambda s: lax.switch(0, [s.grow, s.grow], ONE),
    "map": lambda s: lax.map(s.grow, ONES)[0],
    "apply": lambda s: ricci.numpy.ones(3).at[1].apply(s.grow)[1],
    "grad of scan": lambda s: ricci.grad(lambda x: lax.scan(s.step, x, ONES)[0])(ONE),
    "vmap of scan": lambda s: ricci.vmap(lambda x: lax.scan(s.step, x, ONES)[0])(ONES)[0],
}


# A function that is mapped is traced in each call.
KEPT = {name: loop for name, loop in LOOPS.items() if name != "map"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("loop", KEPT.values(), ids=KEPT)
def test_a_bound_method_is_traced_once_for_an_object_that_stays_the_same(loop):
    traces = []
    solver = Solver(2.0, traces)
    first = float(loop(solver))
    count = len(traces)
    gc.collect()
    with ThreadPoolExecutor(1) as other:
        found = [loop(solver), other.submit(loop, solver).result(), loop(solver)]
    assert list(map(float, found)) == [first] * 3
    assert len(traces) == count > 0
    ricci.clear_caches()
    assert float(loop(solver)) == first
    assert len(traces) == 2 * count


@pytest.mark.sampled(6)
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_bound_methods_are_retraced_when_their_object_changes(loop):
    solver = Solver(2.0, [])
    expected = float(loop(Solver(3.0, [])))
    assert float(loop(solver)) != expected
    solver.rate = 3.0
    assert float(loop(solver)) == expected
    with ricci.enable_x64(True):
        assert float(loop(solver)) == expected
    solver.rate = np.array(2.0)
    loop(solver)
    solver.rate[...] = 3.0  # an array of NumPy changes unseen
    assert float(loop(solver)) == expected
