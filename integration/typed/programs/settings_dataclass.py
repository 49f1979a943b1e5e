"""A dataclass with static fields as an argument of jitted functions."""

from dataclasses import dataclass, replace
from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array
from ricci.tree_util import register_dataclass


@partial(register_dataclass, data_fields=["position", "velocity"], meta_fields=["name"])
@dataclass(frozen=True)
class Body:
    position: Array
    velocity: Array
    name: str = "body"


@ricci.jit
def advance(body: Body, time: float) -> Body:
    return replace(body, position=body.position + time * body.velocity)


def main() -> None:
    body = Body(np.zeros(3), np.ones(3), "stone")
    body = advance(body, 2.0)
    assert_type(body, Body)
    assert body.name == "stone"
    assert body.position.tolist() == [2.0, 2.0, 2.0]
