"""TensorStore, imported on first use, and specifications: an array's location and its format.

A specification is a dictionary in TensorStore's JSON form: a driver (``zarr``, ``zarr3``), a
key-value store (a folder, a bucket, or a database in either: OCDBT), and for a new array its
metadata.
"""

import os
from functools import cache
from typing import Any

import numpy as np

from ricci_ir import Array

__all__ = ["combine_kvstores", "get_tensorstore_spec", "is_remote_storage"]
__all__ += ["is_tensorstore_spec_leaf", "merge_nested_ts_specs", "verify_tensorstore_spec"]
__all__ += ["zarr_spec"]

_CACHED_BYTES = 10_000_000_000
_AT_ONCE = 128
_LARGEST_CHUNK = 100_000_000  # elements


@cache
def tensorstore() -> Any:
    """Import the module.

    Raises:
      ImportError: if it is not installed.
    """
    try:
        import tensorstore as ts  # noqa: PLC0415 - lazy: an optional dependency
    except ImportError as error:
        raise ImportError(
            "arrays are written to files by the package tensorstore, which is not installed. Run "
            "pip install 'ricci-storage[tensorstore]'."
        ) from error
    return ts


@cache
def shared_context() -> Any:
    """The caches and threads that all files share."""
    return tensorstore().Context(
        {
            "cache_pool": {"total_bytes_limit": _CACHED_BYTES},
            "data_copy_concurrency": {"limit": _AT_ONCE},
            "file_io_concurrency": {"limit": _AT_ONCE},
        }
    )


@cache
def chunk_layout() -> Any:
    """Default bounds on the sizes of chunks."""
    ts = tensorstore()
    grid = ts.ChunkLayout.Grid(elements=_LARGEST_CHUNK)
    return ts.ChunkLayout(read_chunk=grid, write_chunk=grid)


async def open_array(spec: Any, **options: Any) -> Any:
    """Open a TensorStore array.

    Args:
      spec: its specification.
      **options: of ``tensorstore.open``.

    Raises:
      ValueError: if it is missing, damaged, or differs from the specification; the message is that
        of TensorStore without the full specification.
    """
    try:
        return await tensorstore().open(spec, **options)
    except ValueError as error:
        raise ValueError(str(error).partition(" [tensorstore_spec=")[0]) from None


type Spec = dict[str, Any]

_REMOTE = {"gs://": "gcs", "s3://": "s3"}


def is_remote_storage(tspec: Spec | str) -> bool:
    """Whether a specification, or an address, names a bucket and not a folder.

    Args:
      tspec: the specification, or the address.

    Returns:
      A bool.

    Example:
      >>> from ricci.experimental.array_serialization.serialization import is_remote_storage
      >>> is_remote_storage("gs://bucket/a"), is_remote_storage({"driver": "zarr"})
      (True, False)
    """
    if isinstance(tspec, str):
        return tspec.startswith(tuple(_REMOTE))
    inner = [tspec[key] for key in ("base", "kvstore") if key in tspec]
    return tspec.get("driver") in _REMOTE.values() or any(map(is_remote_storage, inner))


def is_tensorstore_spec_leaf(leaf: Any) -> bool:
    """Whether an object is a specification, or ``None``, and not a pytree of those.

    Args:
      leaf: the object.

    Returns:
      A bool.

    Example:
      >>> from ricci.experimental.array_serialization import tensorstore_impl
      >>> is_tensorstore_spec_leaf = tensorstore_impl.is_tensorstore_spec_leaf
      >>> is_tensorstore_spec_leaf({"driver": "zarr"}), is_tensorstore_spec_leaf({"w": None})
      (True, False)
    """
    return leaf is None or isinstance(leaf, dict) and ("driver" in leaf or "kvstore" in leaf)


def merge_nested_ts_specs(dict1: Spec, dict2: Spec | None) -> Spec:
    """Merge two specifications, and the entries of their key-value stores.

    Args:
      dict1: the specification.
      dict2: the entries that take precedence; ``None`` for none.

    Returns:
      A new specification.

    Example:
      >>> from ricci.experimental.array_serialization.tensorstore_impl import merge_nested_ts_specs
      >>> merge_nested_ts_specs({"kvstore": {"path": "a"}}, {"kvstore": {"driver": "file"}})
      {'kvstore': {'path': 'a', 'driver': 'file'}}
    """
    if dict2 is None:
        return dict1
    # The location and the driver of the store are nested: an entry of the user's must not drop the
    # others.
    return {**dict1, **dict2, "kvstore": {**dict1.get("kvstore", {}), **dict2.get("kvstore", {})}}


