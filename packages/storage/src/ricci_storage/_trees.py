"""Pytrees of arrays in a folder: ``pytreedef.json`` has the structure, ``array_store`` the arrays.

The store is one database (OCDBT) with an array for each leaf, named by its number. Several
processes write one database each, which the first joins.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ricci_ir import Array, PyTree, ShapeDtypeStruct
from ricci_pytree import PyTreeDef, broadcast_prefix, prefix_errors, tree_flatten
from ricci_xla import process_count, process_index

from ._arrays import run_deserialization, run_serialization
from ._manager import Barriers
from ._specs import (
    combine_kvstores,
    dtype_name,
    get_tensorstore_spec,
    is_remote_storage,
    is_tensorstore_spec_leaf,
    merge_nested_ts_specs,
    tensorstore,
    verify_tensorstore_spec,
)
from ._structure import LEAVES, PyTreeFuture, deserialize_pytreedef, entry, serialize_pytreedef

__all__ = ["load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]

_STRUCTURE = "pytreedef.json"
_STORE = "array_store"
_ARRAY = re.compile(r"Array\((?P<dtype>\S+?)\[(?P<shape>[\d, ]*)\]\)")

_is_none: Callable[[Any], bool] = lambda x: x is None


def save(
    data: PyTree,
    directory: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: PyTree | None = None,
) -> None:
    """Save a pytree of arrays in a folder.

    Args:
      data: a pytree of arrays; ``None`` counts as a leaf. See ``serialize_pytreedef`` for its
        nodes.
      directory: the folder, which all processes share. It is created if missing.
      overwrite: whether a pytree saved there before is replaced.
      ts_specs: a prefix of ``data`` with TensorStore specifications, whose entries
        take precedence over those of ``get_tensorstore_spec``, or ``None``.

    Raises:
      ValueError: if a leaf is not an array, the folder has files and ``overwrite`` is false, or a
        node's class is not registered.
      RuntimeError: if the folder has other files than those of a saved pytree.

    Example:
      Parameters of a training run, saved and loaded where they are needed, here on one device:

      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization.pytree_serialization import load, save
      >>> params = {"w": jnp.arange(3), "step": jnp.array(7)}
      >>> with TemporaryDirectory() as folder:
      ...     save(params, folder)
      ...     restored = load(folder, ricci.sharding.SingleDeviceSharding(ricci.devices()[0]))
      >>> restored
      {'step': Array(7, dtype=int32), 'w': Array([0, 1, 2], dtype=int32)}
    """
    _save(_Saving(data, directory, overwrite, ts_specs))


def nonblocking_save(
    data: PyTree,
    directory: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: PyTree | None = None,
) -> PyTreeFuture:
    """Start to save a pytree of arrays, and return a future, whose ``result()`` waits for it.

    Args:
      data, directory, overwrite, ts_specs: as for ``save``. The arrays may not be donated, nor
        NumPy arrays be changed, until it is done.

    Returns:
      The future.

    Example:
      Training goes on while the arrays are written:

      >>> from tempfile import TemporaryDirectory
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization.pytree_serialization import nonblocking_save
      >>> params = {"w": jnp.arange(3.0)}
      >>> with TemporaryDirectory() as folder:
      ...     saving = nonblocking_save(params, folder)
      ...     params = {"w": 2.0 * params["w"]}
      ...     saving.result()
    """
    saving = _Saving(data, directory, overwrite, ts_specs)
    return _run_in_thread(lambda: _save(saving), saving.types())


def load_pytreedef(directory: str | os.PathLike[str]) -> PyTree:
    """The types of the arrays of a saved pytree, in its structure.

    Args:
      directory: the folder.

    Returns:
      A pytree of ``ShapeDtypeStruct``.

    Raises:
      FileNotFoundError: if nothing was saved in the folder.
      ValueError: if the file is damaged, or has nodes of an unregistered class.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import pytree_serialization
      >>> with TemporaryDirectory() as folder:
      ...     pytree_serialization.save({"w": jnp.arange(3)}, folder)
      ...     pytree_serialization.load_pytreedef(folder)
      {'w': ShapeDtypeStruct(shape=(3,), dtype=int32)}
    """
    tree, leaves = _read_structure(_folder(directory))
    return tree.unflatten(leaves)


def load(
    directory: str | os.PathLike[str],
    shardings: PyTree,
    *,
    mask: PyTree | None = None,
    ts_specs: PyTree | None = None,
) -> PyTree:
    """Load a pytree of arrays that ``save`` has written.

    Args:
      directory: the folder.
      shardings: a prefix of the pytree with the sharding of each array, not necessarily that
        which was saved; or a format, or a ``ShapeDtypeStruct`` with either, for another dtype.
      mask: a prefix of the pytree with booleans; False leaves are not loaded, and ``None``.
      ts_specs: as for ``save``.

    Returns:
      The pytree.

    Raises:
      AssertionError: if the folder does not exist.
      FileNotFoundError: if nothing was saved in it.
      ValueError: if a file is damaged, or a prefix does not match the pytree.
      TypeError: if an entry of ``shardings`` has no sharding.

    Example:
      The second array alone, in another dtype:

      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization.pytree_serialization import load, save
      >>> sharding = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
      >>> half = ricci.ShapeDtypeStruct((3,), jnp.float16, sharding=sharding)
      >>> with TemporaryDirectory() as folder:
      ...     save({"a": jnp.ones(2), "b": jnp.arange(3.0)}, folder)
      ...     load(folder, {"a": sharding, "b": half}, mask={"a": False, "b": True})
      {'a': None, 'b': Array([0., 1., 2.], dtype=float16)}
    """
    return _load(_Loading(directory, shardings, mask, ts_specs))


def nonblocking_load(
    directory: str | os.PathLike[str],
    shardings: PyTree,
    *,
    mask: PyTree | None = None,
    ts_specs: PyTree | None = None,
) -> PyTreeFuture:
    """Start to load a pytree of arrays, and return a future, whose ``result()`` is the pytree.

    Args:
      directory, shardings, mask, ts_specs: as for ``load``.

    Returns:
      The future.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import pytree_serialization
      >>> sharding = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
      >>> with TemporaryDirectory() as folder:
      ...     pytree_serialization.save({"w": jnp.arange(3)}, folder)
      ...     pytree_serialization.nonblocking_load(folder, sharding).result()
      {'w': Array([0, 1, 2], dtype=int32)}
    """
    loading = _Loading(directory, shardings, mask, ts_specs)
    return _run_in_thread(lambda: _load(loading), loading.tree.unflatten(loading.types))


def _run_in_thread(action: Callable[[], Any], pytree: PyTree) -> PyTreeFuture:
    thread = ThreadPoolExecutor(1)
    inner: Future[Any] = thread.submit(action)
    thread.shutdown(wait=False)  # the thread ends after the action
    future = PyTreeFuture(inner)
    future.pytree = pytree
    return future


def _folder(directory: str | os.PathLike[str]) -> Path:
    path = os.fspath(directory)
    if is_remote_storage(path):
        raise ValueError(
            f"directory={path!r}: pytrees are saved in folders only. Save single arrays in buckets "
            "with GlobalAsyncCheckpointManager."
        )
    return Path(path).absolute()


def _prefix(
    name: str, prefix: PyTree, tree: PyTreeDef, is_leaf: Callable[[Any], bool]
) -> list[Any]:
    """Broadcast a prefix to the leaves of a tree.

    Raises:
      ValueError: if it is not a prefix.
    """
    # Strings in place of arrays: each is one leaf, whatever the classes of the tree do with arrays.
    whole = tree.unflatten(["array"] * tree.num_leaves)
    try:
        return broadcast_prefix(prefix, whole, is_leaf)
    except ValueError:
        for difference in prefix_errors(prefix, whole, is_leaf):
            raise difference(name, "pytree") from None
        raise


class _Saving:
    """The checked arguments of ``save``."""

    def __init__(
        self, data: PyTree, directory: str | os.PathLike[str], overwrite: bool, ts_specs: PyTree
    ):
        # Everything that may change is read before this returns: the pytree may be modified while
        # its arrays are written.
        self.leaves, self.tree = tree_flatten(data, is_leaf=_is_none)
        for leaf in self.leaves:
            if not (leaf is None or isinstance(leaf, Array | np.ndarray)):
                raise ValueError(
                    "save: each leaf of data must be an array or None, found a "
                    f"{type(leaf).__name__}. Make an array of it with jnp.asarray."
                )
        self.folder = _folder(directory)
        self.barriers = Barriers()
        self.overwrite = overwrite
        self.record = {
            **serialize_pytreedef(self.tree),
            LEAVES: [_name(leaf) for leaf in self.leaves],
        }
        self.specs = _prefix("ts_specs", ts_specs, self.tree, is_tensorstore_spec_leaf)

    def types(self) -> PyTree:
        return self.tree.unflatten(
            [None if x is None else ShapeDtypeStruct(x.shape, x.dtype) for x in self.leaves]
        )


def _name(leaf: Any) -> str | None:
    """The string for a leaf in the structure's record."""
    return None if leaf is None else f"Array({dtype_name(leaf)}{list(leaf.shape)})"


