"""One side: runs the programs of standard input, each in another process.

A program's process is a copy of one that has imported JAX, or the drop-in, and has not used it.
"""

import functools
import json
import os
import select
import sys
import warnings

import numpy as np

import jax
import jax.ad_checkpoint
import jax.custom_batching
import jax.dlpack
import jax.experimental.sparse.linalg
import jax.extend.core
import jax.image
import jax.interpreters.mlir
import jax.numpy as jnp
import jax.scipy.sparse.linalg
from jax import export, lax
from jax.experimental import sparse
from jax.scipy.spatial.transform import Rotation
from jax.sharding import AxisType, NamedSharding, PartitionSpec

SECONDS = 120.0


def show(*values: object) -> None:
    """Print values, each as a text that does not name addresses."""
    print(*values, flush=True)


def explicit(*shape: int) -> jax.sharding.Mesh:
    """Set a mesh of the axes x, y, ... whose shardings are part of types, and return it."""
    mesh = jax.make_mesh(
        shape, tuple("xyz"[: len(shape)]), axis_types=(AxisType.Explicit,) * len(shape)
    )
    jax.set_mesh(mesh)
    return mesh


NAMES = {
    "jax": jax,
    "jnp": jnp,
    "np": np,
    "lax": lax,
    "export": export,
    "sparse": sparse,
    "Rotation": Rotation,
    "AxisType": AxisType,
    "NamedSharding": NamedSharding,
    "P": PartitionSpec,
    "SDS": jax.ShapeDtypeStruct,
    "functools": functools,
    "warnings": warnings,
    "show": show,
    "explicit": explicit,
}


def evaluate(title: str, program: str, output: int) -> None:
    """Run a program in this process, and end it."""
    os.dup2(output, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        exec(compile(program, title, "exec"), dict(NAMES))
    except Exception as error:  # noqa: BLE001 - what a program raises is shown
        print(type(error).__name__)
    sys.stdout.flush()
    os._exit(0)


def text_of(title: str, program: str) -> str:
    """Return what a program shows, lines joined by `` / ``."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        evaluate(title, program, writer)
    os.close(writer)
    shown = b""
    while select.select([reader], [], [], SECONDS)[0] and (part := os.read(reader, 1 << 16)):
        shown += part
    os.close(reader)
    os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    lines = shown.decode().splitlines()
    if status not in (0, 9):
        lines.append(f"status {status}")
    return " / ".join(line.strip() for line in lines)


if __name__ == "__main__":
    json.dump(
        {title: text_of(title, body) for title, body in json.load(sys.stdin).items()}, sys.stdout
    )
