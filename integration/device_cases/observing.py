"""The results and effects of a case as plain data: both sides run this text.

Ricci imports it, and the oracle's interpreter is sent it. So it imports only the standard library
and NumPy, and is given the module `jax`.
"""

import ast
import collections
import contextlib
import functools
import importlib
import re

import numpy as np

# A letter names an array, and the letters behind it where its dimensions lie: `Xxo` is `X` with
# its first dimension over the axis `x` of the section's mesh, and the second whole.
ARRAY = re.compile(r"[A-OQ-Z][oxyz]*")
TYPE = re.compile(r"\b(?:bool|bf16|key<\w+>|[fiuc]\d+|Ref)\[[^\]]*\](?:\{[^}]*\})?")
KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
)
COLLECTIVE = re.compile(rf" ({'|'.join(KINDS)})(?:-start)?\(")


def arrays(jax):
    """Return the arrays that programs are given, by their letter."""
    jnp = jax.numpy

    def waves(*shape):
        return np.cos(np.arange(np.prod(shape, dtype=int)) * 0.7).reshape(shape).astype("float32")

    return {
        "X": lambda: jnp.asarray(waves(8, 4)),
        "Y": lambda: jnp.asarray(waves(8, 4) * 0.5 + 0.75),
        "W": lambda: jnp.asarray(waves(4, 8)),
        "T": lambda: jnp.asarray(waves(8, 4, 2)),
        "E": lambda: jnp.asarray(waves(16, 8)),
        "Q": lambda: jnp.asarray(waves(8, 8) + 4 * np.eye(8, dtype="float32")),
        "V": lambda: jnp.asarray(waves(8)),
        "U": lambda: jnp.asarray(waves(4)),
        "S": lambda: jnp.asarray(np.float32(1.5)),
        "Z": lambda: jnp.asarray(waves(0, 4)),
        "I": lambda: jnp.asarray(np.arange(8, dtype="int32") * 3 % 8),
        "J": lambda: jnp.asarray((np.arange(32, dtype="int32") * 5 % 8).reshape(8, 4)),
        "L": lambda: jnp.asarray(waves(8, 4) > 0),
        "H": lambda: jnp.asarray(waves(8, 4)).astype(jnp.bfloat16),
        "C": lambda: jnp.asarray(waves(8, 4) + 1j * waves(8, 4)[::-1]),
        "K": lambda: jax.random.key(3),
        "N": lambda: jax.random.split(jax.random.key(3), 8),
    }


def meshes(jax):
    """Return the meshes that programs and their sections name."""
    devices, types = np.array(jax.devices()[:8]), jax.sharding.AxisType
    explicit, auto = types.Explicit, types.Auto
    make = jax.sharding.Mesh
    return {
        "line": make(devices, ("x",), axis_types=(explicit,)),
        "grid": make(devices.reshape(4, 2), ("x", "y"), axis_types=(explicit,) * 2),
        "cube": make(devices.reshape(2, 2, 2), ("x", "y", "z"), axis_types=(explicit,) * 3),
        "alone": make(devices[:1], ("x",), axis_types=(explicit,)),
        "auto_line": make(devices, ("x",), axis_types=(auto,)),
        "auto_grid": make(devices.reshape(4, 2), ("x", "y"), axis_types=(auto,) * 2),
        "auto_cube": make(devices.reshape(2, 2, 2), ("x", "y", "z"), axis_types=(auto,) * 3),
        "mixed": make(devices.reshape(4, 2), ("x", "y"), axis_types=(explicit, auto)),
        "half": make(devices[:4], ("x",), axis_types=(auto,)),
        "other_half": make(devices[4:], ("x",), axis_types=(auto,)),
        "backwards": make(devices[::-1], ("x",), axis_types=(auto,)),
    }


