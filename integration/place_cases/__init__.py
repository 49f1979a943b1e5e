"""Where arrays are: statements, and what JAX says of the places of their results.

A line of `cases.txt` is `statements; expression => text`. The text is what JAX gives, written there
by the oracle's interpreter: `PYTHON integration/place_cases`. If a line ends in `| text`, that is
what Ricci gives, and the comment above it says why. Blank lines and comments (`#`) stay.
"""

import ast
from functools import partial
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("cases.txt")


def where(*values: object) -> str:
    """Say where arrays are: `3` for a device, `3?` if that may change, `x:8 P('x',)` on a mesh."""
    return ", ".join(map(_place, values))


def _place(value) -> str:
    sharding = getattr(value, "sharding", None)
    if sharding is None:
        return "nowhere"
    return sharding_text(sharding) + ("" if getattr(value, "committed", True) else "?")


def sharding_text(sharding) -> str:
    """Say in short what a sharding says."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None:
        return " ".join(str(d.id) for d in sorted(sharding.device_set, key=lambda d: d.id))
    devices = [d.id for d in mesh.devices.flat]
    axes = " ".join(f"{name}:{size}" for name, size in mesh.shape.items())
    if devices != list(range(len(devices))):
        axes += f" on {devices}"
    spec = sharding.spec
    while len(spec) and spec[-1] is None:
        spec = type(spec)(*spec[:-1])
    return f"{axes} {spec}"


def names(jax) -> dict:
    """Return the names that the statements may use."""
    mesh, named, spec = jax.sharding.Mesh, jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    d = jax.devices()[:8]
    grid = mesh(np.array(d).reshape(4, 2), ("a", "b"))
    line, alone = mesh(np.array(d), "x"), mesh(np.array(d[:1]), "x")
    return {
        "jax": jax,
        "jnp": jax.numpy,
        "np": np,
        "partial": partial,
        "d": d,
        "P": spec,
        "line": line,
        "alone": alone,
        "grid": grid,
        "Mesh": mesh,
        "Named": named,
        "Single": jax.sharding.SingleDeviceSharding,
        "put": jax.device_put,
        "constrain": jax.lax.with_sharding_constraint,
        "split8": named(line, spec("x")),
        "whole8": named(line, spec()),
        "back8": named(mesh(np.array(d[::-1]), "x"), spec("x")),
        "grid8": named(grid, spec("a", "b")),
        "one": named(alone, spec("x")),
        "x": jax.numpy.arange(8.0),
        "Space": jax.memory.Space,
        "memory": lambda value: value.sharding.memory_kind,
        "where": where,
        "kind": sharding_text,
    }


def read(text: str) -> list[tuple[str, str, str]]:
    """Return the statements of each line, JAX's result and Ricci's."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            source, _, expected = line.partition(" => ")
            theirs, _, ours = expected.partition(" | ")
            found.append((source, theirs, ours or theirs))
    return found


def evaluate(source: str, known: dict) -> str:
    """Run statements, and return the value of the expression they end in, or its error's class."""
    body = ast.parse(source).body
    known = dict(known)
    try:
        exec(compile(ast.Module(body[:-1], []), "<case>", "exec"), known)
        return str(eval(compile(ast.Expression(body[-1].value), "<case>", "eval"), known))
    except Exception as error:  # noqa: BLE001 - which one it is, is what is compared
        # JAX's errors of the runtime, and of NumPy's kind, are what they derive from.
        return f"!{type(error).__name__}"
