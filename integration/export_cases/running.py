"""Runs the rows of ``functions.txt`` with one of the two libraries; shared by both.

As a script: ``running.py LIBRARY WRITER FOLDER NAMES...`` reads the files that the other library
wrote into the folder, or with the same name for both those of another process, and writes what they
compute; for JAX also its own files.
"""

import importlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROWS = Path(__file__).with_name("functions.txt")
X = np.array([0.5, 1.25, 2], np.float32)
M = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)
A = np.array([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]], np.float32)
W = np.array([3, 4, 5], np.float32)
BIG = np.linspace(-1, 1, 64 * 48, dtype=np.float32).reshape(64, 48)


class Row(NamedTuple):
    """A function that is exported.

    Attributes:
      name: the row's name, of which file names are made.
      function, arguments: expressions.
      options: further words: see the file's first line.
    """

    name: str
    function: str
    arguments: str
    options: str

    @property
    def wide(self) -> bool:
        """Whether 64-bit types are on."""
        return "x64" in self.options

    @property
    def smooth(self) -> bool:
        """Whether it has a derivative in reverse mode."""
        return "smooth=no" not in self.options

    @property
    def file(self) -> str:
        """The stem of its files."""
        return self.name.replace(" ", "_")


def read_rows() -> list[Row]:
    """The rows of ``functions.txt``."""
    lines = ROWS.read_text().splitlines()
    parts = [[part.strip() for part in f"{x} ".split(" | ")] for x in lines if x[:1] != "#"]
    return [Row(*[*p, "", ""][:4]) for p in parts]


def names(jax: Any) -> dict[str, Any]:
    """The names that the expressions may use."""
    namespace: dict[str, Any] = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
    namespace |= {"X": X, "M": M, "A": A, "W": W, "BIG": BIG, "KEY": jax.random.key(11)}
    grid = np.array(jax.devices()[:8])
    if grid.size == 8:
        mesh = jax.sharding.Mesh(grid.reshape(4, 2), ("a", "b"))
        sharding = lambda *spec: jax.sharding.NamedSharding(mesh, jax.P(*spec))
        namespace |= {"MESH": mesh, "P": jax.P, "SH": sharding}
        namespace["over"] = lambda *spec: partial(jax.device_put, device=sharding(*spec))

    @jax.custom_vjp
    def clipped(x):
        return x * 2

    clipped.defvjp(lambda x: (x * 2, None), lambda _, ct: (jax.numpy.clip(ct, -0.5, 0.5),))
    return {**namespace, "clipped": clipped}


def function_of(jax: Any, row: Row, scope: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A row's function, jitted, and its arguments."""
    fun = eval(row.function, scope)
    args = eval(f"[{row.arguments}]", scope)
    return fun if hasattr(fun, "trace") else jax.jit(fun), args


def export(jax: Any, row: Row, fun: Any, args: list[Any]) -> Any:
    """The exported function of a row."""
    options, _, sizes = row.options.partition("sizes=")
    options = options.partition("export=")[2]
    if sizes:
        args = jax.export.symbolic_args_specs(args, list(eval(sizes)))
    return jax.export.export(fun, **(eval(options) if options else {}))(*args)


def leaves(jax: Any, tree: Any) -> list[np.ndarray]:
    """The arrays of a result; of random keys their words."""
    problems = []
    for x in map(asarray, jax.tree.leaves(tree)):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x = jax.random.key_data(x)
        # Files of NumPy have no bfloat16.
        problems.append(np.asarray(x, np.float32 if x.dtype.name == "bfloat16" else None))
    return problems


def asarray(x: Any) -> Any:
    """A Python scalar as an array."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def dynamic(row: Row, args: list[Any]) -> list[Any]:
    """The arguments that are not static."""
    return args[:1] if "static_argnums=1" in row.function else args


def values(jax: Any, row: Row, call: Any, args: list[Any], gradient: bool) -> list[np.ndarray]:
    """The function's values as it is and compiled, and its derivative, as arrays."""
    outcome = leaves(jax, call(*args)) + leaves(jax, jax.jit(call)(*args))
    if gradient:
        outcome += leaves(jax, gradients(jax, call, args))
    return outcome


def gradients(jax: Any, call: Any, args: list[Any]) -> Any:
    """The gradient of the sum of all inexact results by all inexact arguments."""
    jnp = jax.numpy
    flat, tree = jax.tree.flatten(args)
    inexact = lambda x: jnp.issubdtype(asarray(x).dtype, jnp.floating)
    positions = [i for i, x in enumerate(flat) if inexact(x)]

    def total(some: list[Any]) -> Any:
        replaced = list(flat)
        for i, x in zip(positions, some, strict=True):
            replaced[i] = x
        results = jax.tree.leaves(call(*jax.tree.unflatten(tree, replaced)))
        return sum((jnp.sum(r * 1.5) for r in results if inexact(r)), jnp.float32(0))

    return jax.grad(total)([jnp.asarray(flat[i]) for i in positions]) if positions else ()


def write(jax: Any, row: Row, path: Path, **options: Any) -> None:
    """Export a row's function to a file."""
    fun, args = function_of(jax, row, names(jax))
    data = export(jax, row, fun, args).serialize(vjp_order=int(row.smooth), **options)
    path.write_bytes(data)


def read(jax: Any, row: Row, path: Path, gradient: bool = True) -> list[np.ndarray]:
    """The values of the function in a file."""
    _, args = function_of(jax, row, names(jax))
    call = jax.export.deserialize(bytearray(path.read_bytes())).call
    return values(jax, row, call, dynamic(row, args), gradient and row.smooth)


def main(library: str, folder: Path, selected: list[str]) -> None:
    """Read all files of Ricci's in a folder; as JAX, write those of JAX as well."""
    jax: Any = importlib.import_module(library)
    importlib.import_module(f"{library}.export")
    outcomes = {}
    for row in read_rows():
        if row.name not in selected:
            continue
        with jax.enable_x64(row.wide):
            try:
                if library == "jax":
                    write(jax, row, folder / f"{row.file}.jax")
                    fun, args = function_of(jax, row, names(jax))
                    operands = dynamic(row, args)
                    static = args[len(operands) :]
                    call = lambda *xs, fun=fun, static=static: fun(*xs, *static)
                    results = values(jax, row, call, operands, row.smooth)
                    np.savez(folder / f"{row.file}.expected.npz", *results)
                np.savez(
                    folder / f"{row.file}.{library}.npz",
                    *read(jax, row, folder / f"{row.file}.ricci_for_{library}"),
                )
                outcomes[row.name] = "ok"
            except Exception as error:  # noqa: BLE001  the test reports it
                outcomes[row.name] = f"{type(error).__name__}: {error}"[:2000]
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
