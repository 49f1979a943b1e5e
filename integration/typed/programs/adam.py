"""An optimizer that works for any pytree of parameters."""

from collections.abc import Callable
from typing import NamedTuple

import ricci
import ricci.numpy as np
from ricci import Array, tree
from ricci.typing import ArrayLike


class State[P](NamedTuple):
    step: Array
    first: P
    second: P


class Adam[P]:
    """Holds the settings; the state is passed in and out."""

    def __init__(self, rate: float, decay: tuple[float, float] = (0.9, 0.999)) -> None:
        self.rate = rate
        self.decay = decay

    def init(self, params: P) -> State[P]:
        zeros: P = tree.map(np.zeros_like, params)
        return State(np.asarray(0), zeros, zeros)

    def update(self, gradient: P, state: State[P], params: P) -> tuple[P, State[P]]:
        b1, b2 = self.decay
        step = state.step + 1
        first: P = tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.first, gradient)
        second: P = tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state.second, gradient)

        def move(p: Array, m: Array, v: Array) -> Array:
            return p - self.rate * (m / (1 - b1**step)) / (np.sqrt(v / (1 - b2**step)) + 1e-8)

        new: P = tree.map(move, params, first, second)
        return new, State(step, first, second)


def minimize[P](fun: Callable[[P], ArrayLike], params: P, optimizer: Adam[P], steps: int) -> P:
    state = optimizer.init(params)

    @ricci.jit
    def step(params: P, state: State[P]) -> tuple[P, State[P]]:
        return optimizer.update(ricci.grad(fun)(params), state, params)

    for _ in range(steps):
        params, state = step(params, state)
    return params


def bowl(params: dict[str, Array]) -> Array:
    return (params["x"] - 1) ** 2 + (params["y"] + 2) ** 2


def main() -> None:
    start = {"x": np.asarray(0.0), "y": np.asarray(0.0)}
    found = minimize(bowl, start, Adam(0.1), 200)
    assert abs(float(found["x"]) - 1) < 0.1
