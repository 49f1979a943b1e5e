"""What pages say of objects that jaxlib, NumPy and others define, since docstrings of ours cannot.

The sentences are ours; for what NumPy defines, NumPy's page is named as the source.
"""

_NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy.{}.html"


def _numpy(words: str, name: str) -> str:
    return f"{words}\n\nIt is NumPy's own: `numpy.{name} <{_NUMPY.format(name)}>`__."


def _numbers(words: str, name: str) -> str:
    return _numpy(f"The abstract class of {words}, for ``jnp.issubdtype``.", name)


DOCSTRINGS: dict[str, str] = {
    "ricci.Device": """\
A device: what ``ricci.devices()`` lists, and ``x.devices()`` of an array.

Attributes:
    id: a number that no other device of the platform has.
    platform: ``cpu``, ``gpu`` or ``tpu``.
    device_kind: the model, as the maker calls it.
    process_index: the process that it belongs to.

Methods:
    memory_stats(): the memory in use and its limits in bytes, or None on a CPU.
""",
    "ricci.Array.block_until_ready": "Wait until the array is computed, and return it.",
    "ricci.Array.delete": "Free the buffers now; the array cannot be used afterwards.",
    "ricci.Array.is_deleted": "Whether the buffers are gone: deleted, or donated.",
    "ricci.Array.is_ready": "Whether the array is computed; this waits for nothing.",
    "ricci.Array.on_device_size_in_bytes": "The size on the device, with what its layout adds.",
    "ricci.Array.platform": "The platform of the array's devices: ``cpu``, ``gpu`` or ``tpu``.",
    "ricci.Array.traceback": "Where the array was made, or None if that was not recorded.",
    "ricci.Array.unsafe_buffer_pointer": "The address of the buffer, of an array on one device.",
    "ricci.NamedSharding": """\
How an array lies on a mesh: for each dimension the mesh's axes that it is divided over.

Args:
    mesh: a ``Mesh``, or an ``AbstractMesh``.
    spec: a ``PartitionSpec``: for each dimension None, an axis, or a tuple of axes.
    memory_kind: the kind of memory, ``device`` or ``pinned_host``; by default the device's own.

Attributes:
    mesh: the mesh.
    spec: the partition spec.
    memory_kind: the kind of memory, or None.
""",
    "ricci.sharding.Sharding": """\
The base of all shardings: which part of an array each device holds.

Attributes:
    device_set: the devices.
    is_fully_replicated: whether every device holds the whole array.
    is_fully_addressable: whether all devices are this process's.
    memory_kind: the kind of memory, or None.

Methods:
    shard_shape(shape): the shape of each device's part of an array of that shape.
    devices_indices_map(shape): from each device to the index of its part.
    is_equivalent_to(other, ndim): whether both lay an array out in the same way.
""",
    "ricci.sharding.SingleDeviceSharding": """\
The sharding of an array that is on one device.

Args:
    device: the device.
    memory_kind: the kind of memory; by default the device's own.
""",
    "ricci.errors.JaxRuntimeError": "An error of the runtime or the compiler, such as exhausted "
    "memory.",
    "ricci.tree_util.PyTreeDef": """\
The structure of a pytree without its leaves: what ``tree.structure`` returns.

Two are equal if the trees have the same containers, keys and classes. They can be hashed.

Attributes:
    num_leaves: how many leaves there are.
    num_nodes: how many containers and leaves there are.

Methods:
    unflatten(leaves): a tree of this structure.
    flatten_up_to(tree): the subtrees of a tree at the places of the leaves.
    children(): the structures of the containers' entries.
""",
    "ricci.tree_util.DictKey": "A step of a path into a dictionary: its ``key``.",
    "ricci.tree_util.FlattenedIndexKey": "A step of a path into a class that was registered "
    "without keys: the position ``key`` among its children.",
    "ricci.tree_util.GetAttrKey": "A step of a path to an attribute: its ``name``.",
    "ricci.tree_util.SequenceKey": "A step of a path into a tuple or list: the position ``idx``.",
    "ricci.dtypes.bfloat16": "The scalar type of 16 bits with eight of exponent; a dtype.",
    "ricci.profiler.ProfileData": "A profile that was read from a file; ``planes`` are its parts.",
    "ricci.profiler.ProfilePlane": "A part of a profile, such as a device's; it has ``lines``.",
    "ricci.profiler.ProfileLine": "A row of a plane, such as a thread's: its ``name`` and "
    "``events``.",
    "ricci.profiler.ProfileEvent": "An event of a profile: ``name``, ``start_ns``, ``duration_ns`` "
    "and ``stats``.",
    "ricci.profiler.ProfileOptions": "What a profile records: the levels of detail, by attributes.",
    "ricci.experimental.array_serialization.tensorstore_impl.Future": "TensorStore's future: "
    "``result()`` waits for what is written or read.",
    "ricci.experimental.array_serialization.tensorstore_impl.Transaction": "TensorStore's "
    "transaction: writes that become visible together.",
    "ricci.extend.lowering.JaxIrContext": "The context of MLIR objects, with jaxlib's dialects.",
    "ricci.extend.mlir.deserialize_portable_artifact": "A StableHLO module as text, from the bytes "
    "of ``serialize_portable_artifact``.",
    "ricci.extend.mlir.hlo_to_stablehlo": "A StableHLO module as bytes, from a serialized HLO "
    "module.",
    "ricci.extend.mlir.refine_polymorphic_shapes": "A StableHLO module whose symbolic sizes are "
    "replaced by those that follow from its arguments.",
    "ricci.extend.mlir.serialize_portable_artifact": "A StableHLO module as bytes that later "
    "versions read.",
    "ricci.extend.sharding.GSPMDSharding": "A sharding in the compiler's own form.",
    "ricci.interpreters.mlir.Token": "MLIR's type of tokens, which order side effects.",
    "ricci.interpreters.xla.Backend": "A client of the runtime: its devices, and what compiles.",
    "ricci.numpy.array_repr": _numpy("An array as ``repr`` prints it.", "array_repr"),
    "ricci.numpy.array_str": _numpy("An array as ``str`` prints it.", "array_str"),
    "ricci.numpy.get_printoptions": _numpy("How arrays are printed.", "get_printoptions"),
    "ricci.numpy.printoptions": _numpy("How arrays are printed in a ``with``.", "printoptions"),
    "ricci.numpy.save": _numpy("Write an array to a file of NumPy's format.", "save"),
    "ricci.numpy.savez": _numpy("Write several arrays to one file.", "savez"),
    "ricci.numpy.ComplexWarning": _numpy(
        "The warning that an imaginary part is dropped.", "exceptions.ComplexWarning"
    ),
    "ricci.numpy.dtype": _numpy("The class of dtypes.", "dtype"),
    "ricci.numpy.object_": "The scalar type of Python objects. Arrays of it are refused.",
    "ricci.numpy.finfo": """\
The limits of a floating-point dtype.

Args:
    dtype: a floating-point or complex dtype, or a value of one.

Attributes:
    bits: how many bits an element has.
    eps: the difference between 1 and the next larger number.
    max: the largest number.
    min: the smallest number, ``-max``.
    tiny: the smallest positive number with full precision.

Example:
    >>> import ricci.numpy as jnp
    >>> float(jnp.finfo(jnp.bfloat16).eps)
    0.0078125
""",
    "ricci.numpy.iinfo": """\
The limits of an integer dtype.

Args:
    dtype: an integer dtype, or a value of one.

Attributes:
    bits: how many bits an element has.
    max: the largest number.
    min: the smallest number.

Example:
    >>> import ricci.numpy as jnp
    >>> jnp.iinfo(jnp.int4).max
    7
""",
    "ricci.numpy.generic": _numbers("all scalar types", "generic"),
    "ricci.numpy.number": _numbers("all numbers", "number"),
    "ricci.numpy.integer": _numbers("integers", "integer"),
    "ricci.numpy.signedinteger": _numbers("signed integers", "signedinteger"),
    "ricci.numpy.unsignedinteger": _numbers("unsigned integers", "unsignedinteger"),
    "ricci.numpy.inexact": _numbers("floating-point and complex numbers", "inexact"),
    "ricci.numpy.floating": _numbers("floating-point numbers", "floating"),
    "ricci.numpy.complexfloating": _numbers("complex numbers", "complexfloating"),
    "ricci.numpy.flexible": _numbers("types without a fixed size", "flexible"),
    "ricci.numpy.character": _numbers("characters and strings", "character"),
}
