"""Meshes, shardings, and devices of arrays: statements, and JAX's facts about their results.

A line of a text here is `statements; expression => text`. The text is what JAX gives, written there
by the oracle's interpreter: `PYTHON integration/place_cases [file ...]`. If a line ends in
` | text`, that is what Ricci gives, and the comment above it says why. Blank lines and comments
(`#`) stay.
"""

import ast
import copy
import pickle
import threading
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

FILES = sorted(Path(__file__).parent.glob("*.txt"))


def where(*values: object) -> str:
    """Say where arrays are: `3` for a device, `3?` if that may change, `x:8 P('x',)` on a mesh."""
    return ", ".join(map(_place, values))


def _place(value) -> str:
    sharding = getattr(value, "sharding", None)
    if sharding is None:
        return "nowhere"
    return sharding_text(sharding) + ("" if getattr(value, "committed", True) else "?")


def sharding_text(sharding) -> str:
    """Return a short text of a sharding."""
    if sharding is None:
        return "open"
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


def under(context, *functions):
    """Call functions in a context, and return their results."""
    with context:
        results = [function() for function in functions]
    return results[0] if len(results) == 1 else results


def elsewhere(function):
    """Call a function in another thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def copied(value) -> tuple[bool, ...]:
    """Say whether copies and a pickle of an object are equal to it, and hash and print alike."""
    others = [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))]
    return tuple(
        other == value and hash(other) == hash(value) and repr(other) == repr(value)
        for other in others
    )


@dataclass(frozen=True)
class Chip:
    """A device that is not there, with what functions on meshes read of devices."""

    id: int
    coords: tuple[int, ...] | None = None
    core_on_chip: int = 0
    process_index: int = 0
    slice_index: int = 0
    device_kind: str = "TPU v4"
    platform: str = "tpu"


def torus(*shape: int, kind: str = "TPU v4", cores: int = 1, slices: int = 1, host: int = 4):
    """Return the chips of a torus, the first coordinate changing fastest, `host` to a process."""
    size = int(np.prod(shape)) * cores
    found = []
    for index in range(size * slices):
        piece, place = divmod(index, size)
        chip, core = divmod(place, cores)
        coords = []
        for length in shape:
            chip, coord = divmod(chip, length)
            coords.append(coord)
        coords += [0] * (3 - len(coords))
        found.append(Chip(index, tuple(coords), core, index // host, piece, kind))
    return found


def ids(devices) -> list:
    """Return the numbers of devices in an array."""
    return np.vectorize(lambda d: d.id, otypes=[int])(np.asarray(devices, object)).tolist()


def show(*values: object) -> str:
    """Say the types, values and places of the arrays in values, rounded to three decimals."""
    return "; ".join(_shown(leaf) for value in values for leaf in _leaves(value)) or "nothing"


def _leaves(value):
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if not isinstance(value, list | tuple):
        return [] if value is None else [value]
    return [leaf for part in value for leaf in _leaves(part)]


def _shown(value) -> str:
    key = str(getattr(value, "dtype", "")).startswith("key")
    numbers = np.asarray(value.flatten()[0] == value.flatten() if key else value)
    wide = numbers.astype(complex if numbers.dtype.kind == "c" else float)
    # Negative zeros and the last place differ between processors.
    rounded = np.round(wide, 3) + 0.0
    text = str(rounded.tolist()).replace(" ", "")
    return f"{value.dtype}{list(value.shape)} {text} {_place(value)}"


def names(jax) -> dict:
    """Return the names that the statements may use."""
    mesh, named, spec = jax.sharding.Mesh, jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    mesh_utils = import_module(f"{jax.__name__}.experimental.mesh_utils")
    layout = import_module(f"{jax.__name__}.experimental.layout")
    d = jax.devices()[:8]
    grid = mesh(np.array(d).reshape(4, 2), ("a", "b"))
    line, alone = mesh(np.array(d), "x"), mesh(np.array(d[:1]), "x")
    return {
        "AbstractMesh": jax.sharding.AbstractMesh,
        "Auto": jax.sharding.AxisType.Auto,
        "AxisType": jax.sharding.AxisType,
        "Chip": Chip,
        "Explicit": jax.sharding.AxisType.Explicit,
        "Manual": jax.sharding.AxisType.Manual,
        "S": jax.sharding,
        "abstract": jax.sharding.use_abstract_mesh,
        "axes_now": jax.sharding.get_abstract_mesh,
        "chips": torus,
        "copied": copied,
        "elsewhere": elsewhere,
        "arrange": mesh_utils.create_device_mesh,
        "hybrid": mesh_utils.create_hybrid_device_mesh,
        "ids": ids,
        "jax": jax,
        "mesh_now": jax.sharding.get_mesh,
        "set_mesh": jax.set_mesh,
        "under": under,
        "jnp": jax.numpy,
        "lax": jax.lax,
        "pjit": import_module(f"{jax.__name__}.experimental.pjit").pjit,
        "pmap": jax.pmap,
        "psum": jax.lax.psum,
        "random": jax.random,
        "tree": jax.tree,
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
        "ones": jax.numpy.ones((8, 8)),
        "M": jax.numpy.cos(jax.numpy.arange(64.0)).reshape(8, 8),
        "each": partial(_each, jax, [named(grid, s) for s in _specs(spec)]),
        "show": show,
        "Layout": layout.Layout,
        "Format": layout.Format,
        "cols": layout.Format(layout.Layout((1, 0)), jax.sharding.SingleDeviceSharding(d[0])),
        "in_layout": layout.with_layout_constraint,
        "m34": jax.numpy.arange(12.0).reshape(3, 4),
        "order": lambda value: value.format.layout.major_to_minor,
        "where": where,
        "kind": sharding_text,
    }


def _specs(spec) -> list:
    """The specs that `each` divides a matrix by: along one dimension, both, and by two axes."""
    return [spec("a", "b"), spec("a"), spec(None, "b"), spec(("a", "b")), spec(None, ("b", "a"))]


def _each(jax, shardings: list, function) -> str:
    """Return the devices of a function's results for a matrix that is sharded in several ways."""
    matrix = np.cos(np.arange(64.0, dtype="float32")).reshape(8, 8)
    found = []
    for sharding in shardings:
        place = where(*_leaves(function(jax.device_put(matrix, sharding))))
        # All are on one mesh unless the text says otherwise.
        found.append(place.removeprefix("a:4 b:2 "))
    return " ".join(found)


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
        value = eval(ast.unparse(body[-1]), known)
        return " ".join(line.strip() for line in str(value).splitlines())
    except Exception as error:  # noqa: BLE001 - its class is compared
        # JAX's errors of the runtime, and of NumPy's kind, count as their base classes.
        return f"!{type(error).__name__}"