def _save(saving: _Saving) -> None:
    folder, several = saving.folder, process_count() > 1
    if process_index() == 0:
        _clear(folder, saving.overwrite)
        (folder / _STRUCTURE).write_text(json.dumps(saving.record, indent=2), encoding="utf-8")
    # No process may write before the first one has emptied the folder.
    saving.barriers.wait("the folder is there")
    # Each process writes its shards to a database of its folder; joining these copies no data.
    mine = process_index() if several else None
    arrays, specs = [], []
    for i, (leaf, user_spec) in enumerate(zip(saving.leaves, saving.specs, strict=True)):
        if leaf is not None:
            path = folder / _STORE / str(i)
            spec = get_tensorstore_spec(path, process_idx=mine, arr=leaf)
            store = Path(spec["kvstore"]["base"]["path"])
            spec = merge_nested_ts_specs(spec, user_spec)
            verify_tensorstore_spec(spec, leaf, store, ocdbt=True)
            arrays.append(leaf)
            specs.append(spec)
    run_serialization(arrays, specs)
    # The databases are joined only when they are complete, and no process returns before they are.
    saving.barriers.wait("all have written")
    if several and arrays and process_index() == 0:
        parts = [folder / _STORE / f"process_{i}" for i in range(process_count())]
        combine_kvstores(_database(folder / _STORE), [_database(p) for p in parts if p.exists()])
    saving.barriers.wait("the database is one")