def local_shape(arr: Any) -> list[int]:
    """The shape of the part of an array that a device holds."""
    sharding = getattr(arr, "sharding", None)
    return list(arr.shape if sharding is None else sharding.shard_shape(arr.shape))


def array_metadata(driver: str, arr: Any) -> Spec:
    """The metadata of a new array, whose chunks are the parts that devices hold.

    Raises:
      TypeError: for an array of an extended dtype, such as that of random keys.
      ValueError: for an unsupported driver.
    """
    # A chunk is a device's part, so that no two processes write to the same chunk.
    chunk = [max(1, n) for n in local_shape(arr)]
    if driver == "zarr":
        return {"compressor": {"id": "zstd"}, "shape": tuple(arr.shape), "chunks": chunk}
    if driver == "zarr3":
        return {
            "codecs": [],
            "shape": tuple(arr.shape),
            "data_type": dtype_name(arr),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        }
    raise ValueError(f"driver={driver!r} is not supported for new arrays; use 'zarr' or 'zarr3'.")


def dtype_name(arr: Any) -> str:
    """The name of an array's dtype in specifications.

    Raises:
      TypeError: for an extended dtype.
    """
    try:
        return np.dtype(arr.dtype).name
    except TypeError:
        raise TypeError(
            f"cannot write arrays of dtype {arr.dtype} to files. Save the words of random keys, "
            "random.key_data(keys), and make keys of them with random.wrap_key_data."
        ) from None


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Array | None = None,
    driver: str = "zarr3",
) -> Spec:
    """The specification of an array in a folder or a bucket.

    Args:
      ckpt_path: the array's location: a path, or an address that begins with ``gs://`` or ``s3://``.
      ocdbt: whether the folder above holds a database, of which the last part of the path is a key.
        Requires an absolute path.
      process_idx: the number of a process that writes to a separate folder, ``process_N``.
      arr: an array that is to be written; gives the shape, the dtype and the chunks.
      driver: the format.

    Returns:
      The specification, a dict.

    Raises:
      ValueError: if the path is relative, or misses a part that is needed.

    Example:
      >>> from ricci.experimental.array_serialization.tensorstore_impl import get_tensorstore_spec
      >>> get_tensorstore_spec("/data/w", ocdbt=False)
      {'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': '/data/w'}}
      >>> get_tensorstore_spec("/data/w")["kvstore"]
      {'driver': 'ocdbt', 'base': {'driver': 'file', 'path': '/data'}, 'path': 'w'}
    """
    kvstore_root, path = _split_address(os.fspath(ckpt_path))
    folder, name = os.path.split(path)
    if process_idx is not None:
        folder = os.path.join(folder, f"process_{process_idx}")
    if not ocdbt:
        if "bucket" in kvstore_root and not path:
            raise ValueError(
                "ckpt_path must name a bucket and a path in it, such as gs://bucket/path; got "
                f"{os.fspath(ckpt_path)}."
            )
        kvstore = {**kvstore_root, "path": os.path.join(folder, name)}
    elif "bucket" in kvstore_root and not (folder and name):
        raise ValueError(
            "ckpt_path: with ocdbt=True it must name a bucket, a folder and the array, such as "
            f"gs://bucket/folder/w; got {os.fspath(ckpt_path)}."
        )
    elif "bucket" not in kvstore_root and not os.path.isabs(folder):
        raise ValueError(
            f"ckpt_path must be absolute with ocdbt=True, got {os.fspath(ckpt_path)}. Use "
            "os.path.abspath."
        )
    else:
        kvstore = {"driver": "ocdbt", "base": {**kvstore_root, "path": folder}, "path": name}
    spec: Spec = {"driver": driver, "kvstore": kvstore}
    if arr is not None:
        spec["metadata"] = array_metadata(driver, arr)
    return spec


def zarr_spec(
    ckpt_path: str | os.PathLike[str],
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Array | None = None,
    driver: str = "zarr",
) -> Spec:
    """``get_tensorstore_spec`` with the format zarr, in a folder and no database by default.

    Args:
      ckpt_path, ocdbt, process_idx, arr, driver: as for the function of this name in
        ``tensorstore_impl``.

    Returns:
      The specification, a dict.

    Example:
      >>> from ricci.experimental.array_serialization.serialization import get_tensorstore_spec
      >>> get_tensorstore_spec("/data/w")
      {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/data/w'}}
    """
    return get_tensorstore_spec(ckpt_path, ocdbt, process_idx, arr, driver)


