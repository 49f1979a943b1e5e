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
from ._barriers import Barriers
from ._specs import (
    combine_kvstores,
    dtype_name,
    get_tensorstore_spec,
    is_remote_storage,
    is_tensorstore_spec_leaf,
    merge_nested_ts_specs,
    verify_tensorstore_spec,
)
from ._structure import LEAVES, PyTreeFuture, deserialize_pytreedef, entry, serialize_pytreedef
from ._tensorstore import tensorstore

__all__ = [
    "load",
    "load_pytreedef",
    "nonblocking_load",
    "nonblocking_save",
    "save",
]

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
      directory: the folder, which all processes share. It is made where it is not there.
      overwrite: whether what was saved there before is replaced.
      ts_specs: a prefix of ``data`` with specifications of TensorStore's, whose entries count
        before those that are made for each array, or ``None``.

    Raises:
      ValueError: if a leaf is no array, something is there and ``overwrite`` is false, or a node's
        class is not registered.
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
        NumPy's be changed, until it is done.

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
    return _started(lambda: _save(saving), saving.types())


def load_pytreedef(directory: str | os.PathLike[str]) -> PyTree:
    """The types of the arrays of a saved pytree, in its structure.

    Args:
      directory: the folder.

    Returns:
      A pytree of ``ShapeDtypeStruct``.

    Raises:
      FileNotFoundError: if nothing was saved in the folder.
      ValueError: if the file is damaged, or has nodes of a class that is not registered here.

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
      shardings: a prefix of the pytree with the sharding of each array, which need not be that
        which it had; or a format, or a ``ShapeDtypeStruct`` with either, for another dtype.
      mask: a prefix of the pytree with booleans; what is false is not loaded, and ``None``.
      ts_specs: as for ``save``.

    Returns:
      The pytree.

    Raises:
      AssertionError: if there is no such folder.
      FileNotFoundError: if nothing was saved in it.
      ValueError: if a file is damaged, or a prefix does not fit.
      TypeError: if a sharding is none.

    Example:
      The second array alone, in another dtype:

      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization.pytree_serialization import load, save
      >>> where = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
      >>> half = ricci.ShapeDtypeStruct((3,), jnp.float16, sharding=where)
      >>> with TemporaryDirectory() as folder:
      ...     save({"a": jnp.ones(2), "b": jnp.arange(3.0)}, folder)
      ...     load(folder, {"a": where, "b": half}, mask={"a": False, "b": True})
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
    """Start to load a pytree of arrays, and return a future, whose ``result()`` gives it.

    Args:
      directory, shardings, mask, ts_specs: as for ``load``.

    Returns:
      The future.

    Example:
      >>> from tempfile import TemporaryDirectory
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.array_serialization import pytree_serialization
      >>> where = ricci.sharding.SingleDeviceSharding(ricci.devices()[0])
      >>> with TemporaryDirectory() as folder:
      ...     pytree_serialization.save({"w": jnp.arange(3)}, folder)
      ...     pytree_serialization.nonblocking_load(folder, where).result()
      {'w': Array([0, 1, 2], dtype=int32)}
    """
    loading = _Loading(directory, shardings, mask, ts_specs)
    return _started(lambda: _load(loading), loading.tree.unflatten(loading.types))


def _started(action: Callable[[], Any], pytree: PyTree) -> PyTreeFuture:
    thread = ThreadPoolExecutor(1)
    future: Future[Any] = thread.submit(action)
    thread.shutdown(wait=False)  # it ends when it has done this
    found = PyTreeFuture(future)
    found.pytree = pytree
    return found


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
    """What a prefix says for each leaf of a tree.

    Raises:
      ValueError: if it is no prefix.
    """
    whole = tree.unflatten(["array"] * tree.num_leaves)
    try:
        return broadcast_prefix(prefix, whole, is_leaf)
    except ValueError:
        for difference in prefix_errors(prefix, whole, is_leaf):
            raise difference(name, "pytree") from None
        raise


class _Saving:
    """What is saved where; checks the arguments of ``save``."""

    def __init__(
        self, data: PyTree, directory: str | os.PathLike[str], overwrite: bool, ts_specs: PyTree
    ):
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
        self.given = _prefix("ts_specs", ts_specs, self.tree, is_tensorstore_spec_leaf)

    def types(self) -> PyTree:
        return self.tree.unflatten(
            [None if x is None else ShapeDtypeStruct(x.shape, x.dtype) for x in self.leaves]
        )


def _name(leaf: Any) -> str | None:
    """A leaf in the record of the structure."""
    return None if leaf is None else f"Array({dtype_name(leaf)}{list(leaf.shape)})"


def _save(saving: _Saving) -> None:
    folder, several = saving.folder, process_count() > 1
    if process_index() == 0:
        _clear(folder, saving.overwrite)
        (folder / _STRUCTURE).write_text(json.dumps(saving.record, indent=2), encoding="utf-8")
    saving.barriers.wait("the folder is there")
    mine = process_index() if several else None
    arrays, specs = [], []
    for i, (leaf, given) in enumerate(zip(saving.leaves, saving.given, strict=True)):
        if leaf is not None:
            path = folder / _STORE / str(i)
            spec = get_tensorstore_spec(path, process_idx=mine, arr=leaf)
            store = Path(spec["kvstore"]["base"]["path"])
            spec = merge_nested_ts_specs(spec, given)
            verify_tensorstore_spec(spec, leaf, store, ocdbt=True)
            arrays.append(leaf)
            specs.append(spec)
    run_serialization(arrays, specs)
    saving.barriers.wait("all have written")
    if several and arrays and process_index() == 0:
        parts = [folder / _STORE / f"process_{i}" for i in range(process_count())]
        combine_kvstores(_database(folder / _STORE), [_database(p) for p in parts if p.exists()])
    saving.barriers.wait("the database is one")


def _database(folder: Path) -> dict[str, Any]:
    return {"driver": "ocdbt", "base": {"driver": "file", "path": f"{folder}/"}}


def _clear(folder: Path, overwrite: bool) -> None:
    """Make the folder, or empty it of what was saved there before.

    Raises:
      ValueError: if something is there, and may not be overwritten.
      RuntimeError: if something else is there.
    """
    if not folder.exists():
        folder.mkdir(parents=True)
    found = sorted(folder.iterdir())
    if found and not overwrite:
        raise ValueError(f"save: there are files in {folder} already, and overwrite=False.")
    others = [path.name for path in found if path.name not in (_STRUCTURE, _STORE)]
    if others:
        raise RuntimeError(
            f"save: {folder} has files that are none of a saved pytree: {', '.join(others[:5])}. "
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
        raise ValueError(f"{file} is damaged: it holds a {type(record).__name__}, no record.")
    leaves, tree = entry(record, LEAVES), deserialize_pytreedef(record)
    if len(leaves) != tree.num_leaves:
        raise ValueError(
            f"{file} is damaged: it names {len(leaves)} leaves of a structure of {tree.num_leaves}."
        )
    return tree, list(map(_type, leaves))


def _type(name: str | None) -> Any:
    """The type of a leaf in a record of a structure; what is no array's stays a text."""
    found = None if name is None else _ARRAY.fullmatch(name)
    if found is None:
        return name
    shape = tuple(int(n) for n in found["shape"].split(",") if n.strip())
    return ShapeDtypeStruct(shape, tensorstore().dtype(found["dtype"]).numpy_dtype)


class _Loading:
    """What is loaded from where; checks the arguments of ``load``."""

    def __init__(
        self, directory: str | os.PathLike[str], shardings: PyTree, mask: PyTree, ts_specs: PyTree
    ):
        folder = self.folder = _folder(directory)
        if not folder.is_dir():
            raise AssertionError(f"load: there is no folder {folder}.")
        self.tree, types = _read_structure(folder)
        places = _prefix("shardings", shardings, self.tree, _is_none)
        given = _prefix("ts_specs", ts_specs, self.tree, is_tensorstore_spec_leaf)
        wanted = _prefix("mask", True if mask is None else mask, self.tree, _is_none)
        self.types = [kind if want else None for kind, want in zip(types, wanted, strict=True)]
        rows = zip(self.types, places, given, strict=True)
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