def _database(folder: Path) -> dict[str, Any]:
    return {"driver": "ocdbt", "base": {"driver": "file", "path": f"{folder}/"}}


def _clear(folder: Path, overwrite: bool) -> None:
    """Create the folder, or remove the pytree that was saved in it.

    Raises:
      ValueError: if the folder has files and they may not be overwritten.
      RuntimeError: if the folder has other files.
    """
    if not folder.exists():
        folder.mkdir(parents=True)
    files = sorted(folder.iterdir())
    if files and not overwrite:
        raise ValueError(f"save: there are files in {folder} already, and overwrite=False.")
    others = [path.name for path in files if path.name not in (_STRUCTURE, _STORE)]
    if others:
        raise RuntimeError(
            f"save: {folder} has files that are not of a saved pytree: {', '.join(others[:5])}. "
            "Give another folder, or remove them."
        )
    (folder / _STRUCTURE).unlink(missing_ok=True)
    shutil.rmtree(folder / _STORE, ignore_errors=True)


def _read_structure(folder: Path) -> tuple[PyTreeDef, list[Any]]:
    """The structure of a saved pytree, and the types of its leaves."""
    file = folder / _STRUCTURE
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        text = f"{file} is damaged: {error.msg}"
        raise json.JSONDecodeError(text, error.doc, error.pos) from None
    if not isinstance(record, dict):
        raise ValueError(f"{file} is damaged: it holds a {type(record).__name__}, not a record.")
    leaves, tree = entry(record, LEAVES), deserialize_pytreedef(record)
    if len(leaves) != tree.num_leaves:
        raise ValueError(
            f"{file} is damaged: it names {len(leaves)} leaves of a structure of {tree.num_leaves}."
        )
    return tree, list(map(_type, leaves))


def _type(name: str | None) -> Any:
    """Parse a leaf of a structure's record: the type of an array, or the string unchanged."""
    match = None if name is None else _ARRAY.fullmatch(name)
    if match is None:
        return name
    shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
    return ShapeDtypeStruct(shape, tensorstore().dtype(match["dtype"]).numpy_dtype)


class _Loading:
    """The checked arguments of ``load``."""

    def __init__(
        self, directory: str | os.PathLike[str], shardings: PyTree, mask: PyTree, ts_specs: PyTree
    ):
        folder = self.folder = _folder(directory)
        if not folder.is_dir():
            raise AssertionError(f"load: the folder {folder} does not exist.")
        self.tree, types = _read_structure(folder)
        places = _prefix("shardings", shardings, self.tree, _is_none)
        specs = _prefix("ts_specs", ts_specs, self.tree, is_tensorstore_spec_leaf)
        mask_leaves = _prefix("mask", True if mask is None else mask, self.tree, _is_none)
        self.types = [kind if want else None for kind, want in zip(types, mask_leaves, strict=True)]
        rows = zip(self.types, places, specs, strict=True)
        self.arrays = [
            (i, place, merge_nested_ts_specs(get_tensorstore_spec(folder / _STORE / str(i)), spec))
            for i, (kind, place, spec) in enumerate(rows)
            if kind is not None
        ]


def _load(loading: _Loading) -> PyTree:
    places = [place for _, place, _ in loading.arrays]
    arrays = run_deserialization(places, [spec for *_, spec in loading.arrays])
    leaves: list[Any] = [None] * loading.tree.num_leaves
    for (i, _, _), array in zip(loading.arrays, arrays, strict=True):
        leaves[i] = array
    return loading.tree.unflatten(leaves)
