"""Dtypes: canonical forms, families, sizes, names, and which values have one."""

import numpy as np
import pytest

from ricci_ir._config import enable_x64
from ricci_ir.types import _dtypes as dtypes


class KeyType(dtypes.ExtendedDType):
    name = "key<fry>"
    type = dtypes.prng_key
    itemsize = 8


KEY = KeyType()


@pytest.mark.parametrize(
    ("given", "narrow", "wide"),
    [
        (np.float64, "float32", "float64"),
        ("int64", "int32", "int64"),
        (np.dtype("uint64"), "uint32", "uint64"),
        (complex, "complex64", "complex128"),
        (int, "int32", "int64"),
        (None, "float32", "float64"),
        (bool, "bool", "bool"),
        ("bfloat16", "bfloat16", "bfloat16"),
        (dtypes.int4, "int4", "int4"),
        (np.int16, "int16", "int16"),
    ],
)
def test_canonical_dtype_depends_on_x64(given, narrow, wide):
    for _ in range(2):  # the second time from the cache
        assert dtypes.canonicalize_dtype(given).name == narrow
        with enable_x64(True):
            assert dtypes.canonicalize_dtype(given).name == wide


@pytest.mark.parametrize("family", [np.floating, np.generic, np.integer, "no dtype", 3])
def test_canonicalize_dtype_refuses_dtype_families(family):
    with pytest.raises(TypeError):
        dtypes.canonicalize_dtype(family)


def test_extended_dtypes_pass_only_where_allowed():
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    with pytest.raises(ValueError, match="key<fry>"):
        dtypes.canonicalize_dtype(KEY)


def test_allowing_extended_dtypes_is_not_cached():
    dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True)
    with pytest.raises(ValueError, match="extended"):
        dtypes.canonicalize_dtype(KEY)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (dtypes.bfloat16, np.floating, True),
        (dtypes.bfloat16, np.generic, True),
        (dtypes.bfloat16, np.float32, False),
        (dtypes.bfloat16, float, False),
        (dtypes.bfloat16, dtypes.extended, False),
        (np.dtype(dtypes.bfloat16), dtypes.bfloat16, True),
        (dtypes.int4, np.signedinteger, True),
        (dtypes.uint4, np.unsignedinteger, True),
        (dtypes.uint4, np.signedinteger, False),
        (dtypes.float8_e4m3fn, np.number, True),
        (dtypes.float4_e2m1fn, np.inexact, True),
        (KEY, dtypes.prng_key, True),
        (KEY, dtypes.extended, True),
        (KEY, np.generic, True),
        (KEY, np.number, False),
        (KEY, KEY, True),
        (KEY, KeyType(), False),
        (dtypes.prng_key, dtypes.extended, True),
        (dtypes.extended, dtypes.prng_key, False),
        (np.float32, dtypes.extended, False),
        (dtypes.float0, np.void, True),
        (dtypes.float0, np.number, False),
        (int, np.int64, True),
        (int, np.int32, False),
        (np.floating, float, False),
        (np.bool_, np.integer, False),
        (np.float32, object, False),
        (None, np.float64, True),
        (np.float32, None, False),
        ("float64", "float", True),
        (np.integer, np.number, True),
        (np.inexact, dtypes.bfloat16, False),
    ],
)
def test_issubdtype(a, b, expected):
    assert dtypes.issubdtype(a, b) is expected


@pytest.mark.parametrize(
    ("given", "bits"),
    [
        (dtypes.int4, 4),
        (dtypes.int2, 2),
        (dtypes.uint1, 1),
        (dtypes.float4_e2m1fn, 4),
        (dtypes.float6_e2m3fn, 6),
        (dtypes.float8_e4m3fn, 8),
        (np.bool_, 8),
        (float, 64),
        ("complex64", 64),
    ],
)
def test_itemsize_bits(given, bits):
    assert dtypes.itemsize_bits(given) == bits


