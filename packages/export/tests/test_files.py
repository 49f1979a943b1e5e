"""Files of exported functions, in Ricci's format and in JAX's."""

import os
import random
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_export import (
    deserialize,
    export,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from ricci_ir import ShapeDtypeStruct
from ricci_lax import cond, exp
from ricci_pytree import register_pytree_node
from ricci_random import key, split
from ricci_xla import Mesh, NamedSharding, P, devices, jit
from ricci_xla.exported import load
from ricci_xla.files import FileError

X = np.float32([0.5, 1, 2])
ALTERATIONS = int(os.environ.get("RICCI_FILE_ALTERATIONS", "200"))
formats = pytest.mark.parametrize("format", ["ricci", "jax"])


class Point(NamedTuple):
    x: object
    y: object


class Scale:
    def __init__(self, factor, unit):
        self.factor, self.unit = factor, unit


register_namedtuple_serialization(Point, serialized_name="tests.Point")
register_pytree_node(Scale, lambda s: ((s.factor,), s.unit), lambda unit, c: Scale(*c, unit))
register_pytree_node_serialization(
    Scale,
    serialized_name="tests.Scale",
    serialize_auxdata=str.encode,
    deserialize_auxdata=bytes.decode,
)


def fields(exported):
    return repr(exported).partition(", _get_vjp")[0]


@formats
def test_deserialize_restores_the_exported_function(format):
    mesh = Mesh(np.array(devices()[:2]), ("i",)) if len(devices()) > 1 else None
    sharding = None if mesh is None else NamedSharding(mesh, P("i", None))
    f = lambda p, s, d, k, x: (Scale(p.x + 1, "m"), OrderedDict(z=p.y, a=d["b"]), [split(k), x * 2])
    exported = export(jit(f), platforms=["cpu", "tpu"])(
        Point(X, np.int8(1)),
        Scale(np.zeros((0, 2), np.float16), "s"),
        {"b": np.complex64(1j), "a": None},
        key(0),
        ShapeDtypeStruct((2, 3), jnp.bfloat16, sharding=sharding),
    )
    read = deserialize(exported.serialize(format=format))
    assert fields(read) == fields(exported)
    assert not read.has_vjp()


def test_weak_types_survive_serialization():
    exported = export(jit(lambda x: x))(1.0)
    assert deserialize(exported.serialize()).in_avals[0].weak_type
    assert not deserialize(exported.serialize(format="jax")).in_avals[0].weak_type


@formats
def test_derivatives_up_to_vjp_order_survive_serialization(format):
    exported = export(jit(lambda x: exp(x) * x))(X)
    read = deserialize(exported.serialize(vjp_order=1, format=format))
    total = lambda x: read.call(x).sum()
    np.testing.assert_allclose(grad(total)(X), np.exp(X) * (X + 1), rtol=1e-5)
    with pytest.raises(ValueError, match=r"_vjp has no vjp: .* serialize\(vjp_order=1\)"):
        grad(lambda x: grad(total)(x).sum())(X)
    with pytest.raises(ValueError, match="cannot be serialized with vjp_order"):
        read.serialize(vjp_order=2)
    np.testing.assert_allclose(read.call(X), np.exp(X) * X, rtol=1e-5)


def test_nodes_must_be_registered():
    class Pair(NamedTuple):
        a: object
        b: object

    exported = export(jit(lambda p: p.a + p.b))(Pair(X, X))
    with pytest.raises(ValueError, match=r"in an argument, nodes of class .*Pair"):
        exported.serialize()
    assert register_namedtuple_serialization(Pair, serialized_name="tests.Pair") is Pair
    read = deserialize(exported.serialize())
    np.testing.assert_array_equal(read.call(Pair(X, X)), 2 * X)
    with pytest.raises(ValueError, match=r"Pair is registered as 'tests.Pair'"):
        register_namedtuple_serialization(Pair, serialized_name="tests.Other")
    with pytest.raises(ValueError, match=r"Point is registered as 'tests.Point'"):
        register_namedtuple_serialization(NamedTuple("New", []), serialized_name="tests.Point")
    with pytest.raises(ValueError, match="not a class of named tuples"):
        register_namedtuple_serialization(Scale, serialized_name="tests.Scale2")
    with pytest.raises(ValueError, match="not a pytree node"):
        register_pytree_node_serialization(
            type("Unknown", (), {}),
            serialized_name="tests.Unknown",
            serialize_auxdata=bytes,
            deserialize_auxdata=bytes,
        )


def test_serialize_raises_for_parts_without_a_form_in_jax_files():
    by_number = export(jit(lambda d: d[1]))({1: X})
    with pytest.raises(TypeError, match="dicts with strings as keys only, found the key 1"):
        by_number.serialize(format="jax")
    np.testing.assert_array_equal(deserialize(by_number.serialize()).call({1: X}), X)
    with pytest.raises(ValueError, match="format must be 'ricci' or 'jax', got 'pickle'"):
        by_number.serialize(format="pickle")


@pytest.fixture(scope="module")
def program():
    f = lambda x, n: cond(n > 0, lambda x: exp(x), lambda x: x * 2, x)
    return export(jit(f))(X, 1)


@formats
def test_load_reads_a_file_without_tracing(program, format, tmp_path):
    path = tmp_path / "f.export"
    path.write_bytes(program.serialize(format=format))
    loaded = load(path)
    assert repr(loaded) == "LoadedFunction(<lambda>(args[0]: float32[3], args[1]: int32[]))"
    np.testing.assert_allclose(loaded(X, 1), np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(loaded(X, np.int32(-1)), 2 * X)
    with pytest.raises(TypeError, match=r"args\[0\] of <lambda> must be of type float32\[3\], got"):
        loaded(np.ones(4, np.float32), 1)
    with pytest.raises(TypeError, match=r"args\[1\] .* must be of type int32\[\], got float"):
        loaded(X, 1.5)
    with pytest.raises(ValueError, match=r"takes the arguments \(args\[0\]: float32\[3\], args"):
        loaded(X)


@formats
def test_altered_files_are_refused(program, format):
    """Each alteration raises an error, or does not change the results."""
    data = bytes(program.serialize(format=format))
    draw = random.Random(f"alterations of {format}")
    refused = 0
    for _ in range(ALTERATIONS):
        altered = bytearray(data)
        kind = draw.randrange(4)
        if kind == 0:
            del altered[draw.randrange(len(data)) :]
        elif kind == 1:
            altered[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        elif kind == 2:
            start = draw.randrange(len(data))
            altered[start : start + draw.randrange(1, 9)] = draw.randbytes(draw.randrange(9))
        else:
            start = draw.randrange(len(data))
            altered[start:start] = altered[draw.randrange(len(data)) :][:16]
        if altered == data:
            continue
        try:
            read = deserialize(altered)
        except FileError as error:
            assert str(error).startswith("the bytes given to deserialize: ")
            refused += 1
        else:
            assert format == "jax"  # whose files have no digest
            assert isinstance(read.fun_name, str)
    assert refused == ALTERATIONS if format == "ricci" else refused > ALTERATIONS // 20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\x80\x04\x95pickled", "begins with"),
        (b"<html>" * 30, "not a file of Ricci's"),
        (b"\x00" * 200, "not a file of Ricci's"),
        ((1000).to_bytes(4, "little") + b"\xff" * 2000, "Read as one of JAX's"),
    ],
)
def test_foreign_files_are_refused(data, words):
    with pytest.raises(FileError, match=words):
        deserialize(data)
    with pytest.raises(FileError, match=words):
        load(data)


def test_future_files_are_refused(program):
    data = bytearray(program.serialize())
    data[20] += 1
    with pytest.raises(
        FileError, match="an exported function of version 2, written by newer Ricci"
    ):
        deserialize(data)
    with pytest.raises(TypeError, match="read from bytes, got 'f.export'"):
        deserialize("f.export")
