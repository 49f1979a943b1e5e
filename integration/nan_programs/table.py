"""The table of programs with a planted cause of a NaN.

The line of the cause ends with ``# cause``. A row has the arguments, the operation that makes the
first NaN or infinity, and a part of the remedy.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, value_and_grad, vmap


class Program(NamedTuple):
    """A program, and the expected report.

    Attributes:
      name: names the row.
      call: what is called.
      source: the function with the line of the cause.
      args: its arguments.
      operation: the operation on that line; several words if it depends on the transformation.
      remedy: a part of the advice.
    """

    name: str
    call: Callable[..., Any]
    source: Callable[..., Any]
    args: tuple[Any, ...]
    operation: str
    remedy: str


PROGRAMS: list[Program] = []


def f32(*values):
    return np.array(values, np.float32)


def planted(operation, remedy, *args, run=lambda f: f):
    """Add a row for a function; ``run`` transforms it, or several are given by name."""
    runs = run if isinstance(run, dict) else {"": run}

    def add(fun):
        for name, transform in runs.items():
            title = f"{fun.__name__} {name}".strip()
            PROGRAMS.append(Program(title, transform(fun), fun, args, operation, remedy))
        return fun

    return add


EVERY = {
    "plain": lambda f: f,
    "jit": jit,
    "grad": lambda f: value_and_grad(lambda *a: jnp.sum(f(*a))),
    "jit of grad": lambda f: jit(value_and_grad(lambda *a: jnp.sum(f(*a)))),
    "remat": lambda f: value_and_grad(ricci.checkpoint(lambda *a: jnp.sum(f(*a)))),
}
GRADS = {
    "grad": grad,
    "jit of grad": lambda f: jit(grad(f)),
    "grad of jit": lambda f: grad(jit(f)),
    "remat": lambda f: grad(ricci.checkpoint(f)),
    "value": value_and_grad,
}
FORWARD = {"plain": EVERY["plain"], "jit": jit}
MAPPED = {"vmap": vmap, "jit": lambda f: jit(vmap(f))}
EIGHT = np.arange(8, dtype=np.float32)