@pytest.mark.parametrize("given", [None, dtypes.float0, KEY])
def test_itemsize_bits_of_no_number(given):
    with pytest.raises(ValueError, match="itemsize_bits"):
        dtypes.itemsize_bits(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, bool),
        (1, int),
        (1.0, float),
        (1j, complex),
        (np.float32(1), float),
        (np.zeros(2, "i4"), int),
        (dtypes.bfloat16, float),
        (dtypes.int4, int),
        (np.dtype("c8"), complex),
    ],
)
def test_scalar_type_of(given, expected):
    assert dtypes.scalar_type_of(given) is expected


@pytest.mark.parametrize("given", ["no dtype", KEY, np.zeros((), dtypes.float0)])
def test_scalar_type_of_no_number(given):
    with pytest.raises(TypeError):
        dtypes.scalar_type_of(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("bool", "bool"),
        ("float32", "f32"),
        ("int8", "i8"),
        ("uint64", "u64"),
        ("complex128", "c128"),
        (dtypes.bfloat16, "bf16"),
        (dtypes.float8_e4m3b11fnuz, "f8_e4m3b11fnuz"),
        (dtypes.float6_e2m3fn, "f6_e2m3fn"),
        (dtypes.float4_e2m1fn, "f4_e2m1fn"),
        (dtypes.uint2, "u2"),
        (dtypes.int1, "i1"),
        (dtypes.float0, "float0"),
    ],
)
def test_short_name(given, expected):
    assert dtypes.short_name(np.dtype(given)) == expected


def test_short_name_of_extended_dtype():
    assert dtypes.short_name(KEY) == repr(KEY) == "key<fry>"


@pytest.mark.parametrize("x64", [False, True])
def test_python_ints_must_fit(x64):
    bits = 63 if x64 else 31
    with enable_x64(x64):
        for fits in (2**bits - 1, -(2**bits)):
            assert dtypes.coerce_to_array_dtype(fits).itemsize * 8 == bits + 1
        for too_large in (2**bits, -(2**bits) - 1):
            with pytest.raises(OverflowError, match=str(too_large)):
                dtypes.coerce_to_array_dtype(too_large)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a", "'a' of type builtins.str"),
        (object(), "of type builtins.object"),
        (None, "None of type builtins.NoneType"),
        ([1.0], r"\[1.0\] of type builtins.list"),
        (np.array(["a"]), "dtype <U1"),
        (np.array([None]), "dtype object"),
        (np.datetime64("2020"), "datetime64"),
        (np.zeros(2, ">f4"), ">f4"),
        (np.longdouble(1), "float128|longdouble"),
    ],
)
def test_coercion_errors_name_the_value_that_is_not_an_array(value, words):
    with pytest.raises(TypeError, match=words):
        dtypes.coerce_to_array_dtype(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "bool"),
        (1.0, "float32"),
        (np.float64(1), "float32"),
        (np.zeros(2, dtypes.bfloat16), "bfloat16"),
        (np.zeros(2, ">f4").astype("<f4"), "float32"),
    ],
)
def test_coerce_to_array_dtype(value, expected):
    assert dtypes.coerce_to_array_dtype(value).name == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.dtype("float32"), np.dtype("float32")),
        (np.dtype(dtypes.bfloat16), np.dtype(dtypes.bfloat16)),
        (np.dtype("complex64"), np.dtype("complex64")),
        (np.dtype("int32"), dtypes.float0),
        (np.dtype(dtypes.uint4), dtypes.float0),
        (np.dtype(bool), dtypes.float0),
        (dtypes.float0, dtypes.float0),
        (KEY, dtypes.float0),
    ],
)
def test_tangent_dtype(given, expected):
    assert dtypes.to_tangent_dtype(given) == expected


def test_limits_of_small_types():
    assert float(dtypes.finfo(dtypes.float8_e4m3fn).max) == 448
    assert dtypes.iinfo(dtypes.int4).max == 7
