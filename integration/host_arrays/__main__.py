"""Runs programs in one of several processes, and prints what each does, as JSON.

Called as ``__main__.py MODULE FILE ...``: the module is ``ricci`` or ``jax``, so that the same text
tells what either does. ``__main__.py record`` runs all in the oracle and writes what JAX gives.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

import numpy as np

NAMES = (
    "lax",
    "random",
    "tree",
    "nn",
    "numpy",
    "sharding",
    "experimental.io_callback",
    "experimental.multihost_utils",
    "experimental.checkify",
    "experimental.pjit",
    "experimental.shard_map",
    "experimental.layout",
)


def namespace(name: str) -> dict:
    """The names that programs use."""
    jax = importlib.import_module(name)
    if name == "jax":
        jax.distributed.initialize(
            os.environ["RICCI_COORDINATOR_ADDRESS"],
            int(os.environ["RICCI_NUM_PROCESSES"]),
            int(os.environ["RICCI_PROCESS_ID"]),
        )
    else:
        jax.distributed.initialize()
    found = {}
    for path in NAMES:
        last = path.rpartition(".")[2]
        try:
            found[last] = importlib.import_module(f"{name}.{path}")
        except ImportError:
            owner = importlib.import_module(f"{name}.{path.rpartition('.')[0]}")
            found[last] = getattr(owner, last)
    sharding = found["sharding"]
    P, NS = sharding.PartitionSpec, sharding.NamedSharding
    mesh = jax.make_mesh((4,), ("x",), axis_types=(sharding.AxisType.Auto,))
    grid = jax.make_mesh((2, 2), ("p", "d"), axis_types=(sharding.AxisType.Auto,) * 2)
    typed = jax.make_mesh((4,), ("x",), axis_types=(sharding.AxisType.Explicit,))
    own = sharding.Mesh(np.array(jax.local_devices()), ("x",))
    host = np.arange(8, dtype=np.float32)
    square = np.arange(16, dtype=np.float32).reshape(4, 4)

    def put(value, where):
        return jax.make_array_from_callback(value.shape, where, lambda index: value[index])

    return found | {
        "jax": jax,
        "jnp": found["numpy"],
        "np": np,
        "P": P,
        "NS": NS,
        "put": put,
        "inside": inside,
        "mesh": mesh,
        "grid": grid,
        "typed": typed,
        "own": own,
        "rank": jax.process_index(),
        "host": host,
        "square": square,
        "G": put(host, NS(mesh, P("x"))),
        "H": put(host + 1, NS(mesh, P("x"))),
        "R": put(host, NS(mesh, P())),
        "S": put(np.float32(3.0).reshape(()), NS(mesh, P())),
        "M": put(square, NS(grid, P("p", "d"))),
        "I": put(host.astype(np.int32), NS(mesh, P("x"))),
        "T": put(host, NS(typed, P("x"))),
        "L": jax.device_put(host, jax.local_devices()[0]),
        "F": jax.numpy.arange(8.0),
        "D": jax.device_put(host, NS(own, P("x"))),
        "B": jax.device_put(host),
    }


def inside(context, f):
    """Call a function inside a context manager."""
    with context:
        return f()


def shown(value: object) -> object:
    """A result in a form that two processes, and two libraries, can be compared by."""
    if isinstance(value, dict):
        return {str(k): shown(v) for k, v in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [shown(v) for v in value]
    if hasattr(value, "addressable_shards"):
        return _array(value)
    if isinstance(value, np.ndarray | np.generic):
        return f"numpy {value.dtype.name}{list(value.shape)} {value.tolist()}"
    if isinstance(value, type):
        return value.__name__
    return repr(value)


def _array(value) -> object:
    try:
        dtype = value.dtype.name
    except AttributeError:
        dtype = str(value.dtype)
    sharding = value.sharding
    kind = type(sharding).__name__
    where = f"{getattr(sharding, 'spec', '')}"
    weak = "~" if getattr(value, "weak_type", False) else ""
    parts = []
    if "key" in dtype:
        import_name = type(value).__module__.split(".")[0].split("_")[0]
        value = importlib.import_module(import_name).random.key_data(value)
    for shard in value.addressable_shards:
        index = [(s.start, s.stop) for s in shard.index]
        data = np.asarray(shard.data)
        parts.append(f"{shard.device.id}{index}{np.round(data, 4).tolist()}")
    committed = "committed" if value.committed else "free"
    return [f"{weak}{dtype}{list(value.shape)} {kind} {where} {committed}", *parts]


def run(source: str, names: dict) -> object:
    """The result of a program: the value of its last line, or the class of its error."""
    *lines, last = [line.strip() for line in source.split(";;")]
    names = dict(names)
    try:
        for line in lines:
            exec(line.replace("\\n", "\n"), names)
        return shown(eval(last, names))
    except Exception as error:  # noqa: BLE001
        if os.environ.get("CASES_TRACEBACKS"):
            traceback.print_exc()
        kinds = [c.__name__ for c in type(error).__mro__ if issubclass(c, Exception)]
        return {"error": kinds[:-1] or kinds, "message": str(error)}


def sources(file: str | Path) -> list[str]:
    """The programs of a file, one on each line."""
    lines = map(str.strip, Path(file).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def main(module: str, files: list[str]) -> None:
    """Run the programs of some files, and print a line for each.

    What programs and the runtime print goes to stderr: ``debug.print`` writes from another
    thread, and would else write into the middle of a line.
    """
    with os.fdopen(os.dup(1), "w") as results:
        os.dup2(2, 1)
        names = namespace(module)
        for source in [source for file in files for source in sources(file)]:
            sys.stderr.write(f"{source}\n")
            results.write(json.dumps([source, run(source, names)]) + "\n")


def record() -> None:
    """Write what JAX gives."""
    folder = Path(__file__).parent
    sys.path[:0] = [str(folder.parent)]
    hosts = importlib.import_module("hosts")
    cases = importlib.import_module("host_arrays")
    ends = hosts.run(
        Path(__file__),
        2,
        "jax",
        *(str(folder / file) for file in cases.FILES),
        limit=300,
        python=(os.environ["RICCI_ORACLE_PYTHON"],),
        variables={
            "PYTHONPATH": "",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={hosts.DEVICES}",
        },
    )
    first, second = (cases.results(end.out) for end in ends)
    lines = [
        f"{json.dumps(k)}: {json.dumps([cases.without_messages(x[k]) for x in (first, second)])}"
        for k in first
    ]
    (folder / "jax.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        record()
    else:
        main(sys.argv[1], sys.argv[2:])
