"""Specifications of TensorStore: where an array is kept, and in which format.

A specification is a dictionary in TensorStore's JSON form: a driver (``zarr``, ``zarr3``), a
key-value store (a folder, a bucket, or a database in either: OCDBT), and for a new array its
metadata.
"""

import os
from typing import Any

import numpy as np

from ricci_ir import Array

from ._tensorstore import context as shared_context
from ._tensorstore import tensorstore

__all__ = [
    "combine_kvstores",
    "get_tensorstore_spec",
    "is_remote_storage",
    "is_tensorstore_spec_leaf",
    "merge_nested_ts_specs",
    "verify_tensorstore_spec",
    "zarr_spec",
]

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
    """A specification with entries of another one; those of their key-value stores are joined.

    Args:
      dict1: the specification.
      dict2: the entries that replace or join its own; ``None`` for none.

    Returns:
      A new specification.

    Example:
      >>> from ricci.experimental.array_serialization.tensorstore_impl import merge_nested_ts_specs
      >>> merge_nested_ts_specs({"kvstore": {"path": "a"}}, {"kvstore": {"driver": "file"}})
      {'kvstore': {'path': 'a', 'driver': 'file'}}
    """
    if dict2 is None:
        return dict1
    return {**dict1, **dict2, "kvstore": {**dict1.get("kvstore", {}), **dict2.get("kvstore", {})}}


def local_shape(arr: Any) -> list[int]:
    """The shape of the part of an array that a device holds."""
    sharding = getattr(arr, "sharding", None)
    return list(arr.shape if sharding is None else sharding.shard_shape(arr.shape))


def array_metadata(driver: str, arr: Any) -> Spec:
    """The metadata of a new array, whose chunks are the parts that devices hold.

    Raises:
      TypeError: for an array of an extended dtype, such as that of random keys.
      ValueError: for a driver that is not known here.
    """
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
            f"arrays of dtype {arr.dtype} cannot be kept in files. Save the words of random keys, "
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
      ckpt_path: where the array is: a path, or an address that begins with ``gs://`` or ``s3://``.
      ocdbt: whether the folder above holds a database, of which the last part of the path is a key.
        The path must be absolute then.
      process_idx: the number of a process that writes to a folder of its own, ``process_N``.
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
    place, path = _place(os.fspath(ckpt_path))
    folder, name = os.path.split(path)
    if process_idx is not None:
        folder = os.path.join(folder, f"process_{process_idx}")
    if not ocdbt:
        if "bucket" in place and not path:
            raise ValueError(
                "ckpt_path must name a bucket and a path in it, such as gs://bucket/path; got "
                f"{os.fspath(ckpt_path)}."
            )
        kvstore = {**place, "path": os.path.join(folder, name)}
    elif "bucket" in place and not (folder and name):
        raise ValueError(
            "ckpt_path: with ocdbt=True it must name a bucket, a folder and the array, such as "
            f"gs://bucket/folder/w; got {os.fspath(ckpt_path)}."
        )
    elif "bucket" not in place and not os.path.isabs(folder):
        raise ValueError(
            f"ckpt_path must be absolute with ocdbt=True, got {os.fspath(ckpt_path)}. Use "
            "os.path.abspath."
        )
    else:
        kvstore = {"driver": "ocdbt", "base": {**place, "path": folder}, "path": name}
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


def _place(path: str) -> tuple[Spec, str]:
    """The key-value store of a path but for its ``path``, and that path."""
    for prefix, driver in _REMOTE.items():
        if path.startswith(prefix):
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
    """Raise an error unless a specification fits an array and the place where it is kept.

    Args:
      spec: the specification.
      arr: the array; needed for ``check_metadata``.
      path: with ``ocdbt`` the folder of the database, else the path of the array.
      ocdbt: whether it must be kept in a database.
      check_metadata: whether shape, dtype and chunks are compared as well.

    Raises:
      ValueError: if something does not fit.
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
    found = kvstore["base"] if ocdbt else kvstore
    found = found if isinstance(found, str) else found.get("path")
    if found != os.fspath(path):
        raise ValueError(
            f"the specification keeps the array in {found}, and it must be in {os.fspath(path)}: "
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
    found: Any = spec
    for name in path:
        if name not in found:
            raise KeyError(f"the specification has no {'.'.join(path)}: {spec}")
        found = found[name]
    return found


def combine_kvstores(
    combined_kvstore: Spec, kvstores: list[Spec], context: Any | None = None
) -> None:
    """Join the databases that processes have written to one; nothing of an array is copied.

    Args:
      combined_kvstore: the specification of the OCDBT database to be made.
      kvstores: those of the databases that are joined.
      context: TensorStore's; that of all files by default.
    """
    ts = tensorstore()
    context = context or shared_context()
    joined = ts.KvStore.open(ts.KvStore.Spec(combined_kvstore), context=context).result()
    with ts.Transaction(atomic=True) as transaction:
        for kvstore in kvstores:
            part = ts.KvStore.open(ts.KvStore.Spec(kvstore), context=context).result()
            part.experimental_copy_range_to(joined.with_transaction(transaction)).result()