def _split_address(path: str) -> tuple[Spec, str]:
    """Split an address into its key-value store and the path in it."""
    for prefix, driver in _REMOTE.items():
        if path.startswith(prefix):
            # The rest of an address is a key, in which a doubled slash would count.
            bucket, _, inside = path.removeprefix(prefix).partition("/")
            return {"driver": driver, "bucket": bucket}, os.path.normpath(inside) if inside else ""
    return {"driver": "file"}, os.path.normpath(path)


def verify_tensorstore_spec(
    spec: Spec,
    arr: Array | None,
    path: str | os.PathLike[str],
    ocdbt: bool,
    check_metadata: bool = True,
) -> None:
    """Check that a specification matches an array and its location.

    Args:
      spec: the specification.
      arr: the array; needed for ``check_metadata``.
      path: with ``ocdbt`` the folder of the database, else the path of the array.
      ocdbt: whether it must be in a database.
      check_metadata: whether shape, dtype and chunks are compared as well.

    Raises:
      ValueError: if the specification does not match.
      KeyError: if metadata is missing.

    Example:
      >>> from ricci.experimental.array_serialization.tensorstore_impl import (
      ...     get_tensorstore_spec, verify_tensorstore_spec
      ... )
      >>> spec = get_tensorstore_spec("/data/w")
      >>> verify_tensorstore_spec(spec, None, "/data", ocdbt=True, check_metadata=False)
    """
    kvstore = spec.get("kvstore", {})
    if ocdbt and kvstore.get("driver") != "ocdbt":
        raise ValueError(
            f"the specification must have a kvstore with the driver 'ocdbt', as ocdbt=True: {spec}."
        )
    location = kvstore["base"] if ocdbt else kvstore
    location = location if isinstance(location, str) else location.get("path")
    if location != os.fspath(path):
        raise ValueError(
            f"the specification puts the array in {location}, and it must be in {os.fspath(path)}: "
            f"{kvstore}."
        )
    if not check_metadata:
        return
    assert arr is not None
    shape = _entry(spec, "metadata", "shape")
    if spec.get("driver") == "zarr":
        chunk = _entry(spec, "metadata", "chunks")
    else:
        chunk = _entry(spec, "metadata", "chunk_grid", "configuration", "chunk_shape")
        kind = _entry(spec, "metadata", "data_type")
        if kind != dtype_name(arr):
            raise ValueError(
                f"the specification's data_type is {kind}, the array's dtype {dtype_name(arr)}."
            )
    if tuple(shape) != tuple(arr.shape):
        raise ValueError(f"the specification's shape is {tuple(shape)}, the array's {arr.shape}.")
    local = local_shape(arr)
    if len(chunk) != len(local) or any(n % c for n, c in zip(local, chunk, strict=True)):
        raise ValueError(
            f"the specification's chunks have shape {tuple(chunk)}, which does not divide the "
            f"parts of shape {tuple(local)} that devices hold."
        )


def _entry(spec: Spec, *path: str) -> Any:
    """An entry of a specification, at any depth.

    Raises:
      KeyError: if it is missing; the error names it.
    """
    value: Any = spec
    for name in path:
        if name not in value:
            raise KeyError(f"the specification has no {'.'.join(path)}: {spec}")
        value = value[name]
    return value


def combine_kvstores(
    combined_kvstore: Spec, kvstores: list[Spec], context: Any | None = None
) -> None:
    """Merge the databases of several processes into one, without copying array data.

    Args:
      combined_kvstore: the specification of the OCDBT database to be made.
      kvstores: those of the databases that are merged.
      context: TensorStore's; that of all files by default.
    """
    ts = tensorstore()
    context = context or shared_context()
    joined = ts.KvStore.open(ts.KvStore.Spec(combined_kvstore), context=context).result()
    # All or nothing: a reader sees either no database or the whole one.
    with ts.Transaction(atomic=True) as transaction:
        for kvstore in kvstores:
            part = ts.KvStore.open(ts.KvStore.Spec(kvstore), context=context).result()
            part.experimental_copy_range_to(joined.with_transaction(transaction)).result()
