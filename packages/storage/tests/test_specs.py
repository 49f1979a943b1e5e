"""Specifications of arrays' locations, which need no TensorStore."""

import pytest

import ricci_numpy as jnp
import ricci_storage as storage
from ricci_pytree import tree_structure

ARRAY = jnp.ones((4, 0))

KVSTORES = [
    (("/d/w",), {"driver": "ocdbt", "base": {"driver": "file", "path": "/d"}, "path": "w"}),
    (("/d/w/", False), {"driver": "file", "path": "/d/w"}),
    (("d/w", False), {"driver": "file", "path": "d/w"}),
    (("/w",), {"driver": "ocdbt", "base": {"driver": "file", "path": "/"}, "path": "w"}),
    (
        ("/d/w", True, 3),
        {"driver": "ocdbt", "base": {"driver": "file", "path": "/d/process_3"}, "path": "w"},
    ),
    (("/d/w", False, 1), {"driver": "file", "path": "/d/process_1/w"}),
    (("gs://b/d/w", False), {"driver": "gcs", "bucket": "b", "path": "d/w"}),
    (
        ("s3://b/d/w",),
        {"driver": "ocdbt", "base": {"driver": "s3", "bucket": "b", "path": "d"}, "path": "w"},
    ),
]


@pytest.mark.parametrize(("arguments", "kvstore"), KVSTORES)
def test_paths_and_addresses_give_key_value_stores(arguments, kvstore):
    assert storage.get_tensorstore_spec(*arguments) == {"driver": "zarr3", "kvstore": kvstore}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("d/w",), "must be absolute"),
        (("gs://b",), "a bucket, a folder and the array"),
        (("gs://b", False), "a bucket and a path in it"),
        (("/d/w", True, None, ARRAY, "n5"), "driver='n5' is not supported"),
    ],
)
def test_incomplete_paths_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        storage.get_tensorstore_spec(*arguments)


def test_metadata_has_the_shape_dtype_and_chunks_of_an_array():
    spec = storage.get_tensorstore_spec("/d/w", arr=ARRAY)
    assert spec["metadata"]["chunk_grid"]["configuration"] == {"chunk_shape": [4, 1]}
    assert (spec["metadata"]["shape"], spec["metadata"]["data_type"]) == ((4, 0), "float32")
    assert storage.zarr_spec("/d/w", arr=ARRAY)["metadata"]["chunks"] == [4, 1]


def test_specifications_are_compared_with_arrays():
    spec = storage.get_tensorstore_spec("/d/w", arr=jnp.ones((4, 4)))
    storage.verify_tensorstore_spec(spec, jnp.ones((4, 4)), "/d", True)
    for array, path, error, message in [
        (jnp.ones((4, 4), "int32"), "/d", ValueError, "data_type is float32"),
        (jnp.ones((4, 8)), "/d", ValueError, r"shape is \(4, 4\), the array's \(4, 8\)"),
        (jnp.ones((4, 4)), "/e", ValueError, "puts the array in /d"),
    ]:
        with pytest.raises(error, match=message):
            storage.verify_tensorstore_spec(spec, array, path, True)
    with pytest.raises(KeyError, match="no metadata.shape"):
        storage.verify_tensorstore_spec({"kvstore": spec["kvstore"]}, ARRAY, "/d", True)
    with pytest.raises(ValueError, match="driver 'ocdbt'"):
        storage.verify_tensorstore_spec(storage.zarr_spec("/d/w"), ARRAY, "/d/w", True)


def test_is_remote_storage_looks_into_nested_stores():
    assert storage.is_remote_storage({"kvstore": {"base": {"driver": "gcs"}}})
    assert storage.is_remote_storage({"base": "s3://b"})
    assert not storage.is_remote_storage({"driver": "zarr", "kvstore": {"driver": "file"}})


def test_tree_structures_survive_serialization():
    tree = tree_structure({"a": [1, (2,)], "b": {}})
    record = storage.serialize_pytreedef(tree)
    assert storage.deserialize_pytreedef(record) == tree
    with pytest.raises(KeyError, match="__jax_pytreedef_repr"):
        storage.deserialize_pytreedef({})
    with pytest.raises(ValueError):
        storage.deserialize_pytreedef({**record, "__jax_pytreedef_repr": "AAAA"})