def observe(jax, source, mesh, is_set, probes):
    """Return what a program does: of each probe its result, or the error it raised.

    The last expression of `source` is the program; arrays named in it are its arguments. The
    probes are `eager`, its value as it stands; `types`, those in its jaxpr; and `compiled`, the
    value of its compiled form, and how many collectives that has.
    """
    known, body = {**meshes(jax), **names(jax)}, ast.parse(source).body
    made = arrays(jax)
    found = dict.fromkeys(
        node.id
        for node in ast.walk(body[-1])
        if isinstance(node, ast.Name) and ARRAY.fullmatch(node.id) and node.id not in known
    )
    place = known.get(mesh)
    known["mesh"] = place

    def arguments():
        return [placed(jax, made[name[0]](), name[1:], place) for name in found]

    def prepare():
        for name in dict.fromkeys(
            node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)
        ):
            if ARRAY.fullmatch(name) and name not in known:
                known[name] = placed(jax, made[name[0]](), name[1:], place)
        exec(compile(ast.Module(body[:-1], []), "<program>", "exec"), known)
        last = ast.parse(f"lambda {', '.join(found)}: {ast.unparse(body[-1])}", mode="eval")
        return eval(compile(last, "<program>", "eval"), known)

    def compiled(function):
        program = jax.jit(function).lower(*arguments()).compile()
        text = program.as_text()
        counts = collections.Counter(COLLECTIVE.findall(text))
        result = told(jax, program(*arguments()))
        return {**result, "collectives": {kind: counts[kind] for kind in KINDS if counts[kind]}}

    ways = {
        "eager": lambda function: told(jax, function(*arguments())),
        "types": lambda function: list(
            TYPE.findall(str(jax.make_jaxpr(function)(*arguments())).replace("\n", " "))
        ),
        "compiled": compiled,
    }
    results = {}
    with jax.set_mesh(place) if is_set else contextlib.nullcontext():
        for probe in probes:
            try:
                results[probe] = ways[probe](prepare())
            except Exception as error:  # noqa: BLE001 - its class is compared
                bases = [base.__name__ for base in type(error).__mro__]
                results[probe] = {"error": " ".join(bases), "message": str(error)[:1200]}
    return results


def names(jax):
    """Return what users import."""
    sharding = jax.sharding
    return {
        "jax": jax,
        "jnp": jax.numpy,
        "lax": jax.lax,
        "np": np,
        "checkify": importlib.import_module(f"{jax.__name__}.experimental.checkify"),
        "partitioning": importlib.import_module(f"{jax.__name__}.experimental.custom_partitioning"),
        "pjit": importlib.import_module(f"{jax.__name__}.experimental.pjit").pjit,
        "partial": functools.partial,
        "P": sharding.PartitionSpec,
        "Mesh": sharding.Mesh,
        "AxisType": sharding.AxisType,
        "NamedSharding": sharding.NamedSharding,
        "SingleDeviceSharding": sharding.SingleDeviceSharding,
    }


def placed(jax, array, letters, mesh):
    """Return an array with its dimensions over the axes that the letters name."""
    if not letters:
        return array
    spec = jax.sharding.PartitionSpec(*[None if a == "o" else a for a in letters])
    return jax.device_put(array, jax.sharding.NamedSharding(mesh, spec))


def told(jax, result):
    """Return the values of a result's arrays, their types, and how they are laid out."""
    leaves = jax.tree.leaves(result)
    return {
        "value": [tell(jax, leaf) for leaf in leaves],
        "type": [str(jax.typeof(leaf)) if hasattr(leaf, "dtype") else "" for leaf in leaves],
        "place": [where(leaf) for leaf in leaves],
    }


def tell(jax, leaf):
    """Return a leaf of a result: an array, or another object's text."""
    if hasattr(leaf, "is_deleted") and leaf.is_deleted():
        return "deleted"
    spec = getattr(getattr(leaf, "sharding", None), "spec", None)
    if getattr(spec, "unreduced", ()):
        # The devices hold terms, which may be divided among them otherwise.
        return sum(np.asarray(shard.data, "float32").sum() for shard in leaf.addressable_shards)
    if isinstance(leaf, str | bool | int | float | np.ndarray) or hasattr(leaf, "dtype"):
        return leaf
    return str(leaf)


def where(leaf):
    """Return how an array is laid out: its spec, or its device, and its memory if not usual."""
    sharding = getattr(leaf, "sharding", None)
    if sharding is None:
        return "nowhere"
    memory = "" if sharding.memory_kind in (None, "device", "unpinned_host") else " on host"
    if hasattr(sharding, "spec"):
        axes = " ".join(f"{name}:{size}" for name, size in sharding.mesh.shape.items())
        # Of an array that no type describes, the compiler says where it lies: None at the end of
        # its spec means nothing.
        parts = list(sharding.spec.partitions)
        while parts and parts[-1] is None:
            parts.pop()
        sums = (("U", sharding.spec.unreduced), ("R", sharding.spec.reduced))
        others = "".join(f" {kind}:{sorted(names)}" for kind, names in sums if names)
        return f"{axes} {(*parts,)}{others}{memory}"
    devices = sorted(device.id for device in sharding.device_set)
    return f"{devices}{memory}"
